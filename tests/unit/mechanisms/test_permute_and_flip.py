"""Frequencies are compared with their law by `MechanismKit`: below 10⁻⁹ false alarms per comparison."""

from fractions import Fraction

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


def test_it_is_charged_as_pure():
    assert TestPermuteAndFlipKit().mechanism().event == Pure(epsilon=Fraction(1))
