"""price: what a cost buys. Recalled -> Plan: mechanisms, scales, and one event for the account.

Laplace, selection: ε is the cost. Gaussian: the same share of the account in ρ. Of the two the one with less noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, isqrt
from typing import Final

from dpsql.catalog.model import Mode, Noise
from dpsql.errors import BadParameter, NeedsDelta, NotSupported
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import Law, NoisySlotLaw
from dpsql.mechanisms.partition_threshold import LARGEST_SIGMA, SMALLEST_VARIANCE, GaussianThresholdSelection
from dpsql.mechanisms.partitions import PartitionSelection
from dpsql.plan.distances import slot_l1, slot_l2_squared
from dpsql.plan.finer import Finer
from dpsql.plan.recall import Recalled, Stored, most_precise
from dpsql.plan.steps import MeasurementStep, SelectionStep, SlotNoise, Step, released_noises
from dpsql.plan.terms import Terms
from dpsql.privacy.events import Composed, DiscreteGaussian, Event, Pure
from dpsql.privacy.unit import Neighbours
from dpsql.require import shown
from dpsql.sql.ball import COUNT_GRAIN, ball
from dpsql.sql.bound import Bounded, PlacedSlot
from dpsql.sql.instead import EXAMPLES, of_listed_groups
from dpsql.sql.keys import PrivateKey
from dpsql.sql.rewrite import Measuring, Rewritten, Selecting, Statement, Unprotected

__all__ = [
    "MeasurementStep",
    "Plan",
    "SelectionStep",
    "SlotNoise",
    "Step",
    "coarser",
    "epsilon_for",
    "gaussian_step",
    "price",
    "released_noises",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that will happen, priced before any of it does."""

    recalled: Recalled
    terms: Terms
    steps: tuple[Step, ...]
    stored: Stored | None = None
    """A stored release that is at least as precise as what the steps would buy: then none of them is taken."""
    finer: Finer | None = None
    """A stored release that the steps make finer, instead of buying everything anew."""

    @property
    def rewritten(self) -> Rewritten:
        return self.recalled.rewritten

    @property
    def bounded(self) -> Bounded:
        return self.rewritten.bounded

    @property
    def event(self) -> Event | None:
        """Everything the steps do; None: nothing private is read."""
        return Composed(tuple(step.event for step in self.steps)) if self.steps else None

    @property
    def charged(self) -> Event | None:
        """What the account is charged; None: free, because nothing private is read or a stored release is told."""
        return None if self.stored is not None else self.event

    @property
    def cost(self) -> Fraction:
        """In ε of the account."""
        if self.charged is None:
            return Fraction(0)
        return self.terms.cost if self.finer is None else self.finer.cost

    @property
    def rho(self) -> Fraction | None:
        """The ρ that the numbers are bought for, as asked for and before σ² is rounded up; None where it is not ρ."""
        if self.finer is not None:
            return self.finer.rho
        last = self.steps[-1] if self.steps else None
        if not isinstance(last, MeasurementStep) or not isinstance(last.event, DiscreteGaussian):
            return None
        first = isinstance(self.steps[0], SelectionStep)
        return self.terms.gaussian_rho * (1 - (self.terms.selection_share or 0) if first else 1)

    @property
    def people(self) -> int | None:
        """Where private keys are selected: from about how many people on a key is shown."""
        return next((step.people for step in self.steps if isinstance(step, SelectionStep)), None)

    @property
    def noises(self) -> tuple[SlotNoise, ...]:
        """One per slot, in the order of the slots."""
        return released_noises(self.steps)


def price(recalled: Recalled, terms: Terms) -> Plan:
    """The plan this cost buys; the stored release it need not buy again."""
    plan = Plan(recalled=recalled, terms=terms, steps=_steps(recalled.rewritten, terms))
    wanted = tuple(noise.carried for noise in plan.noises)
    found = most_precise(recalled.stored, wanted, people=plan.people, confidence=terms.confidence)
    return replace(plan, stored=found)


def _steps(rewritten: Rewritten, terms: Terms) -> tuple[Step, ...]:
    match rewritten:
        case Unprotected():
            return ()
        case Measuring():
            return (_measured(rewritten.measurement, rewritten.bounded, terms, share=Fraction(1)),)
        case Selecting():
            return _selected(rewritten, terms)


