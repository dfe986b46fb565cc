"""Private keys. Frequencies are compared with their law by `MechanismKit`: below 10⁻⁹ false alarms per comparison."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from dpsql.enclosure import exp_bounds
from dpsql.errors import BadParameter
from dpsql.mechanisms.partitions import (
    PartitionSelection,
    changed_keys,
    keep_probability,
    people_for_certainty,
    people_for_even_chance,
    released_order,
    split_delta,
)
from dpsql.privacy.events import KeySelection
from dpsql.privacy.exact import Exact
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import SYSTEM
from tests.kits.mechanism_kit import MechanismKit
from tests.kits.methods import always
from tests.kits.refusals import raised
from tests.kits.samples import examples

EPSILONS = st.fractions(Fraction(1, 20), 6)
DELTAS = st.fractions(Fraction(1, 10**9), Fraction(9, 10))


def exact_keep(people, epsilon, delta):
    """The recursion of the theorem with sixty digits."""
    up, p = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator), mpmath.mpf(0)
    d = mpmath.mpf(delta.numerator) / delta.denominator
    for _ in range(people):
        p = min(up * p + d, 1 - (1 - p - d) / up, mpmath.mpf(1))
    return p


class TestPartitionSelectionKit(MechanismKit):
    """C065: partition selection obeys the laws of mechanisms."""

    mechanism = always(
        lambda: PartitionSelection(
            epsilon=Fraction(2), delta=Fraction(1, 10), keys_per_unit=2, neighbours=Neighbours.ADD_REMOVE
        )
    )

    value = always(lambda: {"b": 3, "a": 2})
    neighbour = always(lambda: {"a": 1, "b": 3, "c": 1})

    def outputs(self):
        return [tuple(k for k, kept in zip("abc", choice, strict=True) if kept)
                for choice in itertools.product((False, True), repeat=3)]  # fmt: skip

    def probability(self, value, output):
        return math.prod(
            float(p if key in output else 1 - p)
            for key in "abc"
            for p in [keep_probability(people=value.get(key, 0), epsilon=1, delta=Fraction(1, 20))]
        )

    def bad_parameters(self):
        yield from ({"epsilon": bad} for bad in (0, -1, math.nan, math.inf, "1", True))
        yield from ({"delta": bad} for bad in (0, 1, -0.5, math.nan, math.inf, None))
        yield from ({"keys_per_unit": bad} for bad in (0, 1.5, -1))
        yield from ({"neighbours": bad} for bad in ("add_remove", None))

    ill_typed = always(lambda: [{"key": 0.8675309}, {"key": "0.8675309"}, {"key": -8675309}, [0.8675309]])


@examples(25)
@given(epsilon=EPSILONS, delta=DELTAS)
def test_the_probabilities_satisfy_both_inequalities_exactly(epsilon, delta):
    """C065: not up to rounding: rational numbers against certified bounds of e^ε, in both directions, for every n."""
    up = exp_bounds(epsilon, bits=300)[0]
    law = [
        keep_probability(people=n, epsilon=epsilon, delta=delta)
        for n in range(people_for_certainty(epsilon=epsilon, delta=delta) + 2)
    ]
    assert law[0] == 0
    assert law[-1] == law[-2] == 1
    for one, other in itertools.pairwise(law):
        for p, q in ((one, other), (other, one), (1 - one, 1 - other), (1 - other, 1 - one)):
            assert p <= up * q + delta


@given(epsilon=EPSILONS, delta=DELTAS, people=st.integers(0, 60))
def test_the_probabilities_are_the_theorems_from_below(epsilon, delta, people):
    """C065: Desfontaines et al. (2022), Theorem 1."""
    got = keep_probability(people=people, epsilon=epsilon, delta=delta)
    with mpmath.workdps(60):
        truth = exact_keep(people, epsilon, delta)
        lower = mpmath.mpf(got.numerator) / got.denominator
        assert lower <= truth + mpmath.mpf(10) ** -55
        assert lower >= truth * (1 - mpmath.mpf(10) ** -25)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.001), (0.5, 0.05), (2.0, 1e-4)])
def test_no_other_rule_shows_more(epsilon, delta):
    """C065: the linear program over all rules attains the same optimum, for the sum over n."""
    size = 14
    up, rows, limits = math.exp(epsilon), [], []
    for n in range(size):
        for sign, here, there in ((1, n + 1, n), (1, n, n + 1)):
            row = np.zeros(size + 1)
            row[here], row[there] = sign, -up
            rows.append(row)
            limits.append(delta)
            row = np.zeros(size + 1)  # 1 − p(here) <= e^ε (1 − p(there)) + δ
            row[here], row[there] = -1, up
            rows.append(row)
            limits.append(up - 1 + delta)
    best = linprog(-np.ones(size + 1), A_ub=rows, b_ub=limits, bounds=[(0, 0)] + [(0, 1)] * size)
    ours = math.fsum(float(keep_probability(people=n, epsilon=epsilon, delta=delta)) for n in range(size + 1))
    assert ours == pytest.approx(-best.fun, rel=1e-6)


def test_replacing_a_person_changes_twice_as_many_keys():
    """C065."""
    assert changed_keys(keys_per_unit=3, neighbours=Neighbours.ADD_REMOVE) == 3
    assert changed_keys(keys_per_unit=3, neighbours=Neighbours.CHANGE_ONE) == 6
    selection = PartitionSelection(epsilon=1, delta=Fraction(1, 100), keys_per_unit=3, neighbours=Neighbours.CHANGE_ONE)
    assert selection.event == KeySelection(epsilon=Fraction(1), delta=Fraction(1, 100), keys=6)
    assert selection.per_key == (Fraction(1, 6), Fraction(1, 600))


@given(delta=st.floats(1e-300, 0.999), keys=st.integers(1, 10**6))
def test_the_exact_split_is_rounded_down_and_above_the_even_one(delta, keys):
    """C065: 1 − (1 − δ)^(1/k)."""
    got = split_delta(delta=delta, keys=keys)
    with mpmath.workdps(400):
        truth = -mpmath.expm1(mpmath.log1p(-mpmath.mpf(delta)) / keys)
        assert got <= truth
        assert got >= truth * (1 - mpmath.mpf(2) ** -52) - mpmath.mpf(5e-324)


@given(epsilon=st.floats(0.01, 20), delta=st.floats(1e-12, 0.9))
def test_an_even_chance_begins_where_the_recursion_reaches_a_half(epsilon, delta):
    with mpmath.workdps(60):
        up, failure = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta)
        shown, people = mpmath.mpf(0), 0
        while shown < mpmath.mpf(1) / 2:
            shown, people = min(up * shown + failure, 1 - (1 - shown - failure) / up, mpmath.mpf(1)), people + 1
    assert people_for_even_chance(epsilon=epsilon, delta=delta) == people


def test_an_even_chance_at_the_ends():
    """δ of 1/2 is an even chance for one person; without ε, n people have a chance of nδ."""
    assert people_for_even_chance(epsilon=3, delta=0.5) == 1
    assert people_for_even_chance(epsilon=Fraction(1, 10**300), delta=Fraction(1, 1000)) == 500
    assert people_for_even_chance(epsilon=10**9, delta=1e-10) == 2


def test_certainty_begins_where_the_table_ends():
    selection = TestPartitionSelectionKit().mechanism()
    epsilon, delta = selection.per_key
    assert keep_probability(people=selection.certain, epsilon=epsilon, delta=delta) == 1
    assert keep_probability(people=selection.certain - 1, epsilon=epsilon, delta=delta) < 1
    assert keep_probability(people=10**15, epsilon=epsilon, delta=delta) == 1


def test_large_epsilons_end():
    assert people_for_certainty(epsilon=10**9, delta=1e-10) == 3
    assert keep_probability(people=2, epsilon=10**9, delta=1e-10) > 1 - Fraction(1, 10**40)


def test_a_rule_that_needs_too_many_people_is_refused():
    raised(BadParameter, lambda: keep_probability(people=5, epsilon=1e-9, delta=1e-9), match="people")


def test_the_order_of_the_input_does_not_show():
    """C065: the kept keys come in their own order, whatever their types."""
    selection = PartitionSelection(epsilon=1, delta=0.1, keys_per_unit=1, neighbours=Neighbours.ADD_REMOVE)
    everyone = dict.fromkeys(("zoe", "amy", "bob"), 10**6)
    assert selection.release(Exact(everyone), source=SYSTEM) == ["amy", "bob", "zoe"]
    assert released_order([3, "a", None, 1]) == released_order([None, 1, "a", 3])


def test_keys_without_people_are_never_shown():
    selection = PartitionSelection(epsilon=1, delta=0.9, keys_per_unit=1, neighbours=Neighbours.ADD_REMOVE)
    assert selection.release(Exact(dict.fromkeys(range(200), 0)), source=SYSTEM) == []


def test_the_order_of_released_keys_depends_on_the_keys_alone():
    """Sets compare by inclusion and NaN with nothing: their own order would depend on how they came in."""
    keys = [frozenset({1}), frozenset({2}), frozenset({1, 2}), float("nan"), "b", "a", 3]
    for shift in range(len(keys)):
        turned = keys[shift:] + keys[:shift]
        assert [repr(key) for key in released_order(turned)] == [repr(key) for key in released_order(keys)]
