"""The digest changes with every declaration that changes a plan, and with nothing else."""

import re
from dataclasses import replace

import pytest

from dpsql.catalog.check import checked
from dpsql.catalog.digest import declarations, digest
from dpsql.catalog.load import loads
from dpsql.catalog.model import EngineColumn, EngineTable
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from tests.kits.cases import cases
from tests.kits.refusals import raised

BASE = """
version = 1
[source]
url = "memory:"
[person]
name = "patient"
relation = "change_one"
[promise]
epsilon = 5
delta = 1e-6
[defaults]
cost_per_query = 0.05
selection_share = 0.25
delta_per_query = 1e-9
max_keys = 1000
mode = "choose"
noise = "laplace"
[table.visits]
person = "p"
unique = true
rows_per_person = 1
rows_per_group = 2
groups_per_person = 3
rows = 100
[table.visits.columns]
age = { bounds = [0, 110], nulls = "never" }
city = { keys = ["a", "b"] }
day = { bounds = ["2024-01-01", "2024-12-31"], keys = "calendar" }
note = { hidden = true }
[table.drugs]
person_via = "v -> visits.k"
[table.wards]
public = true
[[grant]]
to = "ana"
budget = 1
"""


def columns(**kinds: SqlType) -> tuple[EngineColumn, ...]:
    return tuple(EngineColumn(name=name, type=kind, engine_type=kind.value) for name, kind in kinds.items())


I, T, D = SqlType.INTEGER, SqlType.TEXT, SqlType.DATE
SCHEMA = {
    "visits": EngineTable(name="visits", columns=columns(p=I, p2=I, k=I, k2=I, age=I, city=T, day=D, note=T, more=T)),
    "visits2": EngineTable(name="visits2", columns=columns(p=I, k=I, age=I, city=T, day=D, note=T)),
    "drugs": EngineTable(name="drugs", columns=columns(v=I, v2=I)),
    "wards": EngineTable(name="wards", columns=columns(w=T)),
}


def of(text: str, *tables: str) -> str:
    return digest(checked(loads(text, name="p"), SCHEMA), tables)


def changed(before: str, after: str) -> str:
    assert BASE.count(before) == 1
    return BASE.replace(before, after)


@pytest.mark.parametrize(
    "told",
    [lambda catalog: digest(catalog, ["wards"]), lambda catalog: digest(catalog, ["visits"]), declarations],
    ids=["of a public table", "of a private table", "what a ledger keeps"],
)
def test_values_of_an_enum_leave_no_trace(told):
    def with_values(values):
        def enum(column):
            return replace(column, engine_type=f"ENUM({values})") if column.type is T else column

        schema = {name: replace(table, columns=tuple(map(enum, table.columns))) for name, table in SCHEMA.items()}
        return told(checked(loads(BASE, name="p"), schema))

    assert with_values("'30', '40'") == with_values("'30', '40', '101'")


def test_it_is_a_sha256():
    assert re.fullmatch("[0-9a-f]{64}", of(BASE, "visits"))


@cases(__file__, "before", "after=")
def test_what_changes_a_plan_changes_the_digest(before, after):
    text = changed(before, after)
    if "unit" in after:
        text = text.replace("unique = true\n", "").replace('person_via = "v -> visits.k"', 'unit = "row"')
    assert of(text, "visits") != of(BASE, "visits")


def test_a_size_changes_the_digest_where_it_is_a_public_number():
    text = changed('person = "p"', 'unit = "row"').replace("unique = true\n", "").replace("rows = 100\n", "{rows}")
    text = text.replace('person_via = "v -> visits.k"', 'unit = "row"')
    sizes = ["", "rows = 100\n", "rows = 200\n", "rows = 100\nrows_public = true\n", "rows = 200\nrows_public = true\n"]
    none, about, other, public, more = (of(text.replace("{rows}", rows), "visits") for rows in sizes)
    assert none == about == other
    assert len({none, public, more}) == 3


