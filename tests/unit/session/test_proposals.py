"""A refusal keeps its rewrite where that has a plan, and loses it where it has none."""

from __future__ import annotations

import pytest

from dpsql.errors import BadName, DpsqlError, Hidden, NotSupported
from dpsql.session.proposals import with_sure_proposal

SQL = "SELECT COUNT(*) FROM visits v WHERE v.dianosis = 'flu'"


def refusal(kind: type[DpsqlError] = NotSupported, **more) -> DpsqlError:
    return kind("no", why="because", fix="do", **more)


def planned(sql: str) -> None:
    if "refused" in sql:
        raise NotSupported("no", why="because", fix="do")


def test_a_rewrite_with_a_plan_is_kept():
    assert with_sure_proposal(refusal(try_sql="SELECT 1"), SQL, planned).try_sql == "SELECT 1"


def test_a_rewrite_that_is_refused_itself_is_not_shown():
    error = with_sure_proposal(refusal(Hidden, try_sql="SELECT refused"), SQL, planned)
    assert error.try_sql is None
    assert "Try" not in str(error)


def test_what_fails_otherwise_is_not_hidden():
    def broken(sql: str) -> None:
        raise RuntimeError(sql)

    with pytest.raises(RuntimeError):
        with_sure_proposal(refusal(try_sql="SELECT 1"), SQL, broken)


@pytest.mark.parametrize(
    ("meant", "at", "proposal"),
    [
        ("diagnosis", (36, 46), "SELECT COUNT(*) FROM visits v WHERE v.diagnosis = 'flu'"),
        ("refused", (36, 46), None),
        (None, (36, 46), None),
        ("diagnosis", None, None),
    ],
)
def test_a_misspelt_name_is_written_as_it_is_declared(meant, at, proposal):
    error = refusal(BadName, at=at)
    error.meant = meant
    assert with_sure_proposal(error, SQL, planned).try_sql == proposal
