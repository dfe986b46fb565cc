"""Windows that are not inside one person are refused, with words for both ways that have a rule."""

from __future__ import annotations

import pytest

from dpsql.errors import NotSupported, TwoPeople

from stages import resolved


def refused(inner: str) -> TwoPeople:
    with pytest.raises(TwoPeople) as caught:
        resolved(f"SELECT COUNT(*) FROM ({inner}) t WHERE n = 1")
    return caught.value


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT RANK() OVER (ORDER BY day) AS n FROM visits",
        "SELECT COUNT(*) over( partition  by ward ) AS n FROM visits",
        "SELECT RANK() OVER w AS n FROM visits WINDOW w AS (ORDER BY day)",
        "SELECT person, RANK() OVER (ORDER BY COUNT(*)) AS n FROM visits GROUP BY person",
    ],
)
def test_a_rank_among_all_is_not_turned_into_one_inside_a_person(inner):
    error = refused(inner)
    assert "PARTITION BY person" in error.fix
    assert error.try_sql is None


@pytest.mark.parametrize(
    "inner",
    ["SELECT RANK() OVER (ORDER BY level) AS n FROM readings", "SELECT RANK() OVER (ORDER BY id) AS n FROM wards"],
)
def test_rows_of_nobody_have_no_windows_inside(inner):
    with pytest.raises(NotSupported):
        resolved(f"SELECT COUNT(*) FROM ({inner}) t WHERE n = 1")
