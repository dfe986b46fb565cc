"""Windows that are not inside one person are refused with the same query, kept inside."""

from __future__ import annotations

import pytest

from dpsql.errors import NotSupported, TwoPeople

from stages import resolved


def refused(inner: str) -> TwoPeople:
    with pytest.raises(TwoPeople) as caught:
        resolved(f"SELECT COUNT(*) FROM ({inner}) t WHERE n = 1")
    return caught.value


@pytest.mark.parametrize(
    ("inner", "proposed"),
    [
        ("SELECT RANK() OVER (ORDER BY day) AS n FROM visits",
         "SELECT RANK() OVER (PARTITION BY person ORDER BY day) AS n FROM visits"),
        ("SELECT COUNT(*) OVER () AS n FROM visits", "SELECT COUNT(*) OVER (PARTITION BY person) AS n FROM visits"),
        ("SELECT COUNT(*) over( partition  by ward ) AS n FROM visits",
         "SELECT COUNT(*) over( partition  by person, ward ) AS n FROM visits"),
        ("SELECT MAX(day) OVER () AS a, MAX(day) OVER (PARTITION BY person), 1 AS n FROM visits",
         "SELECT MAX(day) OVER (PARTITION BY person) AS a, MAX(day) OVER (PARTITION BY person), 1 AS n FROM visits"),
        ("SELECT COUNT(*) OVER () + MAX(ward) OVER (PARTITION BY ward) AS n FROM visits",
         "SELECT COUNT(*) OVER (PARTITION BY person) + MAX(ward) OVER (PARTITION BY person, ward) AS n FROM visits"),
        ("SELECT MAX(illness || ' OVER (') OVER (ORDER BY day) AS m, 1 AS n FROM visits",
         "SELECT MAX(illness || ' OVER (') OVER (PARTITION BY person ORDER BY day) AS m, 1 AS n FROM visits"),
        ("SELECT RANK() OVER (ORDER BY a.day) AS n FROM visits a JOIN people b USING (person)",
         "SELECT RANK() OVER (PARTITION BY a.person ORDER BY a.day) AS n FROM visits a JOIN people b USING (person)"),
        ("SELECT person, RANK() OVER (ORDER BY COUNT(*)) AS n FROM visits GROUP BY person",
         "SELECT person, RANK() OVER (PARTITION BY person ORDER BY COUNT(*)) AS n FROM visits GROUP BY person"),
    ],
)  # fmt: skip
def test_the_person_is_added_to_every_window_that_lacks_it(inner, proposed):
    proposal = refused(inner).try_sql
    assert proposal == f"SELECT COUNT(*) FROM ({proposed}) t WHERE n = 1"
    resolved(proposal)


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT RANK() OVER w AS n FROM visits WINDOW w AS (ORDER BY day)",
        "SELECT RANK() OVER (ORDER BY day) AS n FROM (SELECT day FROM visits) a",
    ],
)
def test_what_cannot_be_written_is_not_proposed(inner):
    assert refused(inner).try_sql is None


@pytest.mark.parametrize(
    "inner",
    ["SELECT RANK() OVER (ORDER BY level) AS n FROM readings", "SELECT RANK() OVER (ORDER BY id) AS n FROM wards"],
)
def test_rows_of_nobody_have_no_windows_inside(inner):
    with pytest.raises(NotSupported):
        resolved(f"SELECT COUNT(*) FROM ({inner}) t WHERE n = 1")
