"""A small clinic and the stages up to `rewrite`, for the tests of those stages. Its tables are declared, not filled."""

from dataclasses import replace
from datetime import date

from dpsql.catalog.check import checked
from dpsql.catalog.load import loads
from dpsql.catalog.model import Catalog, EngineColumn, EngineTable, Mode, Noise
from dpsql.catalog.types import SqlType
from dpsql.sql.bound import Bounded, Wishes, bound
from dpsql.sql.check import check
from dpsql.sql.parse import parse
from dpsql.sql.resolve import Resolved, resolve
from dpsql.sql.rewrite import Rewritten, rewrite

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
ENGINE_TYPES = {
    "BIGINT": SqlType.INTEGER,
    "INTEGER": SqlType.INTEGER,
    "VARCHAR": SqlType.TEXT,
    "DATE": SqlType.DATE,
    "TIMESTAMP": SqlType.TIMESTAMP,
    "DOUBLE": SqlType.DOUBLE,
}
TABLES = {
    "people": "person BIGINT, age INTEGER, born DATE, town VARCHAR, mood VARCHAR",
    "visits": "person BIGINT, ward INTEGER, illness VARCHAR, points BIGINT, code BIGINT, day DATE, moment TIMESTAMP, "
    "later DATE, price DOUBLE",
    "wards": "id BIGINT, name VARCHAR, region VARCHAR",
    "readings": "site VARCHAR, level DOUBLE",
}
RANGES = {"INTEGER": (-(2**31), 2**31 - 1), "BIGINT": (-(2**63), 2**63 - 1)}


def _column(written: str) -> EngineColumn:
    name, engine_type = written.split()
    low, high = RANGES.get(engine_type, (None, None))
    return EngineColumn(name=name, type=ENGINE_TYPES[engine_type], engine_type=engine_type, low=low, high=high)


SCHEMA = {
    table: EngineTable(
        name=table, columns=tuple(map(_column, columns.split(", "))), unique=(("person",),) if table == "people" else ()
    )
    for table, columns in TABLES.items()
}
CLINIC = checked(loads(POLICY, name="dpsql.toml"), SCHEMA)


def clinic(*, table: str = "visits", **limits: int) -> Catalog:
    """The clinic with other limits on one table."""
    policy = CLINIC.policy
    changed = replace(policy.tables[table], **limits)
    return replace(CLINIC, policy=replace(policy, tables={**policy.tables, table: changed}))


def resolved(sql: str, catalog: Catalog = CLINIC) -> Resolved:
    return resolve(
        parse(sql, dialect="duckdb"), catalog, readable=frozenset(catalog.policy.tables), today=date(2026, 1, 1)
    )


def bounded(
    sql: str, catalog: Catalog = CLINIC, *, mode: Mode | None = None, noise: Noise | None = None, gaussian: bool = False
) -> Bounded:
    return bound(check(resolved(sql, catalog)), Wishes(mode=mode, noise=noise, gaussian=gaussian))


def rewritten(sql: str, catalog: Catalog = CLINIC, *, mode: Mode | None = None, gaussian: bool = False) -> Rewritten:
    return rewrite(bounded(sql, catalog, mode=mode, gaussian=gaussian))
