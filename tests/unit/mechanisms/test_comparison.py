"""The table of mechanisms. No chance involved."""

import math
from fractions import Fraction

import pytest
from scipy import stats

from dpsql.mechanisms.comparison import compare_mechanisms


def test_rows_of_the_table():
    """C031: Laplace and Gaussian side by side: definition, parameter, promise, variance, accuracy."""
    laplace, gaussian, classic = compare_mechanisms(l1=5, l2=math.sqrt(5), epsilon=0.5, delta=1e-6, beta=0.05)
    assert (laplace.name, gaussian.name, classic.name) == ("Laplace", "Gaussian", "Gaussian")
    assert (laplace.sensitivity, gaussian.sensitivity) == ("l1", "l2")
    assert (laplace.value, laplace.variance) == (10.0, 200.0)
    assert laplace.privacy.pure
    assert (gaussian.privacy.epsilon, gaussian.privacy.delta) == (0.5, 1e-6)
    assert classic.value == pytest.approx(math.sqrt(5) * math.sqrt(2 * math.log(1.25e6)) / 0.5)
    assert gaussian.value < classic.value
    for row, law in ((laplace, stats.laplace), (gaussian, stats.norm), (classic, stats.norm)):
        assert row.variance == pytest.approx(law.var(scale=row.value))
        assert 2 * law.sf(row.accuracy, scale=row.value) == pytest.approx(0.05, rel=1e-9)
        assert row.beta == 0.05
        assert "value + Y" in row.definition


def test_the_textbook_row_is_left_out_from_one_on():
    """C031: it has no proof there."""
    assert len(compare_mechanisms(l1=1, l2=1, epsilon=Fraction(1), delta=1e-6, beta=0.05)) == 2
