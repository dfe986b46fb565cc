"""resolve: names become columns, columns have types, and every row of a private table carries its owner.

Parsed -> Resolved. Nothing is judged here: `uses` and `meetings` say what was done with which column, and `check`
decides. The clock is an argument: CURRENT_DATE is a literal from here on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

from dpsql.catalog.model import Catalog
from dpsql.errors import BadType, NotSupported
from dpsql.sql.expressions import expanded, has_aggregate, meant
from dpsql.sql.finish import Finish
from dpsql.sql.notes import Findings, Meeting, Notes, Outcomes, Use, holds_person
from dpsql.sql.outputs import Aggregate, GroupKey, outputs_of
from dpsql.sql.relations import Column, Relation
from dpsql.sql.scans import Kept, Source
from dpsql.sql.sources import NOTHING, Known, kept_by, source_of
from dpsql.sql.syntax import NO_OPTIONS, At, Call, Literal, Options, Parsed, Purpose, Said, Select
from dpsql.sql.unions import one_question

# KEYS (…): the groups the analyst lists. The same as WHERE x IN (…) before GROUP BY x, said once.
#
# All listed groups appear, empty ones too; rows of other groups are dropped before anything is counted. So the list is
# public: it is part of the text, and nothing is found by looking at rows.


def with_listed_keys(source: Source, query: Select, listed: Said[tuple[Literal, ...]] | None, notes: Notes) -> Source:
    """The rows whose group is listed; every row where nothing is."""
    if listed is None:
        return source
    if len(query.group_by) != 1:
        raise NotSupported(
            "KEYS after several columns of GROUP BY is not available",
            why="it lists the groups of one column, and these are combinations",
            fix="say it in WHERE, column by column: WHERE x IN ('a', 'b') AND y IN (1, 2) GROUP BY x, y",
            at=listed.at,
        )
    key = meant(query.group_by[0], tuple(expanded(query.items, source.scope)), source.scope)
    if has_aggregate(key):
        raise BadType(
            "KEYS lists groups, and this is an aggregate",
            why="aggregates are taken inside groups",
            fix="group by a column",
            at=listed.at,
        )
    return kept_by(source, Call(function="in", arguments=(key, *listed.value), at=listed.at), notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A query in our own words: a relation, what is counted in it by which keys, and what is done with the result."""

    text: str
    purpose: Purpose
    catalog: Catalog
    relation: Relation
    owner: tuple[int, ...]
    """The columns that hold the person; empty where rows are protected one by one, or where all is public."""
    private: bool
    keys: tuple[GroupKey, ...]
    aggregates: tuple[Aggregate, ...]
    grouped: bool
    """False: every row goes out as it is, which only public tables may do."""
    finish: Finish
    uses: tuple[Use, ...]
    meetings: tuple[Meeting, ...]
    multiplied: bool
    """Some rows were left out or multiplied: WHERE, a join, a path."""
    private_tables: tuple[str, ...]
    tables: tuple[str, ...]
    """The declared tables it reads: those it names, and those of their paths."""
    findings: Findings
    at: At
    kept: Kept | None = None
    """Public rows that an outer join keeps: groups that appear also where nobody is."""
    options: Options = NO_OPTIONS
    """What the text says beside its question."""

    def is_person(self, column: Column) -> bool:
        """True for an unchanged column that holds the person, or a part of it."""
        return holds_person(column, self.catalog)


def resolve(
    parsed: Parsed,
    catalog: Catalog,
    *,
    readable: frozenset[str],
    today: date,
    known: Known = NOTHING,
    outcomes: Outcomes = MappingProxyType({}),
) -> Resolved:
    """The query with every name looked up. Refuses unknown names and types that do not fit.

    Only `readable` tables may be named; the others still lead rows to their owner. Where the query is one of several
    questions of a statement, `known` are the common tables in sight of it, and `outcomes` what earlier ones release.
    """
    notes = Notes(catalog=catalog, readable=readable, today=today, text=parsed.text, outcomes=outcomes)
    query = one_question(parsed.query)
    source = source_of(query, known, notes)
    source = with_listed_keys(source, query, parsed.options.keys, notes)
    outputs = outputs_of(query, source.scope, notes)
    return Resolved(
        text=parsed.text,
        purpose=parsed.purpose,
        catalog=catalog,
        relation=source.relation,
        owner=source.owner,
        private=source.private,
        keys=outputs.keys,
        aggregates=outputs.aggregates,
        grouped=outputs.grouped,
        finish=outputs.finish,
        uses=tuple(notes.uses),
        meetings=tuple(notes.meetings),
        multiplied=notes.multiplied,
        private_tables=source.tables,
        tables=tuple(notes.tables),
        findings=notes.findings,
        at=query.at,
        kept=source.kept,
        options=parsed.options,
    )
