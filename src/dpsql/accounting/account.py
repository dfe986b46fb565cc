"""The account rule: how far an open-ended, adaptive conversation may go under one (ε, δ) promise.

A value, not a store: no clock, no file, no lock. Whoever keeps accounts replaces the value in a transaction.
Proof: docs/theorems/account_rule.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

from dpsql.accounting.limits import priced_epsilon
from dpsql.accounting.spend import require_event
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.accounting.zcdp import largest_rho
from dpsql.errors import BadParameter, BudgetExhausted
from dpsql.privacy.events import Event
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_delta, require_non_negative, shown

_LARGEST_DENOMINATOR_BITS: Final = 8192
_ENDLESS: Final = 10**18
_COARSE_BITS: Final = 4096
_FIX: Final = "ask for less accuracy, or have the owner of the data open a new promise"
_FIX_OF_FLOATS: Final = (
    'write Fraction(1, 10) or Decimal("0.1") where you wrote 0.1: the float is a little more than a tenth; or ask for '
    "a little less"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A promise (ε, δ), the part δ' of δ that is reserved for ever, the limit ρ* this buys, and what was spent.

    Invariant: Σδ <= δ − δ'  and  (Σε <= ε  or  Σρ <= ρ*). `Account.opened` is the way in; an account rebuilt from
    its fields is refused where its ρ* is more than a theorem certifies.
    """

    epsilon: Fraction
    delta: Fraction
    delta_prime: Fraction
    rho: Fraction
    """ρ*: the largest ρ whose zCDP conversion at δ' is at most ε; 0 where δ' = 0."""
    spent: Triple = FREE
    granted_from: Fraction | None = None
    """Of a grant: the ε of the account it belongs to, whose exchange rate ρ*/ε it has. None for an account."""

    def __post_init__(self) -> None:
        require_delta(delta=self.delta, delta_prime=self.delta_prime)
        require_non_negative(rho=self.rho)
        for name in ("delta", "delta_prime", "rho"):
            object.__setattr__(self, name, exact(getattr(self, name)))
        object.__setattr__(self, "epsilon", priced_epsilon(epsilon=self.epsilon))
        if self.granted_from is not None:
            object.__setattr__(self, "granted_from", priced_epsilon(granted_from=self.granted_from))
        if self.delta_prime > self.delta:
            raise BadParameter(
                f"delta_prime={shown(self.delta_prime)} is above delta={shown(self.delta)}",
                why="δ' is the part of δ kept back for the zCDP branch",
                fix="choose δ' between 0 and δ; half of δ is usual",
            )
        if self.epsilon > self._promise:
            raise _too_large_a_grant(self.epsilon, self._promise)
        whole = largest_rho(epsilon=self._promise, delta=self.delta_prime) if self.delta_prime else Fraction(0)
        if self.rho > whole * self.epsilon / self._promise:
            raise BadParameter(
                f"rho={shown(self.rho)} is more than (ε, δ') allow",
                why="spending it would break the (ε, δ) promise of the account",
                fix="open accounts with Account.opened and grants with grant, which compute ρ*",
            )

    @property
    def _promise(self) -> Fraction:
        """The ε for which ρ* is certified: the account's own, or that of the account a grant belongs to."""
        return self.epsilon if self.granted_from is None else self.granted_from

    @classmethod
    def opened(cls, *, epsilon: Number, delta: Number, delta_prime: Number) -> Account:
        """A fresh account.

        Theorem   docs/theorems/account_rule.md: the whole conversation is (ε, δ)-DP, whatever is asked and when.
        Requires  ε > 0, 0 <= δ' <= δ < 1. With δ' = 0 Gaussian noise cannot be paid from it.
        Rounds    ρ* down.
        """
        size = priced_epsilon(epsilon=epsilon)
        require_delta(delta=delta, delta_prime=delta_prime)
        reserved = exact(delta_prime)
        limit = largest_rho(epsilon=size, delta=reserved) if reserved else Fraction(0)
        return cls(epsilon=size, delta=exact(delta), delta_prime=reserved, rho=limit)

    def grant(self, *, epsilon: Number) -> Account:
        """A spending limit under this account: its own ε, the same δ, δ' and exchange rate ρ*/ε.

        Not a promise of its own. A charge must be admitted by the grant and by the account it belongs to.

        Requires  0 < ε <= the ε of the account.
        Rounds    nothing.
        """
        size = priced_epsilon(epsilon=epsilon)
        if size > self.epsilon:
            raise _too_large_a_grant(size, self.epsilon)
        return replace(self, epsilon=size, rho=self.rho_for(epsilon=size), spent=FREE, granted_from=self._promise)

    def rho_for(self, *, epsilon: Number) -> Fraction:
        """The ρ that costs the same share of this account as ε does: ρ*·ε/ε_total, exactly."""
        return self.rho * priced_epsilon(epsilon=epsilon) / self.epsilon

    def admits(self, event: Event) -> bool:
        """True where the event can be charged.

        Theorem   docs/theorems/account_rule.md.
        Requires  an event that `triple` prices; others raise UnsupportedEvent.
        Rounds    nothing: comparisons of exact rationals.
        """
        return self._holds(_bounded(self.spent + triple(event)))

    def charged(self, event: Event) -> Account:
        """The account after the event, or BudgetExhausted.

        Theorem   docs/theorems/account_rule.md.
        Requires  as `admits`.
        Rounds    totals up, and only where their denominators pass 8192 bits.
        """
        return self.paying(price_of(event))

    def paying(self, price: Triple) -> Account:
        """`charged`, where the price of the event is known."""
        after = _bounded(self.spent + price)
        if not self._holds(after):
            raise BudgetExhausted(
                "the account cannot pay for this release",
                why=self._shortfall(after, asked=price),
                fix=_FIX_OF_FLOATS if self._almost_fits(after) else _FIX,
            )
        return self.having_spent(after)

    def having_spent(self, spent: Triple) -> Account:
        """The account with these limits, which were checked when it was made, and this total."""
        found = object.__new__(Account)
        for name, write in _SLOTS:
            write(found, getattr(self, name))
        _WRITE_SPENT(found, spent)
        return found

    def _holds(self, total: Triple) -> bool:
        within = not total.delta or total.delta <= self.delta - self.delta_prime  # never below 0
        return within and (self._pure(total) or self._concentrated(total))

    def _pure(self, total: Triple) -> bool:
        return total.epsilon is not None and total.epsilon <= self.epsilon

    def _concentrated(self, total: Triple) -> bool:
        return self.delta_prime > 0 and total.rho is not None and total.rho <= self.rho

    def _shortfall(self, total: Triple, *, asked: Triple) -> str:
        free = self.delta - self.delta_prime
        if total.delta > free:
            return (
                "the δ of all releases would add up to more than δ − δ': "
                f"δ = {shown(asked.delta)} is asked, {shown(max(Fraction(0), free - self.spent.delta))} is left"
            )
        if not self.delta_prime and total.epsilon is None:
            return "Gaussian noise has no finite ε, and without a δ' the account has no zCDP branch"
        pure = f"ε = {_shown(asked.epsilon)} is asked, {_left(self.epsilon, self.spent.epsilon)} is left"
        if not self.delta_prime:
            return f"the loss of all releases would pass ε: {pure}"
        return (
            f"the loss of all releases would pass ε, counted in ε and counted in ρ: {pure}; "
            f"ρ = {_shown(asked.rho)} is asked, {_left(self.rho, self.spent.rho)} is left"
        )

    def _almost_fits(self, total: Triple) -> bool:
        """True where less than a billionth is missing: what floats such as 0.1 add to the numbers they stand for."""
        barely = 1 + Fraction(1, 10**9)
        return (
            total.epsilon is not None
            and total.epsilon <= self.epsilon * barely
            and total.delta <= (self.delta - self.delta_prime) * barely
        )

    def admits_pure(self, *, epsilon: Number) -> bool:
        """True where Σε <= ε would still hold after this much more: the first branch alone."""
        spent = self.spent.epsilon
        return spent is not None and spent + priced_epsilon(epsilon=epsilon) <= self.epsilon

    @property
    def pure_branch_open(self) -> bool:
        """True while Σε <= ε: nothing without a finite ε was bought, and the sum still fits."""
        return self._pure(self.spent)

    @property
    def concentrated_branch_open(self) -> bool:
        """True while Σρ <= ρ* and δ' > 0."""
        return self._concentrated(self.spent)

    @property
    def counted_in(self) -> str:
        """The branch that is ahead, which what was spent is shown in."""
        return "ε" if self.spent.epsilon == self.spent_epsilon or not self.concentrated_branch_open else "ρ"

    @property
    def spent_epsilon(self) -> Fraction:
        """What to show as spent: ε · min(Σε/ε, Σρ/ρ*), over the branches that are finite. More than ε where a grant was
        lowered below what was spent of it; the whole account where neither branch is finite."""
        shares = [] if self.spent.epsilon is None else [self.spent.epsilon / self.epsilon]
        if self.spent.rho is not None and self.rho:
            shares.append(self.spent.rho / self.rho)
        return self.epsilon * min(shares, default=Fraction(1))


