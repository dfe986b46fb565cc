"""The answer: columns by name, data frames, files, words."""

import csv
from datetime import date
from fractions import Fraction

import pytest

from dpsql.errors import BadName, BadParameter
from dpsql.session.answer_value import Answer, Cost
from dpsql.session.noisy import Noisy
from dpsql.session.tabulated import unique_names


def noisy(value, margin):
    low, high = (None, None) if margin is None else (value - margin, value + margin)
    return Noisy(value=value, margin=margin, low=low, high=high, confidence=Fraction(19, 20), weights={})


ROWS = (
    ("Basel", date(2024, 1, 1), noisy(2611, 15), noisy(41.25, 0.25)),
    ("=1+1", None, noisy(-4, 15), None),
)


def answer(columns=("city", "day", "n", "age"), rows=ROWS, release=42, notes=(), cost=Fraction(1, 20), head=None):
    return Answer(
        columns=columns,
        rows=rows,
        cost=Cost(epsilon=cost),
        release=release,
        confidence=Fraction(19, 20),
        notes=notes,
        head=head,
    )


def test_rows_and_columns():
    r = answer()
    assert len(r) == 2
    assert list(r) == list(ROWS)
    assert r["city"] == ["Basel", "=1+1"]
    assert [cell.margin for cell in r["n"]] == [15, 15]
    assert r.dicts()[0]["n"].value == 2611


def test_an_unknown_column():
    with pytest.raises(BadName, match="no column 'm'") as caught:
        answer()["m"]
    assert "city, day, n, age" in caught.value.fix


def test_a_data_frame():
    frame = answer().df()
    assert list(frame.columns) == ["city", "day", "n", "age"]
    assert frame["n"].tolist() == [2611, -4]
    assert frame["n"].dtype == "int64"
    assert frame["age"].tolist()[0] == 41.25
    assert frame["age"].isna().tolist() == [False, True]


def test_a_data_frame_with_intervals():
    frame = answer().df(intervals="columns")
    assert list(frame.columns) == ["city", "day", "n", "n_low", "n_high", "age", "age_low", "age_high"]
    assert frame["n_low"].tolist() == [2596, -19]
    assert frame["age_high"].tolist()[0] == 41.5


def test_polars_and_arrow():
    r = answer()
    assert r.pl()["n"].to_list() == [2611, -4]
    assert r.pl(intervals="columns").columns[2:5] == ["n", "n_low", "n_high"]
    assert r.arrow().column("n").to_pylist() == [2611, -4]
    assert r.arrow(intervals="columns").column("n_high").to_pylist() == [2626, 11]


def test_other_intervals_are_refused():
    with pytest.raises(BadParameter, match="intervals='inline'"):
        answer().df(intervals="inline")


def test_names_are_made_unique():
    assert unique_names(["n", "n", "n_2", "n"]) == ["n", "n_3", "n_2", "n_4"]
    r = answer(columns=("x", "x", "n", "n_low"))
    found = list(r.df(intervals="columns").columns)
    assert found == ["x", "x_2", "n", "n_low_2", "n_high", "n_low", "n_low_low", "n_low_high"]
    assert r["x_2"] == [date(2024, 1, 1), None]


def test_an_interval_that_is_not_known():
    frame = answer(rows=(("a", None, noisy(5, None), noisy(1.0, 2.0)),)).df(intervals="columns")
    assert frame["n_low"].isna().all()


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_a_file(tmp_path):
    path = tmp_path / "x.csv"
    answer().to_csv(path)
    assert read(path) == [
        ["city", "day", "n", "age"],
        ["Basel", "2024-01-01", "2611", "41.25"],
        ["'=1+1", "", "-4", ""],
    ]


WIDE = [chr(ord(sign) + 0xFEE0) for sign in "=+-@"]  # as keyboards of East Asia write them


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", *WIDE])
def test_texts_in_a_file_are_no_formulas(tmp_path, start):
    path = tmp_path / "x.csv"
    r = answer(columns=(f"{start}head",), rows=((f"{start}cmd",), ("plain",)))
    r.to_csv(str(path))
    assert read(path) == [[f"'{start}head"], [f"'{start}cmd"], ["plain"]]
    r.to_csv(path, spreadsheet_safe=False)
    assert read(path) == [[f"{start}head"], [f"{start}cmd"], ["plain"]]


def test_a_file_with_intervals_and_commas(tmp_path):
    path = tmp_path / "x.csv"
    answer(columns=("k", "n"), rows=(('a,"b', noisy(-4, 15)),)).to_csv(path, intervals="columns")
    assert read(path) == [["k", "n", "n_low", "n_high"], ['a,"b', "-4", "-19", "11"]]


def test_text():
    lines = str(answer(notes=("values above 110 count as 110",))).splitlines()
    assert lines[-3:] == [
        "2 rows · ± is 95 % · ⚠ the noise may be all there is: do not use these cells",
        "cost 0.05 · release #42",
        "note: values above 110 count as 110",
    ]
    assert repr(answer()) == str(answer())


def test_text_with_the_head_of_the_ledger():
    told = answer(head="#43:0123abcd")
    assert str(told).splitlines()[-1] == "cost 0.05 · release #42 · ledger #43:0123abcd"
    assert "ledger #43:0123abcd" in told._repr_html_()


def test_text_without_a_release():
    assert str(answer(release=None, cost=Fraction(0))).splitlines()[-1] == "cost 0.00"


def test_html():
    page = answer()._repr_html_()
    assert "<td>Basel</td>" in page
    assert "cost 0.05 · release #42" in page


@pytest.mark.parametrize(
    ("epsilon", "shown"), [("1/20", "0.05"), ("1/2", "0.50"), ("2", "2.00"), ("1/8", "0.125"), ("0", "0.00")]
)
def test_prices(epsilon, shown):
    assert str(Cost(epsilon=Fraction(epsilon))) == shown


def test_a_cost_in_words():
    assert repr(Cost(epsilon=Fraction(1, 20), delta=Fraction(1, 10**6))) == "Cost(epsilon=0.05, delta=0.000001)"
    assert Cost(epsilon=Fraction(1, 2)) == Cost(epsilon=Fraction(1, 2), delta=Fraction(0))
