"""Keys found by selection may be any value a column can hold: each is asked about again, shown, stored and told."""

from functools import cache

import duckdb
import pytest

from dpsql.session.noisy import Noisy
from tests.kits.noiseless import without_noise
from tests.kits.owners import owner_of
from tests.kits.rows import listed

TEXTS = [
    "a\0b", "\0", "\0" * 5000, "x\0", "'\0''", "'", "", " ", "\\", "$1", ":released", "NULL", "é\u0301", "\U0001f600",
    "\u202e", "\ufffe\uffff", "line\nbreak\r\t", "\x01\x7f", "z" * 200_000, None,
]  # fmt: skip
DATES = listed("DATE '0001-01-01', DATE '9999-12-31', DATE 'infinity', DATE '-infinity', DATE '0044-03-15 (BC)', NULL")
MOMENTS = ["TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'", "TIMESTAMP 'infinity'", "NULL"]
WHOLES = [-(2**63), 2**63 - 1, 0, -1, "NULL"]
EACH = 60  # people behind each text: enough to be shown for certain at this price


@cache
def plain():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE visits (person BIGINT, word VARCHAR, day DATE, moment TIMESTAMP, number BIGINT)")
    for place, word in enumerate(TEXTS):
        others = ", ".join(str(values[place % len(values)]) for values in (DATES, MOMENTS, WHOLES))
        connection.execute(
            f"INSERT INTO visits SELECT {EACH} * ? + range, ?, {others} FROM range({EACH})", [place, word]
        )
    return connection


@cache
def analyst():
    keys = dict.fromkeys(["word", "day", "moment", "number"], "private")
    caps = {"rows_per_person": 1, "rows_per_group": 1, "groups_per_person": 1, "max_keys": 1000}
    shares = {"delta": 1e-6, "cost_per_query": 20, "selection_share": 0.5, "delta_per_query": 1e-9}
    owner = owner_of(plain(), "visits", person="person", keys=keys, **caps, epsilon=10_000, **shares)
    return owner.grant("ana", budget=10_000)


def cells(rows):
    return {tuple(cell.value if isinstance(cell, Noisy) else cell for cell in row) for row in rows}


VISIBLE = {
    "word": "word",
    "day": "CASE WHEN day BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN day END",
    "moment": "CASE WHEN moment >= '0001-01-01' AND moment < '10000-01-01' THEN moment END",
    "number": "number",
}


@pytest.mark.parametrize("keys", [*VISIBLE, "word, day", "moment, number, word, day"])
def test_an_odd_key_is_counted_like_any_other(keys):
    """What is no value of our types is NULL, everything else is itself."""
    ours = cells(without_noise(analyst(), f"SELECT {keys}, COUNT(*), SUM(2) FROM visits GROUP BY {keys}"))
    visible = ", ".join(VISIBLE[key] for key in keys.split(", "))
    assert ours == set(plain().execute(f"SELECT {visible}, COUNT(*), SUM(2) FROM visits GROUP BY ALL").fetchall())


def test_an_odd_key_is_paid_for_once():
    first = analyst().sql("SELECT word, COUNT(*), SUM(3) FROM visits GROUP BY word")
    again = analyst().sql("SELECT word, COUNT(*), SUM(3) FROM visits GROUP BY word")
    assert {row[0] for row in first} == set(TEXTS)
    assert (first.cost.epsilon, again.cost.epsilon) == (20, 0)
    assert cells(first) == cells(again)
