"""`--like public.csv`: a file that the owner says is public, as a source of bounds and keys."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

from dpsql.catalog.names import folded
from dpsql.errors import BadParameter
from dpsql.suggest.columns import Sample

_MOST: Final = 50
"""More different texts than these are no list of keys that somebody would check."""


def samples(path: Path) -> dict[str, Sample]:
    """By the folded name of each column of a CSV file: `city`, or `patients.city` for one table alone."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, restkey="", restval=""))
    except (OSError, UnicodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a CSV file in UTF-8"
        raise BadParameter(
            f"{path} cannot be read: {reason}",
            why="--like names a public file that looks like the data",
            fix="name a CSV file with the names of columns in its first line",
        ) from None
    names = [name for name in (rows[0] if rows else {}) if name]
    return {folded(name): found for name in names if (found := _sample(path, [row[name] for row in rows])) is not None}


def _sample(path: Path, values: list[str]) -> Sample | None:
    """None: more values than a list, and no numbers or days between which others could lie."""
    seen = tuple(sorted({value for value in values if value}))
    if not seen or (len(seen) > _MOST and not all(value[:1] in "-0123456789" for value in seen)):
        return None
    return Sample(values=seen, file=path.name)
