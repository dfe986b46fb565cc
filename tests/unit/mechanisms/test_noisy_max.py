"""Frequencies are compared with their law by `MechanismKit`: below 10⁻⁹ false alarms per comparison."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.mechanisms.exponential import exponential_probabilities
from dpsql.mechanisms.noisy_max import NoisyMax
from dpsql.privacy.events import BoundedRange, Pure
from dpsql.privacy.exact import Exact
from dpsql.randomness import SYSTEM
from tests.kits.mechanism_kit import MechanismKit
from tests.kits.methods import always
from tests.kits.refusals import raised
from tests.oracles.laws import (
    discrete_noisy_max_probabilities,
    laplace_noisy_max_probabilities,
    noisy_max_probabilities,
    permute_and_flip_probabilities,
)


class NoisyMaxKit(MechanismKit):
    noise: str

    def mechanism(self):
        return NoisyMax(
            candidates=["a", "b", "c"],
            sensitivity=1,
            epsilon=Fraction(1),
            monotonic=False,
            noise=self.noise,
            max_candidates=10,
        )

    value = always(lambda: [3, 5, 4])
    neighbour = always(lambda: [4, 4, 4])
    outputs = always(lambda: ["a", "b", "c"])

    def bad_parameters(self):
        yield from ({"epsilon": bad} for bad in (0, -1, math.nan, math.inf, "1", True))
        yield from ({"sensitivity": bad} for bad in (0, -1, math.nan, math.inf))
        yield from ({"candidates": bad} for bad in ([], range(11), "abc", [*"aba"], {"a": 1}, None))
        yield from ({"noise": bad} for bad in ("gauss", "", None, 3))
        yield {"monotonic": 1}
        yield {"max_candidates": 0}

    ill_typed = always(lambda: [[0.8675309, 1, 2], [8675309, 1]])


class TestLaplaceKit(NoisyMaxKit):
    """C044: discrete Laplace noise."""

    noise = "laplace"

    def probability(self, value, output):
        return discrete_noisy_max_probabilities(scores=value, scale=2)["abc".index(output)]


class TestGumbelKit(NoisyMaxKit):
    """C045: Gumbel noise is the exponential mechanism."""

    noise = "gumbel"

    def probability(self, value, output):
        law = exponential_probabilities(scores=value, sensitivity=1, epsilon=1, monotonic=False)
        return law["abc".index(output)]


class TestExponentialNoiseKit(NoisyMaxKit):
    """C045: exponential noise is permute-and-flip."""

    noise = "exponential"

    def probability(self, value, output):
        return permute_and_flip_probabilities(scores=value, scale=2)["abc".index(output)]


def test_only_gumbel_noise_has_bounded_range():
    """C044 C045: what each noise charges."""
    events = {noise: TestLaplaceKit.mechanism(kit).event for noise, kit in KITS.items()}
    half = Fraction(1)
    expected = {"laplace": Pure(epsilon=half), "exponential": Pure(epsilon=half), "gumbel": BoundedRange(epsilon=half)}
    assert events == expected


KITS = {kit.noise: kit() for kit in (TestLaplaceKit, TestGumbelKit, TestExponentialNoiseKit)}


@given(gap=st.floats(0, 500), scale=st.floats(0.01, 100))
def test_two_candidates_have_a_closed_form(gap, scale):
    """C044: the loser has probability e^−x (1 + x/2) / 2 with x = gap/scale, however small."""
    loser, winner = laplace_noisy_max_probabilities(scores=[0, gap], scale=scale)
    x = Fraction(gap) / Fraction(scale)
    if x > 690:
        return
    with mpmath.workdps(50):
        sizes = mpmath.mpf(x.numerator) / x.denominator
        expected = mpmath.exp(-sizes) * (1 + sizes / 2) / 2
        assert loser == pytest.approx(float(expected), rel=1e-9)
    assert loser + winner == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("scores", [[3, 3, 2], [10, 8, 7, 0], [0.5, 0.25, 12]])
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_three_candidates_agree_with_mpmath(scores, scale):
    """C044."""

    def density(x):
        return mpmath.exp(-abs(x) / scale) / (2 * scale)

    def below(x):
        return mpmath.exp(x / scale) / 2 if x < 0 else 1 - mpmath.exp(-x / scale) / 2

    with mpmath.workdps(30):
        cuts = [-60 * scale, *sorted(set(scores)), 60 * scale]
        for i, p in enumerate(laplace_noisy_max_probabilities(scores=scores, scale=scale)):
            others = [s for j, s in enumerate(scores) if j != i]
            truth = mpmath.quad(
                lambda x, s=scores[i], o=others: density(x - s) * mpmath.fprod(below(x - t) for t in o), cuts
            )
            assert p == pytest.approx(float(truth), rel=1e-9)


def test_equal_candidates_are_equally_likely():
    for law in (laplace_noisy_max_probabilities, discrete_noisy_max_probabilities):
        assert law(scores=[7] * 40, scale=3) == pytest.approx([1 / 40] * 40, rel=1e-10)


@given(scores=st.lists(st.integers(-5, 5), min_size=2, max_size=4), scale=st.floats(0.05, 4))
def test_the_discrete_law_adds_up_to_one(scores, scale):
    assert math.fsum(discrete_noisy_max_probabilities(scores=scores, scale=scale)) == pytest.approx(1, abs=1e-11)


def test_the_discrete_law_tends_to_the_continuous_one():
    fine = discrete_noisy_max_probabilities(scores=[3000, 3000, 2000], scale=1000)
    assert fine == pytest.approx(laplace_noisy_max_probabilities(scores=[3, 3, 2], scale=1), rel=1e-5)


def test_the_law_of_each_noise_is_found_by_name():
    scores = [3, 3, 2, 3, 4]
    assert noisy_max_probabilities(scores=scores, scale=2, noise="gumbel") == pytest.approx(
        exponential_probabilities(scores=scores, sensitivity=1, epsilon=1, monotonic=False)
    )
    assert noisy_max_probabilities(scores=scores, scale=2, noise="exponential") == permute_and_flip_probabilities(
        scores=scores, scale=2
    )


def test_scores_far_apart_neither_overflow_nor_hang():
    assert laplace_noisy_max_probabilities(scores=[0, 10**400], scale=Fraction(1, 10**400)) == [0, pytest.approx(1)]


def test_a_score_between_whole_numbers_is_no_error():
    """C044: a refusal that depends on the scores would tell neighbours apart; the score counts as the one below."""
    options = {"candidates": ["a", "b"], "epsilon": 50, "monotonic": True, "noise": "laplace", "max_candidates": 2}
    mechanism = NoisyMax(sensitivity=1, **options)
    assert mechanism.release(Exact([Fraction(5, 2), Fraction(99)]), source=SYSTEM) == "b"
    raised(BadParameter, lambda: NoisyMax(sensitivity=Fraction(1, 2), **options))
