"""The picture of an answer: which columns are drawn, and what is said where none can be."""

from datetime import date, datetime
from fractions import Fraction
from functools import partial

import pytest

import dpsql
from dpsql.charts.figure import Bars, Lines
from dpsql.errors import BadName, BadParameter
from dpsql.serve.methods import served
from dpsql.serve.wire import WIRE, ServedAnswer
from dpsql.session.answer_value import labelled
from tests.kits.refusals import raised
from tests.kits.released import answer_of
from tests.kits.released import noisy as cell_of

noisy = partial(cell_of, confidence=Fraction(9, 10))


def answer(columns, *rows, **said):
    return answer_of(columns, rows, release=1, confidence=Fraction(9, 10), **said)


CITIES = answer(
    ("city", "n", "age"),
    ("Basel", noisy(2611, 15), noisy(41.25, 0.25)),
    ("<img onerror=x>", noisy(-4, 15), None),
    (None, noisy(100, 15), noisy(30.0, 1.5, doubtful=True)),
    notes=("synthetic rows",),
)


def test_groups_against_the_first_noisy_column_and_the_words_below():
    chart = CITIES.plot().chart
    assert isinstance(chart, Bars)
    assert chart.title == "n by city"
    expected = [("Basel", 2611, 2596, 2626), ("<img onerror=x>", -4, -19, 11), ("NULL", 100, 85, 115)]
    assert [(mark.label, mark.value, mark.low, mark.high) for mark in chart.marks] == expected
    assert [mark.doubtful for mark in chart.marks] == [False, True, False]
    assert [mark.text for mark in chart.marks] == ["2\u2009611 ± 15", "-4 ± 15", "100 ± 15"]
    notes = CITIES.plot().chart.notes
    assert notes[0].startswith("± is 90 %")
    assert any("do not use" in note for note in notes)
    assert notes[-1] == "note: synthetic rows"


def test_another_column_another_title_and_a_missing_number():
    chart = CITIES.plot(y="age", title="How old").chart
    assert chart.title == "How old"
    assert [mark.value for mark in chart.marks] == [41.25, None, 30.0]
    assert chart.marks[2].doubtful  # told with the answer, whatever the margin
    assert chart.marks[1].text == "NULL"
    assert raised(BadName, lambda: CITIES.plot(y="city"), match="y='city'").fix == "choose one of: n, age"


def test_several_keys_are_one_label_and_none_is_the_column():
    by_two = answer(("city", "sex", "n"), ("Basel", "f", noisy(5, 1)), ("Basel", "m", noisy(6, 1)))
    assert [mark.label for mark in by_two.plot().chart.marks] == ["Basel · f", "Basel · m"]
    assert by_two.plot().chart.title == "n by city, sex"
    assert answer(("n",), (noisy(5, 1),)).plot().chart.marks[0].label == "n"


def test_dates_are_a_line_in_their_order_and_midnights_are_days():
    days = answer(
        ("day", "n"),
        (date(2024, 3, 1), noisy(7, 2)),
        (None, noisy(1, 2)),
        (date(2024, 1, 1), noisy(5, 2)),
        (date(2024, 2, 1), noisy(6, 2)),
    )
    chart = days.plot().chart
    assert isinstance(chart, Lines)
    points = chart.series[0].points
    assert [point.mark.value for point in points] == [5, 6, 7]
    assert points[1].at - points[0].at == 31
    assert points[2].at - points[1].at == 29
    assert chart.notes[0].startswith("1 left out")
    assert isinstance(days.plot("bar").chart, Bars)
    rows = [(datetime(2024, month, 1), noisy(7, 2)) for month in (1, 2)]
    expected = ["2024-01-01", "2024-02-01"]
    assert [point.mark.label for point in answer(("m", "n"), *rows).plot().chart.series[0].points] == expected
    later = [*rows, (datetime(2024, 3, 1, 12), noisy(7, 2))]
    assert answer(("m", "n"), *later).plot().chart.series[0].points[0].mark.label == "2024-01-01 00:00:00"


def test_a_line_over_numbers_only_where_asked():
    years = answer(("year", "n"), (2023, noisy(7, 2)), (2024, noisy(8, 2)))
    assert isinstance(years.plot().chart, Bars)
    assert [point.at for point in years.plot("line").chart.series[0].points] == [2023, 2024]
    assert years.plot("dot").chart.dots


def test_exact_numbers_are_their_own_interval_and_what_is_no_number_has_no_place():
    chart = answer(("ward", "beds"), ("eyes", 12), ("ears", 7)).plot().chart
    assert [(mark.low, mark.value, mark.high) for mark in chart.marks] == [(12, 12, 12), (7, 7, 7)]
    assert chart.notes == ()
    chart = answer(("ward", "x"), ("eyes", 12.5), ("ears", float("inf")), ("nose", float("nan"))).plot().chart
    assert [(mark.value, mark.text) for mark in chart.marks] == [(12.5, "12.5"), (None, "inf"), (None, "nan")]


def test_of_many_groups_the_first():
    """Those with the largest noisy numbers would need wider margins than the answer has."""
    many = answer(("k", "n"), *((f"k{number}", noisy(number, 2)) for number in range(100)))
    chart = many.plot().chart
    assert [mark.value for mark in chart.marks] == list(range(24))
    assert "the first 24 of 100 groups" in chart.notes[0]
    assert len(many.plot(most=100).chart.marks) == 100
    assert [mark.value for mark in many.plot(most=1).chart.marks] == [0]


@pytest.mark.parametrize("told", [answer(("n",)), answer(("a",), ("text",)), answer((" ",), ("x 1",), is_text=True)])
def test_nothing_to_draw(told):
    assert "GROUP BY" in raised(BadParameter, lambda: told.plot(), match="nothing to draw").fix


@pytest.mark.parametrize("wrong", [{"kind": "pie"}, {"kind": "line"}, {"most": 0}, {"file": "x.pdf"}])
def test_wrong_wishes(wrong):
    raised(BadParameter, lambda: CITIES.plot(**wrong))


def test_invented_rows_say_so_in_the_title():
    told = labelled(answer(("city", "n"), ("Basel", noisy(5, 1)), ("Bern", noisy(6, 1))))
    chart = told.plot(title="Cities").chart
    assert chart.title == "INVENTED ROWS: Cities"
    assert [mark.label for mark in chart.marks] == ["Basel", "Bern"]


def test_a_file(tmp_path):
    CITIES.plot(file=tmp_path / "cities.svg")
    page = (tmp_path / "cities.svg").read_text(encoding="utf-8")
    assert "&lt;img onerror=x&gt;" in page
    assert "<img" not in page


def test_what_comes_over_the_socket_is_drawn_alike():
    told = WIRE["analyst"].to_json(served(CITIES))
    again = WIRE["analyst"].from_json(told, ServedAnswer)
    for y in ("n", "age"):
        assert again.plot(y=y).chart == CITIES.plot(y=y).chart == dpsql.plot(again, y=y).chart


def test_truth_values_have_no_place_on_a_line():
    told = answer(("flag", "n"), (True, noisy(5, 1)), (False, noisy(6, 1)))
    raised(BadParameter, lambda: told.plot(kind="line"))
