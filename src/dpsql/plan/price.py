"""price: what a cost buys. Recalled -> Plan: mechanisms, scales, and one event for the account.

First the terms: what the accounts make of a cost, before anything is planned with it.

Laplace, selection: ε is the cost. Gaussian: the same share of the account in ρ. Of the two the one with less noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, isqrt
from typing import Final, TypeAlias

from dpsql.accounting.account import Account
from dpsql.accounting.limits import LARGEST_EPSILON, SMALLEST_EPSILON
from dpsql.accounting.triple import FREE
from dpsql.catalog.model import Defaults, Mode, Noise
from dpsql.errors import BadParameter, NeedsDelta, NotSupported
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import NoisySlotLaw
from dpsql.mechanisms.noise_sum import Law
from dpsql.mechanisms.partition_threshold import LARGEST_SIGMA, SMALLEST_VARIANCE, GaussianThresholdSelection
from dpsql.mechanisms.partitions import PartitionSelection
from dpsql.plan.recall import Finer, Recalled, Stored, Way, by_precision, most_precise
from dpsql.privacy.events import Composed, DiscreteGaussian, Event, Pure
from dpsql.privacy.unit import Neighbours
from dpsql.require import shown
from dpsql.sql.bound import Bounded, PlacedSlot
from dpsql.sql.instead import EXAMPLES, of_listed_groups
from dpsql.sql.keys import PrivateKey
from dpsql.sql.rewrite import Measuring, Rewritten, Selecting, Statement, Unprotected
from dpsql.sql.slots import COUNT_GRAIN, ball


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is offered for an answer, and what the account makes of it."""

    cost: Fraction
    """In ε of the account."""
    confidence: Fraction
    noise: Noise | None
    pure: bool
    """The account's first branch would grant the cost as ε. Once it is closed, everything is counted in ρ."""
    gaussian_rho: Fraction
    """The ρ this cost buys: the same share of ρ* as the cost is of ε; 0 where the account grants no Gaussian noise."""
    selection_share: Fraction | None
    delta: Fraction | None
    """What finding private keys may spend of δ."""


def terms(
    cost: Fraction, *, confidence: Fraction, noise: Noise | None, defaults: Defaults, accounts: tuple[Account, ...]
) -> Terms:
    """What this cost buys from accounts that must all grant it."""
    if not SMALLEST_EPSILON <= cost <= LARGEST_EPSILON:
        raise BadParameter(
            f"nothing can be bought at COST {shown(cost)}",
            why="no account is opened for so much, and noise for so little is too wide to be drawn",
            fix=f"choose a cost between {shown(SMALLEST_EPSILON)} and {shown(LARGEST_EPSILON)}",
        )
    return Terms(
        cost=cost,
        confidence=confidence,
        noise=noise,
        pure=all(account.admits_pure(epsilon=cost) for account in accounts),
        gaussian_rho=_gaussian_rho(cost, accounts),
        selection_share=defaults.selection_share,
        delta=defaults.delta_per_query,
    )


def as_if_unspent(offered: Terms, accounts: tuple[Account, ...]) -> Terms:
    """With the Gaussian noise that the accounts would have granted at first."""
    return replace(
        offered,
        gaussian_rho=_gaussian_rho(offered.cost, tuple(replace(account, spent=FREE) for account in accounts)),
    )


def _gaussian_rho(cost: Fraction, accounts: tuple[Account, ...]) -> Fraction:
    """The ρ this cost buys, or 0 where some account would not grant a Gaussian of it at this price.

    The first Gaussian closes the first branch: answers bought before it are then counted in ρ, where they may weigh
    more. An account that would so lose more than the cost does not grant it, as long as its first branch is open.
    """
    rho = min(account.rho_for(epsilon=cost) for account in accounts)
    if not rho:
        return Fraction(0)
    event = DiscreteGaussian(sigma_squared=1 / (2 * rho), l2_squared=Fraction(1))
    return rho if grant_at(accounts, event, cost) else Fraction(0)


