"""Where a budget does not suffice: by how much, and the price that would fit, in ε as prices are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Final

from dpsql.accounting.account import Account, admitted_by_all, remaining
from dpsql.accounting.triple import triple
from dpsql.errors import BudgetExhausted
from dpsql.plan.explanation.promise import account_name
from dpsql.plan.price import Plan
from dpsql.plan.recall import Way
from dpsql.session.digits import shown_amount
from dpsql.session.inquiry import Inquiry, Part
from dpsql.session.permits import at_price
from dpsql.session.refusing import RefusalsIgnored
from dpsql.sql.syntax import At

_HALVINGS: Final = 4
"""So often a price that does not fit is halved: counted in ρ, noise of ε may weigh several times its price."""
_LEAST: Final = Fraction(1, 1000)
"""Of what was asked for: what less than that would buy is noise alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """How the price of a question was said, so that another one can be proposed in the same words."""

    sql: str
    by_call: bool
    """As an argument of the call, not in the text."""
    at: At
    """Where in the text; None where the price is that of the session or the policy."""
    cap: Fraction | None
    """The most that one question may cost."""
    require_payable: Callable[[str], None]
    """Raises where a text cannot be asked in its place."""

    def words(self, price: Fraction) -> str:
        return f"{'epsilon=' if self.by_call else 'COST '}{shown_amount(price)}"

    def text(self, price: Fraction) -> str | None:
        """The same statement at another price; None where its call says the price."""
        return None if self.by_call else at_price(self.sql, price, priced_at=self.at)


def said_in_prices(
    error: BudgetExhausted,
    inquiry: Inquiry,
    accounts: Sequence[Account],
    *,
    planned_at: Callable[[Fraction], Inquiry],
    priced: Priced,
) -> BudgetExhausted:
    """The refusal of a plan, with a price that would be granted where there is one; it is planned to be sure."""
    short = [account for account in accounts if not admitted_by_all(inquiry.event, (account,))]
    if not short:  # somebody else was faster: the accounts have changed since
        return error
    fit, try_sql = _what_fits(error, inquiry, accounts, planned_at, priced)
    return BudgetExhausted(
        too_dear(inquiry, short),
        why="every answer tells a little about people, and what was promised to them holds for all answers together",
        fix=fit,
        try_sql=try_sql,
        at=priced.at,
    )


def too_dear(inquiry: Inquiry, short: Sequence[Account]) -> str:
    """What is in the way: too little δ, or too little ε; each as the accounts that are short have it."""
    without = [account for account in short if inquiry.delta > _delta_left(account)]
    if without:
        left = [_delta_left(account) for account in without]
        return f"finding groups takes δ = {shown_amount(inquiry.delta)}, more than {_have(without, left)}"
    cost, more = shown_amount(inquiry.cost), " more" if any(_is_finer(part) for part in inquiry.parts) else ""
    poor = [account for account in short if remaining((account,)) < inquiry.cost]
    if not poor:
        names = " and ".join(map(account_name, short))
        return (
            f"this answer costs {cost}{more}, and {names} cannot pay for it with this noise: {weighs(inquiry, short)}"
        )
    return f"this answer costs {cost}{more}, more than {_have(poor, [remaining((account,)) for account in poor])}"


def weighs(inquiry: Inquiry, short: Sequence[Account]) -> str:
    """Why a price does not fit that is left: noise of ε in an account that counts in ρ, or the other way round."""
    if inquiry.event is not None and triple(inquiry.event).epsilon is None:
        return "Gaussian noise is counted in ρ, and other noise so far has used up more of that than of ε"
    since = "since the first Gaussian answer" if any(account.spent.epsilon is None for account in short) else "by now"
    counts = "it counts" if len(short) == 1 else "they count"
    return f"{since} {counts} in ρ, where noise that is not Gaussian, such as Laplace noise, weighs more than its price"


def _have(accounts: Sequence[Account], left: Sequence[Fraction]) -> str:
    names = " and ".join(map(account_name, accounts))
    amounts = " and ".join(shown_amount(rounded_down(each)) for each in left)
    return f"{names} {'has' if len(accounts) == 1 else 'have'} left: {amounts}"


