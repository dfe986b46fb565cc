"""Many public keys: the whole pipeline beside a hand-written floor that binds the same keys as one array.

Usage: keys.py [keys …]    (default 20000 100000; a million keys are always answered at the end)

CPU seconds are minima of alternating runs in one process. Targets: at most 1.5 × the floor + 1 s of CPU; at most 1000
bytes of memory for each key of a count, peak over peak of the same question with 1000 keys, each in a process of its
own; a million keys are answered where the owner allows as many.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import dpsql
from dpsql.ledger.memory import MemoryLedger
from dpsql.session.analyst import Analyst
from dpsql.session.declared import ownership_of

ROWS, PEOPLE, GROUPS, PER_GROUP = 200_000, 20_000, 5, 2
COUNT = "SELECT item, COUNT(*) AS n FROM visits GROUP BY item"
SUM = "SELECT item, COUNT(*) AS n, SUM(spend) AS s FROM visits GROUP BY item"
KINDS = ("integers", "texts", "range")


def keys_of(kind: str, count: int) -> list[int] | list[str]:
    if kind == "texts":
        return [f"item {number:07d}" for number in range(count)]
    return list(range(0, 2 * count, 2)) if kind == "integers" else list(range(count))


def visits(kind: str, count: int) -> pa.Table:
    """Rows of people at items, some of which are on no list."""
    chance = np.random.default_rng(count)
    keys = keys_of(kind, count + count // 10)
    return pa.table(
        {
            "user_id": chance.integers(0, PEOPLE, ROWS),
            "item": pa.array([keys[place] for place in chance.integers(0, len(keys), ROWS)]),
            "spend": chance.random(ROWS) * 100,
        }
    )


def opened(table: pa.Table, kind: str, count: int) -> Callable[[], dpsql.Analyst]:
    """A function that gives an analyst to whom nothing has been told yet."""
    owner = dpsql.open(":memory:")
    bounds = {"item": (0, count - 1)} if kind == "range" else {}
    owner.register(
        "visits",
        table,
        person="user_id",
        bounds={"spend": (0, 100), **bounds},
        keys={} if kind == "range" else {"item": keys_of(kind, count)},
        rows_per_person=10,
        rows_per_group=PER_GROUP,
        groups_per_person=GROUPS,
    )
    owner.promise(epsilon=1, delta=1e-6)
    owner.defaults(cost_per_query=1, max_keys=2_000_000)
    place = owner.grant("bench", budget=1).place
    owned = ownership_of(owner.catalog)

    def fresh() -> dpsql.Analyst:
        ledger = MemoryLedger()
        ledger.promise(epsilon=Fraction(1), delta=Fraction(1, 10**6), delta_prime=Fraction(1, 2 * 10**6))
        ledger.own(owned)
        ledger.grant("bench", epsilon=Fraction(1))
        return Analyst(place=replace(place, ledger=ledger))

    return fresh


def floor_sql(kind: str, *, summed: bool) -> str:
    """Contribution bounding by hand: no noise, no ledger, no margins."""
    type_ = "VARCHAR" if kind == "texts" else "BIGINT"
    clamped = f", least(sum(least(greatest(spend, 0), 100)), {PER_GROUP * 100}) s" if summed else ""
    pairs = f"select user_id, item, least(count(*), {PER_GROUP}) c{clamped} from visits group by user_id, item"
    rank = "row_number() over (partition by user_id order by hash(item, user_id, 42)) rn"
    kept = f"select *, {rank} from ({pairs}) join k using (item)"
    totals = f"select item, sum(c) c{', sum(s) s' * summed} from ({kept}) where rn <= {GROUPS} group by item"
    return (
        f"with k as materialized (select unnest($keys::{type_}[]) item) "
        f"select item, coalesce(c, 0){', coalesce(s, 0)' * summed} from k left join ({totals}) using (item)"
    )


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def speed(count: int, kind: str) -> bool:
    """Floor and pipeline of a count, and of a count with a sum; True where both meet the target."""
    table, good = visits(kind, count), True
    plain = duckdb.connect()
    plain.register("arrow", table)
    plain.execute("CREATE TABLE visits AS FROM arrow")
    fresh, keys = opened(table, kind, count), keys_of(kind, count)

    def by_hand(sql: str) -> int:
        return len(plain.execute(sql, {"keys": keys}).fetchall())

    for name, sql, summed in (("count", COUNT, False), ("count, sum", SUM, True)):
        by_floor, whole = [], []
        for _ in range(3):
            by_floor.append(cpu(lambda summed=summed: by_hand(floor_sql(kind, summed=summed))))  # type: ignore[misc]
            whole.append(cpu(lambda sql=sql: fresh().sql(sql)))  # type: ignore[misc]
        least, most = min(by_floor), min(whole)
        fits = most <= 1.5 * least + 1
        good &= fits
        verdict = "ok" if fits else "SHORT"
        print(f"{count:8} {kind:9} {name:11} {least:9.3f} {most:9.3f} {most / least:9.2f}   {verdict}", flush=True)
    return good


_ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
import keys
count, kind, sql = int(sys.argv[2]), sys.argv[3], sys.argv[4]
answer = keys.opened(keys.visits(kind, count), kind, count)().sql(sql)
assert len(answer) == count, len(answer)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak(count: int, kind: str, sql: str) -> int:
    """Bytes of resident memory at their peak, of one question in a process of its own."""
    arguments = [sys.executable, "-c", _ALONE, str(Path(__file__).parent), str(count), kind, sql]
    return int(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.split()[-1]) * 1024


def memory(count: int, kind: str) -> bool:
    grown = (peak(count, kind, COUNT) - peak(1000, kind, COUNT)) / (count - 1000)
    fits = grown <= 1000
    print(f"{count:8} {kind:9} {grown:7.0f} bytes a key   {'ok' if fits else 'SHORT'}", flush=True)
    return fits


def main(counts: Sequence[int]) -> int:
    print(f"public keys over {ROWS} rows: CPU seconds (wanted: 1.5 × floor + 1 s)")
    print("    keys kind      question        floor     dpsql     ratio")
    met = [speed(count, kind) for count in counts for kind in KINDS]
    print("\npeak memory of a count (wanted: at most 1000 bytes a key)")
    met += [memory(max(counts), kind) for kind in KINDS]
    print("\na million keys")
    for kind in KINDS:
        start = time.perf_counter()
        grown = peak(10**6, kind, COUNT) / 2**20
        print(
            f"{kind:9} answered in {time.perf_counter() - start:.1f} s with opening, {grown:.0f} MiB in all", flush=True
        )
    return int(not all(met))


if __name__ == "__main__":
    raise SystemExit(main([int(count) for count in sys.argv[1:]] or [20_000, 100_000]))
