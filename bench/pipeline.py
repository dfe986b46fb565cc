"""The whole pipeline, parse to release, beside raw DuckDB and a hand-written floor; its accuracy; its planning time.

Usage: pipeline.py [rows …]    (default 100000 1000000; the target is also met at 10000000)

Times are CPU time, all threads together, the least of alternating runs in one process: what else the machine does is
not counted. Targets: the whole query at most 1.3 × the floor + 30 ms; planning a three-join query at most 4 × sqlglot's
parse + qualify of it.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import duckdb

import dpsql
import floor
from dpsql.ledger.memory import MemoryLedger
from dpsql.session.analyst import Analyst
from dpsql.session.declared import ownership_of

CITIES = [f"city_{number:02d}" for number in range(50)]
QUERIES = {
    "Q1": "SELECT COUNT(*) FROM visits",
    "Q2": "SELECT COUNT(DISTINCT user_id) FROM visits",
    "Q3": "SELECT SUM(spend) FROM visits",
    "Q4": "SELECT AVG(age) FROM visits",
    "Q5": "SELECT city, COUNT(*), SUM(spend) FROM visits GROUP BY city",
    "Q6": "SELECT city, COUNT(DISTINCT user_id) FROM visits GROUP BY city",
}


def opened(path: Path, *, cities: object, mode: str | None = None) -> Callable[[], dpsql.Analyst]:
    """A function that gives an analyst to whom nothing has been told yet."""
    owner = dpsql.open(":memory:")
    owner.register(
        "visits",
        path,
        person="user_id",
        bounds={"age": (18, 90), "spend": (0, 500)},
        keys={"city": cities},  # type: ignore[dict-item]
        rows_per_person=10,
        rows_per_group=2,
        groups_per_person=5,
    )
    owner.promise(epsilon=1, delta=1e-6)
    owner.defaults(cost_per_query=1, max_keys=1000, selection_share=0.25, delta_per_query=4e-7, mode=mode)  # type: ignore[arg-type]
    place = owner.grant("bench", budget=1).place
    owned = ownership_of(owner.catalog)

    def fresh() -> dpsql.Analyst:
        ledger = MemoryLedger()
        ledger.promise(epsilon=Fraction(1), delta=Fraction(1, 10**6), delta_prime=Fraction(1, 2 * 10**6))
        ledger.own(owned)
        ledger.grant("bench", epsilon=Fraction(1))
        return Analyst(place=replace(place, ledger=ledger))

    return fresh


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def asked(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    return connection.execute(sql).fetchall()


def speed(path: Path, rows: int) -> bool:
    """One table; True where every query meets the target."""
    plain = duckdb.connect()
    plain.execute(f"CREATE TABLE visits AS SELECT * FROM '{path}'")
    public, private = opened(path, cities=CITIES), opened(path, cities="private")
    chosen = opened(path, cities=CITIES, mode="choose")
    good = True
    print(f"\n{rows} rows        raw DuckDB     floor     dpsql   dpsql/floor   (wanted: 1.3 × floor + 0.030 s)")
    for name, sql in QUERIES.items():
        variants = {"": private if name == "Q6" else public}
        if name == "Q5":
            variants = {" scale": public, " choose": chosen}
        for label, fresh in variants.items():
            raw, bare, whole = [], [], []
            for _ in range(5):
                raw.append(seconds(partial(asked, plain, sql)))
                bare.append(seconds(partial(asked, plain, floor.queries("visits")[name])))
                whole.append(seconds(partial(fresh().sql, sql)))
            a, b, c = map(min, (raw, bare, whole))
            fits = c <= 1.3 * b + 0.030
            good &= fits
            print(
                f"{name + label:12} {a:14.4f} {b:9.4f} {c:9.4f} {c / b:10.2f}   {'ok' if fits else 'SHORT'}", flush=True
            )
    return good


def number(cell: object) -> float:
    return float(cell) if isinstance(cell, dpsql.Noisy) else float("nan")


def accuracy(path: Path) -> None:
    """Median relative error against the true, unbounded answer, ε = 1, δ = 1e-6, with the prescribed bounds."""
    plain = duckdb.connect()
    plain.execute(f"CREATE TABLE visits AS SELECT * FROM '{path}'")
    public, private = opened(path, cities=CITIES), opened(path, cities="private")
    chosen = opened(path, cities=CITIES, mode="choose")
    print("\nmedian relative error at 100 000 rows, ε = 1, δ = 1e-6, 10 rows, 5 groups, 2 rows per group")
    for name in ("Q1", "Q2", "Q3", "Q4"):
        ((truth,),) = plain.execute(QUERIES[name]).fetchall()
        errors = [abs(number(public().sql(QUERIES[name]).rows[0][0]) / float(truth) - 1) for _ in range(101)]
        print(f"{name}        {statistics.median(errors):8.3%}")
    truths = {city: (n, s) for city, n, s in plain.execute(QUERIES["Q5"]).fetchall()}
    for label, fresh in (("scale", public), ("choose", chosen)):
        counts, sums = [], []
        for _ in range(5):
            for city, n, s in fresh().sql(QUERIES["Q5"]):
                counts.append(abs(number(n) / truths[city][0] - 1))
                sums.append(abs(number(s) / truths[city][1] - 1))
        print(f"Q5 {label:7} count {statistics.median(counts):8.3%}   sum {statistics.median(sums):8.3%}")
    kept = [len(private().sql(QUERIES["Q6"])) for _ in range(15)]
    print(f"Q6 kept of 50: {statistics.median(kept)}")


THREE_JOINS = (
    "SELECT a.city, COUNT(*) AS n, SUM(b.spend) AS s FROM visits a JOIN visits b ON a.user_id = b.user_id "
    "JOIN visits c ON b.user_id = c.user_id JOIN visits d ON c.user_id = d.user_id AND d.spend > 10 "
    "WHERE a.age > 20 GROUP BY a.city"
)


def planning(path: Path) -> bool:
    """Parse to plan of a three-join query, beside sqlglot's parse + qualify of it."""
    import sqlglot
    from sqlglot.optimizer.qualify import qualify  # `memory` must not count it

    analyst = opened(path, cities=CITIES)()
    schema: dict[str, object] = {"visits": {"user_id": "bigint", "city": "text", "age": "int", "spend": "double"}}
    theirs, ours = [], []
    for _ in range(30):
        theirs.append(seconds(lambda: qualify(sqlglot.parse_one(THREE_JOINS, read="duckdb"), schema=schema)))
        ours.append(seconds(lambda: analyst.query(THREE_JOINS)))
    ratio = min(ours) / min(theirs)
    print(
        f"\nparse to plan of a three-join query: {min(ours) * 1000:.2f} ms, {ratio:.2f} × sqlglot's "
        f"parse + qualify (wanted: at most 4)  {'ok' if ratio <= 4 else 'SHORT'}"
    )
    return ratio <= 4


