"""The common workload: visits of rows/10 people, 1 to 50 rows each (truncated Zipf, mean 10), in 50 cities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

SEED = 20260101


def rows_per_user(chance: np.random.Generator, users: int, rows: int) -> NDArray[np.int64]:
    """Truncated Zipf on 1..50 with the exponent solved for mean 10, nudged to an exact total."""
    sizes = np.arange(1, 51, dtype=float)
    low, high = 0.0, 3.0
    weights = sizes
    for _ in range(60):
        exponent = (low + high) / 2
        weights = sizes**-exponent
        weights /= weights.sum()
        low, high = (exponent, high) if (weights * sizes).sum() > 10 else (low, exponent)
    counts = chance.choice(np.arange(1, 51), size=users, p=weights)
    while missing := rows - int(counts.sum()):
        step = 1 if missing > 0 else -1
        possible = np.flatnonzero((counts + step >= 1) & (counts + step <= 50))
        counts[chance.choice(possible, size=min(abs(missing), len(possible)), replace=False)] += step
    return counts


def written(rows: int, folder: Path) -> Path:
    """The table as a Parquet file: user_id, city, age (per user), spend, ts."""
    chance = np.random.default_rng([SEED, rows])
    users = rows // 10
    user = np.repeat(np.arange(1, users + 1, dtype=np.int64), rows_per_user(chance, users, rows))
    chance.shuffle(user)
    weights = 1 / np.arange(1, 51) ** 1.1
    number = chance.choice(50, size=rows, p=weights / weights.sum()).astype(np.int32)
    names = pa.array([f"city_{each:02d}" for each in range(50)])
    city = pa.DictionaryArray.from_arrays(pa.array(number), names).cast(pa.string())
    ages = np.clip(np.rint(chance.normal(44, 16, users)), 18, 90).astype(np.int32)
    spend = np.round(np.clip(chance.lognormal(3.2, 1.0, rows), 0, 500), 2)
    seconds = (chance.integers(0, 365 * 86400, rows) * 1_000_000).astype("timedelta64[us]")
    moment = np.datetime64("2025-01-01T00:00:00", "us") + seconds
    table = pa.table({"user_id": user, "city": city, "age": ages[user - 1], "spend": spend, "ts": pa.array(moment)})
    path = folder / f"visits_{rows}.parquet"
    pq.write_table(table, path)
    return path
