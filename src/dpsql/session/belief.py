"""What a promise means for one person, as a hundred people: what somebody may come to believe about them."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from dpsql.charts.figure import PEOPLE, Icons
from dpsql.charts.picture import Picture
from dpsql.privacy.measure import posterior_bound, posterior_percent
from dpsql.require import Number, require_epsilon
from dpsql.session.digits import shown_amount


def belief(*, epsilon: Number) -> Picture:
    """Of a hundred people about whom a guess was 50-50, for how many it may come true after everything that is told
    under this ε; rounded up. A slack δ is beside it.

    Theorem   Bayes' rule, `privacy.measure.posterior_bound`.
    Requires  ε > 0.
    Rounds    up.
    """
    require_epsilon(epsilon=epsilon)
    after = ceil(PEOPLE * Fraction(posterior_bound(epsilon=epsilon)))
    most = f"{posterior_percent(epsilon=epsilon)} %"
    return Picture(
        chart=Icons(
            title=f"A 50-50 guess about one person, at ε = {shown_amount(Fraction(epsilon))}",
            before=PEOPLE // 2,
            after=after,
            notes=(
                f"whoever thinks 50 % before is at most {most} sure after everything that was told",
                "apart from δ, the slack of a promise that has one",
                "whatever they know besides, and whatever they compute; drawn in whole people, rounded up",
            ),
        )
    )
