"""Lemma 3.17 in both directions, with its witnesses built and checked exactly."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.privacy.divergence import audit_delta, delta_close_witness, ratio_below
from tests.kits.drawn_laws import pairs
from tests.kits.refusals import raised

PAIRS = pairs()
EPSILONS = st.one_of(st.just(0), st.floats(1e-6, 5), st.fractions(0, 5))


def is_law(masses) -> bool:
    return all(mass >= 0 for mass in masses) and sum(masses) == 1


def distance(p, q) -> Fraction:
    return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


@given(pair=PAIRS, epsilon=EPSILONS)
def test_lemma_3_17_both_directions(pair, epsilon):
    """C122: Y' and Z' within δ/(exp(ε) + 1), with both max divergences at most ε."""
    p, q = pair
    witness = delta_close_witness(p, q, epsilon=epsilon)
    y, z = list(witness.y.values()), list(witness.z.values())
    ratio = ratio_below(epsilon)
    assert is_law(y)
    assert is_law(z)
    assert all(a <= ratio * b and b <= ratio * a for a, b in zip(y, z, strict=True))
    delta = max(sum(max(0, a - ratio * b) for a, b in zip(*way, strict=True)) for way in ((p, q), (q, p)))
    assert witness.distance_y == distance(p, y) <= delta / (ratio + 1)
    assert witness.distance_z == distance(q, z) <= delta / (ratio + 1)


@given(pair=PAIRS, epsilon=EPSILONS)
def test_the_converse_a_witness_implies_approximate_privacy(pair, epsilon):
    """C122: laws within δ/(exp(ε) + 1) of a pure pair are (ε, δ) apart at most."""
    p, q = pair
    witness = delta_close_witness(p, q, epsilon=epsilon)
    reach = max(witness.distance_y, witness.distance_z) * (ratio_below(epsilon) + 1)
    assert audit_delta(p, q, epsilon=epsilon) <= float(reach) * (1 + 1e-15) + 1e-300


def test_outcomes_keep_their_names():
    witness = delta_close_witness({"a": 1}, {"b": 1}, epsilon=0)
    assert witness.y == witness.z == {"a": Fraction(1, 2), "b": Fraction(1, 2)}


@pytest.mark.parametrize(
    ("p", "q", "epsilon"),
    [([1], [1], -1), ([1], [1], float("nan")), ([], [], 1), ([1], [0.5, 0.5], 1), ([0.5, 0.4], [0.5, 0.5], 1)],
)
def test_bad_input_is_refused(p, q, epsilon):
    raised(BadParameter, lambda: delta_close_witness(p, q, epsilon=epsilon))
