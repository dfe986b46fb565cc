"""Invented tables fit together: people are the same in all of them, and what points somewhere arrives."""

import re
from collections import Counter

import pytest

from dpsql.catalog.check import checked
from dpsql.catalog.load import loads
from dpsql.catalog.model import EngineColumn, EngineTable
from dpsql.catalog.types import SqlType
from dpsql.errors import BadParameter
from dpsql.synthetic.tables import MOST_ROWS, invented_table, invented_tables, with_paths
from tests.kits.refusals import raised

INTEGER, TEXT = SqlType.INTEGER, SqlType.TEXT
POLICY = """
version = 1
[source]
url = "memory:"
[person]
name = "patient"
[table.patients]
person = "patient_id"
unique = true
rows = "about 300"
[table.patients.columns]
name = { hidden = true }
age = { bounds = [0, 110] }
[table.visits]
person = "patient_id"
rows_per_person = 4
rows = 900
[table.visits.columns]
visit_id = {}
ward_id = {}
code = {}
[table.wards]
public = true
[table.wards.columns]
ward_id = {}
ward = {}
[table.codes]
public = true
[table.codes.columns]
code = { keys = ["x", "y", "z"], unique = true }
[table.tests]
person_via = "visit -> visits.visit_id -> patient_id"
rows_per_person = 3
[table.tests.columns]
result = { bounds = [0, 1] }
[table.log]
unit = "row"
[table.log.columns]
size = {}
"""


def engine_table(name, *columns, unique=()):
    return EngineTable(
        name=name,
        columns=tuple(
            EngineColumn(name=column, type=type_, engine_type="VARCHAR" if type_ is TEXT else "BIGINT")
            for column, type_ in columns
        ),
        unique=unique,
    )


SCHEMA = {
    "patients": engine_table("patients", ("Patient_id", INTEGER), ("name", TEXT), ("age", INTEGER), ("secret", TEXT)),
    "visits": engine_table(
        "visits",
        ("visit_id", INTEGER),
        ("patient_id", INTEGER),
        ("ward_id", INTEGER),
        ("code", TEXT),
        unique=(("visit_id",),),
    ),
    "wards": engine_table("wards", ("ward_id", INTEGER), ("ward", TEXT), unique=(("ward_id",),)),
    "codes": engine_table("codes", ("code", TEXT)),
    "tests": engine_table("tests", ("visit", INTEGER), ("result", INTEGER)),
    "log": engine_table("log", ("size", INTEGER)),
}
ALL = frozenset(SCHEMA)


@pytest.fixture(scope="module")
def catalog():
    return checked(loads(POLICY, name="policy.toml"), SCHEMA, views={})


@pytest.fixture(scope="module")
def tables(catalog):
    return invented_tables(catalog, ALL)


def column(table, name):
    names = [column.lower() for column, _ in table.columns]
    return [row[names.index(name)] for row in table.rows]


def test_sizes_are_those_everybody_may_know_or_round_numbers(tables):
    sizes = {name: len(table.rows) for name, table in tables.items()}
    assert sizes == {"patients": 300, "visits": 900, "wards": 10, "codes": 3, "tests": 1000, "log": 1000}


def test_the_number_of_rows_can_be_chosen_for_what_is_private(catalog):
    sizes = {name: len(table.rows) for name, table in invented_tables(catalog, ALL, rows=40).items()}
    assert sizes == {"patients": 40, "visits": 40, "wards": 10, "codes": 3, "tests": 40, "log": 40}


@pytest.mark.parametrize("rows", [0, -1, MOST_ROWS + 1, True, 2.5])
def test_no_other_number_of_rows(catalog, rows):
    raised(BadParameter, lambda: invented_tables(catalog, ALL, rows=rows))


def test_each_person_is_once_where_they_may_be_once_and_within_the_cap_elsewhere(tables):
    people = column(tables["patients"], "patient_id")
    assert len(set(people)) == 300
    visits = Counter(column(tables["visits"], "patient_id"))
    assert set(visits) <= set(people)
    assert 1 < max(visits.values()) <= 4


def test_a_cap_that_holds_few_rows_leaves_few(catalog):
    visits = Counter(column(invented_tables(catalog, ALL, rows=3)["visits"], "patient_id"))
    assert sum(visits.values()) == 3


def test_what_points_to_a_row_finds_it(tables):
    assert set(column(tables["visits"], "ward_id")) == set(column(tables["wards"], "ward_id"))
    assert set(column(tables["visits"], "code")) == {"x", "y", "z"}
    visits = column(tables["visits"], "visit_id")
    assert len(set(visits)) == 900
    assert set(column(tables["tests"], "visit")) <= set(visits)


def test_columns_that_nobody_declared_are_not_even_invented(tables):
    names = [name for name, _ in tables["patients"].columns]
    assert sorted(names) == ["Patient_id", "age", "name"]


def test_the_same_policy_gives_the_same_rows_all_at_once_or_one_by_one(catalog, tables):
    assert {name: invented_table(catalog, catalog.policy.tables[name]) for name in tables} == tables


def test_people_who_are_in_no_table_of_their_own_have_a_few_rows_each(catalog):
    alone = re.sub(r"\[table\.patients\].*?(?=\[table\.visits\])", "", POLICY, flags=re.DOTALL)
    visits = invented_tables(checked(loads(alone, name="policy.toml"), SCHEMA, views={}), ALL)["visits"]
    owners = Counter(column(visits, "patient_id"))
    assert len(visits.rows) == 900
    assert max(owners.values()) <= 4
    assert 200 < len(owners) < 500


def test_a_path_leads_over_tables_that_nobody_names(catalog):
    assert with_paths(catalog, ["tests"]) == {"tests", "visits"}
    assert with_paths(catalog, ["wards", "log"]) == {"wards", "log"}
    assert with_paths(catalog, []) == frozenset()
    assert set(invented_tables(catalog, {"visits"}, rows=5)) == {"visits"}