_FLOOR_ALONE = """
import duckdb, sys
sys.path.insert(0, sys.argv[2])
import floor
connection = duckdb.connect()
connection.execute(f"CREATE TABLE visits AS SELECT * FROM '{sys.argv[1]}'")
connection.execute(floor.queries("visits")["Q5"]).fetchall()
"""
_DPSQL_ALONE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import pipeline
pipeline.opened(Path(sys.argv[1]), cities=pipeline.CITIES)().sql(pipeline.QUERIES["Q5"])
"""
_PEAK = """
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def memory(path: Path) -> bool:
    """Peak resident memory of Q5 in a process of its own."""

    def peak(code: str) -> float:
        arguments = [sys.executable, "-c", code + _PEAK, str(path), str(Path(__file__).parent)]
        return int(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.split()[-1]) / 1024

    bare, whole = peak(_FLOOR_ALONE), peak(_DPSQL_ALONE)
    fits = whole <= 1.2 * bare + 60
    verdict = "ok" if fits else "SHORT"
    print(f"memory of Q5: floor {bare:.0f} MiB, dpsql {whole:.0f} MiB (wanted: 1.2 × floor + 60)  {verdict}")
    return fits


def main(sizes: list[int]) -> int:
    import visits  # with pyarrow, which is not counted by `memory` either

    with tempfile.TemporaryDirectory() as folder:
        good = True
        for rows in sizes:
            path = visits.written(rows, Path(folder))
            if rows == 100_000:
                accuracy(path)
                good &= planning(path)
            good &= speed(path, rows)
            good &= memory(path)
    return int(not good)


if __name__ == "__main__":
    raise SystemExit(main([int(size) for size in sys.argv[1:]] or [100_000, 1_000_000]))
