"""De-biasing at the curator, by exact enumeration. No chance involved."""

from fractions import Fraction
from itertools import product

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter
from dpsql.local import estimate_share, estimate_shares
from dpsql.local.debias import debias_margin, debias_variance
from dpsql.mechanisms.randomized_response import KaryResponse, RandomizedResponse, rr_variance
from tests.kits.refusals import raised

QUARTER = RandomizedResponse.with_gamma(gamma=Fraction(1, 4))
CHANNELS = [
    QUARTER,
    RandomizedResponse.two_coin(truth=Fraction(1, 3), heads=Fraction(3, 4)),
    RandomizedResponse(yes_given_yes=Fraction(9, 10), yes_given_no=Fraction(1, 100)),
]


@pytest.mark.parametrize("response", CHANNELS)
@pytest.mark.parametrize("truth", list(product((0, 1), repeat=4)))
def test_the_estimate_is_unbiased_and_its_margin_covers(response, truth):
    """C016: by exact enumeration of all reports of four people, for symmetric and asymmetric coins."""
    beta = Fraction(1, 5)
    mean = covered = second = Fraction(0)
    for reports in product((0, 1), repeat=4):
        chance = Fraction(1)
        for bit, report in zip(truth, reports, strict=True):
            yes = response.yes_given_yes if bit else response.yes_given_no
            chance *= yes if report else 1 - yes
        estimate = estimate_share(reports, response=response, beta=beta)
        mean += chance * Fraction(estimate.value)
        second += chance * Fraction(estimate.value) ** 2
        covered += chance * (abs(Fraction(estimate.value) - Fraction(sum(truth), 4)) <= estimate.margin)
    assert float(mean) == pytest.approx(sum(truth) / 4, abs=1e-12)
    assert second - mean**2 <= Fraction(estimate.variance) * (1 + Fraction(1, 10**12))
    assert covered >= 1 - beta


def test_for_the_symmetric_survey_the_variance_bound_is_the_variance():
    assert debias_variance(size=7, p=QUARTER.yes_given_yes, q=QUARTER.yes_given_no) == rr_variance(
        gamma=Fraction(1, 4), size=7
    )


@given(
    size=st.integers(1, 10**6),
    q=st.fractions(Fraction(1, 100), Fraction(48, 100)),
    p=st.fractions(Fraction(1, 2), Fraction(99, 100)),
    beta=st.floats(1e-12, 0.999),
)
def test_the_margin_is_the_smaller_bound_rounded_up(size, p, q, beta):
    """C016: Chebyshev and Hoeffding, with fifty digits."""
    got = debias_margin(size=size, p=p, q=q, beta=beta)
    with mpmath.workdps(50):
        a, b = (mpmath.mpf(x.numerator) / x.denominator for x in (p, q))
        chebyshev = mpmath.sqrt(max(a * (1 - a), b * (1 - b)) / size / mpmath.mpf(beta)) / (a - b)
        hoeffding = mpmath.sqrt(mpmath.log(2 / mpmath.mpf(beta)) / (2 * size)) / (a - b)
        truth = min(chebyshev, hoeffding)
        assert truth <= got <= truth * (1 + mpmath.mpf(10) ** -14)


@pytest.mark.parametrize("reports", [[], ["pink"]])
def test_reports_that_are_no_category_are_refused(reports):
    with pytest.raises(BadParameter):
        estimate_shares(reports, response=KaryResponse(categories=["a", "b"], epsilon=1), beta=0.05)


def test_a_channel_without_information_is_refused():
    raised(BadParameter, lambda: debias_variance(size=3, p=Fraction(1, 2), q=Fraction(1, 2)))
