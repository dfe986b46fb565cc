"""Surveys. Frequencies are compared with their law by `MechanismKit`: below 10⁻⁹ false alarms per comparison."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import InternalError
from dpsql.mechanisms import randomized_response
from dpsql.mechanisms.randomized_response import (
    KaryResponse,
    RandomizedResponse,
    rr_epsilon,
    rr_gamma,
    rr_mean,
    rr_variance,
    two_coin_probabilities,
)
from dpsql.privacy.exact import Exact
from dpsql.randomness import SYSTEM
from tests.kits.mechanism_kit import MechanismKit
from tests.kits.methods import always
from tests.kits.paths import law_of
from tests.kits.refusals import raised

GAMMAS = st.fractions(Fraction(1, 10**6), Fraction(499999, 10**6))
EPSILONS = st.floats(1e-9, 60)


class TestRandomizedResponseKit(MechanismKit):
    """C034: randomized response obeys the laws of mechanisms."""

    mechanism = always(lambda: RandomizedResponse.with_gamma(gamma=Fraction(1, 10)))
    value = always(lambda: 1)
    neighbour = always(lambda: 0)
    outputs = always(lambda: [0, 1])

    def probability(self, value, output):
        return 0.6 if value == output else 0.4

    def bad_parameters(self):
        yield from ({"yes_given_yes": bad} for bad in (0, 1, -1, math.nan, Fraction(1, 4), "3/4"))
        yield from ({"yes_given_no": bad} for bad in (0, 1, math.inf, Fraction(3, 4)))

    def strange_rows(self):
        yield from (0.8675309, "0.8675309", [8675309], None, math.nan, -1, 2**70, object())


class TestKaryResponseKit(MechanismKit):
    """C038: k-ary randomized response obeys the laws of mechanisms."""

    mechanism = always(lambda: KaryResponse(categories=["x", "y", "z"], epsilon=Fraction(1)))
    value = always(lambda: "x")
    neighbour = always(lambda: "z")
    outputs = always(lambda: ["x", "y", "z"])

    def probability(self, value, output):
        return (math.e if value == output else 1) / (math.e + 2)

    def bad_parameters(self):
        yield from ({"epsilon": bad} for bad in (0, -1, math.nan, math.inf, "1", True))
        yield from ({"categories": bad} for bad in ([], ["x"], ["x", "x"], "xy", {"x", "y"}))

    def strange_rows(self):
        yield from ("0.8675309", 0.8675309, None, [8675309], math.nan, Decimal("sNaN"), object())


@given(gamma=GAMMAS)
def test_warner_epsilon_of_gamma(gamma):
    """C035: ε = ln((1/2 + γ)/(1/2 − γ)) = 2 artanh(2γ), never below."""
    got = rr_epsilon(gamma=gamma)
    with mpmath.workdps(60):
        truth = 2 * mpmath.atanh(2 * mpmath.mpf(gamma.numerator) / gamma.denominator)
        assert truth <= got <= truth * (1 + mpmath.mpf(2) ** -52)


@given(epsilon=st.floats(1e-300, 700))
def test_warner_gamma_of_epsilon(epsilon):
    """C035: γ = tanh(ε/2)/2, never above, and the way back never exceeds ε."""
    gamma = rr_gamma(epsilon=epsilon)
    with mpmath.workdps(400):
        truth = mpmath.tanh(mpmath.mpf(epsilon) / 2) / 2
        assert gamma <= truth
        assert gamma >= truth * (1 - mpmath.mpf(2) ** -51)
    assert 0 < gamma < 0.5


@given(epsilon=EPSILONS, categories=st.integers(2, 12))
def test_the_coins_tossed_are_within_epsilon_and_close_to_it(epsilon, categories):
    """C034 C038: exact enumeration, all pairs of values and all reports; the largest ratio is e^ε, from below.

    Randomized response is tight everywhere: the ratio of truth to lie is the same for every report."""
    response = KaryResponse(categories=range(categories), epsilon=epsilon)
    assert response.keep + (categories - 1) * response.other == 1
    odds = response.keep / response.other
    with mpmath.workdps(80):
        truth = mpmath.exp(mpmath.mpf(epsilon))
        worst = mpmath.mpf(odds.numerator) / odds.denominator
        assert worst <= truth
        assert mpmath.log(worst) >= mpmath.mpf(epsilon) * (1 - mpmath.mpf(10) ** -12)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0, 40.0, 1e6, 1e300])
def test_the_code_has_the_law_of_the_theorem(epsilon):
    """C034 C038: every path of the code, all pairs of values, no value among them, both mechanisms."""
    binary = RandomizedResponse.with_epsilon(epsilon=epsilon)
    kary = KaryResponse(categories=[*"xyz"], epsilon=epsilon)
    for mechanism, values, none in ((binary, (0, 1), math.nan), (kary, "xyz", None)):
        laws = {
            value: law_of(lambda v=value, m=mechanism: m.release(Exact(v), source=None), modules=[randomized_response])[
                0
            ]
            for value in (*values, none)
        }
        for one, other in itertools.product((*values, none), repeat=2):
            for report in values:
                p, q = laws[one].get(report, 0), laws[other].get(report, 0)
                assert p <= math.exp(min(epsilon, 700)) * q * (1 + 1e-12) or p < 1e-300
        if epsilon <= 3:
            first, second = values[0], values[1]
            loss = math.log(laws[first][first] / laws[second][first])
            assert loss == pytest.approx(epsilon, rel=1e-9)


def test_what_is_no_bit_counts_as_the_nearer_one_and_no_number_as_a_no():
    """The coin that is tossed, for a few values: certain enough to read the bit off."""
    survey = RandomizedResponse(yes_given_yes=1 - Fraction(1, 2**200), yes_given_no=Fraction(1, 2**200))
    counted = {value: survey.release(Exact(value), source=SYSTEM) for value in (0.4, 0.5, -7, 7, "1", None, math.inf)}
    assert counted == {0.4: 0, 0.5: 1, -7: 0, 7: 1, "1": 0, None: 0, math.inf: 0}


def test_gamma_is_used_exactly_as_given():
    """C034: 0.1 as a Fraction is a tenth, as a float the binary number next to it."""
    response = RandomizedResponse.with_gamma(gamma=Fraction(1, 10))
    assert (response.yes_given_yes, response.yes_given_no) == (Fraction(3, 5), Fraction(2, 5))
    assert RandomizedResponse.with_gamma(gamma=0.1).yes_given_yes == Fraction(1, 2) + Fraction(0.1)


@given(epsilon=st.one_of(st.fractions(Fraction(1, 10**9), 100), st.floats(1e-300, 1e3)))
def test_the_event_of_a_stated_epsilon_is_never_above_it(epsilon):
    """C034: the event states the ε of the coins, rounded up; the coins were rounded down first."""
    event = RandomizedResponse.with_epsilon(epsilon=epsilon).event
    assert event.epsilon <= Fraction(epsilon)
    assert event.epsilon >= min(Fraction(epsilon), 40) * (1 - Fraction(1, 10**18))


def test_two_fair_coins_cost_ln_3():
    """C037: Dwork and Roth's Claim 3.5."""
    response = RandomizedResponse.two_coin()
    assert (response.yes_given_yes, response.yes_given_no) == (Fraction(3, 4), Fraction(1, 4))
    assert response.epsilon == pytest.approx(math.log(3), rel=1e-15)
    assert response.epsilon >= math.log(3)


