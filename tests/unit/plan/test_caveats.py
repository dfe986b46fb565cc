"""The sentences about bounds: each against the numbers of the policy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from explain_plans import HOSPITAL, planned

from dpsql.plan.caveats import caveats


def kept(people: int, epsilon: float, delta: float) -> float:
    """The optimal probability of showing a group, by its recursion."""
    shown = 0.0
    for _ in range(people):
        shown = min(math.exp(epsilon) * shown + delta, 1 - math.exp(-epsilon) * (1 - shown - delta), 1.0)
    return shown


class TestCaveats:
    def test_nothing_bites(self):
        assert caveats(planned("SELECT COUNT(*), SUM(flu), SUM(CLAMP(age, 1, 9)) FROM patients")) == ()

    def test_rows_beyond_the_cap(self):
        assert caveats(planned("SELECT COUNT(*) FROM visits")) == ("rows of one patient beyond 6 are not counted",)

    def test_people_are_counted_once_anyway(self):
        assert caveats(planned("SELECT COUNT(DISTINCT patient_id) FROM visits")) == ()

    def test_a_unique_that_nobody_enforces(self):
        assert caveats(planned("SELECT COUNT(*) FROM members")) == ("rows of one patient beyond 1 are not counted",)

    def test_values_and_sums(self):
        assert caveats(planned("SELECT SUM(charge) FROM visits")) == (
            "charge counts within 0 and 2\u2009000",
            "the sum of charge of one patient counts within 0 and 12\u2009000",
        )

    def test_averages(self):
        """One sentence for what too many values become: each is added and counted with a weight below 1."""
        notes = (
            "days counts within 1 and 90",
            "more than 12 values of days of one patient together weigh as much as 12",
        )
        assert caveats(planned("SELECT AVG(days) FROM prescriptions")) == notes
        assert caveats(planned("SELECT AVG(days), COUNT(days) FROM prescriptions")) == notes
        assert "rows of one patient beyond 12 are not counted" in caveats(
            planned("SELECT AVG(days), COUNT(*) FROM prescriptions")
        )

    def test_different_values(self):
        assert caveats(planned("SELECT COUNT(DISTINCT ward) FROM visits")) == (
            "at most 6 different values of ward of one patient are counted, chosen by hash",
        )

    def test_filters(self):
        sql = "SELECT COUNT(*) FILTER (WHERE ward = ')'), SUM(charge) FILTER (WHERE ward IN ('A', 'B')) FROM visits"
        assert caveats(planned(sql)) == (
            "filtered rows of one patient beyond 6 are not counted",
            "filtered charge counts within 0 and 2\u2009000",
            "the sum of filtered charge of one patient counts within 0 and 12\u2009000",
        )
        assert caveats(planned("SELECT COUNT(DISTINCT patient_id) FILTER (WHERE charge > 5) FROM visits")) == ()

    def test_expressions(self):
        (first, *_) = caveats(planned("SELECT SUM(CAST(charge * (1 + 1) AS DOUBLE)) FROM visits"))
        assert first == "CAST(charge * (1 + 1) AS DOUBLE) counts within 0 and 4\u2009000"
        (first, *_) = caveats(planned("SELECT SUM(CASE WHEN ward = ')' THEN charge ELSE 0 END) FROM visits"))
        assert first == "CASE WHEN ward = ')' THEN charge ELSE 0 END counts within 0 and 2\u2009000"

    def test_groups_chosen(self):
        assert caveats(planned("SELECT ward, COUNT(*) FROM visits GROUP BY ward")) == (
            "rows of one patient in one group beyond 6 are not counted",
            "one patient counts in at most 3 groups, chosen by hash",
            "only the public groups of ward are counted",
        )

    def test_groups_scaled(self):
        found = caveats(planned("SELECT ward, COUNT(*) FROM visits GROUP BY ward", gaussian=True))
        assert (
            "one patient whose numbers are larger than 3 groups can hold is scaled down in each of their groups"
            in found
        )
        assert not any("chosen by hash" in note for note in found)

    def test_few_groups_lose_nobody(self):
        sql = "SELECT ward, COUNT(*) FROM visits WHERE ward IN ('A', 'B') GROUP BY ward"
        assert not any("one patient counts in" in note for note in caveats(planned(sql)))

    def test_hidden_groups_by_the_optimal_rule(self):
        """A quarter of ε = 4 over three groups, δ = 1e-9 over three groups."""
        plan = planned("SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis", cost=Fraction(4))
        half, sure = (next(n for n in range(10**4) if kept(n, 1 / 3, 1e-9 / 3) >= share) for share in (0.5, 1.0))
        *_, last = caveats(plan)
        assert last == f"groups with fewer than about {half} patients stay hidden; from {sure} on all are shown"

    def test_hidden_groups_by_a_threshold(self):
        """All of ρ for three counts: σ² = 3/2ρ; somebody's own three groups pass with probability 1e-9 at most."""
        plan = planned(
            "SELECT diagnosis, COUNT(DISTINCT patient_id) FROM visits GROUP BY diagnosis",
            gaussian=True,
            cost=Fraction(1),
        )
        found = caveats(plan)
        x = np.arange(-2000, 2001)
        weights = np.exp(-(x**2) * float(plan.terms.gaussian_rho) / 3)
        passing = np.cumsum((weights / weights.sum())[::-1])[::-1]  # Pr[noise >= x]
        lowest = next(int(t) for t, tail in zip(x, passing, strict=True) if 1 - (1 - tail) ** 3 <= 1e-9)
        assert found[1] == f"groups with fewer than about {lowest} patients stay hidden"
        assert found[0] == "one patient counts in at most 3 groups, chosen by hash"
        assert len(found) == 2

    def test_public_plans_have_none(self):
        assert caveats(planned("SELECT ward, COUNT(*) FROM wards GROUP BY ward")) == ()

    def test_rows_are_called_rows(self):
        found = caveats(planned("SELECT SUM(weight) FROM samples", catalog=HOSPITAL))
        assert found == ("weight counts within 0 and 8",)


QUOTIENT = "in a quotient both numbers are capped"


@pytest.mark.parametrize(
    ("sql", "warned"),
    [
        ("SELECT COUNT(*) FILTER (WHERE charge > 5) / COUNT(*) FROM visits", True),
        ("SELECT 100.0 * SUM(charge) / (1 + COUNT(*)) FROM visits", True),
        ("SELECT COUNT(*) / 12 FROM visits", False),
        ("SELECT COUNT(*) / COUNT(*) FROM visits", False),
        ("SELECT AVG(charge) FROM visits", False),
        ("SELECT AVG(CASE WHEN charge > 5 THEN 1 ELSE 0 END) FROM visits", False),
    ],
)
def test_a_quotient_of_capped_numbers_is_warned_about(sql, warned):
    assert any(note.startswith(QUOTIENT) for note in caveats(planned(sql))) is warned
