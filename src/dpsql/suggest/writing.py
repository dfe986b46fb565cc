"""A proposal as the text of a policy file, and as what the owner reads while it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from dpsql.catalog.toml_spelling import toml_key, toml_text
from dpsql.suggest.proposal import Line, Proposal, TableProposal, marked, one_line
from dpsql.suggest.proposing import decided_by_the_owner

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
