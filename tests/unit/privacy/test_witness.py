"""Lemma 3.17 with its witnesses built and checked exactly, in both directions."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.privacy.divergence import (
    audit_delta,
    audit_pure,
    delta_close_witness,
    hockey_stick,
    max_divergence,
    ratio_below,
)
from tests.kits.drawn_laws import pairs
from tests.kits.refusals import raised
from tests.oracles.privacy import excess_mass, one_sided_witness

PAIRS = pairs()
EPSILONS = st.one_of(st.just(0), st.floats(1e-6, 5), st.fractions(0, 5))


def is_law(masses) -> bool:
    return all(mass >= 0 for mass in masses) and sum(masses) == 1


def distance(p, q) -> Fraction:
    return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


@given(pair=PAIRS, epsilon=EPSILONS)
def test_lemma_3_17_one_direction(pair, epsilon):
    """C122: Y' at distance δ from Y with D∞(Y'‖Z) <= ε."""
    p, q = pair
    witness = one_sided_witness(p, q, epsilon=epsilon)
    y, z = list(witness.y.values()), list(witness.z.values())
    assert is_law(y)
    assert z == q
    assert all(a <= ratio_below(epsilon) * b for a, b in zip(y, z, strict=True))
    assert witness.distance_y == distance(p, y) == excess_mass(p, q, ratio=ratio_below(epsilon))
    assert float(witness.distance_y) == pytest.approx(hockey_stick(p, q, epsilon=epsilon), rel=1e-15)
    assert witness.distance_z == 0


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
    delta = max(excess_mass(p, q, ratio=ratio), excess_mass(q, p, ratio=ratio))
    assert witness.distance_y == distance(p, y) <= delta / (ratio + 1)
    assert witness.distance_z == distance(q, z) <= delta / (ratio + 1)


@given(pair=PAIRS, epsilon=EPSILONS)
def test_the_converse_a_witness_implies_approximate_privacy(pair, epsilon):
    """C122: laws within δ/(exp(ε) + 1) of a pure pair are (ε, δ) apart at most."""
    p, q = pair
    witness = delta_close_witness(p, q, epsilon=epsilon)
    reach = max(witness.distance_y, witness.distance_z) * (ratio_below(epsilon) + 1)
    assert audit_delta(p, q, epsilon=epsilon) <= float(reach) * (1 + 1e-15) + 1e-300


def test_one_direction_alone_says_nothing_about_the_other():
    p, q = [Fraction(9, 10), Fraction(1, 10)], [Fraction(99, 100), Fraction(1, 100)]
    y, z = one_sided_witness(q, p, epsilon=0.5).y, one_sided_witness(q, p, epsilon=0.5).z
    assert max_divergence(y, z) <= 0.5 < max_divergence(z, y)
    both = delta_close_witness(p, q, epsilon=0.5)
    assert audit_pure(both.y, both.z) <= 0.5 * (1 + 1e-15)


def test_outcomes_keep_their_names():
    witness = delta_close_witness({"a": 1}, {"b": 1}, epsilon=0)
    assert witness.y == witness.z == {"a": Fraction(1, 2), "b": Fraction(1, 2)}


@pytest.mark.parametrize("build", [one_sided_witness, delta_close_witness])
@pytest.mark.parametrize(
    ("p", "q", "epsilon"),
    [([1], [1], -1), ([1], [1], float("nan")), ([], [], 1), ([1], [0.5, 0.5], 1), ([0.5, 0.4], [0.5, 0.5], 1)],
)
def test_bad_input_is_refused(build, p, q, epsilon):
    raised(BadParameter, lambda: build(p, q, epsilon=epsilon))