def _selected(rewritten: Selecting, terms: Terms) -> tuple[Step, ...]:
    """Keys first, then values over them; where people per key is the question, both at once."""
    bounded, statement = rewritten.bounded, rewritten.selection
    if terms.delta is None or not terms.delta:
        raise _needs_delta(bounded)
    if rewritten.measurement is None:
        return (_selection(statement, bounded, terms, share=Fraction(1)),)
    if bounded.only_people and terms.gaussian_rho and terms.noise is not Noise.LAPLACE:
        return (_counted(statement, bounded, terms),)
    if terms.selection_share is None:
        raise _needs_share(bounded)
    currency = _one_currency(bounded, terms, share=1 - terms.selection_share)
    return (
        _selection(statement, bounded, currency, share=terms.selection_share),
        _measured(rewritten.measurement, bounded, currency, share=1 - terms.selection_share),
    )


def _one_currency(bounded: Bounded, terms: Terms, *, share: Fraction) -> Terms:
    """All steps in ε, or all in ρ: one Gaussian step closes the first branch for the others of its plan too."""
    if not terms.pure:
        return terms
    if bounded.mode is Mode.SCALE or _gaussian_is_better(bounded, terms, share):
        return replace(terms, pure=False)
    return replace(terms, gaussian_rho=Fraction(0))


def _needs_share(bounded: Bounded) -> NeedsDelta:
    return _cannot_find_groups(
        bounded,
        "must be found first, and the policy does not say what part of the price that takes",
        why="finding groups and measuring them share one price, and how it is split is the owner's choice",
        owner="set selection_share in [defaults]; 0.25 is usual",
    )


def _needs_delta(bounded: Bounded) -> NeedsDelta:
    return _cannot_find_groups(
        bounded,
        "are not public, so rare ones must be hidden; that needs delta",
        why="a group that only one person has would reveal that person just by being listed",
        owner="list keys = [...], or set delta_per_query and selection_share in [defaults] and a promise with delta",
    )


def _cannot_find_groups(bounded: Bounded, what: str, *, why: str, owner: str) -> NeedsDelta:
    key = next(
        key for key, domain in zip(bounded.query.keys, bounded.domains, strict=True) if isinstance(domain, PrivateKey)
    )
    name = key.text or "this key"
    return NeedsDelta(
        f"the groups of {name} {what}",
        why=why,
        fix=f"list the groups you want, as in WHERE {name} {EXAMPLES[key.expression.type]}: then all are shown, empty "
        f"ones too. The owner can {owner}",
        try_sql=of_listed_groups(key, bounded.query),
        at=key.at,
    )


def _selection(statement: Statement, bounded: Bounded, terms: Terms, *, share: Fraction) -> SelectionStep:
    """The rule that shows smaller groups: independent decisions, or one Gaussian threshold."""
    optimal = _independent(bounded, terms, share=share)
    if not terms.gaussian_rho or terms.noise is Noise.LAPLACE:
        return SelectionStep(statement=statement, mechanism=optimal, counts=None)
    threshold = _threshold(bounded, terms, share=share)
    smaller = threshold if threshold.threshold < optimal.even_chance else optimal
    return SelectionStep(statement=statement, mechanism=smaller, counts=None)


def _independent(bounded: Bounded, terms: Terms, *, share: Fraction) -> PartitionSelection[tuple[object, ...]]:
    try:
        return PartitionSelection(
            epsilon=epsilon_for(terms, share=share, parts=_changed_keys(bounded)),
            delta=terms.delta or Fraction(0),
            keys_per_unit=bounded.groups,
            neighbours=bounded.neighbours,
        )
    except BadParameter as error:
        raise BadParameter(
            f"groups cannot be found at COST {shown(terms.cost)}",
            why=f"{error.why}",
            fix="pay more, or list the groups you want: WHERE … IN (…)",
        ) from None


