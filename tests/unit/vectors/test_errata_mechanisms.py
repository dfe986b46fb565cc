"""Wrong formulas are wrong. No chance involved."""

import math

import pytest
from scipy import integrate

from dpsql.errors import DpsqlError
from dpsql.mechanisms.gaussian import gaussian_delta, gaussian_sigma_classic
from dpsql.mechanisms.normal import Normal
from tests.vectors.errata_mechanisms import (
    classic_sigma_without_its_precondition,
    gaussian_accuracy_with_the_root_around_everything,
    normal_density_divided_by_the_variance,
)


def test_classic_sigma_beyond_its_range_breaks_its_promise():
    sigma = classic_sigma_without_its_precondition(l2=1, epsilon=20, delta=1e-5)
    assert sigma == pytest.approx(math.sqrt(2 * math.log(1.25e5)) / 20)
    assert gaussian_delta(l2=1, sigma=sigma, epsilon=20) > 100 * 1e-5


def test_classic_sigma_is_the_same_formula_inside_its_range():
    inputs = {"l2": 3, "epsilon": 0.3, "delta": 1e-7}
    assert classic_sigma_without_its_precondition(**inputs) == pytest.approx(
        gaussian_sigma_classic(**inputs), rel=1e-15
    )


def test_accuracy_of_the_table():
    """The value the notes' table gives for ε = 0.5, δ = 1e-5, β = 0.05, from its formula."""
    from scipy.special import erfinv

    got = gaussian_accuracy_with_the_root_around_everything(l2=1, epsilon=0.5, delta=1e-5, beta=0.05)
    assert got == pytest.approx(4 * math.sqrt(math.log(1.25e5) * erfinv(0.95)), rel=1e-12)


def test_density_of_the_slide_does_not_integrate_to_one():
    total, _ = integrate.quad(lambda x: normal_density_divided_by_the_variance(x=x, sigma=2), -30, 30)
    assert total == pytest.approx(0.5)
    assert normal_density_divided_by_the_variance(x=1, sigma=1) == pytest.approx(Normal(mean=0, sigma=1).pdf(1))


@pytest.mark.parametrize("epsilon", [0, -1, math.nan])
def test_bad_epsilons_are_refused(epsilon):
    with pytest.raises(DpsqlError):
        classic_sigma_without_its_precondition(l2=1, epsilon=epsilon, delta=0.1)
