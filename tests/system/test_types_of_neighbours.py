"""Rows never decide a type: a person more or less changes no schema, verdict, price, margin, EXPLAIN or engine SQL.

Every way in is tried with objects as each library's own constructors and converters make them, and with a person added
whose values make a library choose another type. A way whose schema is a declaration (polars, Arrow) may then be refused
as a change of policy: the types of the ledger, written out as the refusal asks, must give the same as before.

`make test` tries every second neighbour of each way, the others with the ways before and after it; `make audit` all.
"""

import json
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import dpsql
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.engine import Limits
from dpsql.errors import BadKey, BadPolicy, DpsqlError, Incomparable, NoSource
from dpsql.ledger.memory import MemoryLedger
from dpsql.randomness import SYSTEM
from dpsql.session.opening import NOTHING_SAID
from dpsql.session.owner import Owner
from dpsql.sql.emit import statement_text
from tests.kits.refusals import raised
from tests.kits.samples import EVERY

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

QUESTIONS = [
    question.format(column=column)
    for column in KINDS
    for question in (
        "SELECT {column}, COUNT(*) AS n FROM t GROUP BY {column}",
        "SELECT SUM({column}) AS s, AVG({column}) AS a FROM t",
        "SELECT COUNT(DISTINCT {column}) AS d FROM t WHERE {column} > 1",
    )
    if EVERY or (column, question[:10]) in (("whole", "SELECT SUM"), ("plain", "SELECT SUM"), ("zip", "SELECT {co"))
]
VIEWS = ("dp.columns", "dp.keys", "dp.policy", "dp.budget", "dp.ledger", "dp.releases")[: None if EVERY else 1]


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


def old_names(rows):
    """As pandas has named the columns, in its metadata too."""
    return pa.Table.from_pandas(pd.DataFrame({f"{name}_": values for name, values in rows.items()}))


def renamed(rows):
    """Each column under another name than in the metadata. `rename_columns` drops them."""
    table = old_names(rows)
    for place, name in enumerate(rows):
        table = table.set_column(place, name, table.column(place))
    return table


def appended(rows):
    """Columns that pandas has made, put beside one whose metadata do not name them."""
    table, more = pa.Table.from_pandas(pd.DataFrame({"id": rows["id"]})), pa.Table.from_pandas(pd.DataFrame(rows))
    for name in rows:
        table = table if name == "id" else table.append_column(name, more[name])
    return table


def selected(rows):
    return appended({**rows, "more": rows["id"]}).select(list(rows)[::-1])


def of_a_dataset(rows, folder):
    pq.write_table(old_names(rows), Path(folder, "t.parquet"))
    data = pyarrow.dataset.dataset(Path(folder, "t.parquet"))
    return data.scanner(columns={name: pyarrow.dataset.field(f"{name}_") for name in rows}).to_reader()


RENAMED = {
    "renamed Arrow": (renamed, lambda rows, folder: renamed(rows)),
    "appended Arrow": (appended, lambda rows, folder: appended(rows)),
    "selected Arrow": (selected, lambda rows, folder: selected(rows)),
    "renamed batch": (renamed, lambda rows, folder: renamed(rows).combine_chunks().to_batches()[0]),
    "renamed reader": (renamed, lambda rows, folder: renamed(rows).to_reader()),
    "renamed dataset": (renamed, of_a_dataset),
    "renamed Parquet": (renamed, files(renamed, pq.write_table, ".parquet")),
}
"""Arrow schemas with metadata of pandas that name other columns."""

