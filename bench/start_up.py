"""What people wait for before an answer: starting a command, opening a policy, planning a question.

Every figure is CPU time, the least of several runs, beside a floor measured in the same run. Targets: --version and
--help at most 1.5 × bare Python + 0.1 s; a question to the demo at most importing numpy and duckdb + 0.6 s; a policy of
1 000 tables at most 1 s and 12 × one of 100; planning at most 6 × sqlglot's parse + qualify for 10 sums, 10 × for 50,
and for a list of 10 000 values 12 × one of 1 000; a stored answer told again at most the ledger's reads + 5 ms.

sqlglot is the pure build.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import duckdb
import sqlglot
from sqlglot.optimizer.qualify import qualify

import dpsql
from dpsql.demonstration import hospital
from dpsql.ledger.sql_page import SqlPage
from dpsql.ledger.stored import StoredLedger

_COMMAND = "import sys; sys.argv = ['dpsql', *sys.argv[1:]]; from dpsql.cli.entry import main; main()"
_POLICY = """version = 1
[source]
url = "duckdb://{file}"
[promise]
epsilon = 5
delta = 1e-6
[defaults]
cost_per_query = 0.01
max_keys = 10
"""
_TABLE = """[table.t{number}]
person = "id"
[table.t{number}.columns]
age = {{ bounds = [0, 110] }}
city = {{ keys = ["a", "b"] }}
"""


_COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""As installed: where the variable is set, every process would compile everything once more."""


def process_seconds(code: str, *words: str, runs: int = 5) -> float:
    """CPU time of a fresh interpreter that runs `code`."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True, env=_COMPILED)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once() for _ in range(runs))


def seconds(work: Callable[[], object], runs: int = 3) -> float:
    """CPU time of this process."""

    def once() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return min(once() for _ in range(runs))


def in_turn(*works: Callable[[], object], runs: int = 40) -> list[float]:
    """CPU time of each, run in turn so that a busy machine disturbs all of them alike."""
    return [min(times) for times in zip(*([seconds(work, runs=1) for work in works] for _ in range(runs)), strict=True)]


def row(name: str, ours: float, floor: float, most: float) -> bool:
    """Print a line of the table; whether the target is met."""
    kept = ours <= most
    print(
        f"{name:<48} {ours:8.3f} s  floor {floor:7.3f} s  ratio {ours / floor:6.1f}  "
        f"wanted: at most {most:.3f} s  {'ok' if kept else 'SHORT'}",
        flush=True,
    )
    return kept


def commands() -> list[bool]:
    bare = process_seconds("pass")
    libraries = process_seconds("import numpy, duckdb")
    question = ("demo", "-c", "SELECT COUNT(*) AS n FROM patients")
    return [
        row("import dpsql", process_seconds("import dpsql"), bare, 1.5 * bare + 0.1),
        row("dpsql --version", process_seconds(_COMMAND, "--version"), bare, 1.5 * bare + 0.1),
        row("dpsql --help", process_seconds(_COMMAND, "--help"), bare, 1.5 * bare + 0.1),
        row("dpsql demo -c (floor: numpy, duckdb)", process_seconds(_COMMAND, *question), libraries, libraries + 0.6),
    ]


def opening(folder: Path, tables: int) -> float:
    """CPU time of opening a policy of so many tables."""
    file, policy = folder / f"{tables}.duckdb", folder / f"{tables}.toml"
    with duckdb.connect(str(file)) as database:
        for number in range(tables):
            database.execute(f"CREATE TABLE t{number} (id BIGINT PRIMARY KEY, age INTEGER, city VARCHAR)")
    policy.write_text(_POLICY.format(file=file) + "".join(_TABLE.format(number=number) for number in range(tables)))

    def once() -> None:
        dpsql.open(policy).close()

    once()  # makes the ledger
    return seconds(once)


FORMS = {
    "CASE": "SUM(CASE WHEN charge > {i} THEN charge ELSE 0 END)",
    "FILTER": "SUM(charge) FILTER (WHERE charge > {i})",
    "expressions": "SUM(charge + {i})",
    "LEAST": "SUM(LEAST(charge, {i} + 100))",
}


def planning(analyst: dpsql.Analyst, form: str, number: int) -> bool:
    schema: dict[str, object] = {"visits": {"patient_id": "bigint", "charge": "int", "ward_id": "int", "day": "date"}}
    sums = ", ".join(f"{FORMS[form].format(i=i)} AS s{i}" for i in range(number))
    sql = f"SELECT {sums} FROM visits"
    ours, floor = in_turn(
        lambda: analyst.cost(sql),
        lambda: qualify(sqlglot.parse_one(sql, dialect="duckdb"), schema=schema, dialect="duckdb"),
    )
    return row(f"plan {number} sums of {form} (floor: sqlglot)", ours, floor, {10: 6, 50: 10}[number] * floor)


def lists(analyst: dpsql.Analyst) -> bool:
    values = [", ".join(map(str, range(number))) for number in (1_000, 10_000)]
    texts = [f"SELECT COUNT(*) AS n FROM visits WHERE charge IN ({each})" for each in values]
    few, many = in_turn(*(partial(analyst.cost, text) for text in texts), runs=10)
    return row("plan a list of 10000 (floor: 1000)", many, few, 12 * few)


def reading_seconds(work: Callable[[], object]) -> float:
    """CPU time that `work` spends in the ledger, reading."""
    spent = 0.0

    @contextmanager
    def timed(ledger: StoredLedger) -> Iterator[SqlPage]:
        nonlocal spent
        start = time.process_time()
        with ledger._transaction(write=False) as page:
            yield page
        spent += time.process_time() - start

    with patch.object(StoredLedger, "reading", timed):
        work()
    return spent


def repeats(folder: Path) -> list[bool]:
    """Stored answers, told again from a ledger in a file."""
    kept = []
    with dpsql.open(folder / "100.toml") as owner:
        analyst = owner.grant("bench", budget=1)
        for sql in ("SELECT COUNT(*) AS n FROM t1", "SELECT city, AVG(age) AS a FROM t1 GROUP BY city"):
            again = partial(analyst.sql, sql)
            again()
            reads, ours = min(reading_seconds(again) for _ in range(40)), seconds(again, runs=40)
            kept.append(row(f"again: {sql[:26]} (floor: ledger)", ours, reads, reads + 0.005))
    return kept


def main() -> int:
    kept = commands()
    with tempfile.TemporaryDirectory() as folder:
        few, many = (opening(Path(folder), tables) for tables in (100, 1000))
        kept.append(row("open 1000 tables (floor: 100 tables)", many, few, min(1.0, 12 * few)))
        kept += repeats(Path(folder))
    with hospital.demo() as analyst:
        kept += [planning(analyst, form, number) for form in FORMS for number in (10, 50)]
        kept.append(lists(analyst))
    print()
    return int(not all(kept))


if __name__ == "__main__":
    raise SystemExit(main())
