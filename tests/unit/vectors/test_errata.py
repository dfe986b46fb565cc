"""The formulas that break privacy do break it: each is shown below the truth it should bound. No chance involved."""

import math

import pytest
from scipy import integrate
from scipy.special import erfinv

from dpsql.mechanisms.gaussian import gaussian_delta, gaussian_sigma_classic
from dpsql.mechanisms.normal import Normal
from dpsql.mechanisms.scores import selection_scale
from dpsql.mechanisms.smooth_loss import scale_change_delta
from dpsql.mechanisms.smooth_noise import smooth_beta
from tests.vectors.errata import (
    beta_without_delta,
    classic_sigma_without_its_precondition,
    gaussian_accuracy_with_the_root_around_everything,
    normal_density_divided_by_the_variance,
    notes_noisy_max_scale,
    notes_survey_mean,
    scale_factor_without_two,
    smoothing_capped_at_rows,
    smoothing_that_stops_early,
    smoothing_with_the_bound_in_the_exponent,
    stability_of_a_unique_key_join,
)


def test_stopping_early_misses_the_maximum():
    at = lambda k: max(1000 + k, (1 + k) ** 3)  # noqa: E731
    assert smoothing_that_stops_early(at, beta=0.05) == 1000
    assert max(math.exp(-0.05 * k) * at(k) for k in range(500)) > 11305


def test_capping_the_distance_alone_is_not_smooth_and_leaks():
    """r = (0, 1) and r = (0, 0), both joined with s = (0, 1), four rows in all: S differs by 6/5, not by exp(β)."""
    beta = smooth_beta(epsilon=1, delta=1e-6, dimensions=1)
    one, distance = smoothing_capped_at_rows(lambda k: 1 + k, beta=beta, rows=4)
    two, _ = smoothing_capped_at_rows(lambda k: 2 + k, beta=beta, rows=4)
    assert distance == 4
    assert two / one > 1.19 > math.exp(5 * beta)
    assert scale_change_delta(epsilon=1, beta=math.log(two / one), dimensions=1)[0] > 400 * 1e-6


def test_misprints_and_lost_factors():
    assert smoothing_with_the_bound_in_the_exponent([250, 251, 252], beta=0.01) == 1 < 250
    assert beta_without_delta(epsilon=0.1) > 38 * smooth_beta(epsilon=0.1, delta=1e-8, dimensions=1)
    assert scale_factor_without_two(epsilon=0.1) == 10
    orders = [0, 0, 0]
    assert stability_of_a_unique_key_join() < abs(sum(o in {0, 1} for o in orders) - sum(o in {2, 1} for o in orders))


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
    got = gaussian_accuracy_with_the_root_around_everything(l2=1, epsilon=0.5, delta=1e-5, beta=0.05)
    assert got == pytest.approx(4 * math.sqrt(math.log(1.25e5) * erfinv(0.95)), rel=1e-12)


def test_density_of_the_slide_does_not_integrate_to_one():
    total, _ = integrate.quad(lambda x: normal_density_divided_by_the_variance(x=x, sigma=2), -30, 30)
    assert total == pytest.approx(0.5)
    assert normal_density_divided_by_the_variance(x=1, sigma=1) == pytest.approx(Normal(mean=0, sigma=1).pdf(1))


def test_the_scale_of_the_notes_is_half_of_what_general_scores_need():
    """C044: report noisy max with Lap(1/ε)."""
    assert 2 * notes_noisy_max_scale(epsilon=0.5) == selection_scale(sensitivity=1, epsilon=0.5, monotonic=False)


def test_the_mean_of_the_notes_is_the_plain_mean():
    """C036."""
    assert notes_survey_mean(answers=[1, 0, 0, 1]) == 0.5
