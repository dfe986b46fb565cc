"""What the owner has declared, as it stands: the owner changes it, analysts look at it anew with each question."""

from __future__ import annotations

from dataclasses import replace

from dpsql.catalog.check import checked
from dpsql.catalog.digest import declarations, text_digest
from dpsql.catalog.model import Catalog, Policy
from dpsql.catalog.ownership import declared_ways
from dpsql.engines.engine import Engine
from dpsql.ledger.ledger import Ledger, Ownership


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
        """Put another policy in its place: checked against the engine and, under a promise, against the ledger."""
        catalog = checked(policy, self._engine.schema(), views=self._engine.views())
        if self.promised:
            self._keep(catalog)
        self.policy, self.catalog = policy, catalog

    def under_promise(self) -> None:
        """From here on the ledger keeps what is declared and whom the promise is about: nothing can be asked before."""
        self._keep(self.catalog)
        self.promised = True

    def _keep(self, catalog: Catalog) -> None:
        self._ledger.own(ownership_of(catalog))
        text = declarations(catalog.policy)
        self._ledger.adopt(text_digest(text), text)

    def without_promise(self) -> None:
        """The promise has ended: what is declared now binds nobody until there is another one."""
        self.policy = replace(self.policy, promise=None)
        self.catalog = replace(self.catalog, policy=replace(self.catalog.policy, promise=None))
        self.promised = False


def ownership_of(catalog: Catalog) -> Ownership:
    """Whom a promise under this catalogue is about."""
    policy = catalog.policy
    return Ownership(relation=policy.person.relation.value, tables=declared_ways(policy.tables))
