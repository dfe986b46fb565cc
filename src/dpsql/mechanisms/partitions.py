"""Which private keys may be shown: the optimal rule on the number of people behind each key."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Final, Generic, TypeVar

from dpsql.enclosure import exp_bounds, log_bounds
from dpsql.errors import BadParameter
from dpsql.mechanisms.mechanism import opened
from dpsql.mechanisms.whole import whole
from dpsql.privacy.digits import float_below, share_of_failure
from dpsql.privacy.events import KeySelection
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours, require_neighbours
from dpsql.randomness import Source, bernoulli
from dpsql.require import Number, require_count, require_epsilon, require_open_unit, require_that, require_type

Key = TypeVar("Key", bound=Hashable)

LARGEST_TABLE: Final = 1_000_000
"""People after which every key is kept; more would take too long to tabulate."""

LARGEST_EPSILON: Final = 512
"""Above, a larger ε changes no decision that a computer could observe; a smaller one is always private."""


def changed_keys(*, keys_per_unit: int, neighbours: Neighbours) -> int:
    """In how many keys two neighbours may differ: those of one unit, or of the old and of the new one.

    Theorem   removing a unit changes its own keys; replacing one removes a unit and adds another.
    Requires  keys_per_unit >= 1.
    Rounds    nothing.
    """
    require_count(keys_per_unit=keys_per_unit)
    require_neighbours(neighbours)
    return keys_per_unit * (2 if neighbours is Neighbours.CHANGE_ONE else 1)


def split_delta(*, delta: Number, keys: int) -> float:
    """The δ of one of `keys` independent decisions when together they may fail with probability δ.

    Theorem   1 − (1 − δ)^(1/k): all k succeed with probability (1 − q)^k. A little above δ/k.
    Requires  0 < delta < 1; keys >= 1.
    Rounds    down.
    """
    require_open_unit(delta=delta)
    require_count(keys=keys)
    return float_below(share_of_failure(beta=exact(delta), outputs=keys))


def keep_probability(*, people: int, epsilon: Number, delta: Number) -> Fraction:
    """The largest probability with which a key held by `people` people may be shown, one key per person.

    Theorem   Desfontaines, Voss, Gipson, Mandayam (2022), Thm 1:
              π(n) = min(e^ε·π(n−1) + δ,  1 − e^−ε·(1 − π(n−1) − δ),  1),  π(0) = 0.
    Requires  people >= 0; epsilon > 0; 0 < delta < 1; not so small that a million people are not enough.
    Rounds    down inside the recursion, so that the rational numbers returned satisfy both inequalities exactly.
    """
    require_count(people=people, at_least=0)
    return _keep_table(*_checked(epsilon, delta)).probability(people)


def people_for_certainty(*, epsilon: Number, delta: Number) -> int:
    """From how many people on a key is always shown: the smallest n with π(n) = 1.

    Theorem   as `keep_probability`.
    Requires  epsilon > 0; 0 < delta < 1.
    Rounds    up.
    """
    return len(_keep_table(*_checked(epsilon, delta)).kept)


def people_for_even_chance(*, epsilon: Number, delta: Number) -> int:
    """From how many people on a key is shown at least every second time: the smallest n with π(n) >= 1/2.

    Theorem   docs/theorems/partition_selection.md: ⌈ln(1 + (e^ε − 1)/2δ)/ε⌉. Until then the first term of the
              recursion is the smallest, and its solution is δ(e^nε − 1)/(e^ε − 1).
    Requires  epsilon > 0; 0 < delta < 1.
    Rounds    up, with 128 bits below ε.
    """
    per_key, failure = _checked(epsilon, delta)
    if 2 * failure >= 1:
        return 1
    bits = 128 + 2 * max(0, per_key.denominator.bit_length() - per_key.numerator.bit_length() + 1)
    growth = exp_bounds(per_key, bits=bits)[1] - 1
    return ceil(log_bounds(1 + growth / (2 * failure), bits=bits)[1] / per_key)


def _checked(epsilon: Number, delta: Number) -> tuple[Fraction, Fraction]:
    require_epsilon(epsilon=epsilon)
    require_open_unit(delta=delta)
    per_key, failure = min(exact(epsilon), Fraction(LARGEST_EPSILON)), exact(delta)
    # δ + δe^ε + … reaches 1/2 within this many steps, and the second half takes no longer.
    steps = 2 * min(1 / failure, (log_bounds(1 + per_key / failure)[1] + 1) / per_key) + 2
    if steps > LARGEST_TABLE:
        raise BadParameter(
            f"with epsilon={float(epsilon):g} and delta={float(delta):g} a key needs up to {int(steps)} people",
            why=f"keys that need more than {LARGEST_TABLE} people are as good as never shown",
            fix="raise epsilon or delta, or let each person hold fewer keys",
        )
    return per_key, failure


@dataclass(frozen=True, slots=True)
class _KeepTable:
    """kept[n] / one is π(n), rounded down; beyond the table every key is kept."""

    kept: tuple[int, ...]
    one: int

    def probability(self, people: int) -> Fraction:
        return Fraction(self.kept[people], self.one) if people < len(self.kept) else Fraction(1)


@lru_cache(maxsize=4)
def _keep_table(epsilon: Fraction, delta: Fraction) -> _KeepTable:
    bits = 128 + delta.denominator.bit_length() - delta.numerator.bit_length() + 1
    one, fine = 1 << bits, bits + 8
    failure = (delta.numerator << bits) // delta.denominator
    up = _floor(exp_bounds(epsilon, bits=fine)[0], fine)
    down = -_floor(-exp_bounds(-epsilon, bits=fine)[1], fine)
    kept = [0]
    while True:
        last = kept[-1]
        first = (last * up >> fine) + failure
        second = one + (-(one - last - failure) * down >> fine)
        following = min(first, second, one)
        if following == one:
            return _KeepTable(tuple(kept), one)
        kept.append(following)


def _floor(value: Fraction, bits: int) -> int:
    return (value.numerator << bits) // value.denominator


def released_order(keys: list[Key]) -> list[Key]:
    """The kept keys in an order that depends on nothing else: their own where it is total, or that of their names."""
    if {type(key) for key in keys} in ({int}, {str}, {bytes}):
        return sorted(keys)  # type: ignore[type-var]  # these three compare
    return sorted(keys, key=lambda key: (type(key).__name__, repr(key)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSelection(Generic[Key]):
    """Shows each private key with the largest probability that (ε, δ) allows for its number of people.

    The input counts distinct people, each of whom is counted under at most `keys_per_unit` keys.
    """

    epsilon: Number
    delta: Number
    keys_per_unit: int
    neighbours: Neighbours

    def __post_init__(self) -> None:
        require_epsilon(epsilon=self.epsilon)
        require_open_unit(delta=self.delta)
        _checked(*self.per_key)

    @property
    def keys(self) -> int:
        """In how many keys two neighbours may differ."""
        return changed_keys(keys_per_unit=self.keys_per_unit, neighbours=self.neighbours)

    @property
    def per_key(self) -> tuple[Fraction, Fraction]:
        """(ε, δ) of each decision: equal shares, so that any `keys` of them compose to the whole."""
        return exact(self.epsilon) / self.keys, exact(self.delta) / self.keys

    @property
    def certain(self) -> int:
        """From how many people on a key is always shown."""
        epsilon, delta = self.per_key
        return people_for_certainty(epsilon=epsilon, delta=delta)

    @property
    def even_chance(self) -> int:
        """From how many people on a key is shown at least every second time."""
        epsilon, delta = self.per_key
        return people_for_even_chance(epsilon=epsilon, delta=delta)

    @property
    def event(self) -> KeySelection:
        """`keys` decisions, each at (ε/keys, δ/keys)."""
        return KeySelection(epsilon=exact(self.epsilon), delta=exact(self.delta), keys=self.keys)

    def release(self, value: Exact[Mapping[Key, int]], /, *, source: Source) -> list[Key]:
        """The keys shown, in their own order; a key without people is never among them."""
        table = _keep_table(*_checked(*self.per_key))
        people = people_by_key(value)
        kept = [key for key, count in people.items() if bernoulli(table.probability(count), source=source)]
        return released_order(kept)


def people_by_key(value: Exact[Mapping[Key, int]]) -> dict[Key, int]:
    """The numbers of people inside `value`. Complaints name neither a key nor a number."""
    people = opened(value)
    require_type(Mapping, people=people)
    return {key: _number_of_people(count) for key, count in people.items()}


def _number_of_people(count: int) -> int:
    """A number of people; a negative one is refused without being shown."""
    people = whole(count)
    require_that(people >= 0, "a number of people is negative")
    return people
