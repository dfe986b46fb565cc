"""Selections by brute force: every pair of neighbouring score vectors on small domains, every path of the code.

Nothing here is random. Where a theorem is tight, the largest log ratio must come within 5 % of ε, so that a
mechanism with too much noise is noticed as well as one with too little.
"""

import itertools
import math
from fractions import Fraction
from functools import cache

import pytest

from dpsql.mechanisms import exponential, noisy_max, permute_and_flip
from dpsql.mechanisms.exponential import ExponentialMechanism, exponential_log_probabilities
from dpsql.mechanisms.noisy_max import NoisyMax
from dpsql.mechanisms.permute_and_flip import PermuteAndFlip
from dpsql.mechanisms.scores import selection_scale
from dpsql.privacy.exact import Exact
from tests.kits.paths import law_of
from tests.oracles.laws import discrete_noisy_max_probabilities, permute_and_flip_probabilities


def exponential_law(*, scores, scale):
    return [math.exp(log) for log in exponential_log_probabilities(scores=scores, scale=scale)]


flip_law, discrete_law = permute_and_flip_probabilities, discrete_noisy_max_probabilities
LAWS = {"exponential": exponential_law, "flip": flip_law, "discrete": discrete_law}
DOMAINS = [(2, 12), (3, 4), (4, 2)]  # candidates, largest score


def moves(count, *, monotonic):
    """All ways in which one unit can move integer scores of sensitivity 1, up to which database comes first."""
    return itertools.product((0, 1) if monotonic else (-1, 0, 1), repeat=count)


def largest_loss(law, *, count, top, scale, monotonic):
    """The largest |ln p(i|s) − ln p(i|s')| over all neighbours s, s' with scores in 0..top."""

    @cache
    def logs(scores):
        return [math.log(p) for p in law(scores=list(scores), scale=scale)]

    return max(
        abs(one - other)
        for scores in itertools.product(range(top + 1), repeat=count)
        for move in moves(count, monotonic=monotonic)
        for moved in [tuple(s + m for s, m in zip(scores, move, strict=True))]
        if all(0 <= s <= top for s in moved)
        for one, other in zip(logs(scores), logs(moved), strict=True)
    )


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("name", LAWS)
def test_no_neighbours_are_told_apart_by_more_than_epsilon(name, epsilon, monotonic):
    """C039 C044 C045: every law, every pair of neighbours on three small domains."""
    scale = selection_scale(sensitivity=1, epsilon=epsilon, monotonic=monotonic)
    for count, top in DOMAINS:
        loss = largest_loss(LAWS[name], count=count, top=top, scale=scale, monotonic=monotonic)
        assert loss <= float(epsilon) * (1 + 1e-9), (count, top)


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("name", LAWS)
def test_the_scale_is_not_larger_than_it_must_be(name, monotonic):
    """Two candidates far apart: the loser's probability is exp(−gap/scale), times a constant (exponential mechanism,
    permute-and-flip) or a slowly growing factor (Laplace), and a unit moves the gap by 2Δ (Δ if monotone). So the
    ratio tends to e^ε as the gap grows; for permute-and-flip it is e^ε at every gap."""
    epsilon = Fraction(2)
    scale = selection_scale(sensitivity=1, epsilon=epsilon, monotonic=monotonic)
    loss = largest_loss(LAWS[name], count=2, top=30, scale=scale, monotonic=monotonic)
    assert 0.95 * float(epsilon) <= loss <= float(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_the_monotone_scale_breaks_general_scores(name):
    """Scores that move in opposite directions with the noise of monotone ones: nearly 2ε."""
    scale = selection_scale(sensitivity=1, epsilon=1, monotonic=True)
    assert largest_loss(LAWS[name], count=2, top=30, scale=scale, monotonic=False) > 1.8


SCORES = [(2, 0), (1, 1, 0), (0, 2, 3)]


@pytest.mark.parametrize("scores", SCORES)
def test_the_exponential_code_has_the_exponential_law(scores):
    """C039: all paths of the rejection sampler of up to four rounds, which have the law of all of them."""
    mechanism = ExponentialMechanism(
        candidates=range(len(scores)), sensitivity=1, epsilon=Fraction(4), monotonic=False, max_candidates=9
    )
    law, missed = law_of(lambda: mechanism.release(Exact(scores), source=None), modules=[exponential], depth=8)
    got = [law[i] / (1 - missed) for i in range(len(scores))]
    assert got == pytest.approx(exponential_law(scores=scores, scale=mechanism.scale), rel=1e-12)


@pytest.mark.parametrize("scores", SCORES)
def test_the_flipping_code_has_the_flipping_law(scores):
    """C045: all permutations and all coins, without remainder."""
    mechanism = PermuteAndFlip(
        candidates=range(len(scores)), sensitivity=1, epsilon=Fraction(1), monotonic=False, max_candidates=9
    )
    law, missed = law_of(lambda: mechanism.release(Exact(scores), source=None), modules=[permute_and_flip])
    assert abs(missed) < 1e-12
    assert [law[i] for i in range(len(scores))] == pytest.approx(
        flip_law(scores=scores, scale=mechanism.scale), rel=1e-12
    )


@pytest.mark.parametrize("scores", [(2, 0), (1, 1), (1, 1, 0)])
def test_the_noisy_max_code_has_the_discrete_law(scores):
    """C044: all draws of discrete Laplace noise and all orders for ties."""
    mechanism = NoisyMax(
        candidates=range(len(scores)),
        sensitivity=1,
        epsilon=Fraction(8),
        monotonic=False,
        noise="laplace",
        max_candidates=9,
    )
    law, missed = law_of(lambda: mechanism.release(Exact(scores), source=None), modules=[noisy_max], floor=1e-10)
    expected = discrete_law(scores=list(scores), scale=mechanism.scale)
    assert missed < 1e-6
    assert all(-1e-12 <= expected[i] - law[i] <= missed + 1e-12 for i in range(len(scores)))


@pytest.mark.parametrize(("noise", "law"), [("gumbel", exponential_law), ("exponential", flip_law)])
def test_the_other_noises_delegate(noise, law):
    """C045: Gumbel noise is the exponential mechanism, exponential noise is permute-and-flip."""
    mechanism = NoisyMax(
        candidates=[*"abc"], sensitivity=1, epsilon=Fraction(5), monotonic=True, noise=noise, max_candidates=9
    )
    scores = (Fraction(1, 2), 1, 0)
    got, missed = law_of(
        lambda: mechanism.release(Exact(scores), source=None), modules=[exponential, permute_and_flip], depth=8
    )
    assert [got[c] / (1 - missed) for c in "abc"] == pytest.approx(law(scores=scores, scale=mechanism.scale), rel=1e-12)
