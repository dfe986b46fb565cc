"""How often the best guess between two worlds is right, and which questions have two worlds."""

import math
from fractions import Fraction
from functools import partial

import pytest

from dpsql.errors import BadName, BadParameter
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.session.margin_curve import guessed_right
from tests.kits.refusals import raised

LAWS = [DiscreteLaplaceLaw(scale=Fraction(3, 2)), DiscreteGaussianLaw(sigma_squared=Fraction(7))]


@pytest.mark.parametrize("reach", [1, 2, 3, 6, 40])
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_best_guess_by_its_definition(law, reach):
    """At each place the likelier world is guessed: half the sum of the larger probabilities."""
    brute = math.fsum(max(law.pmf(x), law.pmf(x + reach)) for x in range(-150, 151)) / 2
    assert guessed_right(law, reach) == pytest.approx(brute, abs=1e-9)


def test_the_worlds_of_a_count_are_one_person_apart_and_free(ana):
    before = ana.budget.spent
    chart = ana.two_worlds("SELECT city, COUNT(*) AS n FROM patients GROUP BY city").chart
    here, there = ({point.at: point.mark.value for point in series.points} for series in chart.series)
    assert max(here, key=here.get) == 0
    assert all(there[x] == here[x + 1] for x in there if x + 1 in here)
    assert ana.budget.spent == before


def test_several_rows_of_a_person_move_it_further(ana):
    chart = ana.two_worlds("SELECT COUNT(*) AS n FROM visits COST 1").chart
    there = {point.at: point.mark.value for point in chart.series[1].points}
    assert max(there, key=there.get) == -6
    assert "at most 6" in chart.notes[0]


def test_no_count_no_worlds(ana):
    for sql in ("SELECT SUM(age) AS a FROM patients", "SELECT ward FROM wards"):
        raised(BadParameter, partial(ana.two_worlds, sql), match="no count")
    sql = "SELECT COUNT(*) AS n, AVG(age) AS a FROM patients"
    raised(BadName, lambda: ana.two_worlds(sql, y="a"), match="choose one of: n")