def _what_fits(
    error: BudgetExhausted,
    inquiry: Inquiry,
    accounts: Sequence[Account],
    planned_at: Callable[[Fraction], Inquiry],
    priced: Priced,
) -> tuple[str, str | None]:
    """What to ask for instead, in words and as a text."""
    left, paid = remaining(accounts), inquiry.outer.sealed.plan.recalled.paid
    stored = False
    rest = [left / 2**halved for halved in range(_HALVINGS + 1)]
    for most in (left + paid, *rest) if paid and not inquiry.inner else rest:
        price = rounded_down(most if priced.cap is None else min(most, priced.cap))
        found = None if price < inquiry.cost * _LEAST else _planned(price, accounts, planned_at)
        if found is None:
            continue
        if found.event is None:
            stored = True
        elif found.cost >= inquiry.cost * _LEAST:
            more = f", for {shown_amount(found.cost)} more" if _is_finer(found.outer) else ""
            return f"ask for less accuracy: {priced.words(price)} would fit{more}", priced.text(price)
    if stored:
        free = priced.text(Fraction(0))
        with RefusalsIgnored():  # with this noise it has no plan
            if free is not None:
                priced.require_payable(free)
            return "nothing finer fits any more; what is stored is told for nothing: COST 0", free
    if left < inquiry.cost * _LEAST:
        return "the budget is used up: ask something that is stored, or have the owner of the data grant more", None
    return (
        f"nothing of this kind fits any more ({error.why}); ask something that is stored, or have the owner of "
        "the data grant more"
    ), None


def _is_finer(part: Part) -> bool:
    """Only what is missing in a stored answer is paid for."""
    plan = part.sealed.plan
    return plan.charged is not None and plan.finer is not None and plan.finer.way is not Way.AVERAGED


def affordable(usual: Fraction | None, accounts: Sequence[Account], caps: Iterable[Fraction | None]) -> Fraction:
    """The usual price, or what is left and allowed of it; 0 where there is none, or it would buy noise alone."""
    if usual is None:
        return Fraction(0)
    price = min(usual, remaining(accounts), *(cap for cap in caps if cap is not None))
    return rounded_down(price) if price >= usual * _LEAST else Fraction(0)


def otherwise_than_told(plan: Plan, accounts: Sequence[Account]) -> tuple[str, ...]:
    """What an answer takes of a budget is its price, but for noise of ε in an account that counts in ρ: such noise,
    asked for by name, may weigh more; and near the end of a budget, where neither branch grants the price as such, it
    is bought because it weighs less. Then this says so."""
    event, price = plan.charged, shown_amount(plan.cost)
    if event is None or not accounts[-1].delta_prime or not admitted_by_all(event, accounts):
        return ()
    lost = [account.charged(event).spent_epsilon - account.spent_epsilon for account in accounts]
    taken = lost[-1]
    if max(lost) > plan.cost:
        whose, most = ("your budget", taken) if taken > plan.cost else ("the promise to everybody", max(lost))
        return (f"{whose} counts in ρ, where this noise weighs more: {float(most):.2g} of it is taken, not {price}",)
    if taken == plan.cost or plan.terms.pure or plan.terms.gaussian_rho:
        return ()
    note = (
        f"your budget grants no Gaussian noise for {price} any more: these numbers have Laplace noise, which takes"
        f" {float(taken):.2g} of it"
    )
    return (note,)


def _planned(price: Fraction, accounts: Sequence[Account], planned_at: Callable[[Fraction], Inquiry]) -> Inquiry | None:
    """The question at this price, where it has a plan and that is granted."""
    if not price:
        return None
    with RefusalsIgnored():  # at this price it has no plan
        found = planned_at(price)
        return found if admitted_by_all(found.event, accounts) else None
    return None


def _delta_left(account: Account) -> Fraction:
    return account.delta - account.delta_prime - account.spent.delta


def rounded_down(left: Fraction) -> Fraction:
    """To two digits."""
    if left <= 0:
        return Fraction(0)
    return Fraction(Context(prec=2, rounding=ROUND_FLOOR).divide(Decimal(left.numerator), Decimal(left.denominator)))
