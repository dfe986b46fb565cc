"""Rows never decide a type: a person more or less changes no schema, verdict, price, margin, EXPLAIN or engine SQL.

Every way in is tried with objects as each library's own constructors and converters make them, and with a person added
whose values make a library choose another type. A way whose schema is a declaration (polars, Arrow) may then be refused
as a change of policy: the types of the ledger, written out as the refusal asks, must give the same as before.
"""

import json
import os
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsql
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.engine import Limits
from dpsql.errors import DpsqlError, Incomparable, NoSource
from dpsql.ledger.memory import MemoryLedger
from dpsql.randomness import SYSTEM
from dpsql.session.opening import NOTHING_SAID
from dpsql.session.owner import Owner
from dpsql.sql.emit import statement_text

KINDS = {
    "whole": [30, 31, 64],
    "measured": [30, 31, 64],
    "plain": [3, 1, 2],
    "rate": [0.5, 1.5, 2.0],
    "big": [2**60, 2**60 + 1, 5],
    "zip": [8001, 8002, 3000],
    "city": ["Basel", "Bern", "Bern"],
    "note": ["x", "y", "z"],
    "flag": [True, False, True],
    "price": [Decimal("1.5"), Decimal("2.5"), Decimal("10.5")],
    "day": [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 3)],
    "seen": [datetime(2024, 1, 1), datetime(2024, 1, 2, 12), datetime(2024, 1, 3)],
}
"""A column of each kind: the values of three people."""

LONG = "x" * 300
ADDED = {
    "null": dict.fromkeys(KINDS),
    "huge": {
        **dict.fromkeys(("whole", "measured", "plain", "zip", "big"), 10**30),
        "rate": 1e300,
        "city": LONG,
        "note": LONG,
        "price": Decimal(10**20),
        "day": date(9999, 12, 31),
        "seen": datetime(9999, 12, 31),
    },
    "unsigned": dict.fromkeys(("whole", "measured", "plain", "zip", "big"), 2**63),
    "fraction": {**dict.fromkeys(("whole", "measured", "plain", "zip", "big"), 2.5), "price": Decimal("0.12345")},
    "negative zero": dict.fromkeys(("whole", "measured", "plain", "zip", "big", "rate"), -0.0),
    "infinite": dict.fromkeys(("whole", "measured", "plain", "zip", "rate"), float("inf")),
    "text": dict.fromkeys(("whole", "measured", "plain", "zip", "flag", "price", "day", "seen"), "?"),
    "number": dict.fromkeys(("city", "note", "flag"), 5),
    "other width": {"whole": 2**40, "plain": 2**40, "zip": 7, "city": "", "rate": 7, "price": Decimal(7)},
    "moment": {"day": datetime(2024, 5, 5, 12), "seen": date(2024, 5, 5)},
}
"""One person more, by what is odd about them. A kind that is not named has a value like the others'."""

WORDS = {
    "person": "id",
    "unique": True,
    "bounds": {
        "whole": (0, 110),
        "measured": (0.0, 110.0),
        "rate": (0.0, 2.5),
        "big": (0, 2**62),
        "day": ("2024-01-01", "2024-12-31"),
    },
    "keys": {"city": ["Basel", "Bern"], "zip": ["8001", "8002"], "note": "private"},
    "columns": ["plain", "flag", "price", "seen"],
    "hidden": ["id"],
}
TYPES = {"flag": "boolean", "price": "double"}
"""What every refusal of these ways asks for."""
DECLARED = {
    **dict.fromkeys(("whole", "big", "id"), "integer"),
    **dict.fromkeys(("measured", "rate", "plain"), "double"),
    **dict.fromkeys(("zip", "city", "note"), "text"),
    "day": "date",
    "seen": "timestamp",
}

WHOLE = "DPSQL_AUDIT" in os.environ
"""Ask everything of every neighbour: minutes."""
QUESTIONS = [
    question.format(column=column)
    for column in KINDS
    for question in (
        "SELECT {column}, COUNT(*) AS n FROM t GROUP BY {column}",
        "SELECT SUM({column}) AS s, AVG({column}) AS a FROM t",
        "SELECT COUNT(DISTINCT {column}) AS d FROM t WHERE {column} > 1",
    )
    if WHOLE or (column, question[:10]) in (("whole", "SELECT SUM"), ("plain", "SELECT SUM"), ("zip", "SELECT {co"))
]
VIEWS = ("dp.columns", "dp.keys", "dp.policy", "dp.budget", "dp.ledger", "dp.releases")[: None if WHOLE else 1]