def _threshold(bounded: Bounded, terms: Terms, *, share: Fraction) -> GaussianThresholdSelection[tuple[object, ...]]:
    variance = coarser(Fraction(_changed_keys(bounded)) / (2 * terms.gaussian_rho * share))
    if not SMALLEST_VARIANCE <= variance <= LARGEST_SIGMA**2:
        raise BadParameter(
            f"groups cannot be found with Gaussian noise at COST {shown(terms.cost)}",
            why="noise this narrow hides nothing, and noise this wide hides every group",
            fix=f"choose a cost between {shown(terms.cost * variance / LARGEST_SIGMA**2 * Fraction(101, 100))} and "
            f"{shown(terms.cost * variance / SMALLEST_VARIANCE * Fraction(99, 100))}",
        )
    return GaussianThresholdSelection(
        sigma_squared=variance,
        delta=terms.delta or Fraction(0),
        keys_per_unit=bounded.groups,
        neighbours=bounded.neighbours,
    )


def _changed_keys(bounded: Bounded) -> int:
    """In how many keys two neighbours may differ."""
    return bounded.groups * (2 if bounded.neighbours is Neighbours.CHANGE_ONE else 1)


def epsilon_for(terms: Terms, *, share: Fraction, parts: int = 1) -> Fraction:
    """The ε, all together, that `share` of the cost buys for `parts` independent decisions of equal ε.

    Theorem   docs/theorems/event_triples.md: on the first branch, and where Laplace noise is asked for by name, the
              cost itself; on the second, where such decisions cost ρ = ε²/(2·parts) together, the ε whose ρ is the
              same share of ρ*.
    Requires  0 < share <= 1, parts >= 1.
    Rounds    down.
    """
    if terms.pure or not terms.gaussian_rho or terms.noise is Noise.LAPLACE:
        return terms.cost * share
    return Fraction(isqrt(floor(2 * parts * terms.gaussian_rho * share * 4**_BITS_OF_ROOT)), 2**_BITS_OF_ROOT)


def _counted(statement: Statement, bounded: Bounded, terms: Terms) -> SelectionStep:
    """The thresholded noisy number of people is the answer."""
    mechanism = _threshold(bounded, terms, share=Fraction(1))
    (placed,) = bounded.slots
    law = DiscreteGaussianLaw(sigma_squared=Fraction(mechanism.sigma_squared))
    noise = SlotNoise(placed=placed, carried=NoisySlotLaw(law=law, grain=Fraction(1), above=mechanism.threshold))
    return SelectionStep(statement=statement, mechanism=mechanism, counts=noise)


def _measured(statement: Statement, bounded: Bounded, terms: Terms, *, share: Fraction) -> MeasurementStep:
    """One joint mechanism for all slots: each gets the same share of the price."""
    if bounded.mode is Mode.SCALE or _gaussian_is_better(bounded, terms, share):
        return gaussian_step(statement, bounded, rho=terms.gaussian_rho * share)
    noises, event = _laplace(bounded, epsilon=epsilon_for(terms, share=share))
    return MeasurementStep(statement=statement, noises=noises, event=event)


def gaussian_step(statement: Statement, bounded: Bounded, *, rho: Fraction) -> MeasurementStep:
    """All slots with the Gaussian noise that ρ buys."""
    noises, event = (_scaled if bounded.mode is Mode.SCALE else _gaussian)(bounded, rho=rho)
    return MeasurementStep(statement=statement, noises=noises, event=event)


def _distances(bounded: Bounded) -> list[tuple[PlacedSlot, int, int]]:
    grouped = bool(bounded.query.keys)
    return [
        (
            placed,
            slot_l1(placed.slot, groups=bounded.groups, neighbours=bounded.neighbours, grouped=grouped),
            slot_l2_squared(placed.slot, groups=bounded.groups, neighbours=bounded.neighbours, grouped=grouped),
        )
        for placed in bounded.slots
    ]


def _gaussian_is_better(bounded: Bounded, terms: Terms, share: Fraction) -> bool:
    """The smaller variance at this cost, slot by slot in its own unit; ties to Laplace."""
    if terms.noise is Noise.LAPLACE:
        return False
    if not terms.gaussian_rho:
        if terms.noise is Noise.GAUSSIAN:
            raise NotSupported(
                "this account grants no Gaussian noise",
                why="it has no δ', or its second branch is spent",
                fix='leave noise out, or say noise = "laplace"',
            )
        return False
    if terms.noise is Noise.GAUSSIAN:
        return True
    slots = len(bounded.slots)
    epsilon, rho = epsilon_for(terms, share=share), terms.gaussian_rho * share
    distances = _distances(bounded)
    laplace = sum(Fraction(l1 * l1, placed.slot.reach**2) for placed, l1, _ in distances)
    gaussian = sum(Fraction(l2_squared, placed.slot.reach**2) for placed, _, l2_squared in distances)
    return gaussian * slots / (2 * rho) < laplace * 2 * (slots / epsilon) ** 2


