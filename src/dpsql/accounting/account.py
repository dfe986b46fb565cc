"""The account rule: how far an open-ended, adaptive conversation may go under one (ε, δ) promise.

A value, not a store: no clock, no file, no lock. Whoever keeps accounts replaces the value in a transaction.
Proof: docs/theorems/account_rule.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from dpsql.accounting.limits import priced_epsilon, shown
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.accounting.zcdp import largest_rho
from dpsql.errors import BadParameter, BudgetExhausted
from dpsql.privacy.events import Event
from dpsql.privacy.rounding import exact
from dpsql.require import Number, require_delta

_LARGEST_DENOMINATOR_BITS: Final = 8192
_COARSE_BITS: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A promise (ε, δ), the part δ' of δ that is reserved for ever, the limit ρ* this buys, and what was spent.

    Invariant: Σδ <= δ − δ'  and  (Σε <= ε  or  Σρ <= ρ*). `Account.opened` is the way in.
    """

    epsilon: Fraction
    delta: Fraction
    delta_prime: Fraction
    rho: Fraction
    """ρ*: the largest ρ whose zCDP conversion at δ' is at most ε; 0 where δ' = 0."""
    spent: Triple = FREE

    @classmethod
    def opened(cls, *, epsilon: Number, delta: Number, delta_prime: Number) -> Account:
        """A fresh account.

        Theorem   docs/theorems/account_rule.md: the whole conversation is (ε, δ)-DP, whatever is asked and when.
        Requires  ε > 0, 0 <= δ' <= δ < 1. With δ' = 0 Gaussian noise cannot be paid from it.
        Rounds    ρ* down.
        """
        size = priced_epsilon(epsilon=epsilon)
        require_delta(delta=delta, delta_prime=delta_prime)
        whole, reserved = exact(delta), exact(delta_prime)
        if reserved > whole:
            raise BadParameter(
                f"delta_prime={shown(reserved)} is above delta={shown(whole)}",
                why="δ' is the part of δ kept back for the zCDP branch",
                fix="choose δ' between 0 and δ; half of δ is usual",
            )
        limit = largest_rho(epsilon=size, delta=reserved).rho if reserved else Fraction(0)
        return cls(epsilon=size, delta=whole, delta_prime=reserved, rho=limit)

    def grant(self, *, epsilon: Number) -> Account:
        """A spending limit under this account: its own ε, the same δ, δ' and exchange rate ρ*/ε.

        Not a promise of its own. A charge must be admitted by the grant and by the account it belongs to.
        """
        size = priced_epsilon(epsilon=epsilon)
        return replace(self, epsilon=size, rho=self.rho_for(epsilon=size), spent=FREE)

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
        after = _bounded(self.spent + triple(event))
        if not self._holds(after):
            raise BudgetExhausted(
                "the account cannot pay for this release",
                why=self._shortfall(after),
                fix="ask for less accuracy, or have the owner of the data open a new promise",
            )
        return replace(self, spent=after)

    def _holds(self, total: Triple) -> bool:
        return total.delta <= self.delta - self.delta_prime and (self._pure(total) or self._concentrated(total))

    def _pure(self, total: Triple) -> bool:
        return total.epsilon is not None and total.epsilon <= self.epsilon

    def _concentrated(self, total: Triple) -> bool:
        return self.delta_prime > 0 and total.rho is not None and total.rho <= self.rho

    def _shortfall(self, total: Triple) -> str:
        if total.delta > self.delta - self.delta_prime:
            return "the δ of all releases would add up to more than δ − δ'"
        if not self.delta_prime and total.epsilon is None:
            return "Gaussian noise has no finite ε, and without a δ' the account has no zCDP branch"
        return "the loss of all releases would pass ε, counted in ε and counted in ρ"

    @property
    def pure_branch_open(self) -> bool:
        """True while Σε <= ε: nothing without a finite ε was bought, and the sum still fits."""
        return self._pure(self.spent)

    @property
    def concentrated_branch_open(self) -> bool:
        """True while Σρ <= ρ* and δ' > 0."""
        return self._concentrated(self.spent)

    @property
    def spent_epsilon(self) -> Fraction:
        """What to show as spent: ε · min(Σε/ε, Σρ/ρ*), over the branches that are open."""
        shares = [self.spent.epsilon / self.epsilon] if self.pure_branch_open and self.spent.epsilon is not None else []
        if self.concentrated_branch_open and self.spent.rho is not None and self.rho:
            shares.append(self.spent.rho / self.rho)
        return self.epsilon * min(shares, default=Fraction(1))


def _bounded(total: Triple) -> Triple:
    """The total, rounded up where an endless row of odd denominators would make it grow without limit."""
    return Triple(epsilon=_coarse(total.epsilon), delta=_up(total.delta), rho=_coarse(total.rho))


def _coarse(value: Fraction | None) -> Fraction | None:
    return None if value is None else _up(value)


def _up(value: Fraction) -> Fraction:
    if value.denominator.bit_length() <= _LARGEST_DENOMINATOR_BITS:
        return value
    return Fraction(-(-(value.numerator << _COARSE_BITS) // value.denominator), 1 << _COARSE_BITS)
