import itertools
from fractions import Fraction

import pytest

from dpsql.errors import BadParameter
from dpsql.mechanisms.scores import gaps_below_best, open_scores, scores_are_monotone, selection_scale
from dpsql.privacy.exact import Exact
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.brute_force import utility_is_monotonic
from tests.kits.refusals import raised

SIGNS = {"counts": (0, 1), "non_negative_sums": (0, 2), "non_positive_sums": (0, -2), "general": (-1, 1)}


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("kind", SIGNS)
def test_what_is_called_monotone_is_monotone(kind, neighbours):
    """C044: rows contribute a vector to the scores; all neighbours are enumerated."""
    rows = list(itertools.product(SIGNS[kind], repeat=2))
    together = utility_is_monotonic(
        lambda database, candidate: sum(row[candidate] for row in database),
        candidates=[0, 1],
        domain=rows,
        sizes=range(4) if neighbours is Neighbours.ADD_REMOVE else [2],
        neighbours=neighbours,
    )
    assert scores_are_monotone(kind=kind, neighbours=neighbours) is together


def test_the_scale_is_twice_the_sensitivity_unless_monotone():
    """C044."""
    assert selection_scale(sensitivity=3, epsilon=Fraction(1, 2), monotonic=False) == 12
    assert selection_scale(sensitivity=3, epsilon=Fraction(1, 2), monotonic=True) == 6


@pytest.mark.parametrize("monotonic", ["no", 0, None, 1])
def test_monotonic_is_a_boolean(monotonic):
    raised(BadParameter, lambda: selection_scale(sensitivity=1, epsilon=1, monotonic=monotonic), match="monotonic")


def test_an_unknown_kind_is_not_monotone_by_default():
    raised(BadParameter, lambda: scores_are_monotone(kind="averages", neighbours=Neighbours.ADD_REMOVE))


def test_gaps_are_exact():
    assert gaps_below_best(scores=[1, 0.5, Fraction(1, 3)], scale=Fraction(1, 6)) == [0, 3, 4]


@pytest.mark.parametrize(
    "scores", [[0.8675309, 1], [True, 1], ["0.8675309", 1], [None, 1], [1], {0.8675309: 1, 2: 2}, "12", 7]
)
def test_scores_that_are_not_exact_or_not_complete_are_refused_without_being_shown(scores):
    assert "0.8675309" not in str(raised(BadParameter, lambda: open_scores(Exact(scores), count=2)))
