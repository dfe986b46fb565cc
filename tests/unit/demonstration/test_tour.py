"""The tour: what is told is what happens, and it fits."""

import pytest

import dpsql
from dpsql.demonstration import tour
from dpsql.demonstration.stage import Stage


@pytest.fixture(scope="module")
def toured():
    with dpsql.demo() as ana:
        return list(tour.pages(ana, Stage())), ana.budget.spent


def text(page):
    return "\n".join(page.blocks)


def test_the_tour_answers_repeats_prices_and_refuses(toured):
    (_, first, again, closer, refused, explained), spent = toured
    assert "cost 0.05 " in text(first)
    assert "cost 0.00 " in text(again)
    assert text(first).partition("cost")[0] == text(again).partition("cost")[0]  # the same numbers
    assert "± 10 │" in text(closer)
    assert "DP101" in text(refused)
    assert "  Try   SELECT city, COUNT(*) FROM patients GROUP BY city" in text(refused)
    assert "one patient adds between 0 and 6" in text(explained)
    assert 0 < spent < 0.4  # most of the budget is left for whoever goes on
    (_, _, _, closer, *_), _ = toured
    prose, asked = closer.blocks
    price = prose.partition("reads no data: ")[2].partition(" here")[0]
    assert f"cost {price} " in asked


def test_it_is_told_in_eighty_columns(toured, capsys):
    Stage().tell(toured[0])
    assert max(map(len, capsys.readouterr().out.split("\n"))) <= 80
    with dpsql.demo() as ana:
        plain = Stage(plain=True)
        plain.tell(tour.pages(ana, plain))
    out = capsys.readouterr().out
    assert out.isascii()
    assert max(map(len, out.split("\n"))) <= 80
    assert "plus or minus" in out
