"""Clipped sums of vectors.

Where noise is drawn, ρ is so large that a noise of more than a few grains has probability below 10⁻¹⁰⁰; everything
else is exact.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter, DpsqlError, InternalError
from dpsql.mechanisms.clipping import clip_and_noise, clip_to_l2
from dpsql.mechanisms.discrete_gaussian import VectorDiscreteGaussianMechanism
from dpsql.privacy.exact import Exact
from dpsql.privacy.unit import Neighbours
from dpsql.testing.fixed import SeededSource
from tests.kits.refusals import each_raises, raised

vectors = st.lists(st.integers(-(10**25), 10**25), max_size=20)


@given(vectors, st.integers(0, 10**12))
def test_clipped_vectors_are_inside_the_ball_and_barely(vector, radius):
    """C033: the squared norm is checked in integers; no coordinate loses more than the cut toward 0."""
    clipped = clip_to_l2(vector, radius=radius)
    squared = sum(c * c for c in vector)
    assert sum(c * c for c in clipped) <= radius * radius
    if squared <= radius * radius:
        assert clipped == vector
    else:
        for before, after in zip(vector, clipped, strict=True):
            scaled = math.isqrt((before * radius) ** 2 // squared)  # |before|·radius/norm, cut
            assert scaled - 1 <= abs(after) <= scaled
            assert before * after >= 0


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), max_size=4),
    st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
)
def test_one_unit_moves_the_sum_by_clip_or_twice_clip(others, one, another):
    """C033: both relations, on the exact sums (noise of probability exp(-10⁶) and less)."""
    clip = 10.0

    def total(people):
        settled = clip_and_noise(people, dimensions=3, clip=clip, rho=10**20, neighbours=Neighbours.ADD_REMOVE)
        return [Fraction(value) for value in settled.values]

    here, without, changed = total([*others, one]), total(others), total([*others, another])
    assert sum((x - y) ** 2 for x, y in zip(here, without, strict=True)) <= Fraction(clip) ** 2
    assert sum((x - y) ** 2 for x, y in zip(here, changed, strict=True)) <= (2 * Fraction(clip)) ** 2


def test_vectors_inside_the_ball_are_added_as_they_are():
    """C033: on the grain of 2**-20."""
    settled = clip_and_noise(
        [[0.5, 0.25], np.array([-0.125, 0.5])], dimensions=2, clip=1, rho=10**20, neighbours=Neighbours.ADD_REMOVE
    )
    assert settled.values == (0.375, 0.75)


def test_long_vectors_keep_their_direction():
    settled = clip_and_noise([[3e300, 4e300]], dimensions=2, clip=1, rho=10**20, neighbours=Neighbours.ADD_REMOVE)
    assert settled.values == pytest.approx((math.sqrt(0.5), math.sqrt(0.5)), abs=1e-5)  # both cut at 2**40 norms
    settled = clip_and_noise([[300, 400]], dimensions=2, clip=1, rho=10**20, neighbours=Neighbours.ADD_REMOVE)
    assert settled.values == pytest.approx((0.6, 0.8), abs=2e-6)


@pytest.mark.parametrize(("neighbours", "distance"), [(Neighbours.ADD_REMOVE, 1), (Neighbours.CHANGE_ONE, 2)])
def test_noise_is_calibrated_to_the_distance(neighbours, distance):
    """C033: σ² = distance²/2ρ in grains; the same bits give the same release as the mechanism built by hand."""
    settled = clip_and_noise(
        [[1.0, 0.0]], dimensions=2, clip=1, rho=Fraction(1, 8), neighbours=neighbours, source=SeededSource(4)
    )
    squared = (distance * 2**20) ** 2
    by_hand = VectorDiscreteGaussianMechanism(sigma_squared=4 * squared, l2_squared=squared, dimensions=2)
    released = by_hand.release(Exact((2**20, 0)), source=SeededSource(4))
    assert settled.values == tuple(value / 2**20 for value in released)
    assert (settled.rho, settled.neighbours) == (Fraction(1, 8), neighbours)


@pytest.mark.parametrize("dimensions", [1, 4])
def test_margin_covers_all_coordinates_at_once(dimensions):
    """Coverage from the exact law of σ = 2 (in clips): its normal limit, which differs by less than a grain."""
    settled = clip_and_noise([], dimensions=dimensions, clip=1, rho=Fraction(1, 8), neighbours=Neighbours.ADD_REMOVE)
    grain, sigma = 2.0**-20, 2.0
    covered = [
        math.erf(m / sigma / math.sqrt(2)) ** dimensions for m in (settled.margin + grain, settled.margin - grain)
    ]
    assert covered[0] >= 0.95 >= covered[1]


anything = st.one_of(st.none(), st.floats(), st.integers(), st.text(max_size=3), st.decimals())


@given(st.lists(st.one_of(anything, st.lists(anything, max_size=4)), max_size=4), st.sampled_from(list(Neighbours)))
def test_no_row_raises(rows, neighbours):
    """C033: a row without numbers or of another length counts as 0; an error would tell about it."""
    settled = clip_and_noise(rows, dimensions=2, clip=3, rho=1, neighbours=neighbours)
    assert len(settled.values) == 2
    assert all(map(math.isfinite, settled.values))


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, None, "1", True, 1e-200, 1e200])
def test_bad_parameters_are_refused(bad):
    good = {"dimensions": 2, "clip": 1, "rho": 1, "neighbours": Neighbours.ADD_REMOVE}
    each_raises(DpsqlError, lambda name: clip_and_noise([[1, 2]], **{**good, name: bad}), ("dimensions", "clip", "rho"))
    raised(BadParameter, lambda: clip_and_noise([[1, 2]], **{**good, "neighbours": "change_one"}))
    raised(DpsqlError, lambda: clip_to_l2([1], radius=-1))


@pytest.mark.parametrize("row", [np.array(5.0), np.zeros((3, 3)), memoryview(b"abc"), "abc", 7, None, {1, 2, 3}])
def test_no_row_is_an_error(row):
    """An error that depends on a row would be an answer about it: what is no vector counts as zeros."""
    released = clip_and_noise([row], dimensions=3, clip=1, rho=1, neighbours=Neighbours.ADD_REMOVE)
    assert len(released.values) == 3


def test_a_vector_that_would_be_clipped_to_less_than_it_must_is_not_released(monkeypatch):
    """Derive, then verify: were the norm found too small, (3, 4) would stay longer than 1."""
    monkeypatch.setattr(math, "isqrt", lambda squared: 1)
    raised(InternalError, lambda: clip_to_l2([3, 4], radius=1), match="longer than its bound")
