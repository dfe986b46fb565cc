"""Approximate privacy as pure privacy up to a small change of the law: the witnesses themselves."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

from dpsql.privacy.pmf import Masses, Pair, paired, ratio_below
from dpsql.require import Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Laws Y' and Z' close to Y and Z, by outcome, and their statistical distances from Y and Z, all exact."""

    y: dict[Hashable, Fraction]
    z: dict[Hashable, Fraction]
    distance_y: Fraction
    distance_z: Fraction


def delta_close_witness(p: Masses, q: Masses, *, epsilon: Number) -> Witness:
    """Y' and Z' with D∞(Y'‖Z') <= ε and D∞(Z'‖Y') <= ε, each within δ/(exp(ε) + 1) of Y and of Z.

    δ is the larger hockey-stick divergence of the two directions.

    Theorem   Dwork, Roth (2014), Lemma 3.17(2), with both directions stated (docs/theorems/delta_close.md).
    Requires  ε >= 0.
    Rounds    exp(ε) down by 2^-256, so both bounds hold for sure; the distances grow by as little.
    """
    pair, ratio = paired(p, q), ratio_below(epsilon)
    y, z = _laws(pair)
    y_over = [max(Fraction(0), a - ratio * b) / (1 + ratio) for a, b in zip(y, z, strict=True)]
    z_over = [max(Fraction(0), b - ratio * a) / (1 + ratio) for a, b in zip(y, z, strict=True)]
    # What leaves one law at an outcome enters the other at the same outcome, until the ratio is exactly exp(±ε).
    y_near = [a - over + under for a, over, under in zip(y, y_over, z_over, strict=True)]
    z_near = [b + over - under for b, over, under in zip(z, y_over, z_over, strict=True)]
    missing = sum(y_over) - sum(z_over)
    # The law that lost more is refilled where it is the smaller one, and the other drained there, at most to equality.
    room = [max(Fraction(0), (b - a) if missing > 0 else (a - b)) / 2 for a, b in zip(y_near, z_near, strict=True)]
    y_final = _spread(y_near, room, Fraction(missing))
    z_final = _spread(z_near, room, Fraction(-missing))
    return _witness(pair, y_final, z_final)


def _laws(pair: Pair) -> tuple[list[Fraction], list[Fraction]]:
    return [Fraction(a, pair.total) for a in pair.p], [Fraction(b, pair.total) for b in pair.q]


def _spread(law: list[Fraction], room: list[Fraction], mass: Fraction) -> list[Fraction]:
    """`law` plus `mass` (or minus, if negative), shared out in proportion to the room at each outcome."""
    if mass == 0:
        return law
    available = sum(room)
    return [a + mass * share / available for a, share in zip(law, room, strict=True)]


def _witness(pair: Pair, y: list[Fraction], z: list[Fraction]) -> Witness:
    before_y, before_z = _laws(pair)
    return Witness(
        y=dict(zip(pair.outcomes, y, strict=True)),
        z=dict(zip(pair.outcomes, z, strict=True)),
        distance_y=_distance(before_y, y),
        distance_z=_distance(before_z, z),
    )


def _distance(first: list[Fraction], second: list[Fraction]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(first, second, strict=True)), Fraction(0)) / 2
