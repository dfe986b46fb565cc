"""The answer: columns by name, data frames, files, words."""

import csv
from datetime import date
from fractions import Fraction

import pytest

from dpsql.errors import BadName, BadParameter, InternalError
from dpsql.session.answer_value import Cost, require_apart
from dpsql.session.tables import unique_names
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
