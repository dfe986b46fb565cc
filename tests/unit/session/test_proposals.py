"""A refusal keeps its rewrite where that has a plan, and loses it where it has none."""

from fractions import Fraction
from functools import partial

import pytest

from dpsql.errors import BadName, DpsqlError, Hidden, NotSupported
from dpsql.session.query import with_sure_proposal
from tests.kits.cases import cases
from tests.kits.refusals import raised

sure = partial(with_sure_proposal, price=Fraction(0))
SQL = "SELECT COUNT(*) FROM visits v WHERE v.dianosis = 'flu'"


def refusal(kind: type[DpsqlError] = NotSupported, **more) -> DpsqlError:
    return kind("no", why="because", fix="do", **more)


def planned(sql: str) -> None:
    if "refused" in sql:
        raise NotSupported("no", why="because", fix="do")


def test_a_rewrite_with_a_plan_is_kept_and_one_that_is_refused_is_not_shown():
    assert sure(refusal(try_sql="SELECT 1"), SQL, planned).try_sql == "SELECT 1"
    error = sure(refusal(Hidden, try_sql="SELECT refused"), SQL, planned)
    assert error.try_sql is None
    assert "Try" not in str(error)


def test_what_fails_otherwise_is_not_hidden():
    def broken(sql: str) -> None:
        raise RuntimeError(sql)

    raised(RuntimeError, lambda: sure(refusal(try_sql="SELECT 1"), SQL, broken))


@cases(__file__, "meant=", "at=", "proposal=")
def test_a_misspelt_name_is_written_as_it_is_declared(meant, at, proposal):
    error = refusal(BadName, at=at)
    error.meant = meant
    assert sure(error, SQL, planned).try_sql == proposal


def test_the_first_of_several_rewrites_that_has_a_plan_is_shown():
    error = refusal().proposing(None, "SELECT refused", "SELECT 2", "SELECT 3")
    assert sure(error, SQL, planned).try_sql == "SELECT 2"
    assert sure(refusal().proposing("SELECT refused", None), SQL, planned).try_sql is None
    assert sure(refusal().proposing(None), SQL, planned).try_sql is None
    assert sure(refusal().instead_of("w"), "SELECT a FROM t", planned).try_sql is None


@pytest.mark.parametrize(("text", "found"), [("w", "SELECT a FROM w"), ("{} {}", "SELECT a FROM t t"), ("", None)])
def test_another_text_at_the_marked_place(text, found):
    def readable(sql: str) -> None:
        if sql.endswith("FROM "):
            raise NotSupported("no", why="because", fix="do")

    error = refusal(at=(14, 15)).instead_of(text)
    assert sure(error, "SELECT a FROM t", readable).try_sql == found
