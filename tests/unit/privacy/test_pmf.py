"""Laws are read exactly and put on one scale; a randomised map acts as the law of total probability says."""

from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.privacy.divergence import paired, post_process, ratio_below
from tests.kits.refusals import raised

HALF = Fraction(1, 2)


@given(weights=st.lists(st.floats(0, 1), min_size=1, max_size=8).filter(lambda w: sum(w) > 1e-3))
def test_floats_are_scaled_to_a_genuine_law(weights):
    total = sum(weights)
    law = [w / total for w in weights]
    pair = paired(law, law)
    assert sum(pair.p) == sum(pair.q) == pair.total
    assert all(
        abs(Fraction(a, pair.total) - Fraction(b)) < Fraction(1, 10**12) for a, b in zip(pair.p, law, strict=True)
    )


def test_exact_numbers_are_kept_exactly():
    pair = paired([Fraction(1, 3), Fraction(2, 3)], [Decimal("0.1"), Decimal("0.9")])
    assert Fraction(pair.p[0], pair.total) == Fraction(1, 3)
    assert Fraction(pair.q[0], pair.total) == Fraction(1, 10)
    assert pair.reversed().p == pair.q


def test_a_sum_off_by_more_than_1e_9_is_no_law():
    paired([0.5, 0.5 + 9e-10], [0.5, 0.5])
    raised(BadParameter, lambda: paired([0.5, 0.5 + 2e-9], [0.5, 0.5]))
    raised(BadParameter, lambda: paired([HALF, HALF + Fraction(1, 10**10)], [HALF, HALF]))


def test_post_processing_sums_over_what_was_before():
    assert post_process([HALF, HALF], kernel=[[1, 0], [HALF, HALF]]) == (Fraction(3, 4), Fraction(1, 4))
    assert post_process([0.25, 0.75], kernel=[[1], [1]]) == (1,)


@pytest.mark.parametrize(
    "kernel", [[], [[1, 0]], [[1, 0], [1]], [[1, 0], [0.5, 0.4]], [[1, 0], [2, -1]], [[1, 0], [1, 0], [1, 0]], [[], []]]
)
def test_a_kernel_that_does_not_fit_is_refused(kernel):
    raised(BadParameter, lambda: post_process([0.5, 0.5], kernel=kernel))


@given(epsilon=st.one_of(st.floats(1e-300, 700), st.fractions(Fraction(1, 10**6), 100)))
def test_the_ratio_is_below_and_close(epsilon):
    exact = Fraction(epsilon)
    ratio = ratio_below(epsilon)
    with mpmath.workdps(700):
        true = mpmath.exp(mpmath.mpf(exact.numerator) / exact.denominator)
        value = mpmath.mpf(ratio.numerator) / ratio.denominator
        assert true * (1 - mpmath.mpf(2) ** -255) < value < true


def test_the_ratio_at_the_ends():
    assert ratio_below(0) == 1
    assert ratio_below(10**300) == ratio_below(4096)
