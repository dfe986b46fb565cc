"""recall: is the question answered already? What the plan knows about stored releases of the same private part.

A stored release is free to tell again, alone or averaged with others of the same question: it is post-processing of
what was released once.
Theorem: docs/theorems/post_processing.md, top_up.md. How one is made finer: `Finer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from operator import le

from dpsql.mechanisms.margins import AveragedSlotLaw, NoisySlotLaw, SlotLaw, averaged_slot, linear_margin
from dpsql.plan.question import Identity
from dpsql.sql.rewrite import Rewritten


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One release: where in it the slots of this question stand, and the noise they carry."""

    receipt: int
    noises: tuple[NoisySlotLaw, ...]
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A stored answer: the release it was told under, and where in it the slots of this question stand, with the
    noise they carry when they are told."""

    receipt: int
    noises: tuple[SlotLaw, ...]
    places: tuple[int, ...]
    people: int | None = None
    """Where private keys were selected: from about how many people on a key had an even chance, or would have had for
    the price the answer was asked at."""
    releases: tuple[Measured, ...] = ()
    """The releases it is the average of, oldest first; none: it is a release by itself."""
    answers: tuple[NoisySlotLaw, ...] = ()
    """Of an answer that was made finer: the noise of the answer that was asked for in its place."""
    alone: bool = False
    """It holds the slots of this question and no others: it can be made finer."""
    rho: Fraction | None = None
    """The ρ its numbers were bought for in all; None where they were not bought in ρ."""
    paid: Fraction = Fraction(0)
    """What was paid for it in all, in ε of the account."""
    own: bool = True
    """It was told to the analyst who asks now, all of it."""
    first: int | None = None
    """The receipt that what it makes finer began with; None where it begins itself."""

    @property
    def measured(self) -> tuple[Measured, ...]:
        """The releases it is made of, oldest first."""
        plain = tuple(noise for noise in self.noises if isinstance(noise, NoisySlotLaw))
        return self.releases or (Measured(receipt=self.receipt, noises=plain, places=self.places),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A query, what makes it the question it is, and the stored releases that answer it, oldest first."""

    rewritten: Rewritten
    identity: Identity
    data_version: str
    stored: tuple[Stored, ...] = ()
    fresh: int | None = None
    """New noise is asked for beside so many releases: none of them is then looked at. None: it is not."""

    @property
    def paid(self) -> Fraction:
        """What was paid for a stored answer that can be made finer: so much need not be paid again. At most."""
        return max((stored.paid for stored in self.stored if stored.alone), default=Fraction(0))


def averaged_noises(releases: tuple[Measured, ...]) -> tuple[AveragedSlotLaw, ...]:
    """The noise of each slot in the average of some releases."""
    return tuple(map(averaged_slot, zip(*(each.noises for each in releases), strict=True)))


def most_precise(
    stored: tuple[Stored, ...], wanted: tuple[NoisySlotLaw, ...], *, people: int | None, confidence: Fraction
) -> Stored | None:
    """The most precise of the stored releases whose margins are all at most the ones asked for; None: there is none.

    Keys that were selected more coarsely than asked for are not precise enough either. What was made finer is as good
    as the answer it was sold as.
    """
    if not stored:
        return None
    asked = _margins(wanted, confidence)
    found = []
    for release in stored:
        margins = _margins(release.noises, confidence)
        sold = _margins(release.answers, confidence) or margins
        finer = people is None or (release.people is not None and release.people <= people)
        if finer and len(margins) == len(asked) and all(map(le, map(min, margins, sold), asked)):
            found.append(((margins, release.people or 0), release))
    return min(found, key=lambda each: each[0])[1] if found else None


def by_precision(stored: tuple[Stored, ...], *, confidence: Fraction) -> list[Stored]:
    """Stored releases of one question, the smallest margins first."""
    return sorted(stored, key=lambda each: (_margins(each.noises, confidence), each.people or 0))


def _margins(noises: tuple[SlotLaw, ...], confidence: Fraction) -> list[Fraction]:
    return [linear_margin([(Fraction(1), noise)], confidence=confidence) for noise in noises]


class Way(Enum):
    """Theorem: docs/theorems/top_up.md, a paragraph for each."""

    MEASURED = "measured"
    """Gaussian: a second measurement for the difference of the prices, averaged with what is stored."""
    AVERAGED = "averaged"
    """A whole answer at its own price, averaged with what is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finer:
    """The stored answer that the steps of a plan make finer."""

    upon: Stored
    way: Way
    cost: Fraction
    """In ε of the account: what is still to be paid."""
    answers: tuple[NoisySlotLaw, ...]
    """The noise of the answer that was asked for: what is told is as precise."""
    rho: Fraction | None
    """What all of it is bought for in ρ; None where it is not all bought in ρ."""
    people: int | None
    """Where keys are private: from about how many people on such an answer would have shown a key."""
