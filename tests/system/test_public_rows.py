"""Where the number of rows is public, an average needs no noisy count; but only where every row has a value."""

import math

import duckdb
import pytest

import dpsql
from dpsql.sql.slots import SlotKind
from tests.kits.cases import cases
from tests.kits.noiseless import without_noise

ROWS = 400


POLICY = f"""
version = 1
[source]
url = "duckdb://m.duckdb"
[person]
name = "measurement"
relation = "change_one"
[promise]
epsilon = 100
delta = 1e-6
[defaults]
cost_per_query = 1
max_keys = 10
[table.m]
unit = "row"
rows = {ROWS}
rows_public = true
[table.m.columns]
x = {{ bounds = [0, 100] }}
"""


@pytest.fixture
def measured(tmp_path):
    """Four hundred measurements, each of which may be replaced by another one."""

    def opened(columns: str, values: str) -> dpsql.Analyst:
        plain = duckdb.connect(tmp_path / "m.duckdb")
        plain.execute(f"CREATE TABLE m ({columns})")
        plain.execute(f"INSERT INTO m SELECT {values} FROM range({ROWS}) r(i)")
        plain.close()
        (tmp_path / "dpsql.toml").write_text(POLICY, encoding="utf-8")
        return dpsql.open(str(tmp_path / "dpsql.toml")).grant("ana", budget=50)

    return opened


def exactly(ana: dpsql.Analyst, sql: str) -> list[float]:
    return [float(cell) for cell in without_noise(ana, sql).rows[0]]


def kinds(ana: dpsql.Analyst, sql: str) -> list[SlotKind]:
    return [placed.slot.kind for placed in ana.query(sql).sealed.plan.bounded.slots]


def test_an_average_of_all_rows_is_one_sum(measured):
    """C053: of values inside the bounds; those beyond count as the bound."""
    ana = measured("x BIGINT NOT NULL", "i % 131")
    assert kinds(ana, "SELECT AVG(x) FROM m") == [SlotKind.CENTRED]
    assert kinds(ana, "SELECT VAR_POP(x) FROM m") == [SlotKind.CENTRED, SlotKind.SQUARES]
    values = f"SELECT LEAST(i % 131, 100) AS x FROM range({ROWS}) r(i)"
    exact = duckdb.sql(f"SELECT AVG(x), VAR_POP(x), STDDEV_SAMP(x) FROM ({values})")
    ((average, variance, deviation),) = exact.fetchall()
    told, spread, root = exactly(ana, "SELECT AVG(x), VAR_POP(x), STDDEV_SAMP(x) FROM m")
    assert told == pytest.approx(average)
    assert spread == pytest.approx(variance)
    assert root == pytest.approx(deviation)


def test_a_margin_can_be_asked_for_before(measured):
    """A sum with noise of 100/ε over 400 rows is within ± 1 from about ε = ln(20)/4 on."""
    query = measured("x BIGINT NOT NULL", "i % 101").query("SELECT AVG(x) AS a FROM m WITHIN 1", noise="laplace")
    assert query.margins["a"] <= 1
    assert float(query.cost.epsilon) == pytest.approx(math.log(20) / 4, rel=0.02)


def test_the_margin_is_that_of_the_sum_over_the_public_number(measured):
    """One row replaced moves the sum by at most 100 − 0; noise of that size, divided by 400."""
    ana = measured("x BIGINT NOT NULL", "i % 101")
    (cell,) = ana.sql("SELECT AVG(x) FROM m", noise="laplace").rows[0]
    assert cell.margin == pytest.approx(math.log(20) * 100 / ROWS, rel=0.05)


def test_counting_all_rows_is_free(measured):
    ana = measured("x BIGINT NOT NULL", "i % 101")
    answer = ana.sql("SELECT COUNT(*) FROM m")
    assert answer.rows == ((ROWS,),)
    assert answer.cost.epsilon == 0


@cases(__file__, "columns", "values")
def test_rows_without_a_number_are_not_counted_in(columns, values, measured):
    """Divided by all rows, the average of 80 and of nothing would be drawn to the middle of the bounds."""
    ana = measured(columns, values)
    told, deviation = exactly(ana, "SELECT AVG(x), STDDEV_POP(x) FROM m")
    assert told == pytest.approx(80, abs=1e-3)
    assert deviation == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("sql", ["SELECT AVG(x) FROM m WHERE x > 3", "SELECT AVG(x) FILTER (WHERE x > 3) FROM m"])
def test_a_part_of_the_rows_has_no_public_number(sql, measured):
    ana = measured("x BIGINT NOT NULL", "i % 101")
    assert SlotKind.CENTRED in kinds(ana, sql)
    assert len(kinds(ana, sql)) == 2
