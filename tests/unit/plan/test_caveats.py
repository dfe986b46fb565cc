"""The sentences about bounds: each against the numbers of the policy."""

import math
from fractions import Fraction

import numpy as np
from explain_plans import planned

from dpsql.plan.caveats import caveats
from tests.kits.cases import cases


def kept(people: int, epsilon: float, delta: float) -> float:
    """The optimal probability of showing a group, by its recursion."""
    shown = 0.0
    for _ in range(people):
        shown = min(math.exp(epsilon) * shown + delta, 1 - math.exp(-epsilon) * (1 - shown - delta), 1.0)
    return shown


class TestCaveats:
    @cases(__file__, "what", "sql", "notes=")
    def test_what_bounds_do_is_told(self, what, sql, notes):
        assert caveats(planned(sql)) == notes

    def test_groups_scaled(self):
        found = caveats(planned("SELECT ward, COUNT(*) FROM visits GROUP BY ward", gaussian=True))
        assert (
            "one patient whose numbers are larger than 3 groups can hold is scaled down in each of their groups"
            in found
        )
        assert not any("chosen by hash" in note for note in found)

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


QUOTIENT = "in a quotient both numbers are capped"


@cases(__file__, "sql", "warned=")
def test_a_quotient_of_capped_numbers_is_warned_about(sql, warned):
    assert any(note.startswith(QUOTIENT) for note in caveats(planned(sql))) is warned
