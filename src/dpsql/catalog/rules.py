"""What must hold in every policy, whether it was written in TOML or in Python. No engine is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from fractions import Fraction
from typing import Final

from dpsql.catalog import values
from dpsql.catalog.model import Bounds, ColumnPolicy, Defaults, Grant, KeyKind, Policy, Promise, PublicKeys, TablePolicy
from dpsql.catalog.names import OWNER_ACCOUNT, RESERVED_SCHEMA, Mistake, did_you_mean, folded, listed
from dpsql.privacy.unit import Neighbours
from dpsql.require import is_confidence, shown

_PUBLIC_WHY: Final = "nobody is in a public table, so nobody's rows can be counted or limited there"
_CAPS: Final = ("rows_per_person", "rows_per_group", "groups_per_person")


def mistakes(policy: Policy) -> Iterator[Mistake]:
    """Everything that is wrong with the declarations themselves; paths are followed elsewhere."""
    if policy.promise is not None:
        yield from (mistake.under("promise") for mistake in _promise(policy.promise))
    yield from (mistake.under("defaults") for mistake in _defaults(policy.defaults, policy.promise))
    for name, table in policy.tables.items():
        yield from (mistake.under("table", name) for mistake in table_mistakes(table))
    yield from _across_tables(policy)
    for index, grant in enumerate(policy.grants):
        yield from (mistake.under("grant", index) for mistake in grant_mistakes(grant, policy))
    yield from _twice_granted(policy.grants)


def _promise(promise: Promise) -> Iterator[Mistake]:
    if not promise.epsilon > 0:
        yield Mistake(
            "must be above 0",
            why="ε = 0 means that no answer may depend on the data at all",
            fix="choose ε above 0; 1 to 10 is usual for the life of a source",
            key=("epsilon",),
        )
    if not 0 <= promise.delta < 1:
        yield Mistake(
            "must be at least 0 and below 1",
            why="δ is slack added to every probability; at 1 nothing is promised",
            fix="choose δ far below one over the number of people, or 0 for a pure promise",
            key=("delta",),
        )
    elif not 0 <= promise.delta_prime <= promise.delta:
        yield Mistake(
            "must be between 0 and delta",
            why="δ' is the part of δ that is kept back for Gaussian noise",
            fix="leave it out for half of delta, or choose less",
            key=("delta_prime",),
        )


def _defaults(defaults: Defaults, promise: Promise | None) -> Iterator[Mistake]:
    yield from _price("cost_per_query", defaults.cost_per_query, promise)
    for name in ("confidence", "selection_share"):
        share = getattr(defaults, name)
        if share is not None and not 0 < share < 1:
            yield Mistake(
                "must lie strictly between 0 and 1",
                why="at 0 and 1 there is no finite margin, or nothing left to pay with",
                fix="write 0.95 for confidence, 0.25 for selection_share",
                key=(name,),
            )
    if 0 < defaults.confidence < 1 and not is_confidence(defaults.confidence):
        yield Mistake(
            "must be at least 1e-30 away from 0 and 1",
            why="no margin can be computed nearer to them",
            fix="write 0.95 for confidence",
            key=("confidence",),
        )
    slack = defaults.delta_per_query
    if slack is None:
        return
    free = Fraction(1) if promise is None else promise.delta - promise.delta_prime
    if not 0 < slack <= free or slack >= 1:
        yield Mistake(
            "must be above 0 and at most promise.delta − promise.delta_prime",
            why="finding private keys spends δ, and δ' of the promise is reserved for ever",
            fix="a thousandth of promise.delta is usual; leave it out where no keys are private",
            key=("delta_per_query",),
        )


def _price(name: str, price: Fraction | None, promise: Promise | None) -> Iterator[Mistake]:
    if price is not None and (not price > 0 or (promise is not None and price > promise.epsilon)):
        promised = "" if promise is None else f", which is {shown(promise.epsilon)}"
        yield Mistake(
            f"must be above 0 and at most promise.epsilon{promised}",
            why="a price is paid in ε of the promise, and an answer for nothing would have no noise to hide anybody",
            fix=f"lower {name}, for example to a hundredth of promise.epsilon",
            key=(name,),
        )


def table_mistakes(table: TablePolicy) -> Iterator[Mistake]:
    """What is wrong with one declared table."""
    first = folded(table.name).partition(".")[0]
    if first == RESERVED_SCHEMA:
        yield Mistake(
            f"the name {RESERVED_SCHEMA} is reserved",
            why="dpsql keeps the name for tables of its own",
            fix='give it another name, and the name in the engine as source = "…"',
        )
    yield from _public(table) if table.public else _private(table)
    yield from _reread(table, dict.fromkeys((*_CAPS, "rows"), values.count))
    for name, column in table.columns.items():
        found = [*_reread(column, {"bounds": _bounds, "keys": _keys}), *_column(column, table)]
        yield from (mistake.under("columns", name) for mistake in found)


def _reread(said: TablePolicy | ColumnPolicy, readers: Mapping[str, Callable[[object], object]]) -> Iterator[Mistake]:
    """Values that were not read from a file may be anything."""
    for name, read in readers.items():
        value = getattr(said, name)
        try:
            if value is not None:
                read(value)
        except Mistake as mistake:
            yield mistake.under(name)


def _bounds(value: object) -> object:
    return values.bounds((value.low, value.high)) if isinstance(value, Bounds) else values.bounds(value)


def _keys(value: object) -> object:
    return values.keys(value.values) if isinstance(value, PublicKeys) else value


def _public(table: TablePolicy) -> Iterator[Mistake]:
    if table.person or table.path or table.unit_row:
        yield Mistake("public, and yet with a person", why=_PUBLIC_WHY, fix="choose one of the two")
    for name in (*_CAPS, "unique", "rows_public"):
        if getattr(table, name):
            yield Mistake("has no meaning in a public table", why=_PUBLIC_WHY, fix=f"leave out {name}", key=(name,))


def _private(table: TablePolicy) -> Iterator[Mistake]:
    if table.unit_row == bool(table.person or table.path):
        yield Mistake(
            "must have exactly one way to a person",
            why="we must know whose rows belong together to protect a whole person and not just one row",
            fix='person, person_via, unit = "row", or public = true if nobody is in this table',
        )
    if table.unique and table.unit_row:
        yield Mistake(
            'has no meaning with unit = "row"',
            why="it says that a person has one row; here each row is protected by itself",
            fix="leave out unique",
            key=("unique",),
        )
    if table.unique and (table.rows_per_person or 1) > 1:
        yield Mistake(
            "contradicts unique = true",
            why="a person with one row has at most one",
            fix="leave out unique, or rows_per_person",
            key=("rows_per_person",),
        )
    if table.rows_public and not table.unit_row:
        yield Mistake(
            'needs unit = "row"',
            why="replacing one person by another who has more rows, or none, changes the number of rows",
            fix="leave out rows_public",
            key=("rows_public",),
        )
    if table.rows_public and table.rows is None:
        yield Mistake(
            "needs rows beside it",
            why="the number is told as it is declared, and never counted",
            fix="write rows = 6000, the exact number everybody may know, or leave out rows_public",
            key=("rows_public",),
        )


def _column(column: ColumnPolicy, table: TablePolicy) -> Iterator[Mistake]:
    if column.unique and not table.public:
        yield Mistake(
            "has meaning in a public table only",
            why="it says how many public rows one row can meet; for people there is unique = true of the table",
            fix="leave out unique",
            key=("unique",),
        )
    if column.hidden and column.keys is not None:
        yield Mistake(
            "a hidden column has no keys",
            why="nobody may group by it, so there is no list to show",
            fix="leave out hidden or keys",
            key=("keys",),
        )
    if column.keys is KeyKind.CALENDAR and not (column.bounds and isinstance(column.bounds.low, date)):
        yield Mistake(
            "a calendar needs a first and a last day",
            why="its days are public keys, so they cannot come from the data",
            fix='add bounds = ["2024-01-01", "2026-12-31"]',
            key=("keys",),
        )
    if column.keys is KeyKind.PRIVATE and table.public:
        yield Mistake(
            "keys of a public table are not private",
            why="everybody may know its values",
            fix="leave out keys, or list them",
            key=("keys",),
        )


def _across_tables(policy: Policy) -> Iterator[Mistake]:
    sources: dict[str, str] = {}
    widths: dict[int, str] = {}
    for name, table in policy.tables.items():
        if name != folded(table.name) or name != table.name:
            yield Mistake(
                f"filed under another name than {folded(table.name)}",
                why="a table is looked up by its folded name",
                fix="use the name of the declaration",
                key=("table", name),
            )
        other = sources.setdefault(folded(table.source), name)
        if other != name:
            yield Mistake(
                f"the same table of the engine as {other}",
                why="a table declared twice could be private under one name and public under the other",
                fix="declare each table of the engine once",
                key=("table", name, "source"),
            )
        if table.rows_public and policy.person.relation is not Neighbours.CHANGE_ONE:
            yield Mistake(
                'needs relation = "change_one" in [person]',
                why="under add_remove the number of rows tells whether one person is there",
                fix="leave out rows_public",
                key=("table", name, "rows_public"),
            )
        if table.person and widths and len(table.person) not in widths:
            yield Mistake(
                f"{len(table.person)} person columns, but {listed(widths.values())} has another number",
                why="a person is found by the same columns, in the same order, in every table",
                fix="name the same columns in every table",
                key=("table", name, "person"),
            )
        elif table.person:
            widths.setdefault(len(table.person), name)


def grant_mistakes(grant: Grant, policy: Policy) -> Iterator[Mistake]:
    """What is wrong with one grant under this policy."""
    if policy.promise is None:
        yield Mistake(
            "a grant needs a [promise]",
            why="a grant is a limit under what is promised to every person",
            fix="add [promise] with epsilon and delta",
        )
    if grant.to == OWNER_ACCOUNT:
        yield Mistake(
            f"nobody is called {OWNER_ACCOUNT}",
            why="under this name the ledger keeps what the owner pays for suggestions",
            fix="choose another name",
        )
    yield from _price("budget", grant.budget, policy.promise)
    yield from _price("max_per_query", grant.max_per_query, policy.promise)
    if grant.max_per_query is not None and grant.max_per_query > grant.budget:
        yield Mistake(
            "is above the budget of the grant",
            why="no query can cost more than the whole budget",
            fix="lower max_per_query, or leave it out",
            key=("max_per_query",),
        )
    for name in grant.tables or ():
        if name not in policy.tables:
            yield Mistake(
                f"no table {name} is declared{did_you_mean(name, policy.tables)}",
                why="a grant speaks of declared tables only",
                fix=f"correct the name, or declare [table.{name}]",
                key=("tables",),
            )


def _twice_granted(grants: tuple[Grant, ...]) -> Iterator[Mistake]:
    seen: set[str] = set()
    for index, grant in enumerate(grants):
        if grant.to in seen:
            yield Mistake(
                f"a second grant to {grant.to}",
                why="one name has one limit; two would have to be added up or chosen from",
                fix="keep one of them",
            ).under("grant", index)
        seen.add(grant.to)