def columns_with(make, added):
    """The rows of everybody as columns, and the kinds in which the person more could be built by the library."""
    rows = {"id": [1, 2, 3, 4]}
    odd = []
    for kind, values in KINDS.items():
        usual, strange = [*values, values[0]], [*values, added.get(kind, values[0])]
        if kind in added and is_built(make, strange):
            odd.append(kind)
            rows[kind] = strange
        else:
            rows[kind] = usual
    return rows, odd


def is_built(make, values):
    try:
        make({"id": [1, 2, 3, 4], "x": values})
    except (TypeError, ValueError, OverflowError, pa.ArrowException, pl.exceptions.PolarsError, duckdb.Error):
        return False
    return True


def files(make, write, suffix):
    """A way in through a file: the object is written, and its path is registered."""

    def made(rows, folder):
        path = Path(folder, f"t{suffix}")
        write(make(rows), path)
        return path

    return made


def json_lines(frame, path):
    frame.to_json(path, orient="records", lines=True, date_format="iso", default_handler=str)


def from_csv(rows, folder):
    return pd.read_csv(files(pd.DataFrame, lambda frame, path: frame.to_csv(path, index=False), ".csv")(rows, folder))


def table_of_a_database(rows, folder=None):
    """A connection to a DuckDB that has made the types itself, from the rows of a frame."""
    connection = duckdb.connect()
    connection.from_df(pd.DataFrame(rows)).create("t")
    return connection


