"""The answer: columns by name, files, words; data frames with values unchanged, types plain, libraries optional."""

import csv
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpsql.errors import BadName, BadParameter, InternalError, MissingExtra
from dpsql.session.answer_value import Cost, require_apart
from dpsql.session.tables import to_arrow, to_pandas, to_polars, unique_names
from tests.kits.refusals import raised
from tests.kits.released import answer_of, noisy

ROWS = (("Basel", date(2024, 1, 1), noisy(2611, 15), noisy(41.25, 0.25)), ("=1+1", None, noisy(-4, 15), None))


def answer(columns=("city", "day", "n", "age"), rows=ROWS, **said):
    return answer_of(columns, rows, **said)


def test_rows_and_columns():
    r = answer()
    assert len(r) == 2
    assert list(r) == list(ROWS)
    assert r["city"] == ["Basel", "=1+1"]
    assert [cell.margin for cell in r["n"]] == [15, 15]
    assert r.dicts()[0]["n"].value == 2611
    assert "city, day, n, age" in raised(BadName, lambda: r["m"], match="no column 'm'").fix


def test_a_data_frame():
    frame = answer().df()
    assert list(frame.columns) == ["city", "day", "n", "age"]
    assert frame["n"].tolist() == [2611, -4]
    assert frame["n"].dtype == "int64"
    assert frame["age"].tolist()[0] == 41.25
    assert frame["age"].isna().tolist() == [False, True]
    frame = answer().df(intervals="columns")
    assert list(frame.columns) == ["city", "day", "n", "n_low", "n_high", "age", "age_low", "age_high"]
    assert frame["n_low"].tolist() == [2596, -19]
    assert frame["age_high"].tolist()[0] == 41.5
    unknown = answer(rows=(("a", None, noisy(5, None), noisy(1.0, 2.0)),)).df(intervals="columns")
    assert unknown["n_low"].isna().all()
    raised(BadParameter, lambda: answer().df(intervals="inline"), match="intervals='inline'")


def test_polars_and_arrow():
    r = answer()
    assert r.pl()["n"].to_list() == [2611, -4]
    assert r.pl(intervals="columns").columns[2:5] == ["n", "n_low", "n_high"]
    assert r.arrow().column("n").to_pylist() == [2611, -4]
    assert r.arrow(intervals="columns").column("n_high").to_pylist() == [2626, 11]


def test_names_are_made_unique():
    assert unique_names(["n", "n", "n_2", "n"]) == ["n", "n_3", "n_2", "n_4"]
    r = answer(columns=("x", "x", "n", "n_low"))
    found = list(r.df(intervals="columns").columns)
    assert found == ["x", "x_2", "n", "n_low_2", "n_high", "n_low", "n_low_low", "n_low_high"]
    assert r["x_2"] == [date(2024, 1, 1), None]


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


WIDE = [chr(ord(sign) + 0xFEE0) for sign in "=+-@"]  # as keyboards of East Asia write them


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", *WIDE])
def test_texts_in_a_file_are_no_formulas(tmp_path, start):
    path = tmp_path / "x.csv"
    r = answer(columns=(f"{start}head",), rows=((f"{start}cmd",), ("plain",)))
    r.to_csv(str(path))
    assert read(path) == [[f"'{start}head"], [f"'{start}cmd"], ["plain"]]
    r.to_csv(path, spreadsheet_safe=False)
    assert read(path) == [[f"{start}head"], [f"{start}cmd"], ["plain"]]


def test_text():
    lines = str(answer(notes=("values above 110 count as 110",))).splitlines()
    assert lines[-3:] == [
        "2 rows · ± is 95 % · ⚠ the noise may be all there is: do not use these cells",
        "cost 0.05 · release #42",
        "note: values above 110 count as 110",
    ]
    assert repr(answer()) == str(answer())
    told = answer(head="#43:0123abcd")
    assert str(told).splitlines()[-1] == "cost 0.05 · release #42 · ledger #43:0123abcd"
    assert str(answer(release=None, cost=Cost(epsilon=Fraction(0)))).splitlines()[-1] == "cost 0.00"
    for part in ("ledger #43:0123abcd", "<td>Basel</td>", "cost 0.05 · release #42"):
        assert part in told._repr_html_()


@pytest.mark.parametrize(
    ("epsilon", "shown"), [("1/20", "0.05"), ("1/2", "0.50"), ("2", "2.00"), ("1/8", "0.125"), ("0", "0.00")]
)
def test_prices(epsilon, shown):
    assert str(Cost(epsilon=Fraction(epsilon))) == shown


def test_a_cost_in_words():
    assert repr(Cost(epsilon=Fraction(1, 20), delta=Fraction(1, 10**6))) == "Cost(epsilon=0.05, delta=0.000001)"
    assert Cost(epsilon=Fraction(1, 2)) == Cost(epsilon=Fraction(1, 2), delta=Fraction(0))


