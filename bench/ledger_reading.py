"""Opening a long ledger, and verifying it beside the least that reading it takes.

Usage: ledger_reading.py [entries]    (default 100000; 1000000 takes minutes to load)

The floor reads the same entries from the same file, with one HMAC and one `json.loads` for each, in the same run; times
are CPU times of this process. Targets: verifying takes at most 4 × the floor, and opening takes as long as opening a
ledger of a hundred entries, within 20 ms.
"""

from __future__ import annotations

import hmac
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import ledger
from dpsql.ledger.keyfile import key_path, read_key
from dpsql.ledger.sqlite import SqliteLedger

SHORT = 100


def cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU time."""
    before = time.process_time()
    work()
    return time.process_time() - before


def opened(path: Path) -> None:
    """What `dpsql budget show` reads."""
    with closing(SqliteLedger(path, anchors=None)) as opened_ledger:
        opened_ledger.account()
        for name in opened_ledger.grants():
            opened_ledger.account(name)


def read(path: Path) -> None:
    """One HMAC and one json.loads for each entry."""
    key = read_key(key_path(path))
    with closing(sqlite3.connect(path)) as database:
        for _, _, _, payload in database.execute("SELECT number, time, hash, payload FROM entries ORDER BY number"):
            hmac.digest(key, payload, "sha256")
            json.loads(payload[payload.find(b"\n") + 1 :])  # of a stored step, the record


def verified(path: Path) -> None:
    with closing(SqliteLedger(path, anchors=None)) as opened_ledger:
        opened_ledger.verify()


def main() -> int:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory(prefix="dpsql-bench-", dir=os.environ.get("DPSQL_BENCH")) as name:
        short, long = Path(name) / "short", Path(name) / "long"
        ledger.loaded(short, SHORT)
        ledger.loaded(long, entries)
        opened(short)
        opening = [min(cpu(partial(opened, path)) for _ in range(5)) for path in (short, long)]
        floor, verifying = (min(cpu(partial(work, long)) for _ in range(2)) for work in (read, verified))
    more = opening[1] - opening[0]
    print(f"{entries:,} entries: opened in {1000 * opening[1]:.1f} ms, {1000 * more:+.1f} ms to {SHORT} entries")
    print(f"verified in {verifying:.2f} s, the floor {floor:.2f} s: {verifying / floor:.2f} ×")
    kept = more <= 0.02 and verifying <= 4 * floor
    print(f"wanted: at most 20 ms more, and 4 ×  {'ok' if kept else 'SHORT'}")
    return int(not kept)


if __name__ == "__main__":
    raise SystemExit(main())