@given(truth=st.fractions(Fraction(1, 50), Fraction(49, 50)), heads=st.fractions(Fraction(1, 50), Fraction(49, 50)))
def test_unfair_coins_cost_the_worse_of_both_reports(truth, heads):
    """C037: the second coin's bias makes one report more telling than the other; the larger ratio counts."""
    yes, no = two_coin_probabilities(truth=truth, heads=heads)
    ratio = max(yes / no, (1 - no) / (1 - yes))
    epsilon = RandomizedResponse.two_coin(truth=truth, heads=heads).epsilon
    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
        assert exact <= epsilon <= exact * (1 + mpmath.mpf(2) ** -52)


@given(gamma=GAMMAS, size=st.integers(1, 12), data=st.data())
def test_the_debiased_mean_is_unbiased_with_the_stated_variance(gamma, size, data):
    """C036: exactly, by the law of the number of reported yes."""
    ones = data.draw(st.integers(0, size))
    law = reported(gamma, size, ones)
    estimates = [(Fraction(k, size) - Fraction(1, 2) + gamma) / (2 * gamma) for k in range(size + 1)]
    mean = sum(p * e for p, e in zip(law, estimates, strict=True))
    variance = sum(p * (e - mean) ** 2 for p, e in zip(law, estimates, strict=True))
    assert mean == Fraction(ones, size)
    assert variance == rr_variance(gamma=gamma, size=size)


def reported(gamma, size, ones):
    """The exact law of the number of reported yes, one person at a time."""
    law = [Fraction(1)]
    for person in range(size):
        p = Fraction(1, 2) + (gamma if person < ones else -gamma)
        law = [(law[k] if k < len(law) else 0) * (1 - p) + (law[k - 1] if k else 0) * p for k in range(len(law) + 1)]
    return law


@given(gamma=GAMMAS, answers=st.lists(st.integers(0, 1), min_size=1, max_size=50))
def test_rr_mean_states_its_error(gamma, answers):
    """C036: estimate, variance, radius 1/(γ√n) and its Chebyshev failure, at most 1/16."""
    got = rr_mean(answers=answers, gamma=gamma)
    n = len(answers)
    assert got.estimate == pytest.approx(float((Fraction(sum(answers), n) - Fraction(1, 2) + gamma) / (2 * gamma)))
    assert Fraction(got.variance) >= rr_variance(gamma=gamma, size=n)
    assert got.radius**2 >= (1 / (gamma**2 * n)) * (1 - Fraction(1, 10**15))
    assert got.radius == pytest.approx(1 / (float(gamma) * math.sqrt(n)), rel=1e-12)
    assert got.failure >= Fraction(got.variance) / Fraction(got.radius) ** 2 * (1 - Fraction(1, 10**12))
    assert got.failure <= 1 / 16


def test_a_kept_category_is_the_listed_object():
    """C038: an equal value of another type (1.0 for 1, True for 1) would show that the report is the truth."""
    response = KaryResponse(categories=[1, 2], epsilon=50)
    reports = {type(response.release(Exact(value), source=SYSTEM)) for value in (1.0, True) for _ in range(20)}
    assert reports == {int}


def test_coins_that_reveal_more_than_their_epsilon_are_not_tossed():
    """Derive, then verify: e = 2.71828…"""
    randomized_response._require_within(epsilon=1, odds=Fraction("2.71828"))
    raised(InternalError, lambda: randomized_response._require_within(epsilon=1, odds=Fraction("2.71829")))
