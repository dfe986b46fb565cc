"""The differentially private sum.

Where noise is drawn, ε is so large that a noise of more than a few grains has probability below 10⁻¹⁰⁰; everything
else sums the exact law.
"""

import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter, DpsqlError
from dpsql.mechanisms.discrete_laplace import LaplaceMechanism
from dpsql.mechanisms.dp_sum import DpSum, dp_sum
from dpsql.privacy.events import Pure
from dpsql.privacy.unit import Neighbours
from dpsql.testing.fixed import SeededSource
from tests.kits.cases import cases
from tests.kits.refusals import raised

EXAMPLE = Path(__file__).parents[3] / "examples" / "dp_sum.py"
RELATIONS = list(Neighbours)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_sum_of_clamped_values(neighbours):
    """C064: clamped, added exactly, with noise (here of probability exp(-400) and less)."""
    values = [3, 4.6, -50, 10**400, None, math.nan, math.inf, "seven", Fraction(1, 3), True]
    got = dp_sum(values, lower=-2, upper=5, epsilon=4000, neighbours=neighbours, whole=True)
    assert got.value == 3 + 5 - 2 + 5 + 0 + 1
    assert got.neighbours is neighbours
    assert got.epsilon == 4000


def test_sum_of_real_numbers_is_on_the_grain():
    """C064: 0.1 ten times is 1 up to half a grain each and the noise of a few grains."""
    got = dp_sum([0.1] * 10, lower=0, upper=1, epsilon=10**9, neighbours=Neighbours.ADD_REMOVE)
    assert abs(got.value - 1) <= 10 * 2**-21 + 2**-20
    assert (Fraction(got.value) * 2**20).denominator == 1


def geometric_coverage(scale, m):
    """Pr[|X| <= m] of Pr[x] ∝ exp(-|x|/scale), by summation of the definition."""
    weights = [math.exp(-x / scale) for x in range(int(60 * scale) + m + 2)]
    total = 2 * math.fsum(weights) - weights[0]
    return (2 * math.fsum(weights[: m + 1]) - weights[0]) / total


@cases(__file__, "neighbours=", "every=", "l1=")
def test_margin_and_noise_follow_the_relation(neighbours, every, l1):
    """C064: add_remove max(|a|, |b|); change_one b - a where every unit contributes; 95 % by the exact law."""
    got = dp_sum(
        [], lower=3, upper=9, epsilon=0.5, neighbours=neighbours, whole=True, every_unit_contributes=every,
        source=SeededSource(7),
    )  # fmt: skip
    margin = int(got.margin)
    assert geometric_coverage(l1 / 0.5, margin) >= 0.95 > geometric_coverage(l1 / 0.5, margin - 1)


@pytest.mark.parametrize(
    ("neighbours", "every", "l1"), [(Neighbours.ADD_REMOVE, False, 8), (Neighbours.CHANGE_ONE, True, 13)]
)
def test_value_is_the_mechanism_of_the_stated_scale(neighbours, every, l1):
    """C064: with the same bits, dp_sum is the sum plus the mechanism's own draw."""
    from dpsql.privacy.exact import Exact

    got = dp_sum(
        [1, 2, -9, 100], lower=-5, upper=8, epsilon=0.25, neighbours=neighbours, whole=True,
        every_unit_contributes=every, source=SeededSource(3),
    )  # fmt: skip
    mechanism = LaplaceMechanism(l1=l1, epsilon=Fraction(1, 4))
    assert got.value == mechanism.release(Exact(1 + 2 - 5 + 8), source=SeededSource(3))


@pytest.mark.parametrize(("lower", "upper", "nearest"), [(3, 9, 3), (-9, -4, -4), (-3, 9, 0)])
def test_a_missing_value_where_every_unit_contributes(lower, upper, nearest):
    """C064: it counts as the bound nearest to 0, so that the smaller sensitivity is true whatever the rows hold."""
    got = dp_sum(
        [None, math.nan], lower=lower, upper=upper, epsilon=4000, neighbours=Neighbours.CHANGE_ONE, whole=True,
        every_unit_contributes=True,
    )  # fmt: skip
    assert got.value == 2 * nearest


anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.decimals(), st.fractions(), st.text(), st.binary(),
    st.complex_numbers(), st.dates(), st.lists(st.none()),
)  # fmt: skip


@given(st.lists(anything, max_size=8), st.sampled_from(RELATIONS), st.booleans(), st.booleans())
def test_no_row_raises(values, neighbours, whole, every):
    """C064: whatever the rows hold, the outcome is a number: errors would tell about rows."""
    got = dp_sum(values, lower=-1, upper=3, epsilon=1, neighbours=neighbours, whole=whole, every_unit_contributes=every)
    assert isinstance(got, DpSum)
    assert math.isfinite(got.value)
    assert 0 < got.margin < 100


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, None, "1", True])
def test_bad_epsilons_are_refused(epsilon):
    raised(DpsqlError, lambda: dp_sum([1], lower=0, upper=1, epsilon=epsilon, neighbours=Neighbours.ADD_REMOVE))


def test_bad_bounds_and_relations_are_refused():
    raised(BadParameter, lambda: dp_sum([1], lower=1, upper=1, epsilon=1, neighbours=Neighbours.ADD_REMOVE))
    raised(BadParameter, lambda: dp_sum([1], lower=0, upper=math.inf, epsilon=1, neighbours=Neighbours.ADD_REMOVE))
    raised(BadParameter, lambda: dp_sum([1], lower=0, upper=1, epsilon=1, neighbours="add_remove"))


def test_privacy_parameters_have_no_defaults():
    raised(TypeError, lambda: dp_sum([1], lower=0, upper=1))


def test_the_example_runs():
    """C064: the program of exercise 4.2, as a user starts it."""
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert done.stdout.count("±") == 2
    assert "299,573" in done.stdout  # the margin: 100 000 · ln 20, to the grain


def test_a_sum_says_what_it_cost():
    got = dp_sum([1], lower=0, upper=1, epsilon=Fraction(1, 3), neighbours=Neighbours.CHANGE_ONE)
    assert got.event == Pure(epsilon=Fraction(1, 3))
