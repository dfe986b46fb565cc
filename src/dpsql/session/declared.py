"""What the owner has declared, as it stands: the owner changes it, analysts look at it anew with each question. And the
schema that `register` declares: each column with its type, and what decided it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpsql.accounting.account import Account
from dpsql.catalog.check import checked
from dpsql.catalog.column_types import Decided, types_line
from dpsql.catalog.digest import deciding_type, declarations, declared_tables, text_digest
from dpsql.catalog.model import Catalog, ColumnPolicy, EngineTable, Policy, Promise
from dpsql.catalog.names import folded
from dpsql.catalog.ownership import declared_ways
from dpsql.catalog.tables import declares_all
from dpsql.catalog.types import SqlType
from dpsql.engines.engine import Engine
from dpsql.engines.registry import IN_MEMORY
from dpsql.errors import Incomparable, NotPermitted
from dpsql.ledger.book import Ledger
from dpsql.ledger.facts import Adopted
from dpsql.ledger.ledger import Ownership
from dpsql.safe_text import printable
from dpsql.session.granting import grants_of_file


class Declared:
    """The catalogue that holds now. A policy that is refused leaves it as it was."""

    def __init__(self, policy: Policy, *, engine: Engine, ledger: Ledger) -> None:
        self._engine, self._ledger = engine, ledger
        self.promised = False
        """The ledger keeps what is declared."""
        self.policy = policy
        """As the owner said it."""
        self.catalog: Catalog = checked(policy, engine.schema(), views=engine.views())

    def adopt(self, policy: Policy) -> None:
        """Put another policy in its place: checked against the engine, against the types that the ledger declares and,
        under a promise, against its owners."""
        schema = self._engine.schema()
        _require_types(policy, schema, self._tables_before())
        catalog = checked(policy, schema, views=self._engine.views())
        if self.promised:
            self._ledger.declare(ownership_of(catalog), self._declarations(catalog))
        self.policy, self.catalog = policy, catalog

    def make_promise(self, promise: Promise, *, anew: bool, version: str | None) -> bool:
        """Write the promise into the ledger, and with it in one transaction whom it is about, what is declared, the
        grants of the file and, where it is given, the label of the data: a process that dies leaves all of it or
        nothing. False where the promise was closed and is not to be made `anew`."""
        account = Account.opened(epsilon=promise.epsilon, delta=promise.delta, delta_prime=promise.delta_prime)
        if anew or not self._was_closed():
            _require_types(self.policy, self._engine.schema(), self._tables_before())
        writes_grants = not anew or self.policy.grants  # a promise made in a call, without a file, ends no grant
        self.promised = self._ledger.apply(
            account,
            per=promise.per,
            anew=anew,
            ownership=ownership_of(self.catalog),
            declarations=self._declarations(self.catalog),
            granted=grants_of_file(self.policy) if writes_grants else None,
            version=version,
        )
        return self.promised

    def _was_closed(self) -> bool:
        """Whether a promise was made and none holds."""
        try:
            self._ledger.account()
        except NotPermitted:
            return bool(self._ledger.promises())
        return False

    def under_promise(self) -> None:
        """From here on the ledger keeps what is declared and whom the promise is about: nothing can be asked before."""
        _require_types(self.policy, self._engine.schema(), self._tables_before())
        self._ledger.declare(ownership_of(self.catalog), self._declarations(self.catalog))
        self.promised = True

    def types_before(self, table: str) -> dict[str, SqlType]:
        """The types that the ledger declares for the columns of a table."""
        columns = self._tables_before().get(folded(table), {}).get("columns", {})
        return {name: SqlType(column["type"]) for name, column in columns.items() if column["type"] is not None}

    def _tables_before(self) -> dict[str, Any]:
        return declared_tables(self._ledger.adopted())

    def _declarations(self, catalog: Catalog) -> Adopted:
        # Tables in memory are registered one by one: those that are yet to come stay declared.
        text = declarations(catalog, others=self._tables_before() if _is_in_memory(catalog.policy) else {})
        return Adopted(digest=text_digest(text), text=text)

    def without_promise(self) -> None:
        """The promise has ended: what is declared now binds nobody until there is another one."""
        self.policy = replace(self.policy, promise=None)
        self.catalog = replace(self.catalog, policy=replace(self.catalog.policy, promise=None))
        self.promised = False


def ownership_of(catalog: Catalog) -> Ownership:
    """Whom a promise under this catalogue is about."""
    policy = catalog.policy
    return Ownership(relation=policy.person.relation.value, tables=declared_ways(policy.tables))


def _is_in_memory(policy: Policy) -> bool:
    return policy.source == IN_MEMORY


def _require_types(policy: Policy, schema: Mapping[str, EngineTable], before: dict[str, Any]) -> None:
    """Incomparable where the data have other types than the ledger declares and the owner has not written them."""
    sources = {folded(name): table for name, table in schema.items()}
    changed = []
    for name, table in policy.tables.items():
        known = before.get(name, {}).get("columns", {})
        there = sources[folded(table.source)].columns if folded(table.source) in sources else ()
        for engine in there:
            column = folded(engine.name)
            written = table.columns.get(column)
            is_open = written.type is None if written is not None else declares_all(table)
            if is_open and column in known and known[column]["engine_type"] != deciding_type(engine.engine_type):
                changed.append((name, column, known[column], engine))
    if not changed:
        return
    told = "; ".join(
        f"{name}.{column} was {was['engine_type']} and is now {now.engine_type}" for name, column, was, now in changed
    )
    kept = {column: SqlType(was["type"]) for _, column, was, _ in changed if was["type"] is not None}
    new = {column: now.type for _, column, _, now in changed if now.type is not None}
    raise Incomparable(
        f"the data have other types than the ledger declares: {told}",
        why="types decide verdicts, prices and margins; rows that change them would change the policy unseen",
        fix=f"keep what is declared: register(…, {types_line(kept)}); or declare the new types: {types_line(new)}"
        if _is_in_memory(policy)
        else "give the columns their types back in the source; or declare the new ones in the policy file: "
        + ", ".join(f'{column} = {{ type = "{kind.value}" }}' for column, kind in new.items()),
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Registered:
    """The declared columns of a table. Its text is a table; `line` is the word of `register` that declares the same."""

    table: str
    types: Mapping[str, SqlType]
    """By column."""
    decided_by: Mapping[str, str]
    """What decided the type, by column."""

    @classmethod
    def of(cls, catalog: Catalog, table: str, decided: Mapping[str, Decided]) -> Registered:
        """The schema of a table in a catalogue, whose columns were decided so."""
        columns = catalog.policy.tables[table].columns
        by = {folded(name): f"{each.by}{_rounding(columns.get(folded(name)))}" for name, each in decided.items()}
        return cls(
            table=table,
            types={name: column.type for name, column in columns.items() if column.type is not None},
            decided_by={name: by[name] for name in columns},
        )

    @property
    def line(self) -> str:
        """These types in words: pass them to `register` to have them whatever the data are."""
        return types_line(self.types)

    def __repr__(self) -> str:
        shown = [(printable(name), kind.value, self.decided_by[name]) for name, kind in self.types.items()]
        name_width, type_width = (max((len(row[place]) for row in shown), default=0) for place in (0, 1))
        lines = [f"  {name:<{name_width}}  {kind:<{type_width}}  {by}" for name, kind, by in shown]
        return "\n".join([printable(self.table), *lines])


def _rounding(column: ColumnPolicy | None) -> str:
    """That fractions are rounded, and what to say to keep them."""
    if column is None or not column.is_rounded:
        return ""
    bounds, name = column.bounds, printable(column.name)
    if bounds is None or not isinstance(bounds.low, int) or not isinstance(bounds.high, int):
        return ", which are whole: fractions are rounded"
    fractions = f'bounds={{"{name}": ({float(bounds.low)}, {float(bounds.high)})}}'
    return f', which are whole: fractions are rounded. {fractions} or types={{"{name}": "double"}} keeps them'
