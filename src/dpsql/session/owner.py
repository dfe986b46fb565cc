"""The owner of the data: declares tables, makes the promise, grants budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from math import ceil, exp
from types import TracebackType
from typing import Literal, Self, Unpack

from dpsql.catalog.declare import TableWords, declared, declared_types, listed_texts, needed_columns
from dpsql.catalog.model import Catalog, Grant, Mode, Noise, Person, Policy, Promise
from dpsql.catalog.names import folded
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.engine import Engine
from dpsql.errors import BadParameter, NotPermitted
from dpsql.ledger.ledger import Ledger
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import Source
from dpsql.require import Number, require_count, require_delta, require_epsilon, require_open_unit
from dpsql.session.analyst import Analyst, Budget
from dpsql.session.answer import Place
from dpsql.session.declared import Declared
from dpsql.session.terms import stated


class Owner:
    """Holds the data, the ledger and the policy. What is changed holds for every analyst from the next question on."""

    def __init__(self, *, policy: Policy, engine: Engine, ledger: Ledger, source: Source) -> None:
        """Use `dpsql.open`."""
        self._engine, self._ledger, self._source = engine, ledger, source
        self._version_is_written = policy.data_version is not None
        policy = replace(policy, data_version=ledger.data_version(policy.data_version))
        self._declared = Declared(policy, engine=engine, ledger=ledger)
        if policy.promise is not None:
            self._keep(policy.promise)

    def register(self, name: str, data: object, **words: Unpack[TableWords]) -> None:
        """Copies a table in and declares it, as [table.NAME] of a policy file would; wholly or not at all.

        `data` is a pandas, polars or Arrow table, the path of a Parquet or CSV file, a DuckDB relation, or a DuckDB
        connection that holds the table. Columns that are not named here cannot be queried. The words are those of
        `dpsql.catalog.declare.TableWords`; docs/guide/python.md explains them.
        """
        engine = self._engine
        if not isinstance(engine, DuckdbEngine):
            raise NotPermitted(
                "tables are registered in memory only", why="this source has its own tables", fix="declare them there"
            )
        types = declared_types(name, words.get("types"))
        engine.add(name, data, types=types, texts=listed_texts(name, words), needed=needed_columns(name, words))
        try:
            columns = [column.name for column in engine.schema()[name].columns]
            table = declared(name, engine_columns=columns, **words)
            now = self._declared.policy
            self._declared.adopt(replace(now, tables={**now.tables, table.name: table}))
        except BaseException:
            engine.remove(name)
            raise

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
        policy = self._declared.policy
        now = policy.person
        person = Person(
            name=now.name if name is None else name,
            label=now.label if label is None else label,
            relation=now.relation if relation is None else known[relation],
            group_size=now.group_size if group_size is None else group_size,
        )
        require_count(group_size=person.group_size)
        self._declared.adopt(replace(policy, person=person))

    def promise(self, *, epsilon: Number, delta: Number = 0, delta_prime: Number | None = None) -> str:
        """What is promised to every person, over the life of the ledger. Returns it in words.

        Without `delta_prime`, half of δ is kept back for Gaussian noise.
        """
        require_epsilon(epsilon=epsilon)
        require_delta(delta=delta)
        reserved = stated(delta) / 2 if delta_prime is None else stated(delta_prime)
        promise = Promise(epsilon=stated(epsilon), delta=stated(delta), delta_prime=reserved)
        before = self._declared.policy
        self._declared.adopt(replace(before, promise=promise))
        try:
            self._keep(promise)
        except BaseException:
            self._declared.adopt(before)
            raise
        return _odds(promise, before.person.name)

    def _keep(self, promise: Promise) -> None:
        """Write the promise into the ledger, and with it whom it is about."""
        self._ledger.promise(epsilon=promise.epsilon, delta=promise.delta, delta_prime=promise.delta_prime)
        self._declared.under_promise()

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
        now = self._declared.policy
        self._declared.adopt(replace(now, defaults=replace(now.defaults, **given)))  # type: ignore[arg-type]

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
        for grant in self._declared.policy.grants:
            if grant.to == name:
                return self.admit(grant)
        raise NotPermitted(
            f"{name} has no grant in the policy",
            why="every spending has a limit the owner has set",
            fix="add a [[grant]] to the policy, or use grant(...)",
        )

    def admit(self, grant: Grant) -> Analyst:
        """The analyst of a grant."""
        self._declared.under_promise()
        self._ledger.grant(grant.to, epsilon=grant.budget)
        return Analyst(
            place=Place(
                declared=self._declared, engine=self._engine, ledger=self._ledger, grant=grant, source=self._source
            )
        )

    @property
    def catalog(self) -> Catalog:
        """The policy checked against the engine's schema."""
        return self._declared.catalog

    @property
    def budget(self) -> Budget:
        """What the promise to everybody has left."""
        return Budget.of(self._ledger.account())

    def new_data_version(self, label: str) -> None:
        """Say that the data have changed: stored answers are of the old version. The budget is the same one.

        The ledger keeps the label, so that it holds after a restart too.
        """
        if self._version_is_written:
            raise NotPermitted(
                "the policy file says the data version",
                why="said here as well, it would be the old one again when the file is opened the next time",
                fix=f'write data_version = "{label}" in [source] and open the file again',
            )
        self._declared.adopt(replace(self._declared.policy, data_version=self._ledger.data_version(label)))

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


def _odds(promise: Promise, person: str) -> str:
    """The promise in words: how far a fifty-fifty guess about one person can move."""
    at_most = ceil(1000 / (1 + exp(-promise.epsilon))) / 1000  # rounded up: it is a limit
    return (
        f"Whatever is asked, for ever: a 50–50 guess about any one {person} becomes at most {at_most:.1%} "
        f"(ε = {float(promise.epsilon):g}, δ = {float(promise.delta):g})."
    )
