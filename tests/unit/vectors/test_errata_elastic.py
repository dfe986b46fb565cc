"""The formulas that break privacy do break it: each is shown below the truth it should bound."""

import math

from dpsql.mechanisms.smooth_loss import scale_change_delta
from dpsql.mechanisms.smooth_noise import smooth_beta
from tests.vectors.errata_elastic import (
    beta_without_delta,
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
