"""Where a budget does not suffice: by how much, and the price that would fit, in ε as prices are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dpsql.accounting.account import Account, remaining
from dpsql.errors import BudgetExhausted, DpsqlError
from dpsql.plan.explanation.promise import account_name
from dpsql.plan.price import Plan
from dpsql.session.digits import shown_amount
from dpsql.session.inquiry import Inquiry


def said_in_prices(
    error: BudgetExhausted, inquiry: Inquiry, accounts: Sequence[Account], *, at_price: Callable[[Fraction], Inquiry]
) -> BudgetExhausted:
    """The refusal of a plan, with a price that would be granted where there is one; it is planned to be sure."""
    short = [account for account in accounts if not _granted(inquiry, (account,))]
    if not short:  # somebody else was faster: the accounts have changed since
        return error
    left = _rounded_down(remaining(accounts))
    name = " and ".join(map(account_name, short))
    fits = left > 0 and _fits(left, accounts, at_price)
    return BudgetExhausted(
        f"this answer costs {shown_amount(inquiry.cost)}, more than {name} has left",
        why="every answer tells a little about people, and what was promised to them holds for all answers together",
        fix=f"ask for less accuracy: epsilon={shown_amount(left)} would fit"
        if fits
        else f"nothing of this kind fits any more ({error.why}); ask something that is stored, or have the owner of "
        "the data grant more",
    )


def cheaper_than_told(plan: Plan, accounts: Sequence[Account]) -> tuple[str, ...]:
    """Near the end of a budget neither branch of its account may grant the price as such, and Laplace noise is bought
    that weighs less than the price: then the answer says so. Nothing elsewhere."""
    own, event = accounts[-1], plan.charged
    if event is None or plan.terms.pure or plan.terms.gaussian_rho or not own.delta_prime or not own.admits(event):
        return ()
    taken = own.charged(event).spent_epsilon - own.spent_epsilon
    if taken >= plan.terms.cost:
        return ()
    note = (
        f"your budget grants no Gaussian noise for {shown_amount(plan.terms.cost)} any more: these numbers have Laplace"
        f" noise, which takes {float(taken):.2g} of it"
    )
    return (note,)


def _fits(price: Fraction, accounts: Sequence[Account], at_price: Callable[[Fraction], Inquiry]) -> bool:
    try:
        return _granted(at_price(price), accounts)
    except DpsqlError:  # at this price it has no plan
        return False


def _granted(inquiry: Inquiry, accounts: Sequence[Account]) -> bool:
    event = inquiry.event
    return event is None or all(account.admits(event) for account in accounts)


def _rounded_down(left: Fraction) -> Fraction:
    """To two digits."""
    if left <= 0:
        return Fraction(0)
    return Fraction(Context(prec=2, rounding=ROUND_FLOOR).divide(Decimal(left.numerator), Decimal(left.denominator)))
