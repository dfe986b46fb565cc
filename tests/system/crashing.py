"""Processes that ask a question and end in the middle of it, and what rule 2 says must then be in the ledger."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

import dpsql
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.ledger.book import Ledger
from dpsql.ledger.facts import Retried, Stored
from dpsql.ledger.ledger import Charge
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.points import EVENT, Point

from crash_bugs import BUGS

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["dpsql", "dpsql.session.opening", "duckdb", "numpy.fft", "numpy.random"])

ENGINE = "the engine was asked"
"""Told by the engine itself, beside the points the pipeline tells."""


@dataclass(frozen=True)
class Statement:
    """A question, and the number of steps of each of the questions in it."""

    sql: str
    steps: tuple[int, ...]

    @property
    def price(self) -> Fraction:
        """Of each of its questions: they share what the statement costs."""
        return Fraction(1, len(self.steps))


STATEMENTS = {
    "one step": Statement("SELECT COUNT(*) FROM people", (1,)),
    "two steps": Statement("SELECT city, SUM(age) FROM people GROUP BY city", (2,)),
    "two questions": Statement("SELECT COUNT(*) FROM people WHERE age > PRIVATE (SELECT AVG(age) FROM people)", (1, 1)),
}


POLICY = """
version = 1
source.url = "duckdb://people.duckdb"
promise = { epsilon = 1000, delta = 1e-3 }

[defaults]
cost_per_query = 1
max_keys = 100
selection_share = 0.25
delta_per_query = 1e-6
mode = "choose"
noise = "laplace"

[table.people]
person = "who"
unique = true
columns = { age = { bounds = [0, 100] }, city = { keys = "private" } }

[[grant]]
to = "ana"
budget = 1000
"""


@cache
def _people() -> bytes:
    """A database with three cities of a hundred people each."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.duckdb"
        with duckdb.connect(path) as rows:
            rows.execute(
                "CREATE TABLE people AS SELECT i AS who, 20 + i % 60 AS age, i % 3 AS city FROM range(300) AS t(i)"
            )
        return path.read_bytes()


def written(folder: Path) -> Path:
    """A folder with data and a policy, and no ledger yet."""
    folder.mkdir()
    (folder / "people.duckdb").write_bytes(_people())
    (folder / "dpsql.toml").write_text(POLICY)
    return folder


def opened(folder: Path) -> dpsql.Owner:
    return dpsql.open(folder / "dpsql.toml", threads=1)


class Interrupted(BaseException):
    """Ends a question as Ctrl-C would."""


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    raise Interrupted


ENDS = {"kill": kill, "interrupt": interrupt}


def ask(tell: Connection, folder: Path, sql: str, stops: Sequence[str | None], end: str, bug: str | None) -> None:
    """Asks in this process, once for each of the points in `stops`, and ends there; tells what it passes, and answers.

    To be run in a process of its own: a listener cannot be removed.
    """
    analyst = opened(folder).analyst("ana")
    if bug is not None:
        BUGS[bug]()
    run, left = DuckdbEngine.run, list(stops)

    def told_run(self: DuckdbEngine, sql: str, /, **given: Any) -> Any:
        tell.send(ENGINE)
        return run(self, sql, **given)

    def hear(event: str, values: tuple[Any, ...]) -> None:
        if event == EVENT:
            tell.send(values[0])
            if values[0] == left[0]:
                ENDS[end]()

    DuckdbEngine.run = told_run  # type: ignore[method-assign]
    sys.addaudithook(hear)
    while left:
        try:
            answer = analyst.sql(sql)
        except Interrupted:
            tell.send(None)
        else:
            rows = [tuple(getattr(cell, "value", cell) for cell in row) for row in answer.rows]
            tell.send((answer.cost.epsilon, answer.release, rows))
        left.pop(0)


@dataclass(frozen=True)
class Run:
    """What was heard of one question until it ended."""

    passed: list[str]
    answer: tuple[Fraction, int, list[tuple[Any, ...]]] | None


def asked(folder: Path, sql: str, *stops: Point | None, end: str = "kill", bug: str | None = None) -> list[Run]:
    """What a new process tells until its end."""
    hear, tell = PROCESSES.Pipe(duplex=False)
    with hear:
        names = [stop and stop.name for stop in stops]
        process = PROCESSES.Process(target=ask, args=(tell, folder, sql, names, end, bug))
        process.start()
        tell.close()
        runs = list(_heard(hear))
        process.join()
    stopped = stops[-1] is not None and stops[-1].name in runs[-1].passed
    assert process.exitcode == (-signal.SIGKILL if stopped and end == "kill" else 0)
    assert [run.answer is None for run in runs] == [
        stop is not None and stop.name in run.passed for stop, run in zip(stops, runs, strict=True)
    ]
    return runs


