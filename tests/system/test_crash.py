"""kill -9 at every named point: no answer without its charge, no charge lost, and what was stored is told again.

Each point ends DPSQL_CRASHES processes (3 unless set; 50 in `make audit`), shared by the statements that pass it.
"""

import os
import random
from pathlib import Path

import pytest

from dpsql.errors import LedgerBroken
from dpsql.points import Point
from tests.kits.cases import cases

from crashing import STATEMENTS, Book, Run, asked, looked, written

CRASHES = int(os.environ.get("DPSQL_CRASHES", "3"))

PASSED = {
    name: [point for point in Point if point.name in Book(statement).live(None)]
    for name, statement in STATEMENTS.items()
}
SHARING = {point: sum(point in points for points in PASSED.values()) for point in Point}


def require_as_the_rule_says(book: Book, run: Run, stop: Point | None) -> None:
    """A question passed the points the rule says until `stop`, and told nothing or what the book says it costs."""
    before = book.spent
    assert once_sealed(run.passed) == book.live(stop)
    if run.answer is not None:
        assert book.complete
        assert run.answer[0] == book.spent - before


def once_sealed(passed: list[str]) -> list[str]:
    """How often a plan is made before it is charged is no matter of this test."""
    first = passed.index("SEALED") + 1 if "SEALED" in passed else len(passed)
    return passed[:first] + [point for point in passed[first:] if point != "SEALED"]


def require_kept(book: Book, folder: Path, last: Run) -> None:
    """The ledger verifies and holds what the book holds, no more and no less, and what was told is what is kept."""
    payments, spent, rows = looked(folder)
    assert payments == [paid for question in book.payments for paid in question]
    assert spent == book.spent
    assert last.answer is None or last.answer[2] == rows


def one_process(book: Book, folder: Path, stop: Point | None = None) -> bool:
    """A process that asks until it is killed at `stop`. True where it came to that point."""
    (run,) = asked(folder, book.statement.sql, stop)
    require_as_the_rule_says(book, run, stop)
    require_kept(book, folder, run)
    return run.answer is None


def test_there_are_enough_points_and_each_is_passed():
    assert len(Point) >= 12
    assert all(SHARING.values())


@pytest.mark.parametrize("number", range(-(-CRASHES // len(STATEMENTS))))
@pytest.mark.parametrize("name", STATEMENTS)
def test_killed_processes_lose_no_charge_and_tell_nothing_unpaid(tmp_path, name, number):
    """One process after the other, each killed at another point, on one ledger: each goes on where those before it
    have left off, or is told the stored answer."""
    stops = [point for point in PASSED[name] for _ in range(len(STATEMENTS) // SHARING[point])]
    random.Random(f"{name} {number}").shuffle(stops)
    book, folder = Book(STATEMENTS[name]), written(tmp_path / "first")
    for place, stop in enumerate(stops):
        if not one_process(book, folder, stop):  # it was told; the point is passed where nothing is stored yet
            book, folder = Book(STATEMENTS[name]), written(tmp_path / str(place))
            assert one_process(book, folder, stop)
    assert not one_process(book, folder)


@pytest.mark.parametrize("point", [Point.CHARGED, Point.STORE_WRITTEN])
def test_what_is_paid_is_run_three_times_and_then_paid_again(tmp_path, point):
    book, folder = Book(STATEMENTS["one step"]), written(tmp_path / "0")
    for spent in (1, 1, 1, 2):
        assert one_process(book, folder, point)
        assert book.spent == spent
    assert not one_process(book, folder)
    assert book.spent == 2


@pytest.mark.parametrize("name", STATEMENTS)
def test_an_interrupted_question_is_not_refunded(tmp_path, name):
    """One process that goes on, stopped at every point in turn."""
    book, folder = Book(STATEMENTS[name]), written(tmp_path / "0")
    stops = [*PASSED[name], None]
    runs = asked(folder, book.statement.sql, *stops, end="interrupt")
    for run, stop in zip(runs, stops, strict=True):
        require_as_the_rule_says(book, run, stop)
    require_kept(book, folder, runs[-1])
    assert book.spent > 1


@cases(__file__, "bug", "stops=", "end")
def test_a_wrong_order_is_seen(tmp_path, bug, stops, end):
    """Whatever points the process says it has passed: what it has left in the ledger gives it away."""
    book, folder = Book(STATEMENTS["one step"]), written(tmp_path / "0")
    for stop in stops:
        (run,) = asked(folder, book.statement.sql, stop, end=end, bug=bug)
        book.live(stop)
    with pytest.raises((AssertionError, LedgerBroken)):
        require_kept(book, folder, run)
