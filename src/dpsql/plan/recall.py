"""recall: is the question answered already? What the plan knows about stored releases of the same private part.

A stored release is free to tell again: it is post-processing of what was released once.
Theorem: docs/theorems/post_processing.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from operator import le

from dpsql.mechanisms.margins import NoisySlotLaw, linear_margin
from dpsql.plan.question import Identity
from dpsql.sql.rewrite import Rewritten


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A stored release: its receipt, and where in it the slots of this question stand, with the noise they carry."""

    receipt: int
    noises: tuple[NoisySlotLaw, ...]
    places: tuple[int, ...]
    people: int | None = None
    """Where private keys were selected: from about how many people on a key had an even chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A query, what makes it the question it is, and the stored releases that answer it, oldest first."""

    rewritten: Rewritten
    identity: Identity
    data_version: str
    stored: tuple[Stored, ...] = ()


def precise_enough(
    stored: tuple[Stored, ...], wanted: tuple[NoisySlotLaw, ...], *, people: int | None, confidence: Fraction
) -> Stored | None:
    """The most precise stored release, if each of its margins is at most the one asked for.

    Keys that were selected more coarsely than asked for are not precise enough either.
    """
    if not stored:
        return None
    asked = _margins(wanted, confidence)
    found = []
    for release in stored:
        margins = _margins(release.noises, confidence)
        finer = people is None or (release.people is not None and release.people <= people)
        if finer and len(margins) == len(asked) and all(map(le, margins, asked)):
            found.append(((margins, release.people or 0), release))
    return min(found, key=lambda each: each[0])[1] if found else None


def by_precision(stored: tuple[Stored, ...], *, confidence: Fraction) -> list[Stored]:
    """Stored releases of one question, the smallest margins first."""
    return sorted(stored, key=lambda each: (_margins(each.noises, confidence), each.people or 0))


def _margins(noises: tuple[NoisySlotLaw, ...], confidence: Fraction) -> list[Fraction]:
    return [linear_margin([(Fraction(1), noise)], confidence=confidence) for noise in noises]
