"""Covariances: what each person adds to their slots, by hand, and the values made of them."""

import random
from fractions import Fraction
from statistics import correlation, covariance, linear_regression

import duckdb
import pytest

from dpsql.errors import Unbounded
from dpsql.sql.emit import engine_text
from dpsql.sql.functions import print_scalar
from dpsql.sql.relations import Numbers
from dpsql.sql.rewrite import Builder, Statement, contributions
from dpsql.sql.slots import SlotKind
from tests.kits.cases import cases
from tests.kits.refusals import raised

from stages import bounded, resolved

COLUMNS = "person BIGINT, ward INTEGER, illness VARCHAR, points BIGINT, code BIGINT"
CAP, POINTS, CODES = 6, (-50, 50), (-3, 1000)
PAIR = "points, CLAMP(code, -3, 1000)"
EXTREMES = (None, -(2**63), 2**63 - 1, 0, 1, -50, 50, 51, 7, 998, -2)


def rows_of(seed: int) -> list[tuple[object, ...]]:
    chance = random.Random(seed)
    people = [chance.randrange(1, 9) for _ in range(40)] + [99] * 50
    return [(person, 1, "flu", chance.choice(EXTREMES), chance.choice(EXTREMES)) for person in people]


def toward_zero(number: Fraction) -> int:
    return int(number)


def by_hand(pairs: list[tuple[int, int]]) -> list[int]:
    """n, both centred sums, the products and the squares; more than six pairs weigh six."""
    n = len(pairs)
    weight = Fraction(1) if n <= CAP else Fraction(CAP, n)
    middles = [(low + high) // 2 for low, high in (POINTS, CODES)]
    a, b = ([pair[side] - middles[side] for pair in pairs] for side in (0, 1))
    products = [x * y for x, y in zip(a, b, strict=True)]
    sums = [sum(a), sum(b), sum(products), sum(x * x for x in a), sum(y * y for y in b)]
    return [min(n, CAP), *(toward_zero(weight * total) for total in sums)]


@pytest.mark.parametrize("seed", range(5))
def test_each_person_adds_what_is_calculated_by_hand(seed: int) -> None:
    rows = rows_of(seed)
    value = bounded(f"SELECT CORR({PAIR}) FROM visits")
    build, slots = Builder(value, Numbers(value.free)), [placed.slot for placed in value.slots]
    found = contributions(build, slots, None)
    statement = Statement(
        relation=found.relation, keys=build.owner, values=tuple(found.amounts[slot] for slot in slots)
    )
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE visits ({COLUMNS})")
    connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", rows)
    told = {
        row[0]: list(row[1:]) for row in connection.execute(engine_text(statement, dialect="duckdb").sql).fetchall()
    }
    for person in {row[0] for row in rows}:
        pairs = [
            (min(max(x, POINTS[0]), POINTS[1]), min(max(y, CODES[0]), CODES[1]))
            for who, _, _, x, y in rows
            if who == person and x is not None and y is not None
        ]
        assert told[person] == by_hand(pairs)


def test_the_slots_of_a_correlation() -> None:
    """Six pairs; distances up to 50 from 0, and up to 502 from 498."""
    slots = [placed.slot for placed in bounded(f"SELECT CORR({PAIR}) FROM visits").slots]
    assert [(slot.kind, slot.low, slot.high) for slot in slots] == [
        (SlotKind.VALUES, 0, 6),
        (SlotKind.CENTRED, -300, 300),
        (SlotKind.CENTRED, -3012, 3012),
        (SlotKind.PRODUCTS, -6 * 50 * 502, 6 * 50 * 502),
        (SlotKind.SQUARES, 0, 6 * 2500),
        (SlotKind.SQUARES, 0, 6 * 502**2),
    ]


def test_slots_are_shared() -> None:
    every = f"COVAR_POP({PAIR}), COVAR_SAMP({PAIR}), CORR({PAIR}), REGR_SLOPE({PAIR}), REGR_INTERCEPT({PAIR})"
    assert len(bounded(f"SELECT {every} FROM visits").slots) == 6


def value_of(sql: str, *slots: float) -> float | None:
    """The released value for these slots, in the order of the plan."""
    plan = bounded(sql)
    (output,) = plan.finish.outputs
    columns = {placed.column.id: number for placed, number in zip(plan.slots, slots, strict=True)}
    text = print_scalar(output.expression, dialect="duckdb", column=lambda n: f"CAST({columns[n]} AS DOUBLE)")
    ((value,),) = duckdb.sql(f"SELECT {text}").fetchall()
    return value


XS, YS = [3, -20, 14, 50, 7, 8], [900, 4, 17, 500, 498, 2]
MOMENTS = [6, sum(XS), sum(y - 498 for y in YS), sum(x * (y - 498) for x, y in zip(XS, YS, strict=True))]
SQUARED = [sum(x * x for x in XS), sum((y - 498) ** 2 for y in YS)]


def test_the_values_are_those_of_the_textbook() -> None:
    sample = covariance(XS, YS)
    line = linear_regression(YS, XS)
    assert value_of(f"SELECT COVAR_SAMP({PAIR}) FROM visits", *MOMENTS) == pytest.approx(sample)
    assert value_of(f"SELECT COVAR_POP({PAIR}) FROM visits", *MOMENTS) == pytest.approx(sample * 5 / 6)
    assert value_of(f"SELECT CORR({PAIR}) FROM visits", *MOMENTS, *SQUARED) == pytest.approx(correlation(XS, YS))
    assert value_of(f"SELECT REGR_SLOPE({PAIR}) FROM visits", *MOMENTS, SQUARED[1]) == pytest.approx(line.slope)
    assert value_of(f"SELECT REGR_INTERCEPT({PAIR}) FROM visits", *MOMENTS, SQUARED[1]) == pytest.approx(line.intercept)


@cases(__file__, "sql", "slots=", "value=")
def test_impossible_numbers_are_moved_to_what_is_possible(sql, slots, value) -> None:
    assert value_of(f"SELECT {sql}({PAIR}) FROM visits", *slots) == value


@cases(__file__, "sql", "error=")
def test_what_is_no_pair_of_bounded_numbers_is_refused(sql, error) -> None:
    raised(error, lambda: bounded(sql))


@pytest.mark.parametrize(
    ("pair", "clamped"),
    [
        ("points, code", "points, CLAMP(code, 0, 1000)"),
        ("code, code + 1", "CLAMP(code, 0, 1000), CLAMP(code, 0, 1000) + 1"),
    ],
)
def test_limits_are_proposed_where_they_are_missing(pair, clamped) -> None:
    error = raised(Unbounded, lambda: bounded(f"SELECT CORR({pair}) FROM visits"))
    assert error.try_sql == f"SELECT CORR({clamped}) FROM visits"
    bounded(error.try_sql)


def test_a_text_that_cannot_be_clamped_gets_no_proposal() -> None:
    assert raised(Unbounded, lambda: bounded("SELECT CORR(1 / price, points) FROM visits")).try_sql is None


def test_both_sides_are_asked_about_once() -> None:
    assert len(resolved("SELECT CORR(points, ward), CORR(points, ward) FROM visits").aggregates) == 1
