"""Exact answers from public tables: computed by the engine to the last clause, and bounded in rows and bytes."""

import pandas as pd
import pytest

from dpsql.engines.duckdb import DuckdbEngine
from dpsql.errors import TooLarge
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

WARDS = [(None if i % 7 == 0 else i % 5, f"ward {i % 3}", i) for i in range(2000)]
PAIRS = "SELECT a.n, b.n FROM wards a, wards b"


@pytest.fixture
def ana():
    wards = pd.DataFrame(WARDS, columns=["floor", "name", "n"]).astype({"floor": "Int64", "name": "string"})
    with owner_of(wards, "wards", public=True, columns="all", epsilon=1, cost_per_query=1, noise="laplace") as owner:
        texts = pd.DataFrame({"t": ["ü" * 10_000] * 2000}, dtype="string")
        owner.register("texts", texts, public=True, columns="all")
        owner.register("people", pd.DataFrame({"id": [1, 2]}), person="id", unique=True)
        yield owner.grant("ana", budget=1)


@pytest.fixture
def fetched(monkeypatch):
    """How many rows each statement over public tables brought into this process."""
    counts, run = [], DuckdbEngine.run_public

    def counted(self, sql, *, parameters):
        rows = run(self, sql, parameters=parameters)
        counts.append(len(rows))
        return rows

    monkeypatch.setattr(DuckdbEngine, "run_public", counted)
    return counts


def test_limit_is_applied_by_the_engine(ana, fetched):
    assert ana.sql(f"{PAIRS} LIMIT 3").rows == ((0, 0), (0, 1), (0, 2))
    assert ana.sql(f"{PAIRS} ORDER BY a.n DESC, b.n LIMIT 2 OFFSET 1").rows == ((1999, 1), (1999, 2))
    assert ana.sql("SELECT COUNT(*) FROM wards a, wards b").rows == ((4_000_000,),)
    assert fetched == [3, 2, 1]


def test_rows_and_bytes_of_an_exact_answer_are_capped(ana, fetched):
    raised(TooLarge, lambda: ana.sql(PAIRS), match="more than 100,000 rows")
    assert fetched == [100_001]
    assert len(ana.sql(f"{PAIRS} LIMIT 100000").rows) == 100_000
    assert len(ana.sql("SELECT t FROM texts LIMIT 1500").rows) == 1500  # of 20 000 bytes each
    raised(TooLarge, lambda: ana.sql("SELECT t FROM texts"), match="more than 32 MB")


def nulls_last(row):
    return [(cell is None, cell) if cell is not None else (True, 0) for cell in row]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT floor, name FROM wards", sorted([(f, name) for f, name, _ in WARDS], key=nulls_last)),
        ("SELECT DISTINCT floor, name FROM wards", sorted({(f, name) for f, name, _ in WARDS}, key=nulls_last)),
        (
            "SELECT floor, SUM(n) FROM wards GROUP BY floor HAVING SUM(n) > 1",
            sorted(
                ((f, sum(n for g, _, n in WARDS if g == f)) for f in {floor for floor, _, _ in WARDS}), key=nulls_last
            ),
        ),
        (
            "SELECT name, n FROM wards ORDER BY name DESC LIMIT 5 OFFSET 2",
            sorted(((name, n) for _, name, n in WARDS if name == "ward 2"), key=lambda row: row[1])[2:7],
        ),
        (
            "SELECT n, ROW_NUMBER() OVER (ORDER BY name) FROM wards LIMIT 4",
            [(n, place) for place, (_, n) in enumerate(sorted((name, n) for _, name, n in WARDS)[:4], start=1)],
        ),
    ],
)
def test_rows_are_delivered_in_the_order_of_the_columns_of_the_table(ana, sql, rows):
    assert [tuple(row) for row in ana.sql(sql).rows] == rows
