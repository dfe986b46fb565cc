"""Thresholds. Frequencies are compared with their law by `MechanismKit`: below 10⁻⁹ false alarms per comparison."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.mechanisms import partition_threshold
from dpsql.mechanisms.partition_threshold import (
    GaussianThresholdSelection,
    discrete_threshold,
    gaussian_threshold,
    laplace_threshold,
    laplace_threshold_scale,
)
from dpsql.privacy.events import GaussianThreshold
from dpsql.privacy.exact import Exact
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import SYSTEM
from tests.kits.mechanism_kit import MechanismKit
from tests.kits.methods import always
from tests.kits.paths import law_of

DELTAS = st.floats(1e-200, 0.99)
KEYS = st.integers(1, 1000)


def failing_share(delta, keys):
    return -mpmath.expm1(mpmath.log1p(-mpmath.mpf(delta)) / keys)


def gaussian_pmf(sigma_squared):
    reach = math.ceil(45 * math.sqrt(sigma_squared)) + 5
    weights = {x: mpmath.exp(-mpmath.mpf(x * x) / (2 * mpmath.mpf(sigma_squared))) for x in range(-reach, reach + 1)}
    total = mpmath.fsum(weights.values())
    return {x: w / total for x, w in weights.items()}


class TestGaussianThresholdKit(MechanismKit):
    """C066: the Gaussian threshold obeys the laws of mechanisms."""

    mechanism = always(
        lambda: GaussianThresholdSelection(
            sigma_squared=Fraction(2), delta=Fraction(1, 10), keys_per_unit=1, neighbours=Neighbours.ADD_REMOVE
        )
    )

    value = always(lambda: {"a": 5})
    neighbour = always(lambda: {"a": 6})
    outputs = always(lambda: [(), *((("a", n),) for n in range(3, 12))])

    def probability(self, value, output):
        pmf = gaussian_pmf(2)
        threshold = self.mechanism().threshold
        if output == ():
            return float(mpmath.fsum(p for x, p in pmf.items() if value["a"] + x <= threshold))
        ((_, count),) = output
        return float(pmf[count - value["a"]]) if count > threshold else 0.0

    def bad_parameters(self):
        yield from ({"sigma_squared": bad} for bad in (0, -1, math.nan, math.inf, "1", True, 10**40))
        yield from ({"delta": bad} for bad in (0, 1, -0.5, math.nan, None))
        yield from ({"keys_per_unit": bad} for bad in (0, 1.5))
        yield from ({"neighbours": bad} for bad in ("add_remove", None))

    ill_typed = always(lambda: [{"key": 0.8675309}, {"key": -8675309}, [0.8675309]])


class TestGaussianThresholdNewKeyKit(TestGaussianThresholdKit):
    """C066: a key that one person holds, against nobody: all that is shown of it is paid for by δ."""

    value = always(lambda: {"a": 1})
    neighbour = always(lambda: {"a": 0})

    def probability(self, value, output):
        if value["a"] == 0:
            return float(output == ())
        return TestGaussianThresholdKit.probability(self, value, output)


@given(epsilon=st.floats(0.01, 10), delta=DELTAS, keys=KEYS, linf=st.floats(0.1, 10))
def test_korolova_wilson_laplace_threshold(epsilon, delta, keys, linf):
    """C066: Pr[linf + Lap(b) >= τ] is at most p, and τ is the smallest such number, up to rounding up."""
    tau = laplace_threshold(epsilon=epsilon, delta=delta, keys=keys, linf=linf)
    with mpmath.workdps(400):
        b = keys * mpmath.mpf(linf) / mpmath.mpf(epsilon)
        p = failing_share(delta, keys)
        truth = mpmath.mpf(linf) + (-b * mpmath.log(2 * p) if p <= 0.5 else b * mpmath.log(2 * (1 - p)))
        assert truth <= tau <= truth + abs(truth) * mpmath.mpf(10) ** -15 + b * mpmath.mpf(10) ** -25
    assert laplace_threshold_scale(epsilon=epsilon, keys=keys, linf=linf) == keys * Fraction(linf) / Fraction(epsilon)


@pytest.mark.parametrize("digits", [20, 70, 300])
def test_the_laplace_threshold_of_a_delta_next_to_one(digits):
    """C066: δ = 1 − 10⁻ⁿ is no float; τ = 1 + ln(2·10⁻ⁿ) all the same."""
    tau = laplace_threshold(epsilon=1, delta=1 - Fraction(1, 10**digits), keys=1, linf=1)
    assert tau == pytest.approx(1 + math.log(2) - digits * math.log(10), rel=1e-14)


@given(sigma=st.floats(0.1, 100), delta=DELTAS, keys=KEYS)
def test_the_normal_threshold(sigma, delta, keys):
    """C066: the tail at τ − linf is at most p."""
    tau = gaussian_threshold(sigma=sigma, delta=delta, keys=keys, linf=1)
    with mpmath.workdps(250):
        p = failing_share(delta, keys)
        at = (mpmath.mpf(tau) - 1) / mpmath.mpf(sigma)
        assert mpmath.erfc(at / mpmath.sqrt(2)) / 2 <= p
        nearer = at - (abs(at) + 1) * mpmath.mpf(10) ** -12
        assert mpmath.erfc(nearer / mpmath.sqrt(2)) / 2 >= p


@given(
    sigma_squared=st.fractions(Fraction(1, 4), 400),
    delta=st.fractions(Fraction(1, 10**12), Fraction(9, 10)),
    keys=st.integers(1, 50),
)
def test_the_integer_threshold_is_the_smallest_that_keeps_delta(sigma_squared, delta, keys):
    """C066: δ = 1 − (1 − Pr[Z >= τ])^G, from the exact pmf."""
    tau = discrete_threshold(sigma_squared=sigma_squared, delta=delta, keys=keys)
    with mpmath.workdps(60):
        pmf = gaussian_pmf(mpmath.mpf(sigma_squared.numerator) / sigma_squared.denominator)
        for threshold, within in ((tau, True), (tau - 1, False)):
            tail = mpmath.fsum(p for x, p in pmf.items() if x >= threshold)
            failing = -mpmath.expm1(keys * mpmath.log1p(-tail))
            kept = failing <= mpmath.mpf(delta.numerator) / delta.denominator
            assert kept is within or (tau == 1 and not within)


def test_a_key_of_one_person_passes_with_the_stated_probability():
    """C066: every draw of the noise; strictly above the threshold means Z >= τ."""
    mechanism = TestGaussianThresholdKit().mechanism()
    law, missed = law_of(
        lambda: tuple(mechanism.release(Exact({"only": 1}), source=None)), modules=[partition_threshold]
    )
    assert abs(missed) < 1e-12
    failing = float(mpmath.fsum(p for x, p in gaussian_pmf(2).items() if x >= mechanism.threshold))
    assert law[("only",)] == pytest.approx(failing, rel=1e-12)
    assert failing <= 0.1


def test_the_event_counts_the_keys_of_both_people_when_one_is_replaced():
    """C066."""
    mechanism = GaussianThresholdSelection(
        sigma_squared=9, delta=Fraction(1, 1000), keys_per_unit=4, neighbours=Neighbours.CHANGE_ONE
    )
    assert mechanism.event == GaussianThreshold(sigma_squared=Fraction(9), delta=Fraction(1, 1000), keys=8)
    assert mechanism.threshold == discrete_threshold(sigma_squared=9, delta=Fraction(1, 1000), keys=8)


def test_empty_keys_are_never_shown_and_the_order_is_that_of_the_keys():
    mechanism = GaussianThresholdSelection(
        sigma_squared=1, delta=Fraction(9, 10), keys_per_unit=1, neighbours=Neighbours.ADD_REMOVE
    )
    assert mechanism.release(Exact(dict.fromkeys(range(200), 0)), source=SYSTEM) == {}
    assert list(mechanism.release(Exact({"zoe": 10**6, "amy": 10**6}), source=SYSTEM)) == ["amy", "zoe"]


def test_wide_noise_is_quick():
    assert discrete_threshold(sigma_squared=2**60, delta=1e-10, keys=1000) == pytest.approx(2**30 * 7.349, rel=1e-3)
