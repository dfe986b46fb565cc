import math

import numpy as np
import pytest

from dpsql.errors import BadParameter
from tests.oracles.quadrature import gauss_legendre, panels


def test_gauss_legendre_is_exact_for_polynomials():
    nodes, weights = gauss_legendre(5)
    for degree in range(10):
        assert weights @ nodes**degree == pytest.approx(1 / (degree + 1), rel=1e-14)


def test_panels_stop_at_breaks():
    """A kink inside a panel would cost eight digits; at an edge it costs nothing."""
    x, weights = panels(breaks=[0.3], left=-40.0, right=40.0, width=1.0)
    assert weights @ np.exp(-np.abs(x - 0.3)) == pytest.approx(2, rel=1e-14)
    x, weights = panels(breaks=[], left=-40.0, right=40.0, width=1.0)
    assert abs(weights @ np.exp(-np.abs(x - 0.3)) - 2) > 1e-8


def test_breaks_outside_the_range_are_ignored():
    x, weights = panels(breaks=[-7.0, 9.0], left=0.0, right=1.0, width=0.5)
    assert weights @ np.exp(x) == pytest.approx(math.e - 1, rel=1e-14)


def test_too_many_panels_are_refused():
    with pytest.raises(BadParameter):
        panels(breaks=[], left=0.0, right=1e9, width=1.0)
