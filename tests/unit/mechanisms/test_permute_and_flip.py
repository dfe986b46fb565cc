"""Frequencies are compared with their law by `MechanismKit`: below 10⁻⁹ false alarms per comparison."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.mechanisms.exponential import exponential_probabilities
from dpsql.mechanisms.permute_and_flip import PermuteAndFlip
from dpsql.privacy.events import Pure
from tests.kits.mechanism_kit import MechanismKit
from tests.kits.methods import always
from tests.kits.samples import examples
from tests.oracles.laws import permute_and_flip_probabilities


class TestPermuteAndFlipKit(MechanismKit):
    """C045: permute-and-flip obeys the laws of mechanisms."""

    mechanism = always(
        lambda: PermuteAndFlip(
            candidates=["a", "b", "c"], sensitivity=1, epsilon=Fraction(1), monotonic=False, max_candidates=10
        )
    )

    value = always(lambda: [3, 5, Fraction(9, 2)])
    neighbour = always(lambda: [4, 4, Fraction(9, 2)])
    outputs = always(lambda: ["a", "b", "c"])

    def probability(self, value, output):
        return permute_and_flip_probabilities(scores=value, scale=2)["abc".index(output)]

    def bad_parameters(self):
        yield from ({"epsilon": bad} for bad in (0, -1, math.nan, math.inf, "1", True))
        yield from ({"sensitivity": bad} for bad in (0, -1, math.nan, math.inf))
        yield from ({"candidates": bad} for bad in ([], range(11), "abc", [*"aba"], {"a": 1}, None))
        yield {"monotonic": None}
        yield {"max_candidates": 0}

    ill_typed = always(lambda: [[0.8675309, 1, 2], [8675309, 1]])


def enumerated(scores, scale):
    """All orders of the candidates, with fifty digits: each coin shows tails until one shows heads."""
    with mpmath.workdps(50):
        heads = [mpmath.exp(-(max(scores) - s) / mpmath.mpf(scale)) for s in scores]
        law = [mpmath.mpf(0)] * len(scores)
        orders = list(itertools.permutations(range(len(scores))))
        for order in orders:
            reached = mpmath.mpf(1)
            for i in order:
                law[i] += reached * heads[i]
                reached *= 1 - heads[i]
        return [float(p / len(orders)) for p in law]


@given(scores=st.lists(st.integers(0, 40), min_size=1, max_size=5), scale=st.integers(1, 8))
def test_mckenna_sheldon_by_enumeration_of_all_orders(scores, scale):
    """C045."""
    assert permute_and_flip_probabilities(scores=scores, scale=scale) == pytest.approx(
        enumerated(scores, scale), rel=1e-12
    )


@examples(20)
@given(scores=st.lists(st.integers(0, 9), min_size=2, max_size=5), scale=st.integers(1, 4))
def test_exponential_noise_has_the_same_winner(scores, scale):
    """C045: Ding et al. (2021), by quadrature over the level of the winner."""
    best = max(scores)

    def wins(i):
        def density(x):
            others = mpmath.fprod(1 - mpmath.exp(-(x - s) / mpmath.mpf(scale)) for j, s in enumerate(scores) if j != i)
            return mpmath.exp(-(x - scores[i]) / mpmath.mpf(scale)) / scale * others

        return mpmath.quad(density, [best, best + scale, best + 5 * scale, best + 60 * scale])

    law = permute_and_flip_probabilities(scores=scores, scale=scale)
    assert law[0] == pytest.approx(float(wins(0)), rel=1e-8)


@given(scores=st.lists(st.integers(0, 12), min_size=2, max_size=6))
def test_it_is_never_worse_than_the_exponential_mechanism(scores):
    """C045: McKenna and Sheldon's Theorem 2, the expected score."""
    flip = permute_and_flip_probabilities(scores=scores, scale=2)
    softmax = exponential_probabilities(scores=scores, sensitivity=1, epsilon=1, monotonic=False)
    assert math.fsum(map(math.prod, zip(flip, scores, strict=True))) >= (
        math.fsum(map(math.prod, zip(softmax, scores, strict=True))) - 1e-9
    )


def test_many_candidates_still_add_up():
    assert math.fsum(permute_and_flip_probabilities(scores=range(1000), scale=100)) == pytest.approx(1, abs=1e-10)


def test_it_is_charged_as_pure():
    assert TestPermuteAndFlipKit().mechanism().event == Pure(epsilon=Fraction(1))
