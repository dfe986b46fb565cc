"""The tour and the lesson: what is told is what happens, and it fits."""

import pytest

import dpsql
from dpsql.demonstration import lesson, tour
from dpsql.demonstration.stage import Stage


@pytest.fixture(scope="module")
def toured():
    with dpsql.demo() as ana:
        return list(tour.pages(ana, Stage())), ana.budget.spent


@pytest.fixture(scope="module")
def taught():
    with dpsql.demo() as ana:
        return list(lesson.pages(ana, Stage(plain=True)))


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


def test_it_is_told_in_eighty_columns(toured, taught, capsys):
    Stage().tell(toured[0])
    assert max(map(len, capsys.readouterr().out.split("\n"))) <= 80
    Stage(plain=True).tell(taught)
    out = capsys.readouterr().out
    assert out.isascii()
    assert max(map(len, out.split("\n"))) <= 80
    assert "plus or minus" in out
    assert (
        out.count("\nIt is ") == out.count("?\n    a  ") == len(taught)
    )  # each question is answered, with nobody there


def test_the_price_that_is_told_first_is_the_one_that_is_paid(toured):
    (_, _, _, closer, *_), _ = toured
    prose, asked = closer.blocks
    price = prose.partition("reads no data: ")[2].partition(" here")[0]
    assert f"cost {price} " in asked


def test_every_step_of_the_lesson_asks_one_question(taught):
    assert len(taught) >= 5
    for page in taught:
        assert 0 <= page.quiz.right < len(page.quiz.choices) <= 3


def test_the_lesson_judges_by_what_was_told(taught):
    """Half the margin of Gaussian noise costs four times as much, within the three digits of a price."""
    (precision,) = [page for page in taught if page.title.startswith("Precision")]
    assert precision.quiz.choices[precision.quiz.right] == "about 4 times as much"
    (compare,) = [page for page in taught if page.title.startswith("Compare")]
    told = compare.quiz.because.removeprefix("a difference of ").split()
    apart = abs(int(told[0])) > int(told[2])
    assert compare.quiz.choices[compare.quiz.right] == ("the answers tell" if apart else "the answers do not tell")
