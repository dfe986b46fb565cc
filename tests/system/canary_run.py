"""A process with all logs on that provokes every error it can over rows with canaries: `canary_run.py FOLDER WHAT`.

Whatever it writes lies below FOLDER: logs, output, errors with the locals of their frames, the ledger, exports, and all
that anybody puts into the folders for temporary files, states and work.
"""

import faulthandler
import logging
import os
import pickle
import signal
import sqlite3
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TextIO

import dpsql
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.mechanisms import table
from dpsql.points import EVENT
from dpsql.privacy.exact import Exact
from dpsql.session.keeper import Keeper

from canaries import NUMBERS, TEXTS, with_canaries
from fixtures import ACCEPTED, REFUSED
from hospital import opened, owned

STEP = int(os.environ.get("DPSQL_CANARY_STEP", "1"))
OWN = os.path.dirname(__file__)
GROUPS = "SELECT diagnosis, COUNT(*), SUM(points) FROM visits GROUP BY diagnosis"


class Notebook:
    """Writes down what was raised: words, arguments, notes, causes, and every frame of dpsql with its locals.

    Frames of these tests are left out: they have the rows from the beginning.
    """

    def __init__(self, file: TextIO, owner: dpsql.Owner) -> None:
        self.owner = owner
        self._file = file
        self._written: set[str] = set()
        self.raised: set[str] = set()

    def attempt(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except BaseException as error:
            self._write(error)

    def _write(self, error: BaseException) -> None:
        self.raised.add(getattr(error, "code", type(error).__name__))
        left: list[BaseException | None] = [error]
        while left:
            one = left.pop()
            if one is None:
                continue
            left += [one.__cause__, one.__context__]
            lines = [repr(one), str(one), repr(one.args), repr(getattr(one, "__notes__", ())), repr(vars(one))]
            told = traceback.TracebackException(type(one), one, one.__traceback__, capture_locals=True)
            frames = [frame for frame in told.stack if OWN not in frame.filename]
            lines += (value for frame in frames for value in (frame.locals or {}).values())
            if isinstance(one, dpsql.DpsqlError):
                lines += (repr(one.as_json()), repr(pickle.dumps(one)))
            new = dict.fromkeys(line for line in lines if line not in self._written)
            self._written.update(new)
            self._file.writelines(f"{line}\n" for line in new)


def main(folder: Path, what: str) -> None:
    logging.basicConfig(filename=folder / "log.txt", level=logging.DEBUG, force=True)
    logging.captureWarnings(True)
    warnings.simplefilter("always")
    faulthandler.enable()
    if what == "leak":
        for leak in LEAKS:
            leak()
    owner = owned(with_canaries(), ledger=str(folder / "ledger.db"), on_failure=failed)
    analyst = owner.grant("ana", budget=200)
    with open(folder / "errors.txt", "w", encoding="utf-8", errors="surrogatepass") as file:
        notes = Notebook(file, owner)
        for phase in RUNS[what]:
            phase(analyst, notes, folder)
    (folder / "raised.txt").write_text("\n".join(sorted(notes.raised)))


def failed(trace: str, kind: str) -> None:
    logging.getLogger("owner").error("%s %s", trace, kind)


# What is provoked


def refusals(analyst: dpsql.Analyst, notes: Notebook, folder: Path) -> None:
    for fixture in REFUSED[::STEP]:
        notes.attempt(lambda sql=fixture.sql: analyst.sql(sql))


def answers(analyst: dpsql.Analyst, notes: Notebook, folder: Path) -> None:
    for number, sql in enumerate([GROUPS, *(fixture.sql for fixture in ACCEPTED[:: 20 * STEP])]):
        notes.attempt(lambda sql=sql, number=number: told(analyst, sql, folder / f"{number}.csv"))
        for way, picture in PICTURES.items():
            notes.attempt(
                lambda sql=sql, file=f"{number}{way}.svg", picture=picture: picture(analyst, sql).save(folder / file)
            )


PICTURES: dict[str, Callable[[dpsql.Analyst, str], dpsql.Picture]] = {
    "plot": lambda analyst, sql: analyst.sql(sql, epsilon=0.1).plot(),
    "curve": lambda analyst, sql: analyst.curve(sql),
    "worlds": lambda analyst, sql: analyst.two_worlds(sql),
    "burn": lambda analyst, sql: analyst.burn_down(),
}


def told(analyst: dpsql.Analyst, sql: str, export: Path) -> None:
    answer = analyst.sql(sql, epsilon=0.1)
    shown = (answer, answer._repr_html_(), analyst, analyst.query(sql), analyst.explain(sql), analyst.cost(sql))
    sys.stdout.write("\n".join(map(str, shown)))
    sys.stdout.write(analyst.query(sql)._repr_html_() + analyst.explain(sql)._repr_html_() + repr(analyst.budget))
    answer.to_csv(export, intervals="columns")


def failures(analyst: dpsql.Analyst, notes: Notebook, folder: Path) -> None:
    """Too slow, too large, closed."""
    for limits in ({"timeout": 1e-6}, {"memory_limit": "1MB"}, {"memory_limit": "4MB"}):
        found: list[dpsql.Analyst] = []
        notes.attempt(lambda: found.append(opened(with_canaries(), on_failure=failed, **limits)))  # noqa: B023
        for one in found:
            notes.attempt(lambda: one.sql(GROUPS))  # noqa: B023
            one.place.engine.close()
            notes.attempt(lambda: one.sql("SELECT SUM(charge) FROM visits"))  # noqa: B023


def wrong_rows(analyst: dpsql.Analyst, notes: Notebook, folder: Path) -> None:
    """An engine that returns what nobody asked for."""
    run = DuckdbEngine.run
    for rows in ([(TEXTS[2], TEXTS[3])], [(TEXTS[2], NUMBERS[0], NUMBERS[1])], [(float(NUMBERS[0]),)], [()]):
        DuckdbEngine.run = lambda *_, rows=rows, **__: Exact(rows)
        for sql in (GROUPS, "SELECT SUM(points) FROM visits", "SELECT COUNT(*) FROM patients"):
            notes.attempt(lambda sql=sql: analyst.sql(sql, epsilon=0.11))
    DuckdbEngine.run = run


def interruptions(analyst: dpsql.Analyst, notes: Notebook, folder: Path) -> None:
    """Ctrl-C at every point behind the charge."""
    stop: list[str] = []

    def hear(event: str, values: tuple[Any, ...]) -> None:
        if event == EVENT and values[0] in stop:
            raise KeyboardInterrupt

    sys.addaudithook(hear)
    for number, point in enumerate(("RUNNING", "READ", "DRAWN", "STORE_BEGUN", "STORE_WRITTEN", "STORED", "NEXT_STEP")):
        stop[:] = [point]
        notes.attempt(lambda number=number: analyst.sql(GROUPS, epsilon=0.2 + number / 100))
    stop.clear()


def door(analyst: dpsql.Analyst, notes: Notebook, folder: Path) -> None:
    """The same for somebody behind a socket."""
    token, ready = notes.owner.keeper.admit("ana", role="analyst"), threading.Event()
    server = dpsql.SocketServer(notes.owner, folder / "door")
    thread = threading.Thread(target=server.serve, kwargs={"ready": ready.set})
    thread.start()
    ready.wait()
    with dpsql.connect(socket=folder / "door", token=token) as client:
        for fixture in REFUSED[:: 8 * STEP]:
            notes.attempt(lambda sql=fixture.sql: client.sql(sql))
        run = DuckdbEngine.run
        DuckdbEngine.run = lambda *_, **__: Exact([(TEXTS[2], TEXTS[3])])
        notes.attempt(lambda: client.sql("SELECT SUM(points) FROM visits", epsilon=0.12))
        DuckdbEngine.run = run
        answer = client.sql(GROUPS, epsilon=0.3)
        sys.stdout.write(f"{answer!r}\n{answer.rows}\n{client.ledger()}\n{client.explain(GROUPS)}\n{client.budget}")
    server.stop()
    thread.join()


def exports(analyst: dpsql.Analyst, notes: Notebook, folder: Path) -> None:
    """Everything an owner or an auditor can get out of the ledger."""
    ledger = analyst.place.ledger
    keeper = Keeper(ledger, policy=None, place=None)
    for form in ("jsonl", "csv"):
        lines = "\n".join(keeper.export(form, texts=True))
        (folder / f"export.{form}").write_text(lines, encoding="utf-8")
    told = (keeper.audit(texts=True), *keeper.budget_lines(), *keeper.history())
    (folder / "audit.txt").write_text("\n".join(map(str, told)), encoding="utf-8")


def tampering(analyst: dpsql.Analyst, notes: Notebook, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "ledger.db")) as database:
        database.execute("UPDATE head SET snapshot = CAST(snapshot || ' ' AS BLOB)")
        database.commit()
    notes.attempt(lambda: analyst.sql(GROUPS))
    notes.attempt(lambda: SqliteLedger(folder / "ledger.db"))


