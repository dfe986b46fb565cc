"""Which column a name means."""

from dataclasses import replace

import duckdb
import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName
from dpsql.sql.relations import Column
from dpsql.sql.scope import Scope, Table
from dpsql.sql.syntax import Identifier, Name, Star
from tests.kits.cases import cases
from tests.kits.refusals import raised


def identifier(name: str) -> Identifier:
    return Identifier(name=name, quoted=False, written=name)


def named(*parts: str) -> Name:
    return Name(parts=tuple(map(identifier, parts)))


def table(alias: str, *names: str, first: int, hidden: str = "") -> Table:
    columns = tuple(
        Column(id=first + place, name=name, type=SqlType.INTEGER, hidden=name == hidden)
        for place, name in enumerate(names)
    )
    return Table(alias=alias, columns=columns)


A = Scope(tables=(table("a", "p", "x", "q", first=1),))
B = Scope(tables=(table("b", "r", "x", first=11),))
D = Scope(tables=(table("d", "x", "s", first=21),))
BOTH = A.using((), B)
X, X_NAME = identifier("x"), named("x")


def columns(scope: Scope, star: Star) -> list[str]:
    """As the engine says them: table.column."""
    return [".".join(part.name for part in name.parts) for name in scope.star_names(star)]


@cases(__file__, "scope=", "name", "number=")
def test_a_name_means_the_one_column_called_so(scope, name, number):
    assert scope.column(named(*name.split("."))).id == number


def test_what_is_not_one_column_is_refused():
    assert raised(BadName, lambda: BOTH.column(X_NAME), match="x could be a column of a, b").fix == "say which: a.x"
    three = Scope(tables=(table("z", "w", first=31),)).using((), BOTH)
    assert raised(BadName, lambda: three.column(X_NAME)).fix == "say which: a.x"  # z has no x
    raised(BadName, lambda: BOTH.using((X,), D), match="could be a column of a, b")
    raised(BadName, lambda: BOTH.column(named("c", "x")), match="no table here is called c")
    raised(BadName, lambda: BOTH.column(named("main", "a", "x")), match="too many parts")


def test_an_alias_is_proposed_for_the_name_of_its_own_table_alone():
    """Of another table it would ask something else, and be answered: v.x = v.x for w.x = v.x."""
    called = replace(table("v", "x", first=1), name="visits")
    scope = Scope(tables=(called,))
    assert raised(BadName, lambda: scope.column(named("visits", "x"))).instead == "v"
    assert raised(BadName, lambda: scope.column(named("w", "x"))).instead is None
    twice = Scope(tables=(called, replace(called, alias="u")))
    assert raised(BadName, lambda: twice.column(named("visits", "x"))).instead is None


SCOPES = {
    "a JOIN b ON true": BOTH,
    "a JOIN b USING (x)": A.using((X,), B),
    "a JOIN b USING (x) JOIN d USING (x)": A.using((X,), B).using((X,), D),
    "a JOIN b USING (x) JOIN d ON true": A.using((X,), B).using((), D),
    "d JOIN a USING (x) JOIN b ON true": D.using((X,), A).using((), B),
}


@pytest.mark.parametrize("star", [None, "a", "b"])
@pytest.mark.parametrize("tables", SCOPES)
def test_stars_stand_for_the_columns_duckdb_says(tables, star):
    engine = duckdb.connect()
    engine.execute("CREATE TABLE a (p INT, x INT, q INT); CREATE TABLE b (r INT, x INT); CREATE TABLE d (x INT, s INT)")
    written = "*" if star is None else f"{star}.*"
    theirs = [name for name, *_ in engine.execute(f"SELECT {written} FROM {tables}").description]
    ours = SCOPES[tables].star(Star(table=None if star is None else identifier(star)))
    assert [column.name for column in ours] == theirs


def test_stars_are_named_through_their_table():
    assert columns(A.using((X,), B), Star()) == ["a.p", "a.x", "a.q", "b.r"]
    assert columns(Scope(tables=(table("", "p", first=1),)), Star()) == ["p"]


def test_an_unknown_name_is_guessed_from_what_may_be_used():
    scope = Scope(tables=(table("t", "city", "pin", first=1, hidden="pin"),))
    with pytest.raises(BadName, match="Did you mean city") as caught:
        scope.column(named("citi"))
    assert caught.value.fix.startswith("use one of: city.")
    with pytest.raises(BadName) as caught:
        scope.column(named("pim"))
    assert "pin" not in str(caught.value)
    assert scope.column(named("pin")).hidden  # it can be counted and joined on by whoever knows it
