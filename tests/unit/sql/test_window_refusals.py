"""Windows that are not inside one person are refused, with words for both ways that have a rule."""

import pytest

from dpsql.errors import NotSupported, TwoPeople
from tests.kits.cases import cases
from tests.kits.refusals import raised

from stages import resolved


def refused(inner: str) -> TwoPeople:
    return raised(TwoPeople, lambda: resolved(f"SELECT COUNT(*) FROM ({inner}) t WHERE n = 1"))


@cases(__file__, "inner")
def test_a_rank_among_all_is_not_turned_into_one_inside_a_person(inner):
    error = refused(inner)
    assert "PARTITION BY person" in error.fix
    assert error.try_sql is None


@pytest.mark.parametrize(
    "inner",
    ["SELECT RANK() OVER (ORDER BY level) AS n FROM readings", "SELECT RANK() OVER (ORDER BY id) AS n FROM wards"],
)
def test_rows_of_nobody_have_no_windows_inside(inner):
    raised(NotSupported, lambda: resolved(f"SELECT COUNT(*) FROM ({inner}) t WHERE n = 1"))
