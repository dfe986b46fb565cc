"""Frequencies are compared with their law by `MechanismKit`: below 10⁻⁹ false alarms per comparison."""

import itertools
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.mechanisms.permute_and_flip import PermuteAndFlip
from dpsql.privacy.events import Pure
from tests.kits.choosing_kit import ChoosingKit
from tests.kits.methods import always
from tests.oracles.laws import permute_and_flip_probabilities


class TestPermuteAndFlipKit(ChoosingKit):
    """C045: permute-and-flip obeys the laws of mechanisms."""

    kind = PermuteAndFlip
    value = always(lambda: [3, 5, Fraction(9, 2)])
    neighbour = always(lambda: [4, 4, Fraction(9, 2)])

    def law(self, scores):
        return permute_and_flip_probabilities(scores=scores, scale=2)


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


def test_it_is_charged_as_pure():
    assert TestPermuteAndFlipKit().mechanism().event == Pure(epsilon=Fraction(1))