WAYS = {
    **RENAMED,
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
    "rename_columns": (
        lambda rows: old_names(rows).rename_columns(list(rows)),
        lambda rows, folder: old_names(rows).rename_columns(list(rows)),
    ),
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
    "rename_columns": ("big",),
    "convert_dtypes": ("big",),
}
"""Values that pandas itself rounds, or writes as 8001.0, for everybody before dpsql reads them: the guide says so."""
COUNTS = {
    "polars",
    "polars.from_pandas",
    "Parquet of polars",
    "Arrow",
    "rename_columns",
    "Parquet of Arrow",
    "DuckDB",
    "convert_dtypes",
}
"""The ways whose schema is a declaration: no trace is left of a library that has looked at rows."""


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
    if EVERY:
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
    if way in RENAMED:
        words["types"] |= {"note": "text", "seen": "timestamp"}
    if way == "pandas.read_csv":
        words["types"]["seen"] = "timestamp"
    if way in COUNTS:
        words["types"] |= {"price": "double", "zip": "text"}
    ledger = MemoryLedger()
    before = seen_with(ledger, build(base, folder), words)
    found = {}
    for name, added in ADDED.items() if EVERY else list(ADDED.items())[list(WAYS).index(way) % 2 :: 2]:
        rows, odd = columns_with(make, added)
        data = build(rows, folder)
        try:
            after = seen_with(ledger, data, words)
        except Incomparable as refused:
            if way not in COUNTS:
                raise
            kept = json.loads(refused.fix.partition("types=")[2].partition(")")[0])
            after = seen_with(ledger, build(rows, folder), {**words, "types": {**words["types"], **kept}})
        found |= {(kind, name): different(before, after, way) for kind in odd}
    return found


@pytest.mark.parametrize("way", WAYS)
def test_no_person_changes_what_can_be_seen(way, tmp_path):
    found = neighbour_cases(way, tmp_path)
    assert {case: what for case, what in found.items() if what} == {}
    assert len(found) >= 8


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
            assert types == {"n": "integer", "id": "integer", "name": "text", "flag": "boolean", "paid": types["paid"]}
            owner.register(f"t{id(data)}", data, person="id", columns="all", types=types, unique=True)


def test_decimals_of_arrow_are_refused_until_they_are_declared():
    data = pa.table({"id": [1, 2], "paid": [Decimal("1.5"), Decimal("22.25")]})
    with dpsql.open(":memory:") as owner:
        register = partial(owner.register, "t", data, person="id", unique=True)
        raised(NoSource, lambda: register(columns=["paid"]), match=r'types=\{"paid": "double"\}')
        assert register(types={"paid": "double"}).types["paid"].value == "double"


@pytest.mark.parametrize(("nested", "kind"), [(lambda x: {"a": x}, "STRUCT"), (lambda x: [x], "LIST")])
def test_the_refusal_of_a_nested_column_names_its_kind_alone(nested, kind):
    """Arrow takes the digits of decimals from rows, also inside."""
    said = set()
    for paid in ("1.5", "1.55555"):
        data = pa.table({"id": [1, 2], "x": [nested(Decimal("1.5")), nested(Decimal(paid))]})
        with dpsql.open(":memory:") as owner, pytest.raises(BadPolicy, match=f"its type {kind} is not read") as refused:
            owner.register("t", data, person="id", columns=["x"], unique=True)
        said.add(str(refused.value))
    assert len(said) == 1


def test_refusals_of_fractions_as_groups_name_the_words_that_work():
    """pandas' whole numbers are fractions until somebody says what they are."""
    frame = pd.DataFrame({"id": range(3), "flight": [7, 8, 9]})
    by_flight = "SELECT flight, COUNT(*) AS n FROM t GROUP BY flight"
    words = {"person": "id", "unique": True}
    with dpsql.open(":memory:") as owner:
        with pytest.raises(BadPolicy) as refused:
            owner.register("t", frame, **words, keys={"flight": "private"})
        fixes = [refused.value.fix]
        owner.register("t", frame, **words, columns=["flight"])
        with pytest.raises(BadKey) as refused:
            promised(owner).query(by_flight)
        fixes.append(refused.value.fix)
    for fix in fixes:
        named = json.loads(fix.partition("types=")[2].partition(")")[0])
        with dpsql.open(":memory:") as owner:
            owner.register("t", frame, **words, keys={"flight": "private"}, types=named)
            assert promised(owner).query(by_flight).cost.epsilon > 0


