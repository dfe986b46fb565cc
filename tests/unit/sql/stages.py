"""A small clinic and the stages up to `rewrite`, for the tests of those stages. Its tables are declared, not filled."""

from dataclasses import replace
from typing import Any

from dpsql.catalog.model import Catalog
from dpsql.sql.bound import Bounded
from dpsql.sql.resolve import Resolved
from dpsql.sql.rewrite import Rewritten
from tests.kits import planning
from tests.kits.planning import declared

POLICY = """
version = 1
source.url = "memory:"
[person]
name = "patient"
[promise]
epsilon = 5.0
delta = 1e-6
[defaults]
max_keys = 1000
[table.people]
person = "person"
unique = true
[table.people.columns]
age = { bounds = [0, 110] }
born = { bounds = ["1900-01-01", "2025-12-31"] }
town = { keys = ["Bern", "Biel"] }
mood = { keys = ["good", "sad"], null_key = true }
[table.visits]
person = "person"
rows_per_person = 6
rows_per_group = 4
groups_per_person = 3
[table.visits.columns]
person = {}
ward = { bounds = [1, 4] }
illness = { keys = "private" }
points = { bounds = [-50, 50] }
code = {}
day = { bounds = ["2025-01-30", "2025-03-02"], keys = "calendar" }
moment = { bounds = ["2025-01-30", "2025-03-02"], keys = "calendar" }
later = {}
price = { bounds = [0, 2000] }
[table.wards]
public = true
[table.wards.columns]
id = {}
name = {}
region = {}
[table.readings]
unit = "row"
[table.readings.columns]
site = { keys = ["a", "b"] }
level = { bounds = [0, 10] }
"""
TABLES = {
    "people": "person BIGINT, age INTEGER, born DATE, town VARCHAR, mood VARCHAR",
    "visits": "person BIGINT, ward INTEGER, illness VARCHAR, points BIGINT, code BIGINT, day DATE, moment TIMESTAMP, "
    "later DATE, price DOUBLE",
    "wards": "id BIGINT, name VARCHAR, region VARCHAR",
    "readings": "site VARCHAR, level DOUBLE",
}
CLINIC = declared(POLICY, TABLES, people=(("person",),))
SCHEMA = CLINIC.schema


def clinic(*, table: str = "visits", **limits: int) -> Catalog:
    """The clinic with other limits on one table."""
    policy = CLINIC.policy
    changed = replace(policy.tables[table], **limits)
    return replace(CLINIC, policy=replace(policy, tables={**policy.tables, table: changed}))


def resolved(sql: str, catalog: Catalog = CLINIC) -> Resolved:
    return planning.resolved(sql, catalog)


def bounded(sql: str, catalog: Catalog = CLINIC, **wishes: Any) -> Bounded:
    return planning.bounded(sql, catalog, **wishes)


def rewritten(sql: str, catalog: Catalog = CLINIC, **wishes: Any) -> Rewritten:
    return planning.rewritten(sql, catalog, **wishes)