_SLOTS: Final = tuple((each.name, vars(Account)[each.name].__set__) for each in fields(Account) if each.name != "spent")
_WRITE_SPENT: Final = vars(Account)["spent"].__set__
"""Written to directly: a long ledger that is read again makes two accounts for each charge."""


def price_of(event: Event) -> Triple:
    """The `triple` of an event, remembered: two accounts pay for each event, and a ledger that is read again holds the
    same few prices many times."""
    require_event(event)
    return _remembered(event)


_remembered: Final = lru_cache(maxsize=1024)(triple)


def remaining(accounts: Iterable[Account]) -> Fraction:
    """What may still be spent, in ε: a question is paid from all of these accounts, and the smallest rest decides."""
    return max(Fraction(0), min(account.epsilon - account.spent_epsilon for account in accounts))


def admitted_by_all(event: Event | None, accounts: Iterable[Account]) -> bool:
    """Whether each account can pay for all of it, since half a payment is none; nothing costs nothing."""
    return event is None or all(account.admits(event) for account in accounts)


def more_like(prices: Sequence[Triple], accounts: Iterable[Account]) -> int | None:
    """How many more releases of the mean of these prices all accounts would admit, each in the branch that goes
    further; None where they cost nothing. Of at least one price."""
    mean = [_mean([getattr(price, part) for price in prices]) for part in ("epsilon", "delta", "rho")]
    return min((_times(account, mean) for account in accounts), default=None) if any(mean) else None


