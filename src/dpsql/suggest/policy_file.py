"""`dpsql table list|show|confirm`: a policy as it stands in its file, and marks taken out of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dpsql.catalog.load import parsed, text_of
from dpsql.catalog.marks import Mark, keys_by_line, marks, without
from dpsql.catalog.model import KeyPath
from dpsql.catalog.names import did_you_mean, folded, listed
from dpsql.errors import BadParameter
from dpsql.safe_text import printable
from dpsql.suggest.reviewing import Review, is_undecided, place_of, review_policy

_SECTIONS: Final = ("person", "promise", "defaults", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """What was confirmed, a line each, and how many lines of the file still wait."""

    lines: tuple[str, ...]
    left: int
    undecided: tuple[str, ...] = ()
    """What `everything` has left, and what it needs: values nobody has decided yet."""


class PolicyFile:
    """A policy file, also one that cannot be used yet: what it says of each table, what is left to do, and marks taken
    out of it. The data are not read, and no ledger is opened."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def review(self) -> Review:
        """Everything that is left to do, held against the catalogue of the source."""
        return review_policy(self._path)

    def tables(self) -> tuple[str, ...]:
        """A line for each table: its name, the way to a person, and how many lines wait."""
        data, _, found, _ = self._read()
        tables = data.get("table")
        named = tables.items() if isinstance(tables, dict) else ()
        return tuple(_listed(str(name), said, found) for name, said in named)

    def table(self, name: str) -> tuple[str, ...]:
        """The lines of the file about one table, column or section, with their numbers."""
        data, lines, _, text = self._read()
        _require_known(name, data)
        rows = [row.removesuffix("\r") for row in text.split("\n")]  # as TOML ends lines; a comment may hold other ends
        apart, keys = _apart(rows), keys_by_line(text, lines)
        return tuple(
            f"{number:>4}  {printable(line)}"
            for number, line in enumerate(rows, start=1)
            if line.strip() and number not in apart and _is_about(keys[number], name)
        )

    def confirm(self, *names: str, everything: bool = False) -> Confirmed:
        """Take marks out of the file: those of tables (`visits`), columns (`visits.charge`) and sections (`promise`),
        or of `everything` but the lines that need a decision and are not named. The rest of the file stays as it is."""
        if not names and not everything:
            raise BadParameter(
                "nothing is named to be confirmed",
                why="each line that is confirmed decides who is protected, and how",
                fix='name it: confirm("visits", "promise"), or say everything=True',
            )
        data, _, found, text = self._read()
        for name in names:
            _require_known(name, data)
        named = {mark for mark in found if any(_is_about(mark.key, name) for name in names)}
        chosen = tuple(mark for mark in found if mark in named or (everything and not is_undecided(mark)))
        if chosen:
            _write(self._path, without(text, chosen))
        waiting = tuple(mark for mark in found if everything and mark not in chosen)
        return Confirmed(
            lines=tuple(self._told(mark, mark.said) for mark in chosen),
            left=len(found) - len(chosen),
            undecided=tuple(self._told(mark, mark.reason) for mark in waiting),
        )

    def _told(self, mark: Mark, words: str) -> str:
        return printable(f"{self._path}:{mark.line}  {place_of(mark.key)}  {words}").rstrip()

    def _read(self) -> tuple[dict[str, object], dict[KeyPath, int], tuple[Mark, ...], str]:
        text_of(self._path)  # says what is wrong with a file that cannot be read
        text = self._path.read_bytes().decode("utf-8-sig")  # with its own ends of lines
        data, lines = parsed(text, str(self._path))
        return data, lines, marks(text, lines), text


def _apart(rows: Sequence[str]) -> set[int]:
    """Remarks after an empty line: they belong to nothing before them."""
    found: set[int] = set()
    for number, line in enumerate(rows, start=1):
        after_a_gap = number == 1 or not rows[number - 2].strip() or number - 1 in found
        if line.startswith("#") and after_a_gap:
            found.add(number)
    return found


def _listed(name: str, said: object, found: Sequence[Mark]) -> str:
    way = next((f"{key} = {_shown(said[key])}" for key in _WAYS if isinstance(said, dict) and key in said), "no person")
    waiting = sum(_is_about(mark.key, name) for mark in found)
    left = f"{waiting} to confirm" if waiting else "confirmed"
    return "\t".join(map(printable, (name, way, left)))


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_WAYS: Final = ("public", "person", "person_via", "unit")


def _is_about(key: KeyPath, name: str) -> bool:
    """The key lies in this table, column or section."""
    path = tuple(folded(part) if isinstance(part, str) else part for part in key)
    return any(path[: len(place)] == place for place in _places(name))


def _places(name: str) -> Iterator[KeyPath]:
    """What a name may mean: a table, whose name may have a point; a column of a table; a section; a line of one."""
    word = folded(name)
    yield ("table", word)
    table, point, column = word.rpartition(".")
    if point:
        yield ("table", table, "columns", column)
        yield ("table", table, column)
    if table in _SECTIONS:
        yield (table, column)
    if word in _SECTIONS:
        yield (word,)


def _require_known(name: str, data: dict[str, object]) -> None:
    tables = data.get("table")
    known = {folded(str(table)) for table in tables} if isinstance(tables, dict) else set()
    for place in _places(name):
        if place[0] != "table" or place[1] in known:
            return
    raise BadParameter(
        f"the policy has no table {name}{did_you_mean(name, known)}",
        why="only what stands in the file can be shown or confirmed",
        fix=f"name one of {listed(sorted(known))}; or a column, as in visits.charge",
    )


def _write(file: Path, text: str) -> None:
    """In the place of the file, whole or not at all; its mode and its line ends stay. A link stays one: what it leads
    to is written."""
    file = Path(os.path.realpath(file))
    beside = file.with_name(f".{file.name}.new")
    try:
        begins = file.read_bytes().startswith(b"\xef\xbb\xbf")
        beside.write_bytes((b"\xef\xbb\xbf" if begins else b"") + text.encode())
        shutil.copymode(file, beside)
        os.replace(beside, file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise BadParameter(
            f"{file} cannot be written: {error.strerror}",
            why="what is confirmed is written into the file itself",
            fix="take the marks out by hand, or change who may write the file",
        ) from None
