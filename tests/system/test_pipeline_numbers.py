"""The numbers that docs/guide/pipeline.md states, from plans of the system and, beside them, from the formulas."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import erfc, exp, isclose, sqrt

import polars
import pytest

from dpsql.accounting.account import Account
from dpsql.privacy.events import DiscreteGaussian, Pure
from tests.kits.owners import owner_of

BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
PEOPLE = "SELECT COUNT(DISTINCT patient) AS n FROM visits"
BY_DIAGNOSIS = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"


@cache
def analyst():
    rows = {"patient": [1, 1, 1, 1, 2, 3], "ward": [1, 2, 3, 4, 1, 2]}
    visits = polars.DataFrame({**rows, "diagnosis": ["flu", "flu", "asthma", "covid", "flu", "gout"]})
    words = {"person": "patient", "bounds": {"ward": (1, 4)}, "keys": {"diagnosis": "private"}}
    caps = {"rows_per_person": 6, "rows_per_group": 4, "groups_per_person": 3, "max_keys": 1000}
    shares = {"cost_per_query": 1, "selection_share": 0.25, "delta_per_query": 1e-9}
    return owner_of(visits, "visits", **words, **caps, epsilon=5, delta=1e-6, **shares).grant("ana", budget=5)


def plan(sql, **options):
    """The plan as data: free, and no row is read."""
    return analyst().query(sql, **options).explain().as_json()


def rho_star():
    return Fraction(plan(PEOPLE)["accounts"][0]["rho"])


def test_choosing_keeps_whole_groups_and_scaling_all():
    chosen = plan(BY_WARD, mode="choose", noise="laplace")
    assert chosen["bounding"]["groups"] == 3
    assert chosen["steps"][0]["slots"][0]["l1"] == "12"
    assert chosen["steps"][0]["slots"][0]["noise"]["scale"] == "12"
    scaled = plan(BY_WARD)
    assert scaled["bounding"]["mode"] == "scale"
    noise = scaled["steps"][0]["slots"][0]["noise"]  # counts are kept in 1024ths while they are scaled
    variance = Fraction(noise["sigma_squared"]) * Fraction(noise["size"]) ** 2
    rho = Fraction(scaled["accounts"][0]["rho"]) / 5
    assert isclose(variance, 48 / (2 * rho), rel_tol=1e-6)
    assert isclose(4 * sqrt(48) / 8, 3.46, abs_tol=0.01)


@pytest.mark.parametrize(("cost", "law"), [(0.35, "discrete gaussian"), (0.36, "discrete laplace")])
def test_the_noises_meet_at_four_rho_over_epsilon(cost, law):
    assert isclose(rho_star(), 0.4417, abs_tol=0.0001)
    assert isclose(4 * rho_star() / 5, 0.353, abs_tol=0.001)
    assert plan(PEOPLE, epsilon=cost)["steps"][0]["slots"][0]["noise"]["law"] == law


def spent(event, times):
    promise = Account.opened(epsilon=5, delta=Fraction(1, 10**6), delta_prime=Fraction(1, 2 * 10**6))
    for _ in range(times):
        promise = promise.charged(event(promise) if callable(event) else event)
    return promise


def test_a_hundred_gaussian_answers_fit_and_a_hundred_laplace_ones_leave_room():
    def gaussian(promise):
        rho = promise.rho_for(epsilon=Fraction(5, 100))
        return DiscreteGaussian(sigma_squared=1 / (2 * rho), l2_squared=Fraction(1))

    account = spent(gaussian, 100)
    assert account.spent_epsilon == 5
    assert not account.admits(gaussian(account))
    event = Pure(epsilon=Fraction(5, 100))
    account = spent(event, 100)
    assert account.spent.epsilon == 5
    assert account.spent.rho == Fraction(125, 1000)
    assert isclose(account.spent_epsilon, 1.415, abs_tol=0.001)
    assert account.admits(event)


def certain(epsilon, delta):
    """The recursion of the optimal rule, until it reaches 1."""
    kept, people = 0.0, 0
    while kept < 1:
        kept = min(exp(epsilon) * kept + delta, 1 - exp(-epsilon) * (1 - kept - delta), 1.0)
        people += 1
    return people


def test_the_optimal_rule_shows_groups_of_449_for_certain():
    select, measure = plan(BY_DIAGNOSIS, noise="laplace")["steps"]
    assert select["mechanism"]["certain"] == certain(0.25 / 3, 1e-9 / 3) == 449
    assert select["price"]["epsilon"] == "1/4"
    assert measure["price"]["epsilon"] == "3/4"


def test_the_threshold_is_52():
    select, _ = plan(BY_DIAGNOSIS)["steps"]
    sigma = sqrt(3 / (2 * rho_star() / 5 / 4))
    assert isclose(sqrt(Fraction(select["mechanism"]["sigma_squared"])), sigma, rel_tol=1e-6)
    assert select["mechanism"]["threshold"] == 52

    def failure(threshold):
        """One of three groups of one person passes: 1 + noise > τ. The normal tail, a half below τ, is close enough."""
        return 3 * erfc((threshold - 0.5) / sigma / sqrt(2)) / 2

    assert failure(52) <= 1e-9 < failure(51)


def test_two_questions_share_one_price_and_one_about_released_rows_is_free():
    both = plan("SELECT COUNT(*) FROM visits WHERE ward > PRIVATE (SELECT AVG(ward) FROM visits)")
    assert both["together"]["cost"] == "1"
    assert [question["terms"]["cost"] for question in (*both["private"], both)] == ["1/2", "1/2"]
    assert ":released0" in both["steps"][0]["sql"]
    free = plan("WITH w AS PRIVATE (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT MAX(n) FROM w")
    assert free["steps"] == []
    assert free["private"][0]["terms"]["cost"] == "1"