def crash(analyst: dpsql.Analyst, notes: Notebook, folder: Path) -> None:
    """With rows in memory, and the fault handler writing what it can."""

    def hear(event: str, values: tuple[Any, ...]) -> None:
        if event == EVENT and values[0] == "READ":
            os.kill(os.getpid(), signal.SIGSEGV)

    sys.addaudithook(hear)
    analyst.sql(GROUPS)


def one_answer(analyst: dpsql.Analyst, notes: Notebook, folder: Path) -> None:
    notes.attempt(lambda: analyst.sql(GROUPS))


RUNS = {
    "all": (refusals, answers, failures, wrong_rows, interruptions, door, exports, tampering),
    "crash": (crash,),
    "leak": (one_answer,),
}


# Leaks that must be found


def _watching(tell: Callable[[list[Any]], None]) -> None:
    ordered = table._shaped

    def shaped(rows: list[Any], *given: Any) -> list[Any]:
        tell(rows)
        return ordered(rows, *given)

    table._shaped = shaped


def leak_to_the_log() -> None:
    _watching(lambda rows: logging.getLogger("dpsql").debug("rows: %r", rows))


def leak_to_a_note() -> None:
    def tell(rows: list[Any]) -> None:
        error = KeyboardInterrupt()
        error.add_note(repr(rows).encode("utf-16-le").hex())
        raise error

    _watching(tell)


def leak_to_a_file() -> None:
    _watching(lambda rows: Path(os.environ["TMPDIR"], "rows").write_bytes(pickle.dumps(rows)))


LEAKS = (leak_to_a_note, leak_to_a_file, leak_to_the_log)  # the first one ends it, and so comes last


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