def grant_at(accounts: Iterable[Account], event: Event, cost: Fraction) -> bool:
    """All accounts admit the event, and lose no more by it than it is said to cost."""
    return all(
        account.admits(event) and account.charged(event).spent_epsilon - account.spent_epsilon <= cost
        for account in accounts
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotNoise:
    """The noise of one slot."""

    placed: PlacedSlot
    carried: NoisySlotLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionStep:
    """Which private keys may be shown."""

    statement: Statement
    mechanism: PartitionSelection[tuple[object, ...]] | GaussianThresholdSelection[tuple[object, ...]]
    counts: SlotNoise | None
    """The noisy numbers of people are released with the keys, and answer this slot."""

    @property
    def event(self) -> Event:
        return self.mechanism.event

    @property
    def people(self) -> int:
        """From about how many people on a key has an even chance to be shown."""
        if isinstance(self.mechanism, GaussianThresholdSelection):
            return self.mechanism.threshold
        return self.mechanism.even_chance


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementStep:
    """All slots of all keys, with noise."""

    statement: Statement
    noises: tuple[SlotNoise, ...]
    event: Event


Step: TypeAlias = SelectionStep | MeasurementStep


def released_noises(steps: Sequence[Step]) -> tuple[SlotNoise, ...]:
    """The noise of what the last step releases."""
    last = steps[-1] if steps else None
    if last is None or isinstance(last, MeasurementStep):
        return () if last is None else last.noises
    return () if last.counts is None else (last.counts,)


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
        raise _cannot_find_groups(
            bounded,
            "are not public, so rare ones must be hidden; that needs delta",
            why="a group that only one person has would reveal that person just by being listed",
            owner="list keys = [...], or set delta_per_query and selection_share in [defaults] and a promise with "
            "delta",
        )
    if rewritten.measurement is None:
        return (_selection(statement, bounded, terms, share=Fraction(1)),)
    if bounded.only_people and terms.gaussian_rho and terms.noise is not Noise.LAPLACE:
        return (_counted(statement, bounded, terms),)
    if terms.selection_share is None:
        raise _cannot_find_groups(
            bounded,
            "must be found first, and the policy does not say what part of the price that takes",
            why="finding groups and measuring them share one price, and how it is split is the owner's choice",
            owner="set selection_share in [defaults]; 0.25 is usual",
        )
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
    slots = [placed.slot for placed in bounded.slots]
    epsilon, rho = epsilon_for(terms, share=share), terms.gaussian_rho * share
    laplace = sum(Fraction(bounded.l1(slot) ** 2, slot.reach**2) for slot in slots)
    gaussian = sum(Fraction(bounded.l2_squared(slot), slot.reach**2) for slot in slots)
    return gaussian * len(slots) / (2 * rho) < laplace * 2 * (len(slots) / epsilon) ** 2


def _laplace(bounded: Bounded, *, epsilon: Fraction) -> tuple[tuple[SlotNoise, ...], Event]:
    """Basic composition over slots: each is (ε/slots)-DP by itself.

    Theorem   docs/theorems/discrete_laplace.md, basic_composition.md.
    Requires  the distances of docs/theorems/bounding.md.
    Rounds    nothing.
    """
    slots = len(bounded.slots)
    noises = tuple(
        _noise(placed, DiscreteLaplaceLaw(scale=Fraction(bounded.l1(placed.slot) * slots) / epsilon))
        for placed in bounded.slots
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
        _noise(placed, DiscreteGaussianLaw(sigma_squared=bounded.l2_squared(placed.slot) * unit))
        for placed in bounded.slots
    )
    if slots == 1 and not bounded.query.keys:  # one number: its own σ² and distance, as exact theorems read them
        l2_squared = bounded.l2_squared(bounded.slots[0].slot)
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


def topped_up(plan: Plan) -> Plan:
    """The plan that makes a stored release finer, the most precise one that can be; else the same plan.

    Top-up: a question that is stored, asked again for more, pays for what is missing. In this order: Gaussian noise is
    measured once more for the difference in ρ, and averaged with what is stored; everything else is bought whole, and
    averaged. Only releases that hold the very same slots are, with the same keys and salt.

    Theorem   docs/theorems/top_up.md.
    Requires  a priced plan, and stored releases of the same question, policy and data version.
    Rounds    σ² of the second measurement up, as `gaussian_step`.
    """
    if plan.stored is not None or not plan.steps or not isinstance(plan.steps[-1], MeasurementStep):
        return plan
    known = by_precision(plan.recalled.stored, confidence=plan.terms.confidence)
    alone = [stored for stored in known if stored.alone]
    found = (way(plan, stored) for way in _WAYS for stored in alone)
    return next((each for each in found if each is not None), plan)


def _measured_again(plan: Plan, stored: Stored) -> Plan | None:
    """Both Gaussian: the difference in ρ, at the rate of the account. Keys that were found are not bought again."""
    rho, last = plan.rho, plan.steps[-1]
    if rho is None or stored.rho is None or stored.rho >= rho or not _is_gaussian(stored):
        return None
    step = gaussian_step(last.statement, plan.bounded, rho=rho - stored.rho)
    cost = plan.terms.cost * (rho - stored.rho) / plan.terms.gaussian_rho
    finer = Finer(upon=stored, way=Way.MEASURED, cost=cost, answers=_asked(plan), rho=rho, people=plan.people)
    return replace(plan, steps=(step,), finer=finer)


def _is_gaussian(stored: Stored) -> bool:
    return all(isinstance(law, DiscreteGaussianLaw) for noise in stored.noises for _, law in noise.parts)


def _averaged(plan: Plan, stored: Stored) -> Plan | None:
    """The whole price. Keys that are found anew are others, so that there is nothing to average with."""
    if not isinstance(plan.rewritten, Measuring):
        return None
    both = None if plan.rho is None or stored.rho is None else plan.rho + stored.rho
    finer = Finer(upon=stored, way=Way.AVERAGED, cost=plan.terms.cost, answers=_asked(plan), rho=both, people=None)
    return replace(plan, finer=finer)


def _asked(plan: Plan) -> tuple[NoisySlotLaw, ...]:
    return tuple(noise.carried for noise in plan.noises)


_WAYS: Final[tuple[Callable[[Plan, Stored], Plan | None], ...]] = (_measured_again, _averaged)
