"""The rows of the demo hospital as files of the package: reading them takes a tenth of the time of inventing them.

`python tools/demo_rows.py --write` writes the files; without it, they are compared. A test does the same.
"""

from __future__ import annotations

import sys

import duckdb

from dpsql.demonstration import hospital


def written() -> None:
    """Write one Parquet file per table."""
    with duckdb.connect(":memory:") as database:
        database.execute(hospital.SCHEMA)
        for name, rows in hospital.invented().items():
            with database.appender(name) as appender:
                appender.append_rows(rows)
            path = str(hospital.rows_file(name))
            database.table(name).write_parquet(path, compression="zstd")


def stale() -> list[str]:
    """The tables whose file does not hold the rows of `hospital.invented`."""
    with duckdb.connect(":memory:") as database:
        return [
            name
            for name, rows in hospital.invented().items()
            if database.read_parquet(str(hospital.rows_file(name))).fetchall() != list(rows)
        ]


def main() -> int:
    if "--write" in sys.argv:
        written()
    names = stale()
    print(f"run python tools/demo_rows.py --write: {', '.join(names)}" if names else "demo rows: up to date")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
