"""A clinic whose patients have a number inside their house: names, paths and hidden columns without an engine."""

from datetime import date

from dpsql.catalog.check import checked
from dpsql.catalog.load import loads
from dpsql.catalog.model import Catalog, EngineColumn, EngineTable
from dpsql.catalog.types import SqlType
from dpsql.sql.parse import parse
from dpsql.sql.resolve import Resolved, resolve

INTEGER, TEXT = SqlType.INTEGER, SqlType.TEXT
COLUMNS = {
    "people": {"house": INTEGER, "number": INTEGER, "name": TEXT, "age": INTEGER, "city": TEXT},
    "visits": {"house": INTEGER, "number": INTEGER, "visit": INTEGER, "cost": INTEGER, "note": TEXT},
    "tests": {"test": INTEGER, "visit": INTEGER, "result": INTEGER},
    "samples": {"test": INTEGER, "volume": INTEGER},
    "codes": {"code": INTEGER, "label": TEXT},
    "meters": {"site": TEXT, "level": INTEGER},
}
POLICY = """
version = 1
[source]
url = "duckdb:///clinic.db"
[person]
name = "patient"
[promise]
epsilon = 1
delta = 0.001
[defaults]
max_keys = 100
[table.people]
person = ["house", "number"]
rows_per_person = 2
groups_per_person = 1
[table.people.columns]
house = { hidden = true }
number = { hidden = true }
name = { hidden = true }
age = { bounds = [0, 110] }
city = { keys = ["Bern", "Chur"] }
[table.visits]
person = ["house", "number"]
rows_per_person = 5
groups_per_person = 1
[table.visits.columns]
visit = {}
cost = { bounds = [0, 100] }
note = {}
[table.tests]
person_via = "visit -> visits.visit"
rows_per_person = 9
groups_per_person = 1
[table.tests.columns]
result = { bounds = [0, 9] }
[table.samples]
person_via = "test -> tests.test"
rows_per_person = 9
groups_per_person = 1
[table.samples.columns]
volume = { bounds = [0, 50] }
[table.codes]
public = true
[table.meters]
unit = "row"
[table.meters.columns]
site = { keys = ["a", "b"] }
level = { bounds = [0, 5] }
"""
SCHEMA = {
    table: EngineTable(
        name=table,
        columns=tuple(EngineColumn(name=name, type=type_, engine_type=type_.value) for name, type_ in columns.items()),
    )
    for table, columns in COLUMNS.items()
}
CLINIC = checked(loads(POLICY, name="dpsql.toml"), SCHEMA)


def resolved(sql: str, *, readable: frozenset[str] = frozenset(CLINIC.policy.tables)) -> Resolved:
    return resolved_in(CLINIC, sql, readable=readable)


def resolved_in(catalog: Catalog, sql: str, *, readable: frozenset[str] = frozenset(CLINIC.policy.tables)) -> Resolved:
    return resolve(parse(sql, dialect="duckdb"), catalog, readable=readable, today=date(2026, 1, 1))
