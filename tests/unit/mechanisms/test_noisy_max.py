"""Frequencies are compared with their law by `MechanismKit`: below 10⁻⁹ false alarms per comparison."""

from fractions import Fraction

from dpsql.errors import BadParameter
from dpsql.mechanisms.exponential import exponential_probabilities
from dpsql.mechanisms.noisy_max import NoisyMax
from dpsql.privacy.events import BoundedRange, Pure
from dpsql.privacy.exact import Exact
from dpsql.randomness import SYSTEM
from tests.kits.choosing_kit import ChoosingKit
from tests.kits.refusals import raised
from tests.oracles.laws import discrete_noisy_max_probabilities, permute_and_flip_probabilities


class NoisyMaxKit(ChoosingKit):
    kind = NoisyMax

    def bad_parameters(self):
        yield from super().bad_parameters()
        yield from ({"noise": bad} for bad in ("gauss", "", None, 3))


class TestLaplaceKit(NoisyMaxKit):
    """C044: discrete Laplace noise."""

    more = {"noise": "laplace"}  # noqa: RUF012

    def law(self, scores):
        return discrete_noisy_max_probabilities(scores=scores, scale=2)


class TestGumbelKit(NoisyMaxKit):
    """C045: Gumbel noise is the exponential mechanism."""

    more = {"noise": "gumbel"}  # noqa: RUF012

    def law(self, scores):
        return exponential_probabilities(scores=scores, sensitivity=1, epsilon=1, monotonic=False)


class TestExponentialNoiseKit(NoisyMaxKit):
    """C045: exponential noise is permute-and-flip."""

    more = {"noise": "exponential"}  # noqa: RUF012

    def law(self, scores):
        return permute_and_flip_probabilities(scores=scores, scale=2)


def test_only_gumbel_noise_has_bounded_range():
    """C044 C045: what each noise charges."""
    kits = (TestLaplaceKit, TestGumbelKit, TestExponentialNoiseKit)
    events = {kit.more["noise"]: kit().mechanism().event for kit in kits}
    one = Fraction(1)
    expected = {"laplace": Pure(epsilon=one), "exponential": Pure(epsilon=one), "gumbel": BoundedRange(epsilon=one)}
    assert events == expected


def test_a_score_between_whole_numbers_is_no_error():
    """C044: a refusal that depends on the scores would tell neighbours apart; the score counts as the one below."""
    options = {"candidates": ["a", "b"], "epsilon": 50, "monotonic": True, "noise": "laplace", "max_candidates": 2}
    mechanism = NoisyMax(sensitivity=1, **options)
    assert mechanism.release(Exact([Fraction(5, 2), Fraction(99)]), source=SYSTEM) == "b"
    raised(BadParameter, lambda: NoisyMax(sensitivity=Fraction(1, 2), **options))
