"""A proposal as the text of a policy file, where it is written, and how addresses look from there."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dpsql.catalog.lines import WORD, Mark, key_lines, marks
from dpsql.catalog.names import folded
from dpsql.catalog.spelling import toml_key, toml_text
from dpsql.engines.registry import file_of
from dpsql.errors import BadParameter, NoSource
from dpsql.suggest.columns import Sample
from dpsql.suggest.proposal import Line, Proposal, TableProposal, marked, one_line
from dpsql.suggest.proposing import decided_by_the_owner, propose

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


_FILES: Final = (".csv", ".parquet")
_DATABASES: Final = (".duckdb", ".db", ".ddb")
_FROM_FILES: Final = (
    "put it into a database, with the types you know: CREATE TABLE t (id BIGINT PRIMARY KEY, age INTEGER, …); "
    "INSERT INTO t FROM 'file.csv'; then dpsql init duckdb://my.duckdb. In memory, Python declares it: "
    "owner.register(name, path, …)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggested:
    """What was read and proposed, in words, and the file it was written to."""

    lines: tuple[str, ...]
    path: Path
    marks: int


def suggest_policy(
    address: str,
    *,
    output: str | os.PathLike[str] = "dpsql.toml",
    like: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Suggested:
    """Write a policy that the catalogue of a source suggests; every suggestion waits to be confirmed.

    Reads names, types, constraints and comments: no row, no statistic, no row count. `like` is a public CSV file from
    which bounds and keys are taken. A file that is there stays, unless `force`.
    """
    source, path = _address(address), Path(output)
    if path.exists() and not force:
        raise _occupied(path)
    proposal = propose(source, samples={} if like is None else samples(Path(like)))
    text = policy_text(proposal, url=_seen_from(source, path.parent))
    _write(path, text, force=force)
    found = marks(text, key_lines(text))
    return Suggested(lines=(*report(proposal), *_next(path, found)), path=path, marks=len(found))


def _next(path: Path, found: Sequence[Mark]) -> Iterator[str]:
    of_tables = sum(mark.key[:1] == ("table",) for mark in found)
    yield (
        f"Wrote {path}: {len(found)} lines marked # {WORD}, {of_tables} about tables and {len(found) - of_tables} "
        "about the person, the promise and the defaults. Nothing can be queried until they are decided."
    )
    yield f"What is left to do: dpsql check{'' if path == Path('dpsql.toml') else f' --policy {path}'}"


def _address(address: str) -> str:
    """A path of a database is an address too."""
    path = Path(address)
    if path.suffix.lower() in _FILES:
        raise NoSource(
            f"a {path.suffix.lower()[1:]} file is no source of a policy",
            why="a policy speaks of a database, where types and keys are declared and not guessed from rows",
            fix=_FROM_FILES,
        )
    return f"duckdb://{address}" if "://" not in address and path.suffix.lower() in _DATABASES else address


def _seen_from(address: str, folder: Path) -> str:
    """The address as the policy writes it: relative paths are seen from the folder of the policy."""
    file = file_of(address)
    if file is None or file.is_absolute():
        return address
    return f"{address.partition('://')[0]}://{Path(os.path.relpath(file, folder)).as_posix()}"


def _write(path: Path, text: str, *, force: bool) -> None:
    try:
        with open(path, "w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise _occupied(path) from None
    except OSError as error:
        raise BadParameter(
            f"{path} cannot be written: {error.strerror}",
            why="the proposal is a file for the owner to decide about",
            fix="name another file: --output dpsql.toml",
        ) from None


def _occupied(path: Path) -> BadParameter:
    return BadParameter(
        f"there is a file {path} already",
        why="a policy that somebody has confirmed is not written over",
        fix="name another file with --output, or say --force",
    )


SCHEMA_FILE: Final = "dpsql.schema.json"
_LONGEST: Final = 60
"""Where marks stand in one column; longer lines have theirs further right."""


def policy_text(proposal: Proposal, *, url: str) -> str:
    """The file: every line that is proposed ends in its mark, and what is not proposed stands in plain comments."""
    return "\n".join([*_head(proposal, url), *_people(proposal), *_tables(proposal), *_end(proposal)]) + "\n"


def _head(proposal: Proposal, url: str) -> Iterator[str]:
    yield f"#:schema ./{SCHEMA_FILE}"
    yield f"# For editors: dpsql policy schema > {SCHEMA_FILE}"
    yield "# Suggested from names, types and constraints; no row was read. Correct each line that ends in a mark, then"
    yield "# take the mark away, by hand or as dpsql table --help says. What is left to do: dpsql check"
    yield "version = 1"
    yield ""
    yield "[source]"
    yield f"url = {toml_text(url)}"
    yield ""


def _people(proposal: Proposal) -> Iterator[str]:
    name = Line(key="name", value=toml_text(proposal.person), reason=proposal.person_reason)
    yield from _section("person", (name,))
    for section, lines in decided_by_the_owner(proposal.person).items():
        yield from _section(section, lines)


def _section(name: str, lines: Iterable[Line]) -> Iterator[str]:
    yield f"[{name}]"
    yield from _aligned(lines)
    yield ""


def _aligned(lines: Iterable[Line]) -> Iterator[str]:
    found = list(lines)
    width = max((len(line.said) for line in found if len(line.said) <= _LONGEST), default=0)
    return (marked(line.said, line.reason, width) for line in found)


def _tables(proposal: Proposal) -> Iterator[str]:
    for table in proposal.tables:
        name = f"table.{toml_key(table.name)}"
        header = f"[{name}]"
        yield header if table.header_reason is None else marked(header, table.header_reason, len(header))
        yield from _aligned(table.lines)
        width = max((len(line.said) for line in table.offers), default=0)
        yield from (f"# {line.said:<{width}}  # {one_line(line.reason)}" for line in table.offers)
        yield ""
        if table.columns or table.remarks:
            yield f"[{name}.columns]"
            yield from _aligned(table.columns)
            yield from (f"# {one_line(remark)}" for remark in table.remarks)
            yield ""


def _end(proposal: Proposal) -> Iterator[str]:
    yield from (f"# {one_line(remark)}" for remark in proposal.remarks)
    yield "# Who may ask, once the policy is applied: dpsql grant NAME --budget 0.5"


def report(proposal: Proposal) -> Iterator[str]:
    """What was read, and what is proposed of each table, a line each."""
    yield f"Read the catalogue: {'; '.join(proposal.read)}."
    yield "No rows, no statistics and no row counts were read."
    rows = [(*_told(table), _left(table)) for table in proposal.tables]
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    for sign, name, way, left in rows:
        yield f"  {sign:<{widths[0]}} {name:<{widths[1]}}  {way:<{widths[2]}}  {left}".rstrip()
    yield from (f"  - {one_line(remark)}" for remark in proposal.remarks)


def _told(table: TableProposal) -> tuple[str, str, str]:
    name = one_line(table.name)
    if table.public:
        return "?", name, "public = true"
    if not table.lines:
        return "!", name, 'no person found: unit = "row"?'
    first = table.lines[0]
    return "✓", name, one_line(f"{first.said}  ({first.reason})") if first.is_ready else one_line(first.said)


def _left(table: TableProposal) -> str:
    if table.public:
        return "confirm: nobody is in this table"
    if not table.lines:
        return "blocked until you say whose its rows are"
    lines = (*table.lines, *table.columns)
    needed = sum(not line.is_ready for line in lines)
    number = len(table.columns)
    return f"{number} column{'s' if number != 1 else ''}; {len(lines) - needed} lines to confirm, {needed} to decide"
