"""Charts in a terminal: widths, plain letters, negative numbers, and no bar without its interval."""

from dataclasses import replace

import pytest

from dpsql.charts.letters import width
from dpsql.charts.text import in_text
from dpsql.errors import BadParameter
from tests.kits.refusals import raised

from drawn_charts import BARS, BURN, CHARTS, ICONS, NOTHING, WORLDS, mark


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("columns", [20, 40, 80, 132])
@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.title)
def test_no_line_is_wider_than_the_terminal(chart, columns, plain):
    lines = in_text(chart, columns=columns, plain=plain).splitlines()
    assert max(map(width, lines)) <= columns
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.title)
def test_plain_letters_are_ascii(chart):
    assert in_text(chart, plain=True).isascii()


def test_letters_that_ascii_lacks_are_numbers_and_rows_stay_in_line():
    chart = replace(BARS, title="Zürich", along="東", marks=(mark("東京", 5, 1), mark("Bern", 6, 1)))
    told = in_text(chart, plain=True).splitlines()
    assert told[0] == "Z\\xfcrich"
    assert told[2].startswith("\\u6771\\u4eac ")
    assert len(told[2]) == len(told[3])


def test_signs_are_the_words_of_every_plain_text():
    told = in_text(replace(BARS, title="ε ≤ 1 → σ"), plain=True).splitlines()
    assert told[0] == "epsilon <= 1 -> sigma"


def row(chart, label, **how):
    return next(line for line in in_text(chart, **how).splitlines() if line.startswith(label))


def test_a_bar_carries_its_interval_and_its_number():
    bar = row(BARS, "Basel")
    left, value, right = (bar.index(sign) for sign in "├•┤")
    assert left < value < right
    assert bar.endswith("2000 ± 400")
    assert "█" in bar[:left]
    assert "█" not in bar[value:]


def test_the_interval_is_drawn_to_scale():
    bar = row(replace(BARS, marks=(mark("x", 100, 50), mark("y", 200, 100))), "x")
    other = row(replace(BARS, marks=(mark("x", 100, 50), mark("y", 200, 100))), "y")
    ratio = (other.index("┤") - other.index("├")) / (bar.index("┤") - bar.index("├"))
    assert 1.8 < ratio < 2.2


def test_a_number_below_zero_stands_left_of_zero_and_is_not_filled_when_doubtful():
    zero = row(BARS, "nothing").index("│")
    aarau = row(BARS, "Aarau")
    assert aarau.index("•") < zero < aarau.index("┤")
    assert "█" not in aarau
    assert aarau.endswith("⚠")


def test_no_bar_without_an_interval():
    assert not set("█░├┤") & set(row(BARS, "<img"))
    assert "•" not in row(BARS, "nothing")


def test_areas_overlap():
    drawn = in_text(WORLDS).splitlines()
    assert {"░", "▒", "█"} <= set("".join(drawn))
    assert "░ with  ▒ without  █ both" in drawn
    assert "█" not in drawn[2]  # at the top each world is alone


def test_steps_fall():
    filled = [line.count("░") for line in in_text(BURN).splitlines() if "│" in line]
    assert filled == sorted(filled)
    assert filled[0] < filled[-1]


def test_people_are_counted():
    drawn = in_text(ICONS)
    assert drawn.count("●") - 1 == 100  # fifty on both sides, and the legend
    assert drawn.count("◍") - 1 == 12
    assert "after, at most: 62 of 100" in drawn


def test_an_empty_chart_is_no_error():
    assert "n by city" in in_text(replace(BARS, marks=()))
    assert "NULL" in in_text(replace(BARS, marks=(NOTHING,)))


@pytest.mark.parametrize("columns", [20, 22, 24, 30])
@pytest.mark.parametrize("plain", [False, True])
def test_a_number_keeps_its_margin_in_the_narrowest_terminal(columns, plain):
    chart = replace(BARS, marks=(mark("Basel", 2640123, 21), mark("Geneva", 1044, 21, True)))
    told = in_text(chart, columns=columns, plain=plain).splitlines()
    sign = "+/-" if plain else "±"
    assert any(line.endswith(f"2640123 {sign} 21") for line in told)
    assert any(f"1044 {sign} 21" in line for line in told)
    assert any(line.startswith("Bas") for line in told)


def test_a_number_that_leaves_no_room_for_its_label_stands_below_it():
    chart = replace(BARS, marks=(mark("Basel", 123456789012, 1000),))
    told = in_text(chart, columns=20).splitlines()
    assert told[2:4] == ["Basel", "123456789012 ± 1000"]


def test_a_terminal_too_narrow():
    raised(BadParameter, lambda: in_text(BARS, columns=3), match="columns=3")
