"""The average of independent measurements has the law it is said to have.

Drawn numbers are compared with laws that are computed here from their formulas, by the inequality of Dvoretzky, Kiefer,
Wolfowitz and Massart. One false alarm in 10^9 runs for each of the tests that draw.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.margins import DRAWS, Average, NoisySlotLaw, averaged, averaged_slot, draws, linear_margin
from dpsql.mechanisms.table import measured
from dpsql.privacy.exact import Exact
from dpsql.randomness import SYSTEM
from tests.kits.cases import cases
from tests.kits.refusals import raised

SIZE = 30_000
ALARM = 1e-9


def gaussian(sigma_squared):
    return DiscreteGaussianLaw(sigma_squared=Fraction(sigma_squared))


def laplace(scale):
    return DiscreteLaplaceLaw(scale=Fraction(scale))


def density(law, reach=400):
    """By the formula, from -reach to reach."""
    x = np.arange(-reach, reach + 1)
    plain = (
        np.exp(-np.abs(x) / float(law.scale))
        if hasattr(law, "scale")
        else np.exp(-(x**2) / (2 * float(law.sigma_squared)))
    )
    return plain / plain.sum()


def sum_law(parts, reach=400):
    """The law of Σ share·Z on whole numbers, by convolution."""
    whole = np.ones(1)
    for share, law in parts:
        spread = np.zeros(2 * reach * share + 1)
        spread[::share] = density(law, reach)
        whole = np.convolve(whole, spread)
    return whole


def furthest(drawn, law):
    """The largest distance between the drawn distribution function and that of a law around 0."""
    half = len(law) // 2
    counts = np.bincount(np.array(drawn) + half, minlength=len(law))
    return np.abs(np.cumsum(counts) / len(drawn) - np.cumsum(law)).max()


def limit(size=SIZE):
    return math.sqrt(math.log(2 / ALARM) / (2 * size))


@cases(__file__, "laws=")
def test_what_is_drawn_and_averaged_has_the_law_of_the_average(laws):
    average = averaged(laws)
    noises = [
        [row[0] for row in measured(Exact([(key, 7) for key in range(SIZE)]), keys=1, laws=[law], source=SYSTEM).values]
        for law in laws
    ]
    drawn = [average.of(numbers) - 7 * average.steps for numbers in zip(*noises, strict=True)]
    assert furthest(drawn, sum_law(average.parts)) < limit()
    assert furthest([number + average.steps for number in drawn], sum_law(average.parts)) > limit()  # can fail


def test_gaussian_measurements_average_to_what_a_fresh_one_would_be():
    """ρ₁ and ρ₂ − ρ₁ buy σ² = 120 and 40; ρ₂ buys 30. Variances by the formula, not by our own code."""
    average = averaged([gaussian(120), gaussian(40)])
    assert average.parts == ((1, gaussian(120)), (3, gaussian(40)))
    x = np.arange(-3200, 3201)
    law = sum_law(average.parts, reach=800)
    assert (law * x**2).sum() / average.steps**2 == pytest.approx(30, rel=1e-6)
    ours = linear_margin(
        [(Fraction(1), averaged_slot([slot(gaussian(120), "1/4"), slot(gaussian(40), "1/4")]))], confidence=0.95
    )
    assert float(ours) == pytest.approx(1.959964 * math.sqrt(30) / 4, rel=0.01)


def test_measurements_weigh_by_their_variance():
    """Laplace noise of scale 3 has σ² = 18: nine parts of noise of σ² = 10 for five of it."""
    assert averaged([laplace(3), gaussian(10)]).parts == ((5, laplace(3)), (9, gaussian(10)))


def slot(law, grain=1):
    return NoisySlotLaw(law=law, grain=Fraction(grain))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("laws", [[gaussian(90), gaussian(30)], [laplace(8), laplace(4)], [laplace(3), gaussian(10)]])
def test_the_margin_covers_and_is_hardly_larger_than_it_must_be(laws, confidence):
    both = averaged_slot([slot(law, "1/2") for law in laws])
    law, half = sum_law(both.parts), len(sum_law(both.parts)) // 2
    margin = linear_margin([(Fraction(1), both)], confidence=confidence)

    def inside(m):
        steps = math.floor(m / both.grain)
        return law[half - steps : half + steps + 1].sum()

    assert inside(margin) >= confidence - 1e-12
    assert inside(margin * Fraction(99, 100) - both.grain) < confidence


def test_whole_numbers_are_shown_whole():
    both = averaged_slot([slot(gaussian(90)), slot(gaussian(30))])
    assert both.rounded
    assert both.grain == Fraction(1, 4)
    assert not averaged_slot([slot(gaussian(90), "1/8"), slot(gaussian(30), "1/8")]).rounded


def test_plausible_noise_of_an_average_follows_its_law():
    """The i-th smallest of the draws lies about where the law has passed i/DRAWS; no chance is involved."""
    both = averaged_slot([slot(gaussian(90), "1/8"), slot(laplace(5), "1/8")])
    values = sorted(draws(both, DRAWS, seed=b"any"))
    law = sum_law(both.parts)
    below = np.cumsum(law)
    half = len(law) // 2
    for place, value in enumerate(values):
        steps = math.floor(value / float(both.grain))
        assert below[steps + half - 6] - 0.005 <= (place + 0.5) / DRAWS <= below[steps + half + 6] + 0.005
    assert sum(values) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("parts", [(), ((0, gaussian(3)),), ((-1, gaussian(3)), (2, gaussian(3)))])
def test_shares_are_whole_numbers_above_0(parts):
    raised(InternalError, lambda: Average(parts=parts))
