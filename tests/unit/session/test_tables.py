"""Answers as data frames: values unchanged, types plain, libraries optional."""

import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpsql.errors import BadParameter, MissingExtra
from dpsql.session.tables import to_arrow, to_pandas, to_polars
from tests.kits.refusals import raised

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
