"""The owner of the data: declares tables, makes the promise, grants budgets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Literal, Unpack

from dpsql.catalog.declare import TableWords, column_declarations, declared, with_types
from dpsql.catalog.model import Catalog, Grant, Policy, Promise
from dpsql.catalog.names import OWNER_ACCOUNT
from dpsql.catalog.sections import defaults_of, person_of, promise_of, said
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.engine import Engine
from dpsql.errors import NotPermitted
from dpsql.ledger.book import Ledger
from dpsql.randomness import Source
from dpsql.require import Number
from dpsql.session.analyst import Analyst
from dpsql.session.answer import Place
from dpsql.session.budget import Budget
from dpsql.session.deciding import Deciding, promised_in_words
from dpsql.session.declared import Declared, Registered
from dpsql.session.granting import analysts_of, changed_grants, grant_of, keep_grant, said_grant
from dpsql.session.inventing import ledger_of_nobody

if TYPE_CHECKING:
    from dpsql.session.auditing import Audit
    from dpsql.session.keeper import Keeper
    from dpsql.session.suggesting import OwnPlace, Suggestion


class Owner(Deciding):
    """Holds the data, the ledger and the policy. What is changed holds for every analyst from the next question on."""

    def __init__(self, *, policy: Policy, engine: Engine, ledger: Ledger, source: Source) -> None:
        """Use `dpsql.open`."""
        self._engine, self._ledger, self._source = engine, ledger, source
        self._version_is_written = policy.data_version is not None
        self._promise_is_written = policy.promise
        self.grants_changed: tuple[str, ...] = ()
        """In words: which grants the policy file has added, changed or revoked when it was opened."""
        version = policy.data_version
        policy = replace(policy, data_version=ledger.data_version() if version is None else version)
        self._declared = Declared(policy, engine=engine, ledger=ledger)
        if policy.promise is None:
            ledger.data_version(version)
        elif not self._keep(policy.promise, anew=False, version=version):
            self._declared.without_promise()

    def register(self, name: str, data: object, **words: Unpack[TableWords]) -> Registered:
        """Copies a table in and declares it, as [table.NAME] of a policy file would; wholly or not at all.

        `data` is a pandas, polars or Arrow table, the path of a Parquet, CSV or JSON lines file, a DuckDB relation, or
        a DuckDB connection that holds the table. What is not named here cannot be queried. Whose a row is, is declared
        by exactly one of person, person_via, unit="row" and public=True. Returns the schema that is declared, in which
        no type comes from rows. The words:

        person             the column, or columns, that name a row's person
        person_via         the way to the person through other tables: "visit_id -> visits.visit_id -> patient_id"
        public             True: nobody is in it; exact answers, for nothing
        unit               "row": each row is protected by itself
        unique             True: one row per person. Of a public table: columns whose values are all different
        rows               a size everybody may know, for previews: 6000 or "about 6000"
        rows_public        True: `rows` is exact and public (unit="row" under the relation "change_one" only)
        rows_per_person    how many rows of one person count where nothing is grouped
        rows_per_group     how many count inside one group; rows_per_person unless said
        groups_per_person  in how many groups one person counts
        bounds             {"age": (0, 110)}: the smallest and the largest value that counts
        keys               {"city": ["Basel", "Bern"], "drug": "private", "day": "calendar"}: how groups become known
        types              {"age": "integer"}: what a column is; a value that does not fit is NULL
        nulls              {"age": "never"}: the owner knows of no NULL
        hidden             columns that are never shown, grouped or filtered on
        columns            further columns that may be named in a query; "all": every one

        docs/guide/python.md explains them.
        """
        engine = self._engine
        if not isinstance(engine, DuckdbEngine):
            raise NotPermitted(
                "tables are registered in memory only", why="this source has its own tables", fix="declare them there"
            )
        types = engine.add(name, data, column_declarations(name, words, known=self._declared.types_before(name)))
        try:
            columns = [column.name for column in engine.schema()[name].columns]
            table = with_types(declared(name, engine_columns=columns, **words), types)
            now = self._declared.policy
            self._declared.adopt(replace(now, tables={**now.tables, table.name: table}))
        except BaseException:
            engine.remove(name)
            raise
        return Registered.of(self._declared.catalog, table.name, types)

    def person(
        self,
        *,
        name: str | None = None,
        label: str | None = None,
        relation: str | None = None,
        group_size: int | None = None,
    ) -> None:
        """Who is protected, in words; and which two databases must be hard to tell apart. The rest stays as it is."""
        policy = self._declared.policy
        words = {"name": name, "label": label, "relation": relation, "group_size": group_size}
        person = said("person", words, lambda section: person_of(section, policy.person))
        self._declared.adopt(replace(policy, person=person))

    def promise(
        self,
        *,
        epsilon: Number,
        delta: Number = 0,
        delta_prime: Number | None = None,
        per: str | None = None,
        accounting: Literal["full", "basic"] | None = None,
    ) -> str:
        """What is promised to every person, over the life of the ledger. Returns it in words.

        Without `delta_prime`, half of δ is kept back for Gaussian noise; with accounting="basic" nothing is, and ε
        alone is added up. `per` is "forever" unless a window is named in which you mean to `renew` it; it is part of
        the promise, and stays.
        """
        words = {
            "epsilon": epsilon,
            "delta": delta,
            "delta_prime": delta_prime,
            "per": per,
            "accounting": accounting,
        }
        return self._promised(said("promise", words, promise_of))

    def promise_again(self) -> str:
        """After `close_promise`: make the promise of the policy file. People are then promised it in addition to what
        they were promised before; returned in words."""
        if self._declared.promised or self._promise_is_written is None:
            raise NotPermitted(
                "the promise of the policy file holds" if self._declared.promised else "the policy file has no promise",
                why="it is made again only after it was closed",
                fix="close it first: close_promise(reason), or dpsql budget close --reason …; or write [promise]",
            )
        return self._promised(self._promise_is_written)

    def _promised(self, promise: Promise) -> str:
        before = self._declared.policy
        self._declared.adopt(replace(before, promise=promise))
        try:
            self._keep(promise, anew=True)
        except BaseException:
            self._declared.adopt(before)
            raise
        return promised_in_words(self._ledger.promises(), self._person)

    def close_promise(self, reason: str) -> str:
        """End the promise and every grant under it. Only `promise` makes another one: a policy file that is opened
        again does not. Returns in words what stays promised."""
        told = super().close_promise(reason)
        self._declared.without_promise()
        return told

    def _keep(self, promise: Promise, *, anew: bool, version: str | None = None) -> bool:
        """Write the promise into the ledger, and with it whom it is about and what the file grants. A policy that is
        opened after its promise was closed does not make it again: False."""
        before = self._ledger.grants()
        holds = self._declared.make_promise(promise, anew=anew, version=version)
        self.grants_changed = changed_grants(before, self._ledger.grants())
        return holds

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
        words = {
            "cost_per_query": cost_per_query,
            "confidence": confidence,
            "selection_share": selection_share,
            "delta_per_query": delta_per_query,
            "max_keys": max_keys,
            "mode": mode,
            "noise": noise,
        }
        now = self._declared.policy
        defaults = said("defaults", words, lambda section: defaults_of(section, now.defaults))
        self._declared.adopt(replace(now, defaults=defaults))

    def grant(
        self,
        to: str,
        *,
        budget: Number,
        max_per_query: Number | None = None,
        tables: str | Iterable[str] | None = None,
        expires: date | str | None = None,
        sees_releases: bool | None = None,
    ) -> Analyst:
        """A spending limit under the promise, and a place to ask from: all tables unless some are named, for ever
        unless a day (UTC) is. Others spend from it by tokens that name it: `keeper.admit`.

        With sees_releases=True what others have asked is told again for nothing, without a word of who asked.
        """
        self._declared.under_promise()
        words = {
            "to": to,
            "budget": budget,
            "max_per_query": max_per_query,
            "tables": tables,
            "expires": expires,
            "sees_releases": sees_releases,
        }
        return self.admit(said_grant(words, self._declared.policy, self._ledger))

    def analyst(self, name: str) -> Analyst:
        """The analyst of this name under the grant of their token, or of their name, as the ledger keeps it: those of
        the policy file were written there when it was opened. Whoever connects changes no grant."""
        grant = grant_of(name, ledger=self._ledger)
        if not self._declared.promised:  # of an earlier opening
            self._declared.under_promise()
        return self._place_of(grant, name)

    @property
    def analysts(self) -> tuple[str, ...]:
        """Everybody who has a grant of their own name."""
        return analysts_of(self._ledger)

    def admit(self, grant: Grant) -> Analyst:
        """The analyst of a grant."""
        self._declared.under_promise()
        keep_grant(self._ledger, grant, self._declared.policy)
        return self._place_of(grant, grant.to)

    def suggest_bounds(self, column: str, *, spend: Number, share: Number = 0.99) -> Suggestion:
        """Bounds for a column such as "visits.charge", found by a private question: charged from the promise, stored,
        audited. All values of about this share of the people lie within. Asked again, it is free."""
        from dpsql.session.suggesting import suggested_bounds  # only suggestions need it

        return suggested_bounds(self._own_place(), column, spend=spend, share=share)

    def suggest_rows_per_person(self, table: str, *, spend: Number, share: Number = 0.99) -> Suggestion:
        """How many rows about this share of the people have at most, found by a private question likewise."""
        from dpsql.session.suggesting import suggested_rows

        return suggested_rows(self._own_place(), table, spend=spend, share=share)

    def suggest_keys(self, column: str, *, spend: Number) -> Suggestion:
        """The groups of a column with private keys that enough people have, found by a private question likewise."""
        from dpsql.session.suggesting import suggested_keys

        return suggested_keys(self._own_place(), column, spend=spend)

    def _own_place(self) -> OwnPlace:
        """Where the owner asks: under an account of their own, whose only limit is the promise. It is opened when a
        question has a plan and can be paid for: what is refused leaves nothing behind."""
        from dpsql.session.suggesting import OwnPlace

        promise = self._ledger.account()
        grant = Grant(to=OWNER_ACCOUNT, budget=promise.epsilon)
        if OWNER_ACCOUNT in self._ledger.grants():
            asking = self.admit(grant)
            return OwnPlace(planning=asking, asking=lambda: asking)
        self._declared.under_promise()
        nobody = ledger_of_nobody(self._declared.catalog, promise, grant)
        frozen = self._ledger.frozen()
        if frozen is not None:
            nobody.freeze(frozen)
        accounts = (promise, promise.grant(epsilon=promise.epsilon))
        place = replace(self._place_of(grant, grant.to).place, ledger=nobody, planned_under=accounts)
        return OwnPlace(planning=Analyst(place=place), asking=lambda: self.admit(grant))

    @property
    def _person(self) -> str:
        return self._declared.policy.person.name

    def _place_of(self, grant: Grant, name: str) -> Analyst:
        return Analyst(
            place=Place(
                declared=self._declared,
                engine=self._engine,
                ledger=self._ledger,
                analyst=name,
                grant=grant,
                source=self._source,
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

    @property
    def keeper(self) -> Keeper:
        """The ledger without the data: freeze, tokens, export, verify."""
        from dpsql.session.keeper import Keeper  # only who decides about the ledger needs it

        return Keeper(self._ledger, policy=self._declared.policy, place=None)

    def audit(self) -> Audit:
        """Whether the promise was kept: print it, or look through its payments for rows that do not `agree`.
        LedgerBroken where the ledger itself does not verify. Reads no data; question texts are in it."""
        return self.keeper.audit(texts=True)

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