def _mean(parts: Sequence[Fraction | None]) -> Fraction | None:
    known = [part for part in parts if part is not None]
    return sum(known, Fraction(0)) / len(parts) if len(known) == len(parts) else None


def _times(account: Account, mean: Sequence[Fraction | None]) -> int:
    epsilon, delta, rho = mean
    spent = account.spent
    branches = [_fits(epsilon, account.epsilon, spent.epsilon)]
    if account.delta_prime:
        branches.append(_fits(rho, account.rho, spent.rho))
    further = max(branches)
    return min(further, _fits(delta, account.delta - account.delta_prime, spent.delta)) if delta else further


def _fits(part: Fraction | None, limit: Fraction, spent: Fraction | None) -> int:
    """How often a part fits into what is left of its limit; an infinite one never does."""
    if part is None or spent is None or spent > limit:
        return 0
    return int((limit - spent) / part) if part else _ENDLESS


def _too_large_a_grant(epsilon: Fraction, limit: Fraction) -> BadParameter:
    return BadParameter(
        f"a grant of epsilon={shown(epsilon)} under an account of {shown(limit)}",
        why="a grant is a spending limit under the account; a larger one would never limit anything",
        fix="grant at most the ε of the account",
    )


def _shown(value: Fraction | None) -> str:
    return "an infinite amount" if value is None else shown(value)


def _left(limit: Fraction, spent: Fraction | None) -> str:
    return shown(Fraction(0) if spent is None else max(Fraction(0), limit - spent))


def _bounded(total: Triple) -> Triple:
    """The total, rounded up where an endless row of odd denominators would make it grow without limit."""
    largest = total.delta.denominator  # no list: each entry of a long ledger comes by here
    for part in (total.epsilon, total.rho):
        if part is not None and part.denominator > largest:
            largest = part.denominator
    if largest.bit_length() <= _LARGEST_DENOMINATOR_BITS:
        return total
    return Triple(epsilon=_coarse(total.epsilon), delta=_up(total.delta), rho=_coarse(total.rho))


def _coarse(value: Fraction | None) -> Fraction | None:
    return None if value is None else _up(value)


def _up(value: Fraction) -> Fraction:
    if value.denominator.bit_length() <= _LARGEST_DENOMINATOR_BITS:
        return value
    return Fraction(-(-(value.numerator << _COARSE_BITS) // value.denominator), 1 << _COARSE_BITS)