def _laplace(bounded: Bounded, *, epsilon: Fraction) -> tuple[tuple[SlotNoise, ...], Event]:
    """Basic composition over slots: each is (ε/slots)-DP by itself.

    Theorem   docs/theorems/discrete_laplace.md, basic_composition.md.
    Requires  the distances of docs/theorems/bounding.md.
    Rounds    nothing.
    """
    slots = len(bounded.slots)
    noises = tuple(
        _noise(placed, DiscreteLaplaceLaw(scale=Fraction(l1 * slots) / epsilon))
        for placed, l1, _ in _distances(bounded)
    )
    return noises, Pure(epsilon=epsilon)


def _gaussian(bounded: Bounded, *, rho: Fraction) -> tuple[tuple[SlotNoise, ...], Event]:
    """ρ adds up over slots: each is (ρ/slots)-zCDP by itself.

    Theorem   docs/theorems/discrete_gaussian.md, zcdp.md.
    Requires  the distances of docs/theorems/bounding.md.
    Rounds    σ² up, and ρ is what the rounded σ² costs.
    """
    slots = len(bounded.slots)
    unit = coarser(Fraction(slots) / (2 * rho))
    noises = tuple(
        _noise(placed, DiscreteGaussianLaw(sigma_squared=l2_squared * unit))
        for placed, _, l2_squared in _distances(bounded)
    )
    if slots == 1 and not bounded.query.keys:  # one number: its own σ² and distance, as exact theorems read them
        (_, _, l2_squared), *_ = _distances(bounded)
        return noises, DiscreteGaussian(sigma_squared=l2_squared * unit, l2_squared=Fraction(l2_squared))
    return noises, DiscreteGaussian(sigma_squared=unit, l2_squared=Fraction(slots), dimensions=2)


def _scaled(bounded: Bounded, *, rho: Fraction) -> tuple[tuple[SlotNoise, ...], Event]:
    """The ball of scale mode: coordinate j has unit U/w_j, and the whole vector norm √(G·slots) in units.

    Theorem   docs/theorems/bounding.md, discrete_gaussian.md.
    Requires  contributions inside the ball; under change_one two of them, so twice the radius.
    Rounds    σ² up, and ρ is what the rounded σ² costs.
    """
    slots = [placed.slot for placed in bounded.slots]
    inside = ball(slots, groups=bounded.groups)
    l2_squared = bounded.groups * len(slots) * (4 if bounded.neighbours is Neighbours.CHANGE_ONE else 1)
    unit = coarser(Fraction(l2_squared) / (2 * rho))
    noises = tuple(
        SlotNoise(
            placed=placed,
            carried=NoisySlotLaw(
                law=DiscreteGaussianLaw(sigma_squared=Fraction(inside.unit, weight) ** 2 * unit),
                grain=placed.slot.size * (COUNT_GRAIN if placed.slot.counts else 1),
                rounded=placed.slot.size == 1,
            ),
        )
        for placed, weight in zip(bounded.slots, inside.weights, strict=True)
    )
    return noises, DiscreteGaussian(sigma_squared=unit, l2_squared=Fraction(l2_squared), dimensions=2)


def _noise(placed: PlacedSlot, law: Law) -> SlotNoise:
    return SlotNoise(placed=placed, carried=NoisySlotLaw(law=law, grain=placed.slot.size))


_BITS: Final = 24
_BITS_OF_ROOT: Final = 40


def coarser(value: Fraction) -> Fraction:
    """At least `value`, with a numerator of 24 bits over a power of two: a σ² that a sampler likes."""
    shift = value.numerator.bit_length() - value.denominator.bit_length() - _BITS
    unit = Fraction(2) ** shift
    return -(-value // unit) * unit
