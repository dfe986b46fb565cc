"""Axes: round numbers, and numbers at the ends of what floats hold."""

import math

import pytest

from dpsql.charts.figure import scale_of, tick_text


def test_bars_start_at_zero_and_dots_do_not():
    assert scale_of([3.0, 8.0], with_zero=True).low == 0
    assert scale_of([3.0, 8.0], with_zero=False).low == 3
    assert scale_of([-3.0, -8.0], with_zero=True).high == 0


def test_round_ticks():
    assert [text for _, text in scale_of([0, 2761.0], with_zero=True).ticks(5)] == ["0", "1\u2009000", "2\u2009000"]
    assert [text for _, text in scale_of([0, 0.3], with_zero=True).ticks(3)] == ["0", "0.1", "0.2", "0.3"]
    assert [text for _, text in scale_of([-20, 20], with_zero=True).ticks(4)] == ["-20", "-10", "0", "10", "20"]


@pytest.mark.parametrize(
    "numbers", [[], [0.0], [5.0], [-5.0], [1e308, -1e308], [5e-324], [1e15, 1e15 + 1], [math.pi] * 3, [1e-300, 2e-300]]
)
@pytest.mark.parametrize("with_zero", [True, False])
def test_every_list_of_numbers_has_a_scale(numbers, with_zero):
    scale = scale_of(numbers, with_zero=with_zero)
    assert scale.low < scale.high
    assert 1 <= len(scale.ticks(4)) <= 12
    assert all(0 <= scale.share(number) <= 1 for number in numbers)


def test_numbers_as_people_read_them():
    assert tick_text(0.1 + 0.2) == "0.3"
    assert tick_text(-0.0) == "0"
    assert tick_text(1234567.0) == "1\u2009234\u2009570"
    assert tick_text(1e-9) == "1e-09"