@pytest.mark.parametrize("way", ["pandas", "Parquet of pandas", "CSV of pandas", "JSON lines of pandas"])
def test_whole_bounds_of_fractions_are_said_to_round(way, tmp_path):
    """In the schema, and under each answer that reads such a column: from the declaration, so of whole rows too."""
    note = "score is declared in whole numbers, so that any fractions of it were rounded"
    seen = set()
    for scores in ([0.3, 0.6, 0.9], [0, 1, 1]):
        data = WAYS[way][1]({"id": [1, 2, 3], "score": scores, "rate": scores}, tmp_path)
        with dpsql.open(":memory:") as owner:
            bounds = {"score": (0, 1), "rate": (0.0, 1.0)}
            shown = owner.register("t", data, person="id", unique=True, bounds=bounds, types={"id": "integer"})
            ana = promised(owner)
            reading = [
                "SELECT AVG(score) AS a FROM t",
                "SELECT COUNT(*) AS n FROM t WHERE score > 0.5",
                "SELECT SUM(twice) AS s FROM (SELECT 2 * score AS twice FROM t) AS d",
            ]
            for sql in (*reading, "SELECT AVG(rate) AS a FROM t", "SELECT COUNT(*) AS n FROM t"):
                assert (note in ana.sql(sql).notes) is (sql in reading)
        seen.add(str(shown))
        said = shown.decided_by["score"]
        assert 'fractions are rounded. bounds={"score": (0.0, 1.0)} or types={"score": "double"} keeps them' in said
        assert shown.decided_by["rate"] == "bounds or keys"
    assert len(seen) == 1


def test_an_answer_without_rows_has_the_columns_and_types_of_its_plan():
    """Those who are found decide about rows, not about the schema."""
    frame = pd.DataFrame({"id": range(400), "sex": ["f", "m"] * 200, "age": [30.5] * 400})
    asked = (
        "SELECT sex, COUNT(*) AS n, AVG(age) AS a, DP_LOW(COUNT(*)) AS low FROM t {} GROUP BY sex {} ORDER BY sex"
    ).format
    with dpsql.open(":memory:") as owner:
        owner.register("t", frame, person="id", unique=True, bounds={"age": (0.0, 110.0)}, keys={"sex": "private"})
        ana = promised(owner)
        full = ana.sql(asked("", ""), epsilon=1)
        empty = [ana.sql(asked("WHERE age > 100", "")), ana.sql(asked("", "HAVING COUNT(*) > 100000"), epsilon=1)]
        assert (len(full), list(map(len, empty))) == (2, [0, 0])
        names = ["sex", "n", "n_low", "n_high", "a", "a_low", "a_high", "low"]
        for answer in empty:
            assert answer.arrow(intervals="columns").schema == full.arrow(intervals="columns").schema
            assert answer.arrow().schema == full.arrow().schema
            assert answer.arrow(intervals="columns").schema.names == names
            assert answer.pl(intervals="columns").schema == full.pl(intervals="columns").schema
            assert list(answer.df(intervals="columns").dtypes) == list(full.df(intervals="columns").dtypes)
            for form in ("parquet", "arrow", "csv"):
                written = [dpsql.formatted(each, form) for each in (answer, full)]
                columns = [
                    part.split(b"\r\n")[0] if form == "csv" else reader(form)(pa.BufferReader(part))
                    for part in (each.encode() if isinstance(each, str) else each for each in written)
                ]
                assert columns[0] == columns[1]


def reader(form):
    return pq.read_schema if form == "parquet" else lambda file: pa.ipc.open_file(file).schema


def test_metadata_of_pandas_tell_a_nullable_dtype_from_a_plain_one(tmp_path):
    """Both are int64 in Arrow: the plain one takes its type from what is declared of it, which is nothing."""
    frame = pd.DataFrame({"id": [1, 2], "plain": [1, 2]})
    frame = frame.assign(nullable=frame["plain"].convert_dtypes())
    frame.to_parquet(tmp_path / "t.parquet")
    for data in (frame, pa.Table.from_pandas(frame), tmp_path / "t.parquet"):
        with dpsql.open(":memory:") as owner:
            shown = owner.register("t", data, person="id", columns="all", unique=True)
            expected = {"id": "integer", "plain": "double", "nullable": "integer"}
            assert {name: kind.value for name, kind in shown.types.items()} == expected