def _heard(hear: Connection) -> Iterator[Run]:
    passed: list[str] = []
    try:
        while True:
            told = hear.recv()
            if isinstance(told, str):
                passed.append(told)
            else:
                yield Run(passed=passed, answer=told)
                passed = []
    except EOFError:
        if passed:
            yield Run(passed=passed, answer=None)


HEARD = {"open", "os.link", "os.rename", "os.remove", "os.mkdir", "os.chmod", "sqlite3.connect"}
"""What Python tells of files: PEP 578."""


def open_until(state: str, policy: str, last: int) -> None:
    """Opens, and is killed before this event. To be run in a process of its own: a listener cannot be removed."""
    os.environ["DPSQL_STATE"] = state
    folder, left = str(Path(policy).parent.parent), count(1)

    def hear(event: str, values: tuple[object, ...]) -> None:
        of_a_file = event in HEARD and isinstance(values[0], (str, bytes, os.PathLike))
        written = (
            of_a_file and folder in os.fsdecode(values[0]) and not (event == "open" and values[2] & 3 == os.O_RDONLY)
        )
        if (written or event == EVENT) and next(left) == last:
            kill()

    sys.addaudithook(hear)
    dpsql.open(policy, adopt=False, threads=1).close()


# What must be in the ledger


@dataclass
class Paid:
    """One payment: how often it was run, and how many of its steps are kept."""

    attempts: int = 1
    steps: int = 0


@dataclass
class Book:
    """The rule in miniature: what is kept of a statement whose processes come and go."""

    statement: Statement
    payments: list[list[Paid]] = field(init=False)
    """Of each question of the statement."""

    def __post_init__(self) -> None:
        self.payments = [[] for _ in self.statement.steps]

    @property
    def complete(self) -> bool:
        return all(map(self._told, range(len(self.payments))))

    def _told(self, question: int) -> bool:
        return any(paid.steps == self.statement.steps[question] for paid in self.payments[question])

    @property
    def spent(self) -> Fraction:
        return self.statement.price * sum(map(len, self.payments))

    def lived(self) -> Iterator[str]:
        """The points of one process in their order. What is kept at a point, is kept when the point is told."""
        yield from ("ASKED", "PARSED", "SEALED")
        for number, steps in enumerate(self.statement.steps):
            if not self._told(number):
                yield from ("CHARGING", "CHARGE_BEGUN", "CHARGE_WRITTEN")
                paid = self._attempted(number)
                yield from ("COMMITTED", "CHARGED")
                for step in range(paid.steps, steps):
                    if step:
                        yield "NEXT_STEP"
                    yield from ("RUNNING", ENGINE, "READ", "DRAWN", "STORE_BEGUN", "STORE_WRITTEN")
                    paid.steps += 1
                    yield from ("COMMITTED", "STORED")
                yield "TELLING"
            if number + 1 < len(self.statement.steps):
                yield "NEXT_QUESTION"
        yield "TOLD"

    def _attempted(self, question: int) -> Paid:
        """Three runs for one payment, then another payment."""
        paid = self.payments[question]
        if not paid or paid[-1].attempts == 3:
            paid.append(Paid())
        else:
            paid[-1].attempts += 1
        return paid[-1]

    def live(self, stop: Point | None) -> list[str]:
        """One process, until `stop`."""
        passed = []
        for point in self.lived():
            passed.append(point)
            if stop is not None and point == stop.name:
                break
        return passed


def found(ledger: Ledger) -> tuple[list[Paid], Fraction, list[tuple[Any, ...]]]:
    """What a ledger that verifies holds: its payments, oldest first, what is spent, and the rows it told last."""
    ledger.verify()
    payments: dict[int, Paid] = {}
    rows: list[tuple[Any, ...]] = []
    with ledger.reading() as page:  # type: ignore[attr-defined]  # every store has pages
        facts = [link.fact for link in page.chained()]
    for number, fact in enumerate(facts, start=1):
        if isinstance(fact, Charge):
            payments[number] = Paid()
        elif isinstance(fact, Retried):
            payments[fact.receipt].attempts += 1
        elif isinstance(fact, Stored):
            payments[fact.receipt].steps += 1
            rows = [(*key, *values) for key, values in zip(fact.released.keys, fact.released.values, strict=True)]
    spent = ledger.account().spent.epsilon
    assert spent is not None
    assert spent == ledger.account("ana").spent.epsilon
    return list(payments.values()), spent, rows


def looked(folder: Path) -> tuple[list[Paid], Fraction, list[tuple[Any, ...]]]:
    """The same of the ledger of a folder, opened anew."""
    with closing(SqliteLedger(folder / "people.duckdb.ledger")) as ledger:
        return found(ledger)
