"""Which plan answers a question: one bought at its price, one that is stored, or the cheapest within a margin.

WITHIN m: the cheapest price at which every number of the answer is within ± m.

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
from typing import Final, TypeAlias

from dpsql.accounting.account import Account, remaining
from dpsql.catalog.model import Defaults, Mode, Noise
from dpsql.errors import NO_REFUSALS, BadName, BudgetExhausted, DpsqlError, NothingStored, NotPermitted, NotSupported
from dpsql.plan.expected import Certainty, expected
from dpsql.plan.price import Plan, Terms, as_if_unspent, grant_at
from dpsql.plan.recall import by_precision
from dpsql.session.digits import shown_amount, shown_down
from dpsql.session.inquiry import Part
from dpsql.session.refusing import RefusalsIgnored
from dpsql.session.terms import Ask, terms_of
from dpsql.sql.check import Checked
from dpsql.sql.syntax import At, Options

Planned: TypeAlias = Callable[[Ask, Terms], Part]
"""The stages from a price to the charge, for one question."""


def chosen_plan(
    checked: Checked, ask: Ask, accounts: tuple[Account, ...], limit: Fraction | None, planned: Planned
) -> Part:
    """The plan for what is asked. `limit` is the cap of one query in the grant."""
    defaults = checked.query.catalog.policy.defaults

    def bought(asked: Ask) -> Part:
        return _bought(asked, defaults, accounts, planned)

    if ask.within is None and not ask.only_stored:
        return bought(ask)
    if not checked.query.private:  # exact and free
        return planned(ask, _terms_to_plan_with(ask, defaults, accounts))
    stored = next(_stored(ask, defaults, accounts, planned), None)
    if stored is not None:
        return stored
    if ask.within is None:
        raise NothingStored(
            "nothing stored answers this",
            why="COST 0 asks for answers that were released before, and none of them is this question as it is now",
            fix="leave COST 0 out, or say what it may cost: COST 0.1",
            at=ask.priced_at,
        )
    paid = _paid(ask, defaults, accounts, planned)
    return bought(cheapest(checked.query.text, ask, defaults, accounts, limit, bought, paid=paid))


def _bought(ask: Ask, defaults: Defaults, accounts: tuple[Account, ...], planned: Planned) -> Part:
    """The plan at its price. Where the accounts do not grant Gaussian noise at the whole price, a release that was
    bought with it may still be stored, or be made finer for what they do grant. Where they do not grant that either,
    the cheaper plan is the one that is told, and refused."""
    terms = terms_of(ask, defaults, accounts)
    if terms.gaussian_rho:
        return planned(ask, terms)
    try:
        part = planned(ask, terms)
    except NO_REFUSALS:
        raise
    except DpsqlError as error:
        other = _as_if_unspent(ask, terms, accounts, planned)
        if other is None or (other.is_granted(accounts) and not _is_free_or_finer(other, accounts)):
            raise error from None
        return other  # where it is too dear, that is what is in the way
    other = _as_if_unspent(ask, terms, accounts, planned)
    if other is None or (part.is_stored and (other.is_stored or part.would_be_granted(accounts))):
        return part
    if _is_free_or_finer(other, accounts):  # what is as good as noise that nobody can buy is less than was asked for
        return other
    return part if part.is_granted(accounts) else min(part, other, key=lambda each: each.sealed.plan.cost)


def _as_if_unspent(ask: Ask, terms: Terms, accounts: tuple[Account, ...], planned: Planned) -> Part | None:
    """The plan with the Gaussian noise that the accounts would have granted at first, if they ever did."""
    unspent = as_if_unspent(terms, accounts)
    with RefusalsIgnored():
        return planned(ask, unspent) if unspent.gaussian_rho else None
    return None


def _is_free_or_finer(part: Part, accounts: tuple[Account, ...]) -> bool:
    return part.is_stored or part.is_finer(accounts)


def _paid(ask: Ask, defaults: Defaults, accounts: tuple[Account, ...], planned: Planned) -> Fraction:
    """What was paid for the stored answer that can be made finer."""
    terms = _terms_to_plan_with(ask, defaults, accounts)
    first = planned(ask, terms)
    parts = [first, _as_if_unspent(ask, terms, accounts, planned) or first]
    return max(part.sealed.plan.recalled.paid for part in parts)


def _terms_to_plan_with(ask: Ask, defaults: Defaults, accounts: tuple[Account, ...]) -> Terms:
    price = ask.epsilon or defaults.cost_per_query or accounts[-1].epsilon
    return terms_of(replace(ask, epsilon=price), defaults, accounts)


def _stored(ask: Ask, defaults: Defaults, accounts: tuple[Account, ...], planned: Planned) -> Iterator[Part]:
    """The plans of this question that a stored release answers.

    Nothing is bought, so that the price is only one to plan with. It may decide how a person in many groups is
    bounded, and with it which question it is: each way is looked for.
    """
    terms = _terms_to_plan_with(ask, defaults, accounts)
    first = planned(ask, terms)  # where the question itself is refused, it is refused here
    if first.is_stored:
        yield first
    for mode in (ask.mode,) if ask.mode is not None else (None, Mode.CHOOSE, Mode.SCALE):
        for offered in (terms, as_if_unspent(terms, accounts)):
            with RefusalsIgnored():  # this way is not possible here
                part = planned(replace(ask, mode=mode), offered)
                if part.is_stored:
                    yield part


def good_enough(plan: Plan, ask: Ask) -> Plan:
    """The plan with the stored release that answers what was asked: any, or one within the margin."""
    if not plan.steps or (ask.within is None and not ask.only_stored):
        return plan
    for stored in by_precision(plan.recalled.stored, confidence=plan.terms.confidence):
        told = replace(plan, stored=stored)
        finer = plan.people is None or (stored.people is not None and stored.people <= plan.people)
        if ask.within is None or (finer and largest_margin(told, at=ask.priced_at) <= ask.within):
            return told
    return replace(plan, stored=None)


def require_a_person(checked: Checked, options: Options) -> None:
    """What the text says of a person fits the people the owner has declared."""
    query = checked.query
    if options.rows_in_all is not None and query.keys:
        raise NotSupported(
            "max_rows_contributed with GROUP BY is not available",
            why="rows are capped inside each group, and groups by their number",
            fix="say max_groups_contributed, and LIMIT n PER PERSON for the rows inside one group",
            at=options.rows_in_all.at,
        )
    if options.privacy_unit is not None:
        people = {query.catalog.policy.tables[name].person for name in query.private_tables}
        if people and people != {(options.privacy_unit.value,)}:
            raise BadName(
                f"the person is not in {options.privacy_unit.value}",
                why="the owner of the data says who is protected, and a text cannot change it",
                fix="leave privacy_unit_column out",
                at=options.privacy_unit.at,
            )
    if options.rows_per_person is not None and not checked.query.private:
        raise NotSupported(
            "LIMIT … PER PERSON of a public table is not available",
            why="nobody is in its rows",
            fix="leave it out",
            at=options.rows_per_person.at,
        )


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
