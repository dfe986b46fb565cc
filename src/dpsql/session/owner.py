"""The owner of the data: declares tables, makes the promise, grants budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from math import ceil, exp
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from dpsql.catalog.check import checked
from dpsql.catalog.declare import declared
from dpsql.catalog.load import load
from dpsql.catalog.model import Catalog, Defaults, Grant, Mode, Noise, Person, Policy, Promise
from dpsql.catalog.names import folded
from dpsql.catalog.types import SqlType
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.engine import Engine
from dpsql.engines.registry import open_source
from dpsql.errors import BadParameter, NotPermitted
from dpsql.ledger.ledger import Ledger
from dpsql.ledger.memory import MemoryLedger
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import SYSTEM, Source
from dpsql.require import Number, require_count, require_delta, require_epsilon, require_open_unit
from dpsql.session.analyst import Analyst, Budget
from dpsql.session.answer import Place
from dpsql.session.terms import stated


class Owner:
    """Holds the data, the ledger and the policy. Changes to the policy concern analysts granted afterwards."""

    def __init__(self, *, policy: Policy, engine: Engine, ledger: Ledger, source: Source) -> None:
        """Use `dpsql.open`."""
        self._policy, self._engine, self._ledger, self._source = policy, engine, ledger, source

    def register(
        self,
        name: str,
        data: object,
        *,
        person: str | Sequence[str] | None = None,
        person_via: str | None = None,
        public: bool = False,
        unit: Literal["person", "row"] | None = None,
        bounds: Mapping[str, Sequence[object]] | None = None,
        keys: Mapping[str, Sequence[object] | str] | None = None,
        hidden: Iterable[str] = (),
        types: Mapping[str, str | SqlType] | None = None,
        columns: Iterable[str] | Literal["all"] | None = None,
        unique: bool | Iterable[str] = False,
        rows: int | str | None = None,
        rows_public: bool = False,
        rows_per_person: int | None = None,
        rows_per_group: int | None = None,
        groups_per_person: int | None = None,
        nulls: Mapping[str, str] | None = None,
    ) -> None:
        """Copies a table in and declares it, as [table.NAME] of a policy file would.

        `data` is a pandas, polars or Arrow table, the path of a Parquet or CSV file, a DuckDB relation, or a DuckDB
        connection that holds the table. Columns that are not named here cannot be queried.
        """
        if not isinstance(self._engine, DuckdbEngine):
            raise NotPermitted(
                "tables are registered in memory only", why="this source has its own tables", fix="declare them there"
            )
        self._engine.add(name, data, types=_csv_types(types))
        table = declared(
            name,
            person=person,
            person_via=person_via,
            public=public,
            unit=unit,
            bounds=bounds,
            keys=keys,
            hidden=hidden,
            types=types,
            columns=columns,
            engine_columns=[column.name for column in self._engine.schema()[name].columns],
            unique=unique,
            rows=rows,
            rows_public=rows_public,
            rows_per_person=rows_per_person,
            rows_per_group=rows_per_group,
            groups_per_person=groups_per_person,
            nulls=nulls,
        )
        self._policy = replace(self._policy, tables={**self._policy.tables, table.name: table})

    def person(
        self,
        *,
        name: str | None = None,
        label: str | None = None,
        relation: str | None = None,
        group_size: int | None = None,
    ) -> None:
        """Who is protected, in words; and which two databases must be hard to tell apart. The rest stays as it is."""
        known = {each.value: each for each in Neighbours}
        if relation is not None and relation not in known:
            raise BadParameter(
                f"relation={relation!r} is not known",
                why="constants differ between the relations by up to a factor of two",
                fix=f"use one of {', '.join(map(repr, known))}",
            )
        now = self._policy.person
        person = Person(
            name=now.name if name is None else name,
            label=now.label if label is None else label,
            relation=now.relation if relation is None else known[relation],
            group_size=now.group_size if group_size is None else group_size,
        )
        require_count(group_size=person.group_size)
        self._policy = replace(self._policy, person=person)

    def promise(self, *, epsilon: Number, delta: Number = 0, delta_prime: Number | None = None) -> str:
        """What is promised to every person, over the life of the ledger. Returns it in words.

        Without `delta_prime`, half of δ is kept back for Gaussian noise.
        """
        require_epsilon(epsilon=epsilon)
        require_delta(delta=delta)
        reserved = stated(delta) / 2 if delta_prime is None else stated(delta_prime)
        promise = Promise(epsilon=stated(epsilon), delta=stated(delta), delta_prime=reserved)
        self._ledger.promise(epsilon=promise.epsilon, delta=promise.delta, delta_prime=promise.delta_prime)
        self._policy = replace(self._policy, promise=promise)
        return _odds(promise, self._policy.person.name)

    def defaults(
        self,
        *,
        cost_per_query: Number | None = None,
        confidence: Number | None = None,
        selection_share: Number | None = None,
        delta_per_query: Number | None = None,
        max_keys: int | None = None,
        mode: Literal["choose", "scale"] | None = None,
        noise: Literal["laplace", "gaussian"] | None = None,
    ) -> None:
        """What a query gets unless it says otherwise. What is left out stays as it is."""
        said: dict[str, object] = {
            "cost_per_query": None if cost_per_query is None else stated(cost_per_query),
            "confidence": None if confidence is None else stated(confidence),
            "selection_share": None if selection_share is None else stated(selection_share),
            "delta_per_query": None if delta_per_query is None else stated(delta_per_query),
            "max_keys": max_keys,
            "mode": None if mode is None else Mode(mode),
            "noise": None if noise is None else Noise(noise),
        }
        _require_sensible(said)
        given = {name: value for name, value in said.items() if value is not None}
        self._policy = replace(self._policy, defaults=replace(self._policy.defaults, **given))  # type: ignore[arg-type]

    def grant(
        self,
        to: str,
        *,
        budget: Number,
        max_per_query: Number | None = None,
        tables: Iterable[str] | None = None,
        expires: date | None = None,
    ) -> Analyst:
        """A spending limit under the promise, and a place to ask from."""
        require_epsilon(budget=budget)
        grant = Grant(
            to=to,
            budget=stated(budget),
            max_per_query=None if max_per_query is None else stated(max_per_query),
            tables=None if tables is None else tuple(map(folded, tables)),
            expires=expires,
        )
        return self.admit(grant)

    def analyst(self, name: str) -> Analyst:
        """The analyst of a grant in the policy file."""
        for grant in self._policy.grants:
            if grant.to == name:
                return self.admit(grant)
        raise NotPermitted(
            f"{name} has no grant in the policy",
            why="every spending has a limit the owner has set",
            fix="add a [[grant]] to the policy, or use grant(...)",
        )

    def admit(self, grant: Grant) -> Analyst:
        """The analyst of a grant."""
        self._ledger.grant(grant.to, epsilon=grant.budget)
        return Analyst(
            place=Place(
                catalog=self.catalog, engine=self._engine, ledger=self._ledger, grant=grant, source=self._source
            )
        )

    @property
    def catalog(self) -> Catalog:
        """The policy checked against the engine's schema."""
        return checked(self._policy, self._engine.schema())

    @property
    def budget(self) -> Budget:
        """What the promise to everybody has left."""
        return Budget.of(self._ledger.account())

    def new_data_version(self, label: str) -> None:
        """Say that the data have changed: stored answers are of the old version. The budget is the same one."""
        self._policy = replace(self._policy, data_version=label)

    def close(self) -> None:
        self._engine.close()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _require_sensible(said: Mapping[str, object]) -> None:
    for name, check in (
        ("cost_per_query", require_epsilon),
        ("confidence", require_open_unit),
        ("selection_share", require_open_unit),
        ("delta_per_query", require_open_unit),
        ("max_keys", require_count),
    ):
        value = said[name]
        if value is not None:
            check(**{name: value})  # type: ignore[arg-type]