@pytest.mark.parametrize("simulated", [True, False])
def test_a_simulation_and_an_answer_do_not_change_places(simulated):
    require_apart(simulated=simulated, invented=simulated)
    raised(InternalError, lambda: require_apart(simulated=simulated, invented=not simulated))


FULL = {
    "text": ["Basel", "é"],
    "whole": [2**53 + 1, -(2**63)],
    "wide": [2**100, -(2**127)],
    "real": [0.5, Fraction(1, 4)],
    "mixed": [1, 2.5],
    "flag": [True, False],
    "day": [date(1, 1, 1), date(9999, 12, 31)],
    "moment": [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)],
}
HOLEY = {name: [*values, None] for name, values in FULL.items()} | {"nothing": [None] * 3}


def plain(columns):
    """As they should come back: fractions are floats."""
    return {
        name: [float(v) if name in ("real", "mixed") and v is not None else v for v in values]
        for name, values in columns.items()
    }


@pytest.mark.parametrize("columns", [FULL, HOLEY])
def test_polars_gives_the_values_back(columns):
    frame = to_polars(columns)
    assert frame.to_dict(as_series=False) == plain(columns)
    expected = [pl.String, pl.Int64, pl.Int128, pl.Float64, pl.Float64, pl.Boolean, pl.Date, pl.Datetime("us")]
    assert [frame.schema[name] for name in FULL] == expected


@pytest.mark.parametrize("columns", [FULL, HOLEY])
def test_arrow_gives_the_values_back(columns):
    table = to_arrow(columns)
    found = table.to_pydict()
    found["wide"] = [v if v is None else int(v) for v in found["wide"]]
    assert found == plain(columns)
    expected = ["string", "int64", "decimal256(39, 0)", "double", "double", "bool", "date32[day]", "timestamp[us]"]
    assert [str(table.schema.field(name).type) for name in FULL] == expected
    assert isinstance(table, pa.Table)
    assert isinstance(table.column("wide")[0].as_py(), Decimal)


@pytest.mark.parametrize("columns", [FULL, HOLEY])
def test_pandas_gives_the_values_back(columns):
    frame = to_pandas(columns)
    found = {
        name: [None if pd.isna(v) else v.to_pydatetime() if name == "moment" else v for v in frame[name]]
        for name in columns
    }
    assert found == plain(columns)


def test_pandas_types_know_a_missing_value_only_where_there_is_one():
    whole = ["string", "int64", "object", "float64", "float64", "bool", "object", "datetime64[us]"]
    assert list(map(str, to_pandas(FULL).dtypes)) == whole
    holey = ["string", "Int64", "object", "float64", "float64", "boolean", "object", "datetime64[us]", "object"]
    assert list(map(str, to_pandas(HOLEY).dtypes)) == holey
    # pandas alone would make it a float and lose the last digit.
    assert int(pd.Series([2**53 + 1, None]).iloc[0]) == 2**53
    assert to_pandas({"n": [2**53 + 1, None]})["n"].iloc[0] == 2**53 + 1


@pytest.mark.parametrize("door", [to_pandas, to_polars, to_arrow])
def test_names_keep_their_order_and_spelling_also_where_there_are_no_rows(door):
    frame = door({"b": [1], "A b": [2], "a": [3]})
    assert list(frame.column_names if door is to_arrow else frame.columns) == ["b", "A b", "a"]
    assert door({"a": [], "b": []}).shape == (0, 2)
    assert door({}).shape[1] == 0


@pytest.mark.parametrize("door", [to_pandas, to_polars, to_arrow])
@pytest.mark.parametrize(
    "values", [[1, "a"], [True, 1], [date(2024, 1, 1), datetime(2024, 1, 1)], [2**127], [object()], [b"x"]]
)
def test_a_column_of_several_kinds_is_refused(door, values):
    raised(BadParameter, lambda: door({"n": values}), match="column n")


def test_columns_of_different_length_are_refused():
    raised(BadParameter, lambda: to_polars({"a": [1], "b": [1, 2]}), match="equally long")


@pytest.mark.parametrize(("door", "library"), [(to_pandas, "pandas"), (to_polars, "polars"), (to_arrow, "pyarrow")])
def test_a_library_that_is_not_there_comes_with_the_command(monkeypatch, door, library):
    monkeypatch.setitem(sys.modules, library, None)
    error = raised(MissingExtra, lambda: door({"n": [1]}), match=library)
    assert error.fix == f"pip install {library}"


def test_no_library_is_imported_before_its_door_is_used():
    code = (
        "import sys, dpsql.session.tables as t; wanted = ('pandas', 'polars', 'pyarrow');"
        "print([n for n in wanted if n in sys.modules]); t.to_polars({'n': [1]});"
        "print([n for n in wanted if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['polars']"]
