"""One mistake of the owner: found anywhere, told with its place."""

from __future__ import annotations

from dpsql.catalog.model import KeyPath, Written
from dpsql.catalog.names import dotted, folded
from dpsql.errors import BadPolicy


class Mistake(Exception):
    """What is wrong at a key. It never leaves this package: `as_error` turns it into a BadPolicy."""

    def __init__(self, what: str, *, why: str, fix: str, key: KeyPath = ()) -> None:
        super().__init__(what)
        self.what, self.why, self.fix, self.key = what, why, fix, key

    def under(self, *prefix: str | int) -> Mistake:
        """The same mistake, seen from further outside."""
        return Mistake(self.what, why=self.why, fix=self.fix, key=(*prefix, *self.key))

    def as_error(self, written: Written | None) -> BadPolicy:
        """The error: `dpsql.toml:14 table.visits.columns.charge: …`, or without file and line where there are none."""
        where = dotted(self.key)
        place = where if written is None else f"{written.file}:{line_of(self.key, written)} {where}".rstrip()
        return BadPolicy(f"{place}: {self.what}" if place else self.what, why=self.why, fix=self.fix)


def line_of(key: KeyPath, written: Written) -> int:
    """The line of a key, or of the nearest section around it where it is missing."""
    path = tuple(folded(part) if isinstance(part, str) else part for part in key)
    for length in range(len(key), 0, -1):
        for place in (key[:length], path[:length]):
            if place in written.lines:
                return written.lines[place]
    return 1
