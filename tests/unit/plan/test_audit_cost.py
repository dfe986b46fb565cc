"""What was released says what it cost: its ε, or its ρ at the rate of the account."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from dpsql.plan.audit import Span, costs
from dpsql.privacy.events import DiscreteGaussian, Event, GaussianThreshold, KeySelection, Pure

RATE = Fraction(1, 50)
TINY = Fraction(1, 10**6)


@dataclass(frozen=True)
class Step:
    """All that is read of one."""

    event: Event


def steps(*events):
    return tuple(map(Step, events))


LAPLACE = steps(Pure(epsilon=Fraction(1, 10)))
GAUSSIAN = steps(DiscreteGaussian(sigma_squared=Fraction(100), l2_squared=Fraction(1)))  # ρ = 1/200
GROUPS = steps(
    KeySelection(epsilon=Fraction(1, 10), delta=TINY, keys=2),  # ρ = 1/400
    DiscreteGaussian(sigma_squared=Fraction(100), l2_squared=Fraction(1)),
)
THRESHOLD = steps(GaussianThreshold(sigma_squared=Fraction(100), delta=TINY, keys=2))  # ρ = 1/100


@pytest.mark.parametrize(
    ("bought", "in_rho", "expected"),
    [
        (LAPLACE, False, ["1/10"]),
        (LAPLACE, True, ["1/10", "1/4"]),  # (1/10)²/2 = 1/200, and 50 · 1/200 = 1/4
        (GAUSSIAN, False, ["1/4"]),
        (GAUSSIAN, True, ["1/4"]),
        (GROUPS, False, ["3/8"]),
        (THRESHOLD, True, ["1/2"]),
    ],
)
def test_a_cost_is_that_of_what_was_released(bought, in_rho, expected):
    found = costs(bought, rate=RATE, in_rho=in_rho)
    assert [span.low for span in found] == list(map(Fraction, expected))
    for span in found:
        assert span.low <= span.high < span.low * (1 + TINY)
        assert span.low in span
        assert span.low / 2 not in span
        assert span.low * (1 - Fraction(1, 10**9)) not in span  # less than it costs is never what was said


def test_an_account_without_a_second_branch_counts_no_rho():
    assert costs(GAUSSIAN, rate=Fraction(0), in_rho=True) == ()
    assert costs(LAPLACE, rate=Fraction(0), in_rho=True) == (Span(low=Fraction(1, 10), high=Fraction(1, 10)),)
