"""WITHIN m: the cheapest price at which every number of the answer is within ± m.

Prices have three digits. They are tried from the plan alone: the same text, policy and ledger give the same price, and
no row has a part in it. For one kind of noise and one branch of the account the margin falls as the price grows, so
that halving finds the first price that suffices; what is returned has been planned and keeps its margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Final

from dpsql.accounting.account import Account, remaining
from dpsql.catalog.model import Defaults, Noise
from dpsql.errors import BudgetExhausted, DpsqlError, NotPermitted, NotSupported
from dpsql.plan.expected import Certainty, expected
from dpsql.plan.price import Plan
from dpsql.plan.terms import Terms, grant_at
from dpsql.session.digits import shown_amount, shown_down
from dpsql.session.inquiry import Part
from dpsql.session.refusing import RefusalsIgnored
from dpsql.session.terms import Ask, terms_of
from dpsql.sql.syntax import At

_DIGITS: Final = 900
"""Prices of three digits between two powers of ten."""
_SMALLEST: Final = Fraction(1, 10**12)
_MOST: Final = 30 * _DIGITS
"""No account is larger than 10^18."""


def largest_margin(plan: Plan, *, at: At) -> Fraction:
    """± of the least certain number of the answer. Refuses where that is known only with the answer."""
    margins = [Fraction(0)]
    for column in expected(plan):
        if column.noisy and column.margin is None:
            raise NotSupported(
                f"WITHIN is not possible for {column.name}",
                why="how far off it is depends on how many rows there are, and that is not public",
                fix="say what it may cost instead: COST 0.1; sums and counts have a margin that is known before",
                try_sql=_at_a_price(plan.bounded.query.text, at),
                at=at,
            )
        margins.append(column.margin or Fraction(0))
    if not any(column.certainty is Certainty.MARGIN for column in expected(plan)):
        raise NotSupported(
            "WITHIN is not possible here",
            why="no column of the answer is a number with a margin",
            fix="say what it may cost instead: COST 0.1",
            at=at,
        )
    return max(margins)


def _at_a_price(text: str, at: At) -> str | None:
    """The text with a price instead of its margin; None where the margin is no clause at the end."""
    before = "" if at is None else text[: at[0]].rstrip()
    if at is None or not before.upper().endswith("WITHIN"):
        return None
    return f"{before[: -len('WITHIN')]}COST 0.1{text[at[1] :]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """Prices and the margins they buy."""

    ask: Ask
    defaults: Defaults
    accounts: tuple[Account, ...]
    left: Fraction
    """What the accounts can still pay."""
    paid: Fraction
    """What was paid for a stored answer that can be made finer: for so much more than is left it may be."""
    cap: Fraction
    is_fixed: bool
    """Somebody has said which noise."""
    bought: Callable[[Ask], Part]
    known: dict[tuple[int, Noise], Part | None] = field(default_factory=dict)
    """What was planned so far."""

    def price(self, number: int) -> Fraction:
        """The prices in order, up to the cap."""
        power, digits = divmod(number, _DIGITS)
        return min(self.cap, _SMALLEST * (100 + digits) * Fraction(10) ** (power - 2))

    @property
    def last(self) -> int:
        """The number of the cap."""
        return _first(_MOST, lambda number: self.price(number) == self.cap)

    def asked(self, number: int, noise: Noise) -> Ask:
        return replace(self.ask, epsilon=self.price(number), noise=noise, within=None)

    def part(self, number: int, noise: Noise) -> Part | None:
        """What this price buys; None where there is no such plan, or nobody can pay for it."""
        if (number, noise) not in self.known:
            self.known[number, noise] = self._part(number, noise)
        return self.known[number, noise]

    def _part(self, number: int, noise: Noise) -> Part | None:
        with RefusalsIgnored():  # too little for any plan of this kind
            part = self.bought(self.asked(number, noise))
            return part if self.can_pay(part) else None
        return None

    def can_pay(self, part: Part) -> bool:
        """Noise that nobody has asked for must not take more than it is said to cost, either: in ρ it may. A lack of δ
        no price cures; it is told when it is charged."""
        plan = part.sealed.plan
        accounts = [replace(each, spent=replace(each.spent, delta=Fraction(0))) for each in self.accounts]
        if plan.charged is None or self.is_fixed:
            return part.is_granted(accounts)
        return grant_at(accounts, plan.charged, plan.cost)

    def margin(self, number: int, noise: Noise) -> Fraction | None:
        """± at this price; None where there is no such plan."""
        part = self.part(number, noise)
        return None if part is None else largest_margin(part.sealed.plan, at=self.ask.priced_at)

    def reaches(self, number: int, noise: Noise, margin: Fraction) -> bool:
        found = self.margin(number, noise)
        return found is not None and found <= margin

    def tops(self, noise: Noise) -> Iterator[int]:
        """The largest prices that an account's branches would grant: above one of them, the same noise costs more."""
        for granted in _BRANCHES:
            if self.grants(0, noise, granted):
                top = _last(self.last, partial(self.grants, noise=noise, granted=granted))
                if self.is_payable(top, noise):
                    yield top

    def topmost(self, noise: Noise, tops: Sequence[int]) -> Iterator[int]:
        """The largest price above those tops that can be paid, where there is one: by paying only what is missing in a
        stored answer, or with noise that an account has not granted by itself."""
        low = max(tops, default=-1) + 1
        if low <= self.last and self.is_payable(low, noise):
            yield _last(self.last, partial(self.is_payable, noise=noise), low=low)

    def ends(self, noise: Noise, margin: Fraction) -> list[int]:
        """The prices below which the first that reaches the margin is looked for."""
        tops = list(self.tops(noise))
        enough = any(self.reaches(top, noise, margin) for top in tops)
        return tops if enough else [*tops, *self.topmost(noise, tops)]

    def grants(self, number: int, noise: Noise, granted: Callable[[Terms], bool]) -> bool:
        return granted(terms_of(self.asked(number, noise), self.defaults, self.accounts))

    def is_payable(self, number: int, noise: Noise) -> bool:
        return self.part(number, noise) is not None

    def cost(self, number: int, noise: Noise) -> Fraction:
        """What is really paid at this price."""
        part = self.part(number, noise)
        return self.cap if part is None else part.sealed.plan.cost


