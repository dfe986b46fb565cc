"""Whatever is passed to a function of additive noise, the outcome is a finite number or an error of dpsql.

No chance involved, apart from hypothesis' choice of examples.
"""

import inspect
import math
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql.errors import DpsqlError
from dpsql.mechanisms import comparison, discrete_gaussian, discrete_gaussian_curve, gaussian, laplace
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.laplace import Laplace
from dpsql.mechanisms.normal import Normal
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.grain import power_of_two_below

FUNCTIONS = [
    comparison.compare_mechanisms,
    discrete_gaussian.rho_for,
    discrete_gaussian.sigma_squared_for_rho,
    discrete_gaussian_curve.discrete_gaussian_delta,
    discrete_gaussian_curve.discrete_gaussian_epsilon,
    discrete_gaussian_curve.discrete_gaussian_sigma_squared,
    gaussian.gaussian_accuracy,
    gaussian.gaussian_accuracy_bound,
    gaussian.gaussian_delta,
    gaussian.gaussian_epsilon,
    gaussian.gaussian_sigma,
    gaussian.gaussian_sigma_classic,
    laplace.laplace_accuracy,
    laplace.laplace_accuracy_exact,
    laplace.laplace_accuracy_union,
    laplace.laplace_epsilon,
    laplace.laplace_epsilon_for,
    laplace.laplace_failure,
    laplace.laplace_sample_size,
    laplace.laplace_sample_size_rule,
    laplace.laplace_scale,
    laplace.laplace_tail,
    lambda *, scale, x: Laplace(scale=scale).pdf(x) + Laplace(scale=scale).cdf(x) + Laplace(scale=scale).tail(x),
    lambda *, scale, q: Laplace(scale=scale).ppf(q),
    lambda *, mean, sigma, x: Normal(mean=mean, sigma=sigma).pdf(x) + Normal(mean=mean, sigma=sigma).cdf(x),
    lambda *, mean, sigma, q: Normal(mean=mean, sigma=sigma).ppf(q),
    lambda *, scale, m: DiscreteLaplaceLaw(scale=scale).pmf(m) + DiscreteLaplaceLaw(scale=scale).cdf(m),
    lambda *, scale, m: DiscreteLaplaceLaw(scale=scale).tail(m) + DiscreteLaplaceLaw(scale=scale).variance,
    lambda *, scale, beta, outputs: DiscreteLaplaceLaw(scale=scale).margin(confidence=beta, outputs=outputs),
    lambda *, scale, shift, epsilon: DiscreteLaplaceLaw(scale=scale).delta(shift=shift, epsilon=epsilon),
    lambda *, spread, m: DiscreteGaussianLaw(sigma_squared=spread).pmf(m),
    lambda *, spread, m: DiscreteGaussianLaw(sigma_squared=spread).cdf(m),
    lambda *, spread, m: DiscreteGaussianLaw(sigma_squared=spread).tail(m),
    lambda *, spread: DiscreteGaussianLaw(sigma_squared=spread).std,
    lambda *, spread, beta, outputs: DiscreteGaussianLaw(sigma_squared=spread).margin(confidence=beta, outputs=outputs),
    lambda *, size: power_of_two_below(size),
]  # fmt: skip

SPECIAL = [
    0, 1, -1, 2, True, None, "1", math.nan, math.inf, -math.inf, 5e-324, 1.7e308, -0.0, 1e-150, 1e150, 0.5, 0.999,
    1e-15, 10**400, -(10**400), Fraction(1, 10**400), 1 - Fraction(1, 10**40), 2**53, 2**53 + 1,
    Neighbours.CHANGE_ONE, [], 1j,
]  # fmt: skip
anything = st.one_of(
    st.sampled_from(SPECIAL),
    st.floats(),
    st.floats(1e-6, 1),
    st.floats(1e-160, 1e160),
    st.integers(1, 10**6),
    st.fractions(),
    st.decimals(),
)


def numbers_in(result):
    if isinstance(result, tuple):
        return [part for row in result for part in (row.value, row.variance, row.accuracy)]
    return [result]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_finite_number_or_an_error_of_ours(function):
    names = [*inspect.signature(function).parameters]

    @settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
    @given(st.fixed_dictionaries(dict.fromkeys(names, anything)))
    def holds(arguments):
        if "neighbours" in arguments:
            arguments["neighbours"] = Neighbours.CHANGE_ONE
        try:
            result = function(**arguments)
        except DpsqlError:
            return
        for number in numbers_in(result):
            assert isinstance(number, (int, Fraction)) or math.isfinite(number)

    holds()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("bad", [math.nan, math.inf, None, "1", [], 1j])
def test_what_is_no_number_is_refused_in_every_place(function, bad):
    names = [*inspect.signature(function).parameters]
    good = {"neighbours": Neighbours.CHANGE_ONE, "outputs": 2, "shift": 2, "m": 3}
    for name in names:
        arguments = {other: good.get(other, 0.5) for other in names}
        function(**arguments)
        with pytest.raises(DpsqlError):
            function(**{**arguments, name: bad})
