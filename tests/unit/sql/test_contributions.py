"""What each person adds, on a real DuckDB: never more than the slot says, whatever the rows hold."""

import random
from math import isqrt

import duckdb
import pytest

from dpsql.catalog.model import Mode
from dpsql.sql.emit import engine_text
from dpsql.sql.relations import Numbers
from dpsql.sql.rewrite import Builder, Statement, contributions
from dpsql.sql.slots import ball

from stages import bounded

EXTREMES = (None, -(2**63), 2**63 - 1, 0, 1, -50, 50, 51, 7)
COLUMNS = "person BIGINT, ward INTEGER, illness VARCHAR, points BIGINT, code BIGINT"


def rows_of(seed: int) -> list[tuple[object, ...]]:
    """A few well behaved people, and one with very many rows in more wards than count."""
    chance = random.Random(seed)
    some = [(chance.randrange(1, 9), chance.randrange(1, 5)) for _ in range(60)] + [(99, n % 6) for n in range(300)]
    return [(person, ward, "flu", chance.choice(EXTREMES), chance.choice(EXTREMES)) for person, ward in some]


def added(
    sql: str, rows: list[tuple[object, ...]], *, mode: Mode | None = None
) -> tuple[object, list[tuple[int, ...]]]:
    """(bounded, one row per person and group: the person, the key where there is one, the amounts)."""
    value = bounded(sql, mode=mode, gaussian=mode is Mode.SCALE)
    build = Builder(value, Numbers(value.free))
    slots = [placed.slot for placed in value.slots]
    found = contributions(build, slots, None)
    given = tuple(found.amounts[slot] for slot in slots)
    statement = Statement(relation=found.relation, keys=(*build.owner, *build.keys), values=given)
    text = engine_text(statement, dialect="duckdb")
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE visits ({COLUMNS})")
    connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", rows)
    return value, connection.execute(text.sql, text.parameters(salt=12345)).fetchall()


AGGREGATES = (
    "COUNT(*), COUNT(points), SUM(points), AVG(points), VAR_POP(points), SUM(CLAMP(code, -3, 1000)), "
    "CORR(points, CLAMP(code, -3, 1000)), AVG(points, contribution_bounds_per_group => (-3, 40)), "
    "SUM(points, contribution_bounds_per_group => (-20, 70))"
)
SELECTS = ["SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY"]
"""AVG of rows, and of the averages of each person."""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("grouped", ["", " GROUP BY ward"])
@pytest.mark.parametrize("select", SELECTS)
def test_nobody_adds_more_than_the_slot_says(seed: int, grouped: str, select: str) -> None:
    value, found = added(f"{select} {AGGREGATES} FROM visits{grouped}", rows_of(seed), mode=Mode.CHOOSE)
    slots = [placed.slot for placed in value.slots]  # type: ignore[attr-defined]
    assert len({row[0] for row in found}) == len({row[0] for row in rows_of(seed)})
    for row in found:
        for slot, amount in zip(slots, row[-len(slots) :], strict=True):
            assert slot.low <= amount <= slot.high
    assert max(row[-len(slots)] for row in found) == slots[0].high  # the person with 300 rows reaches the cap


@pytest.mark.parametrize("seed", range(3))
def test_a_person_counts_in_at_most_g_groups(seed: int) -> None:
    _, found = added("SELECT COUNT(*) FROM visits GROUP BY ward", rows_of(seed), mode=Mode.CHOOSE)
    groups = [sum(1 for row in found if row[0] == person) for person in {row[0] for row in found}]
    assert max(groups) == 3


@pytest.mark.parametrize("seed", range(3))
def test_scaled_contributions_lie_inside_the_ball(seed: int) -> None:
    sql = "SELECT COUNT(*), SUM(points) FROM visits GROUP BY ward"
    value, found = added(sql, rows_of(seed), mode=Mode.SCALE)
    slots = [placed.slot for placed in value.slots]  # type: ignore[attr-defined]
    inside = ball(slots, groups=3)
    for person in {row[0] for row in found}:
        amounts = [row[-2:] for row in found if row[0] == person]
        norm = sum((w * x) ** 2 for each in amounts for w, x in zip(inside.weights, each, strict=True))
        assert norm <= inside.radius_squared
    busiest = [row for row in found if row[0] == 99]
    assert len(busiest) == 6  # every group is kept
    assert isqrt(sum((inside.weights[0] * row[-2]) ** 2 for row in busiest)) > 0.5 * isqrt(inside.radius_squared) / 2


@pytest.mark.parametrize("select", SELECTS)
def test_a_contribution_depends_on_the_rows_of_its_person_alone(select: str) -> None:
    sql = f"{select} {AGGREGATES} FROM visits GROUP BY ward"
    rows = rows_of(1)
    _, before = added(sql, rows, mode=Mode.CHOOSE)
    _, after = added(sql, [row for row in reversed(rows) if row[0] != 99], mode=Mode.CHOOSE)
    assert sorted(row for row in before if row[0] != 99) == sorted(after)