_BRANCHES: Final[tuple[Callable[[Terms], bool], ...]] = (
    lambda terms: terms.pure,
    lambda terms: terms.gaussian_rho > 0,
)


def _first(last: int, holds: Callable[[int], bool], *, low: int = 0) -> int:
    """The first number from which on it holds, up to `last`, of which it is known."""
    while low < last:
        middle = (low + last) // 2
        low, last = (low, middle) if holds(middle) else (middle + 1, last)
    return last


def _last(last: int, holds: Callable[[int], bool], *, low: int = 0) -> int:
    """The last number up to which it holds; it does for `low`."""
    return last if holds(last) else _first(last, lambda number: not holds(number), low=low) - 1


def cheapest(
    text: str,
    ask: Ask,
    defaults: Defaults,
    accounts: tuple[Account, ...],
    limit: Fraction | None,
    bought: Callable[[Ask], Part],
    *,
    paid: Fraction = Fraction(0),
) -> Ask:
    """What is asked, with the price and the noise that give its margin; refused where no price does. What was `paid`
    for the same question before need not be paid again, and what is still to be paid is as little as possible."""
    left = remaining(accounts)
    cap = left + paid if limit is None else min(left + paid, limit)
    wanted = ask.within or Fraction(0)
    fixed = ask.noise or defaults.noise
    noises = (Noise.LAPLACE, Noise.GAUSSIAN) if fixed is None else (fixed,)
    if cap < _SMALLEST:
        raise BudgetExhausted(
            "nothing is left to pay for this margin",
            why="what was promised to people holds for all answers together",
            fix="ask something that is stored, or have the owner of the data grant more",
            at=ask.priced_at,
        )
    search = _Search(
        ask=ask,
        defaults=defaults,
        accounts=accounts,
        left=left,
        paid=paid,
        cap=cap,
        is_fixed=fixed is not None,
        bought=bought,
    )
    tops = [(top, noise) for noise in noises for top in search.ends(noise, wanted)]
    found = [
        (_first(top, partial(search.reaches, noise=noise, margin=wanted)), noise)
        for top, noise in tops
        if search.reaches(top, noise, wanted)
    ]
    if not found:
        raise _out_of_reach(text, search, tops, by_owner=cap == limit)
    number, noise = min(found, key=lambda each: (search.cost(*each), each[0]))
    return replace(search.asked(number, noise), within=wanted)


def _out_of_reach(text: str, search: _Search, tops: list[tuple[int, Noise]], *, by_owner: bool) -> DpsqlError:
    """What can be reached instead, and what is in the way."""
    margins = [margin for margin in (search.margin(*top) for top in tops) if margin is not None]
    reached = _rounded_up(min(margins)) if margins else None
    at, cap = search.ask.priced_at, shown_amount(search.cap)
    kind: type[DpsqlError] = NotPermitted if by_owner else BudgetExhausted
    before = ", beside what was paid before," if search.paid else ""
    limit = f"your limit of {cap} per query" if by_owner else f"the {shown_down(search.left)} that is left{before}"
    best = "no margin at all" if reached is None else f"± {shown_amount(reached)} at best"
    return kind(
        f"{limit} buys {best}, not ± {shown_amount(search.ask.within or Fraction(0))}",
        why="a smaller margin needs less noise, and that tells more about people",
        fix="accept a wider margin, or ask about more people at once",
        try_sql=None if at is None or reached is None else f"{text[: at[0]]}{shown_amount(reached)}{text[at[1] :]}",
        at=at,
    )


def _rounded_up(margin: Fraction) -> Fraction:
    """To two digits."""
    context = Context(prec=2, rounding=ROUND_CEILING)
    return Fraction(context.divide(Decimal(margin.numerator), Decimal(margin.denominator)))
