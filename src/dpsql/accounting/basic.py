"""Basic composition: privacy losses add up, even when each question is chosen after seeing the answers before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dpsql.accounting.limits import priced_lists
from dpsql.accounting.spend import spends, total
from dpsql.errors import BadParameter
from dpsql.privacy.events import Event
from dpsql.privacy.rounding import exact, round_up
from dpsql.require import Number, require_delta, shown

_BITS: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicTotal:
    """What a sequence of (ε_i, δ_i) releases costs together. Either δ may be quoted with ε."""

    epsilon: Fraction
    delta_sum: Fraction
    delta_product: Fraction
    """1 − ∏(1 − δ_i), the smaller of the two. It needs parameters fixed in advance; the sum does not."""


def compose_basic(*, epsilons: Sequence[Number], deltas: Sequence[Number]) -> BasicTotal:
    """The total of releases with these (ε_i, δ_i).

    Theorem   Dwork, Roth (2014), Thm. 3.14 and 3.16: (Σε, Σδ). Kairouz, Oh, Viswanath (2015): δ = 1 − ∏(1 − δ_i).
    Requires  lists of equal length, ε_i > 0, 0 <= δ_i < 1.
    Rounds    nothing in ε and δ_sum; δ_product up, by less than 2**-200.
    """
    pairs = priced_lists(epsilons=epsilons, deltas=deltas)
    return BasicTotal(
        epsilon=sum((epsilon for epsilon, _ in pairs), Fraction(0)),
        delta_sum=sum((delta for _, delta in pairs), Fraction(0)),
        delta_product=1 - survival((delta, 1) for _, delta in pairs),
    )


def survival(deltas: Iterable[tuple[Fraction, int]]) -> Fraction:
    """A lower bound of ∏(1 − δ)^count: the probability that nothing exceptional happens.

    Theorem   exceptions of independent worst cases: docs/theorems/basic_composition.md. Powers by squaring.
    Requires  0 <= δ < 1 and count >= 0 in every pair.
    Rounds    down, to a multiple of 2**-256 after every product; exact where all factors are 1.
    """
    one = 1 << _BITS
    product = one
    for delta, count in deltas:
        factor = one - -(-(delta.numerator << _BITS) // delta.denominator)
        while count:
            if count & 1:
                product = product * factor >> _BITS
            factor, count = factor * factor >> _BITS, count >> 1
    return Fraction(product, one)


def epsilon_of(event: Event, *, delta: Number) -> float:
    """The ε of a history by basic composition, where its δ add up to at most `delta`.

    Theorem   Dwork, Roth (2014), Thm. 3.16; a filter: the parts may be chosen after seeing answers.
    Requires  events with a finite ε.
    Rounds    up to a float.
    """
    require_delta(delta=delta)
    whole = total(spends(event))
    if whole.delta > exact(delta):
        raise delta_too_small(delta)
    return round_up(whole.epsilon)


def slack_after(spent: Fraction, *, delta: Number) -> Fraction:
    """δ − Σδ: what the releases leave of a total δ for a theorem that needs slack. Refused where that is nothing."""
    left = exact(delta) - spent
    if left <= 0:
        raise delta_too_small(delta)
    return left


def delta_too_small(delta: Number) -> BadParameter:
    """The refusal of every accountant whose events need more δ than the caller offers."""
    return BadParameter(
        f"delta={shown(delta)} does not cover the δ of the events",
        why="every release may fail with its own δ; the whole cannot fail less often than its parts add up to",
        fix="ask for a larger δ; theorems that need a slack want it strictly larger",
    )
