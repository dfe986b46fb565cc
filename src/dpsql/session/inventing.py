"""SIMULATE: the same plan, in a place where nobody lives.

The engine of that place holds invented rows, and its ledger is of that place alone: whatever is charged and stored
there is gone with it. Nothing else in the pipeline knows of it, so that what is simulated is what would happen; and the
engine with the data and the ledger of the promise are out of its reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

from dpsql.accounting.account import Account
from dpsql.catalog.digest import declarations, text_digest
from dpsql.catalog.model import Catalog, Grant
from dpsql.errors import NotSupported
from dpsql.ledger.book import Ledger
from dpsql.ledger.memory import MemoryLedger
from dpsql.session.answer import Place
from dpsql.session.clock import today
from dpsql.session.declared import ownership_of
from dpsql.session.granting import keep_grant
from dpsql.session.permits import readable_tables
from dpsql.session.views import about_a_view
from dpsql.sql.parse import parse
from dpsql.sql.parsing.text import prepared
from dpsql.sql.syntax import Parsed, Purpose, TableName
from dpsql.synthetic.engine import invented_engine


def simulates(sql: str) -> bool:
    """Whether a text begins with SIMULATE; raises where that cannot be read."""
    return "simulate" in sql.lower() and prepared(sql).purpose is Purpose.SIMULATE


def invented_place(sql: str, place: Place, *, rows: int | None = None) -> Place:
    """Where this simulation happens: planned under the accounts as they are, paid from others."""
    parsed = parse(sql, dialect=place.dialect)
    _require_tables(parsed)
    said = parsed.options.rows
    catalog, accounts = place.catalog, place.accounts
    read = readable_tables(place.grant, catalog, today=today()).intersection(_named(parsed.query))
    return replace(
        place,
        engine=invented_engine(catalog, read, rows=rows if said is None else said.value),
        ledger=ledger_of_nobody(catalog, accounts[0], place.grant),
        planned_under=accounts,
        invented=True,
    )


def _named(part: object) -> Iterator[str]:
    """Every table that is named anywhere in a statement."""
    if isinstance(part, TableName):
        yield part.name[-1].name
    elif isinstance(part, tuple):
        yield from (name for each in part for name in _named(each))
    elif is_dataclass(part):
        yield from (name for each in fields(part) for name in _named(getattr(part, each.name)))


def _require_tables(parsed: Parsed) -> None:
    if about_a_view(parsed) is not None:
        raise NotSupported(
            "a view of dpsql is not simulated",
            why="it tells your own standing, exactly and for nothing",
            fix="leave SIMULATE out",
            at=parsed.query.at,
        )


def ledger_of_nobody(catalog: Catalog, promise: Account, grant: Grant) -> Ledger:
    """A ledger in which the same promise was made and the same grant given, and nothing was spent yet."""
    ledger = MemoryLedger()
    ledger.promise(epsilon=promise.epsilon, delta=promise.delta, delta_prime=promise.delta_prime)
    ledger.own(ownership_of(catalog))
    text = declarations(catalog)
    ledger.adopt(text_digest(text), text)
    keep_grant(ledger, grant, replace(catalog.policy, grants=()))
    return ledger
