"""Which column a name means."""

from __future__ import annotations

import duckdb
import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName
from dpsql.sql.relations import Column
from dpsql.sql.scope import Scope, Table
from dpsql.sql.syntax import Identifier, Name, Star


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
X = identifier("x")


def columns(scope: Scope, star: Star) -> list[str]:
    """As the engine says them: table.column."""
    return [".".join(part.name for part in name.parts) for name in scope.star_names(star)]


def test_a_bare_name_means_the_one_column_called_so():
    assert BOTH.column(named("p")).id == 1
    assert BOTH.column(named("r")).id == 11
    assert BOTH.column(named("b", "x")).id == 12


def test_a_name_of_two_columns_is_ambiguous():
    with pytest.raises(BadName, match="x could be a column of a, b") as caught:
        BOTH.column(named("x"))
    assert caught.value.fix == "say which: a.x"


def test_the_way_out_names_a_table_that_has_the_column():
    three = Scope(tables=(table("z", "w", first=31),)).using((), BOTH)
    with pytest.raises(BadName) as caught:
        three.column(named("x"))
    assert caught.value.fix == "say which: a.x"


def test_using_makes_two_columns_one():
    merged = A.using((X,), B)
    assert merged.column(named("x")).id == 2
    assert (merged.column(named("a", "x")).id, merged.column(named("b", "x")).id) == (2, 12)


def test_using_twice_is_still_one():
    assert A.using((X,), B).using((X,), D).column(named("x")).id == 2
    assert A.using((X, X), B).column(named("x")).id == 2


def test_a_third_table_does_not_make_it_ambiguous():
    assert A.using((X,), B).using((), D).column(named("x")).id == 2


def test_using_an_ambiguous_column_is_refused():
    with pytest.raises(BadName, match="could be a column of a, b"):
        BOTH.using((X,), D)


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


def test_unknown_tables_and_too_many_parts():
    with pytest.raises(BadName, match="no table here is called c"):
        BOTH.column(named("c", "x"))
    with pytest.raises(BadName, match="too many parts"):
        BOTH.column(named("main", "a", "x"))
