"""A clinic whose patients have a number inside their house: names, paths and hidden columns without an engine."""

from dpsql.catalog.model import Catalog
from dpsql.sql.resolve import Resolved
from tests.kits import planning

COLUMNS = {
    "people": "house integer, number integer, name text, age integer, city text",
    "visits": "house integer, number integer, visit integer, cost integer, note text",
    "tests": "test integer, visit integer, result integer",
    "samples": "test integer, volume integer",
    "codes": "code integer, label text",
    "meters": "site text, level integer",
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
CLINIC = planning.declared(POLICY, COLUMNS)
SCHEMA = CLINIC.schema


def resolved(sql: str, catalog: Catalog = CLINIC, *, readable: frozenset[str] | None = None) -> Resolved:
    return planning.resolved(sql, catalog, readable=readable)