def test_a_key_without_duplicates_changes_the_digest():
    wards = "[table.wards]\npublic = true\n"
    plain = changed(wards, wards + "columns.w = {}\n")
    assert of(plain, "wards") != of(plain.replace("columns.w = {}", "columns.w.unique = true"), "wards")


@cases(__file__, "before=", "after=")
def test_what_does_not_does_not(before, after):
    assert of(changed(before, after), "visits") == of(BASE, "visits")


def test_the_order_of_the_file_means_nothing():
    head, *sections = BASE.strip().split("\n[")
    shuffled = "\n".join([head, *("[" + section for section in reversed(sections))])
    lines = shuffled.replace("selection_share = 0.25\n", "").replace(
        "max_keys = 1000", "max_keys = 1000\nselection_share = 0.25"
    )
    assert of(lines, "visits", "drugs") == of(BASE, "drugs", "visits", "drugs")
    note = "note = { hidden = true }\n"
    assert of(BASE.replace(note, "").replace("age = {", f"{note}age = {{"), "visits") == of(BASE, "visits")


def test_any_text_can_be_a_key():
    assert of(changed('["a", "b"]', '["é", "\U0001f600"]'), "visits") != of(BASE, "visits")


def test_tables_on_the_path_concern_a_table():
    assert of(BASE, "drugs") == of(BASE, "drugs", "visits")
    for before, after in [("[0, 110]", "[0, 9]"), ('via = "v ->', 'via = "v2 ->'), ("visits.k", "visits.k2")]:
        assert of(changed(before, after), "drugs") != of(BASE, "drugs")


def test_each_set_of_tables_has_its_own():
    assert len({of(BASE), of(BASE, "visits"), of(BASE, "wards"), of(BASE, "visits", "wards")}) == 4


def test_values_of_different_kinds_are_different():
    text, whole = changed('["a", "b"]', '["1"]'), changed("age = { bounds = [0, 110],", "age = { keys = [1],")
    null, word = changed('["a", "b"]', '["a"], null_key = true'), changed('["a", "b"]', '["a", "None"]')
    assert of(null, "visits") != of(word, "visits")
    keys = {of(text, "visits"), of(whole, "visits"), of(changed('["a", "b"]', '["number 1/1"]'), "visits")}
    assert len(keys) == 3

    def with_keys(kind: SqlType, keys: str) -> str:
        table = EngineTable(name="t", columns=columns(p=I, c=kind))
        text = f'version = 1\nsource.url = "x"\n[table.t]\nperson = "p"\ncolumns.c.keys = {keys}'
        return digest(checked(loads(text, name="p"), {"t": table}), ["t"])

    day, midnight = with_keys(D, "[2024-01-01]"), with_keys(SqlType.TIMESTAMP, "[2024-01-01]")
    assert midnight == with_keys(SqlType.TIMESTAMP, '["2024-01-01T00:00"]')
    noon = with_keys(SqlType.TIMESTAMP, '["2024-01-01T12:00"]')
    yes, both = with_keys(SqlType.BOOLEAN, "[true]"), with_keys(SqlType.BOOLEAN, "[true, false]")
    assert len({day, midnight, noon, yes, both, with_keys(I, "[1]"), with_keys(T, '["boolean True"]')}) == 7


def test_a_table_nobody_declared():
    raised(InternalError, lambda: of(BASE, "visits", "secrets"))


def test_columns_that_are_not_read_decide_nothing():
    def read(text, *columns):
        return digest(checked(loads(text, name="p"), SCHEMA), ["visits"], columns=set(columns))

    wider = changed("bounds = [0, 110]", "bounds = [0, 111]")
    assert read(BASE, ("visits", "city")) == read(wider, ("visits", "city"))
    assert read(BASE, ("visits", "age")) != read(wider, ("visits", "age"))
    assert read(BASE, ("visits", "age")) != read(BASE, ("visits", "city"))
