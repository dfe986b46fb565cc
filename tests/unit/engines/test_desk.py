"""The desk: released rows in, released rows out, exactly, and nothing left behind."""

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from fractions import Fraction

import pytest

from dpsql.catalog.types import SqlType
from dpsql.engines.desk import Desk, DeskTable
from dpsql.errors import EngineFailed, InternalError
from tests.kits.cases import cases
from tests.kits.refusals import raised

EVERY = (
    ("t", SqlType.TEXT),
    ("i", SqlType.INTEGER),
    ("h", "HUGEINT"),
    ("x", SqlType.DOUBLE),
    ("d", SqlType.DATE),
    ("s", SqlType.TIMESTAMP),
    ("b", SqlType.BOOLEAN),
)


def table(rows, columns=EVERY):
    return DeskTable(columns=columns, rows=rows)


def test_every_value_comes_back_as_it_was():
    rows = [
        ("a\x00b", 2**63 - 1, 2**127 - 1, 0.1, date(1, 1, 1), datetime(1, 1, 1), True),
        (
            "é\U0001f600'\"",
            -(2**63),
            -(2**127),
            -1e308,
            date(9999, 12, 31),
            datetime(9999, 12, 31, 23, 59, 59, 999999),
            False,
        ),
        (None,) * 7,
        ("", 0, 2**100 + 1, 5e-324, date(2024, 2, 29), datetime(2024, 2, 29, 1, 2, 3, 4), True),
    ]
    found = Desk().query("SELECT * FROM t", {"t": table(rows)})
    assert sorted(map(repr, found)) == sorted(map(repr, rows))


def test_numbers_of_a_double_column_may_be_whole_or_fractions():
    rows = [(1,), (Fraction(1, 3),), (0.5,), (None,), (2**60 + 1,)]
    found = Desk().query("SELECT x FROM t ORDER BY x", {"t": table(rows, (("x", SqlType.DOUBLE),))})
    assert found == [(1 / 3,), (0.5,), (1.0,), (float(2**60 + 1),), (None,)]


def test_a_hundred_thousand_rows_are_the_same_rows():
    chance = random.Random(1)
    columns = (("k", SqlType.TEXT), ("n", SqlType.INTEGER), ("h", "HUGEINT"))
    rows = [
        (f"k{number}", chance.randrange(-1000, 1000), chance.randrange(-(2**100), 2**100)) for number in range(100_000)
    ]
    desk, given = Desk(), {"t": table(rows, columns)}
    assert desk.query("SELECT COUNT(*), SUM(n), SUM(h) FROM t", given) == [
        (100_000, sum(row[1] for row in rows), sum(row[2] for row in rows))
    ]
    assert desk.query("SELECT * FROM t ORDER BY h, k", given) == sorted(rows, key=lambda row: (row[2], row[0]))


def test_several_tables_and_odd_names():
    left = table([(1, "a"), (2, "b")], (("id", SqlType.INTEGER), ("odd name", SqlType.TEXT)))
    right = table([(2, 5)], (("id", SqlType.INTEGER), ("n", SqlType.INTEGER)))
    sql = 'SELECT l."odd name", r.n FROM "ward.beds" AS l LEFT JOIN "we""ird" AS r ON l.id = r.id ORDER BY 1'
    assert Desk().query(sql, {"ward.beds": left, 'we"ird': right}) == [("a", None), ("b", 5)]


def test_no_rows_and_no_tables():
    assert Desk().query("SELECT COUNT(*) FROM t", {"t": table([])}) == [(0,)]
    assert Desk().query("SELECT * FROM t", {"t": table([])}) == []
    assert Desk().query("SELECT 1 + 1", {}) == [(2,)]


def test_nothing_is_left_behind():
    desk = Desk()
    desk.query("SELECT * FROM t", {"t": table([], (("a", SqlType.INTEGER),))})
    raised(EngineFailed, lambda: desk.query("SELECT * FROM t", {}))
    raised(EngineFailed, lambda: desk.query("SELECT * FROM nothing", {"t": table([], (("a", SqlType.INTEGER),))}))
    everything = (
        "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
    )
    assert desk.query(everything, {}) == []
    assert desk.query("SELECT b FROM t", {"t": table([("x",)], (("b", SqlType.TEXT),))}) == [("x",)]


def test_desks_do_not_see_each_other():
    def ask(number):
        rows = [(number, index) for index in range(50)]
        sql = "SELECT MIN(n), MAX(n), COUNT(*) FROM t"
        return Desk().query(sql, {"t": table(rows, (("n", SqlType.INTEGER), ("i", SqlType.INTEGER)))})

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(200))) == [[(number, number, 50)] for number in range(200)]


@cases(__file__, "sql")
def test_the_desk_reaches_nothing_else(sql):
    raised(EngineFailed, lambda: Desk().query(sql, {"t": table([])}))


@cases(__file__, "sql=")
def test_the_desk_takes_one_select(sql):
    raised(InternalError, lambda: Desk().query(sql, {"t": table([])}), match="one SELECT")
    assert Desk().query("SELECT COUNT(*) FROM duckdb_tables()", {}) == [(0,)]


def test_a_failure_keeps_its_reason_because_all_is_released():
    with pytest.raises(EngineFailed, match="free") as failed:
        Desk().query("SELECT CAST(t AS INTEGER) FROM t", {"t": table([("Basel",)], (("t", SqlType.TEXT),))})
    assert "Basel" in str(failed.value.__cause__)
    assert "Basel" not in str(failed.value)


@cases(__file__, "kind=", "value=")
def test_a_value_that_would_be_converted_is_refused(kind, value):
    raised(InternalError, lambda: table([(None,), (value,)], (("a", kind),)), match="column a")


@cases(__file__, "columns=", "rows=")
def test_a_table_that_is_none_is_refused(columns, rows):
    raised(InternalError, lambda: DeskTable(columns=columns, rows=rows))


def test_a_forked_child_gets_a_desk_of_its_own():
    assert Desk().query("SELECT 1", {}) == [(1,)]
    program = """
import os
from dpsql.engines.desk import Desk
Desk().query("SELECT 1", {})
child = os.fork()
if child == 0:
    os._exit(0 if Desk().query("SELECT 2", {}) == [(2,)] else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), Desk().query("SELECT 3", {}))
"""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]  # Python 3.12 warns of every fork
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    assert (done.stdout, done.stderr) == ("0 [(3,)]\n", "")  # and closes without a word