def _csv_types(types: Mapping[str, str | SqlType] | None) -> dict[str, SqlType] | None:
    return None if types is None else {name: SqlType(kind) for name, kind in types.items()}


def _odds(promise: Promise, person: str) -> str:
    """The promise in words: how far a fifty-fifty guess about one person can move."""
    at_most = ceil(1000 / (1 + exp(-promise.epsilon))) / 1000  # rounded up: it is a limit
    return (
        f"Whatever is asked, for ever: a 50–50 guess about any one {person} becomes at most {at_most:.1%} "
        f"(ε = {float(promise.epsilon):g}, δ = {float(promise.delta):g})."
    )


def open_owner(
    path: str | PathLike[str],
    *,
    ledger: str | PathLike[str] | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> Owner:
    """A ledger with an empty database in memory, or a policy file with the source it names.

    `path` is `:memory:`, the path of a ledger file, or that of a policy file that ends in .toml; its ledger is kept
    beside it unless `ledger` says where. `threads` and `memory_limit` are those of the database in memory.
    """
    text = fspath(path)
    if not text.endswith(".toml"):
        policy = Policy(
            source="memory:",
            ledger=None,
            data_version="1",
            person=Person(),
            promise=None,
            defaults=Defaults(),
            tables={},
        )
        kept: Ledger = MemoryLedger() if text == ":memory:" else SqliteLedger(Path(text))
        engine = DuckdbEngine.in_memory(threads=threads, memory_limit=memory_limit)
        return Owner(policy=policy, engine=engine, ledger=kept, source=SYSTEM)
    policy = load(Path(text))
    place = Path(fspath(ledger)) if ledger is not None else Path(text).with_suffix(".ledger")
    kept = SqliteLedger(place)
    _require_same_ledger(policy, kept)
    if policy.promise is not None:
        promise = policy.promise
        kept.promise(epsilon=promise.epsilon, delta=promise.delta, delta_prime=promise.delta_prime)
    return Owner(policy=policy, engine=open_source(policy.source), ledger=kept, source=SYSTEM)


def _require_same_ledger(policy: Policy, ledger: Ledger) -> None:
    if policy.ledger is not None and policy.ledger != ledger.id:
        raise NotPermitted(
            "the policy names another ledger",
            why="a fresh ledger would forget what was spent, and with it the promise",
            fix="open the ledger the policy names; an owner who means it removes `ledger` from [source]",
        )