WAYS = {
    "pandas": (pd.DataFrame, lambda rows, folder: pd.DataFrame(rows)),
    "pandas from records": (
        pd.DataFrame,
        lambda rows, folder: pd.DataFrame(
            [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
        ),
    ),
    "pandas.concat": (
        pd.DataFrame,
        lambda rows, folder: pd.concat(
            [
                pd.DataFrame({name: part[:3] for name, part in rows.items()}),
                pd.DataFrame({name: part[3:] for name, part in rows.items()}),
            ]
        ),
    ),
    "pandas.read_csv": (pd.DataFrame, from_csv),
    "Table.from_pandas": (
        lambda rows: pa.Table.from_pandas(pd.DataFrame(rows)),
        lambda rows, folder: pa.Table.from_pandas(pd.DataFrame(rows)),
    ),
    "Parquet of pandas": (
        lambda rows: pa.Table.from_pandas(pd.DataFrame(rows)),
        files(pd.DataFrame, lambda frame, path: frame.to_parquet(path), ".parquet"),
    ),
    "CSV of pandas": (pd.DataFrame, files(pd.DataFrame, lambda frame, path: frame.to_csv(path, index=False), ".csv")),
    "JSON lines of pandas": (pd.DataFrame, files(pd.DataFrame, json_lines, ".jsonl")),
    "polars": (pl.DataFrame, lambda rows, folder: pl.DataFrame(rows)),
    "polars.from_pandas": (
        lambda rows: pl.from_pandas(pd.DataFrame(rows)),
        lambda rows, folder: pl.from_pandas(pd.DataFrame(rows)),
    ),
    "Parquet of polars": (pl.DataFrame, files(pl.DataFrame, lambda frame, path: frame.write_parquet(path), ".parquet")),
    "CSV of polars": (pl.DataFrame, files(pl.DataFrame, lambda frame, path: frame.write_csv(path), ".csv")),
    "JSON lines of polars": (
        pl.DataFrame,
        files(pl.DataFrame, lambda frame, path: frame.write_ndjson(path), ".ndjson"),
    ),
    "Arrow": (pa.table, lambda rows, folder: pa.table(rows)),
    "Parquet of Arrow": (pa.table, files(pa.table, pq.write_table, ".parquet")),
    "DuckDB": (table_of_a_database, table_of_a_database),
    "convert_dtypes": (
        lambda rows: pa.Table.from_pandas(pd.DataFrame(rows)),
        lambda rows, folder: pd.DataFrame(rows).convert_dtypes(),
    ),
}
MOVED_BY_PANDAS = {
    "CSV of pandas": ("big", "zip"),
    "JSON lines of pandas": ("big", "zip"),
    "polars.from_pandas": ("big",),
    "DuckDB": ("big",),
    "convert_dtypes": ("big",),
}
"""Values that pandas itself rounds, or writes as 8001.0, for everybody before dpsql reads them: the guide says so."""
COUNTS = {"polars", "polars.from_pandas", "Parquet of polars", "Arrow", "Parquet of Arrow", "DuckDB", "convert_dtypes"}
"""The ways whose schema is a declaration."""


def observed(analyst):
    """All that an analyst can see for free, and the SQL that the engine would get."""
    seen = {view: repr(analyst.sql(f"SELECT * FROM {view}").rows) for view in VIEWS}
    for sql in QUESTIONS:
        try:
            query = analyst.query(sql)
        except DpsqlError as error:
            seen[sql] = str(error)
        else:
            steps = [statement_text(step.statement, dialect="duckdb") for step in query.sealed.plan.steps]
            seen[sql] = repr((query.cost, dict(query.margins), steps))
            seen[f"EXPLAIN {sql}"] = query.explain().text()
    if WHOLE:
        seen["sample"] = str(analyst.sample("t").rows)
        seen["SIMULATE"] = str(analyst.query(QUESTIONS[0]).simulate().columns)
    return seen


def others(engine):
    """The values of the first three people as the engine holds them: one person must not move them."""
    return {kind: repr(engine.run_public(f"SELECT id, {kind} FROM t WHERE id < 4 ORDER BY id")) for kind in KINDS}


def promised(owner):
    owner.promise(epsilon=10, delta=1e-6)
    owner.defaults(cost_per_query=0.1, max_keys=1000, selection_share=0.25, delta_per_query=1e-9)
    return owner.grant("ana", budget=5)


def seen_with(ledger, data, words):
    """What can be seen of these data under a ledger, whose declarations stay when the data are gone."""
    engine = DuckdbEngine.in_memory(Limits(threads=1))
    owner = Owner(policy=NOTHING_SAID, engine=engine, ledger=ledger, source=SYSTEM)
    try:
        types = owner.register("t", data, **words).types
        analyst = promised(owner)
        declared = {"types": str(types), "catalog": repr(owner.catalog), "ledger": ledger.adopted()}
        return {**declared, **observed(analyst), **others(engine)}
    finally:
        engine.close()


def different(before, after, way):
    moved = MOVED_BY_PANDAS.get(way, ())
    return [name for name in before if before[name] != after[name] and name not in moved]


def neighbour_cases(way, folder):
    """(neighbour, kind) → what differs, for everything that the library builds."""
    make, build = WAYS[way]
    base, _ = columns_with(make, {})
    is_text = way.startswith(("CSV", "JSON"))
    words = {
        **WORDS,
        "types": {**TYPES, **({"plain": "double", "seen": "timestamp", "id": "integer"} if is_text else {})},
    }
    if way == "pandas.read_csv":
        words["types"]["seen"] = "timestamp"
    if way in COUNTS:
        words["types"] |= {"price": "double", "zip": "text"}
    ledger = MemoryLedger()
    before = seen_with(ledger, build(base, folder), words)
    found = {}
    for name, added in ADDED.items():
        rows, odd = columns_with(make, added)
        data = build(rows, folder)
        try:
            after = seen_with(ledger, data, words)
        except Incomparable as refused:
            if way not in COUNTS:
                raise
            kept = json.loads(refused.fix.partition("types=")[2].partition(")")[0])
            after = seen_with(ledger, build(rows, folder), {**words, "types": {**words["types"], **kept}})
        found |= {(way, kind, name): different(before, after, way) for kind in odd}
    return found


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return {way: neighbour_cases(way, tmp_path_factory.mktemp("way")) for way in WAYS}


def test_no_person_changes_what_can_be_seen(cases):
    found = {case: what for way in cases.values() for case, what in way.items()}
    assert {case: what for case, what in found.items() if what} == {}
    assert len(found) >= 300


@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("way", ["pandas", "Table.from_pandas"])
def test_a_first_registration_has_the_same_types_with_one_person_more(way, added, tmp_path):
    """No ledger knows the types yet: the declaration decides them, or the owner is refused with the words to add."""
    make, build = WAYS[way]
    rows, odd = columns_with(make, ADDED[added])
    data = build(rows, tmp_path)
    with dpsql.open(":memory:") as owner:
        try:
            types = {name: kind.value for name, kind in owner.register("t", data, **WORDS, types=TYPES).types.items()}
        except NoSource as refused:
            asked = json.loads(refused.fix.partition("types=")[2].partition(" to register")[0])
            undeclared = {"plain", "note", "seen"}.intersection(odd)
            types = DECLARED | TYPES if TYPES.keys() < asked.keys() <= TYPES.keys() | undeclared else asked
    assert types == DECLARED | TYPES


def test_one_refusal_names_all_columns_with_the_words_to_add():
    frame = pd.DataFrame(
        {"id": [1.0, None], "name": ["x", 5], "flag": [True, False], "paid": [Decimal("1.5"), None], "n": [1, 2]}
    )
    with dpsql.open(":memory:") as owner:
        for data in (frame, pa.Table.from_pandas(frame.assign(name=pd.Series([None, "x"], dtype=object)))):
            with pytest.raises(NoSource) as refused:
                owner.register("t", data, person="id", columns="all", types={"n": "integer"}, unique=True)
            line = refused.value.fix.partition("types=")[2].partition(" to register")[0]
            types = json.loads(line)
            assert types == {
                "n": "integer",
                "id": "integer",
                "name": "text",
                "flag": "boolean",
                "paid": types["paid"],
            }
            owner.register(f"t{id(data)}", data, person="id", columns="all", types=types, unique=True)


def test_decimals_of_arrow_are_refused_until_they_are_declared():
    data = pa.table({"id": [1, 2], "paid": [Decimal("1.5"), Decimal("22.25")]})
    with dpsql.open(":memory:") as owner:
        with pytest.raises(NoSource, match=r'types=\{"paid": "double"\}'):
            owner.register("t", data, person="id", columns=["paid"], unique=True)
        assert (
            owner.register("t", data, person="id", types={"paid": "double"}, unique=True).types["paid"].value
            == "double"
        )


def test_metadata_of_pandas_tell_a_nullable_dtype_from_a_plain_one(tmp_path):
    """Both are int64 in Arrow: the plain one takes its type from what is declared of it, which is nothing."""
    frame = pd.DataFrame({"id": [1, 2], "plain": [1, 2]})
    frame = frame.assign(nullable=frame["plain"].convert_dtypes())
    frame.to_parquet(tmp_path / "t.parquet")
    for data in (frame, pa.Table.from_pandas(frame), tmp_path / "t.parquet"):
        with dpsql.open(":memory:") as owner:
            shown = owner.register("t", data, person="id", columns="all", unique=True)
            assert {name: kind.value for name, kind in shown.types.items()} == {
                "id": "integer",
                "plain": "double",
                "nullable": "integer",
            }


def test_other_types_than_those_of_the_ledger_are_a_change_of_policy(tmp_path):
    """Also after a restart, and also where the promise comes before the tables."""
    words = {"person": "id", "unique": True, "columns": ["x"]}
    with dpsql.open(tmp_path / "ledger.db") as owner:
        owner.register("t", pl.DataFrame({"id": [1, 2], "x": [1, 2]}), **words)
        owner.promise(epsilon=1)
    entries = dpsql.open_ledger(ledger=tmp_path / "ledger.db").verify()
    with dpsql.open(tmp_path / "ledger.db") as owner:
        owner.promise(epsilon=1)
        other = pl.DataFrame({"id": [1, 2], "x": [1.5, 2.0]})
        with pytest.raises(Incomparable, match=r"t\.x was BIGINT and is now DOUBLE") as refused:
            owner.register("t", other, **words)
        assert refused.value.code == "DP502"
        assert 'types={"x": "integer"}' in refused.value.fix
        assert 'types={"x": "double"}' in refused.value.fix
        assert owner.keeper.verify() == entries
        assert owner.register("t", other, **words, types={"x": "integer"}).types["x"].value == "integer"
        assert owner.keeper.verify() == entries


def test_a_database_file_with_other_types_is_refused_until_the_policy_has_them(tmp_path):
    def made(kind):
        (tmp_path / "t.duckdb").unlink(missing_ok=True)
        with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
            database.execute(f"CREATE TABLE t (id BIGINT PRIMARY KEY, x {kind})")

    policy = tmp_path / "dpsql.toml"
    text = """version = 1
source.url = "duckdb://t.duckdb"
promise = { epsilon = 1, delta = 0 }
defaults = { cost_per_query = 0.1 }
[table.t]
person = "id"
columns = { x = { bounds = [0, 10] } }
"""
    policy.write_text(text)
    made("BIGINT")
    dpsql.open(policy).close()
    dpsql.open(policy, adopt=False).close()
    made("DOUBLE")
    with pytest.raises(Incomparable, match=r"t\.x was BIGINT and is now DOUBLE"):
        dpsql.open(policy)
    with pytest.raises(Incomparable):
        dpsql.open(policy, adopt=False)
    policy.write_text(text.replace("{ bounds", '{ type = "double", bounds'))
    dpsql.open(policy).close()
    dpsql.open(policy, adopt=False).close()
