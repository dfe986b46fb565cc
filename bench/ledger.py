"""A charge beside a bare durable SQLite transaction of the same size, and beside itself in a long ledger.

Usage: ledger.py [entries …]    (default 100 100000; the target is also met at 1000000, which takes minutes to load)

Times are medians of alternating runs in one process, so that a busy disk disturbs all sides alike. Targets: a charge at
most 3 × the bare transaction, 5 × with the anchor, and within 1.3 × of that from 10² to 10⁶ entries.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from dpsql.accounting.triple import triple
from dpsql.ledger.encoding import fact_to_entry
from dpsql.ledger.facts import Stored
from dpsql.ledger.keyfile import key_path
from dpsql.ledger.ledger import Charge, Ownership, Question, ReleasedStep
from dpsql.ledger.page import SOURCE
from dpsql.ledger.snapshot import Payment
from dpsql.ledger.sql_page import SqlPage
from dpsql.ledger.sqlite import SqliteDatabase, SqliteLedger
from dpsql.privacy.events import Pure

RUNS = 300
COST = Fraction(1, 10**7)
OWNED = Ownership(relation="add_remove", tables=(("people", 'person = "id"'),))
RECORD = '{"steps":[' + '"a plan of usual length",' * 20 + '""]}'
ANSWER = ReleasedStep(keys=((),), values=((17, -3),))


def asking(name: str) -> Charge:
    """A small question; another name is another one."""
    return Charge(
        analyst="ana",
        grant="ana",
        question=Question(plan=hashlib.sha256(name.encode()).hexdigest(), policy="policy", data_version="1"),
        event=Pure(epsilon=COST),
        cost=COST,
        steps=1,
        sql=f"SELECT COUNT(*) FROM people WHERE town = '{name}'",
        record=RECORD,
    )


def begun(path: Path) -> None:
    """A ledger with a promise, owners and a grant."""
    ledger = SqliteLedger(path, anchors=None)
    ledger.promise(epsilon=Fraction(1), delta=Fraction(1, 10**6), delta_prime=Fraction(1, 2 * 10**6))
    ledger.own(OWNED)
    ledger.grant("ana", epsilon=Fraction(1))
    ledger.close()


def load(page: SqlPage, charges: Sequence[Charge]) -> None:
    """Write charges and their answers, as the laws would have written them one by one."""
    for charge in charges:
        payment = Payment(
            number=page.append(charge), pin="", steps=1, attempts=1
        )  # complete at once: never in the head
        step = page.append(Stored(receipt=payment.number, step=0, released=ANSWER))
        page.keep_payment(replace(payment, stored=(step,)))
    price = triple(Pure(epsilon=COST))
    for holder in (SOURCE, "ana"):
        account = page.account(holder)
        if account is not None:
            spent = sum([price] * len(charges), account.spent)
            page.keep_account(holder, replace(account, spent=spent))


def loaded(path: Path, entries: int) -> None:
    """Charges and answers up to this number of entries, a hundred thousand in a transaction."""
    begun(path)
    ledger = SqliteLedger(path, anchors=None)
    key = ledger._key
    ledger.close()
    database = sqlite3.connect(path, isolation_level=None)
    done = 4
    while done < entries:
        now = min(50_000, (entries - done + 1) // 2)
        database.execute("BEGIN IMMEDIATE")
        page = SqlPage(SqliteDatabase(database), key=key, clock=lambda: int(time.time()))
        page.open_head()
        load(page, [asking(f"old {done + each}") for each in range(now)])
        page.close_head()
        database.execute("COMMIT")
        done += 2 * now
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def bare(path: Path) -> Callable[[str], None]:
    """One row of as many bytes as a charge writes, durable when it returns."""
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, bytes BLOB)")
    size = len(fact_to_entry(asking("size"))[1]) + 700  # its hash, the payment, two accounts, the head

    def write(name: str) -> None:
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO rows (bytes) VALUES (?)", (bytes(size),))
        database.execute("COMMIT")

    return write


def timed(work: Callable[[str], object], name: str) -> float:
    before = time.perf_counter_ns()
    work(name)
    return (time.perf_counter_ns() - before) / 1000


def opened(path: Path, entries: int, anchors: Path) -> dict[str, Callable[[str], object]]:
    """Charges in a ledger of this length, without and with an anchor: each in a file of its own, as the bare one, since
    a connection that finds another one's changes reads everything again."""
    loaded(path, entries)
    beside = path.with_name(f"{path.name}-anchored")
    for name in (path, key_path(path)):
        shutil.copy(name, beside if name == path else key_path(beside))
    begin = time.perf_counter()
    plain = SqliteLedger(path, anchors=None)
    print(f"{entries:>9,} entries   opened and checked in {time.perf_counter() - begin:.2f} s", flush=True)
    if entries <= 1000:
        plain.verify()
    anchored = SqliteLedger(beside, anchors=anchors)
    return {
        f"{entries} plain": lambda name: plain.charge(asking(f"plain {name}"), under=OWNED),
        f"{entries} anchored": lambda name: anchored.charge(asking(f"anchored {name}"), under=OWNED),
    }


def measured(ways: dict[str, Callable[[str], object]]) -> dict[str, float]:
    """The median microseconds of each way: all of them in turn, so that the disk is in the same mood for all."""
    found: dict[str, list[float]] = {way: [] for way in ways}
    for run in range(RUNS):
        for way, work in ways.items():
            found[way].append(timed(work, str(run)))
    return {way: statistics.median(times) for way, times in found.items()}


def main() -> int:
    sizes = [int(word) for word in sys.argv[1:]] or [100, 100_000]
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-", dir=os.environ.get("DPSQL_BENCH")) as name:
        folder = Path(name)
        ways: dict[str, Callable[[str], object]] = {"bare": bare(folder / "bare")}
        for size in sizes:
            ways |= opened(folder / str(size), size, folder / "anchors")
        times = measured(ways)
    print(f"a bare transaction takes {times['bare']:.0f} µs")
    for size in sizes:
        plain, anchored = (times[f"{size} {way}"] / times["bare"] for way in ("plain", "anchored"))
        print(f"{size:>9,} entries   charge {plain:.2f} ×   with its anchor {anchored:.2f} ×")
    grown = times[f"{sizes[-1]} anchored"] / times[f"{sizes[0]} anchored"]
    print(f"from {sizes[0]:,} to {sizes[-1]:,} entries: {grown:.2f} ×")
    first = [times[f"{sizes[0]} {way}"] / times["bare"] for way in ("plain", "anchored")]
    kept = first[0] <= 3 and first[1] <= 5 and grown <= 1.3
    print(f"wanted: at most 3 ×, 5 × and 1.3 ×  {'ok' if kept else 'SHORT'}")
    return int(not kept)


if __name__ == "__main__":
    raise SystemExit(main())