@pytest.mark.parametrize("way", RENAMED)
def test_a_column_that_the_metadata_of_pandas_do_not_name_is_one_of_pandas(way, tmp_path):
    """No ledger knows the types: neither whole numbers nor one missing value among them decide."""
    build = RENAMED[way][1]
    words = {"person": "id", "unique": True, "bounds": {"x": (0, 110)}, "columns": ["y", "note"]}
    shown = []
    for x in ([1, 2, 3], [1, 2, None], [1, 2, 2.5]):
        rows = {"id": [1, 2, 3], "x": x, "y": x, "note": ["a", "b", None]}
        with dpsql.open(":memory:") as owner:
            with pytest.raises(NoSource, match=r'add types=\{"note": "text"\} to'):
                owner.register("t", build(rows, tmp_path), **words)
            shown.append(str(owner.register("t", build(rows, tmp_path), **words, types={"note": "text"})))
    assert len(set(shown)) == 1
    assert "x     integer  bounds or keys" in shown[0]
    assert "y     double   nothing declared" in shown[0]


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
    raised(Incomparable, lambda: dpsql.open(policy), match=r"t\.x was BIGINT and is now DOUBLE")
    raised(Incomparable, lambda: dpsql.open(policy, adopt=False))
    policy.write_text(text.replace("{ bounds", '{ type = "double", bounds'))
    dpsql.open(policy).close()
    dpsql.open(policy, adopt=False).close()


OF_A_FILE = """version = 1
[source]
url = "duckdb://clinic.duckdb"
[promise]
epsilon = 10
delta = 0
[defaults]
cost_per_query = 1
max_keys = 10
[table.patients]
person = "id"
unique = true
[table.patients.columns]
kind = { keys = ["30", "40"] }
[table.wards]
public = true
"""
ASKED = [
    "SELECT kind FROM wards",
    "SELECT COUNT(*) AS n FROM wards WHERE kind = '101'",
    "SELECT kind, COUNT(*) AS n FROM patients GROUP BY kind",
    "SELECT COUNT(*) AS n FROM patients WHERE kind > '101'",
]


def explained(folder, ages):
    """What is told for nothing about tables with an ENUM that was made of these ages."""
    folder.joinpath("clinic.duckdb").unlink(missing_ok=True)
    with duckdb.connect(folder / "clinic.duckdb") as data:
        data.execute("CREATE TABLE known AS SELECT unnest($ages) AS age", {"ages": ages})
        data.execute("CREATE TYPE ages AS ENUM (SELECT age::VARCHAR FROM known ORDER BY age DESC)")
        data.execute("CREATE TABLE patients AS SELECT age AS id, age::VARCHAR::ages AS kind FROM known")
        data.execute("CREATE TABLE wards AS SELECT unnest(['30', '40'])::ages AS kind")
    folder.joinpath("dpsql.toml").write_text(OF_A_FILE, encoding="utf-8")
    with dpsql.open(folder / "dpsql.toml") as owner:
        owner.grant("ana", budget=5)
        analyst = owner.analyst("ana")
        answers = [str(analyst.sql(question).dicts()) for question in (*ASKED[:2], "SELECT * FROM dp.columns")]
        return [str(analyst.explain(question)) for question in ASKED] + answers


def test_values_of_an_enum_change_nothing_that_is_told(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir(), other.mkdir()
    assert explained(one, [30, 40]) == explained(other, [30, 40, 101])


def test_values_of_an_enum_are_no_change_of_policy(tmp_path):
    assert explained(tmp_path, [30, 40])
    assert explained(tmp_path, [30, 40, 101])
