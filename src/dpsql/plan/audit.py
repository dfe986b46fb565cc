"""The price of a stored plan, derived again from its record alone, as `seal` derived it when it was charged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dpsql.accounting.triple import Triple
from dpsql.catalog.model import Catalog, Defaults, KeyList, Person, Policy, TablePolicy
from dpsql.catalog.ownership import declared_ways
from dpsql.errors import DpsqlError, LedgerBroken
from dpsql.plan.price import Step
from dpsql.plan.record import kept, noises_of, read_plan
from dpsql.plan.seal import price_of_steps, reaches_of
from dpsql.plan.transcript import ReadTable
from dpsql.privacy.unit import Neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """What a record says was done, and what that costs."""

    steps: tuple[Step, ...]
    price: Triple
    owners: tuple[tuple[str, str], ...] = ()
    """Whom it protects: (table, way to its person) in the words of a ledger, and under the empty name the relation."""


def audited(record: str, *, lists: Mapping[str, KeyList] = MappingProxyType({})) -> Audited:
    """The steps of a record, if what they release costs no more than their events say; LedgerBroken otherwise.

    Nothing but the record is read, and of the declarations in the ledger the `lists` of keys that it names: no engine,
    no data. Whoever keeps the ledger compares the price with the one that was charged.
    """
    steps, tables, neighbours = read_plan(record, lists=lists)
    if tuple(law for _, law in kept(record).noises) != noises_of(steps):
        raise _disagreement(
            "its margins are not those of its noise", why="answers that are told again would carry a wrong ±"
        )
    catalog = _catalog(tables, neighbours)
    try:
        price = price_of_steps(steps, reaches_of(steps, catalog))
    except LedgerBroken:
        raise
    except DpsqlError as error:
        raise _disagreement(
            error.what, why="its price, derived again from the record, is more than the record says"
        ) from None
    owners = (("", neighbours.value), *declared_ways(catalog.policy.tables))
    return Audited(steps=steps, price=price, owners=owners)


def _disagreement(what: str, *, why: str) -> LedgerBroken:
    return LedgerBroken(
        f"a stored plan does not hold what it promises: {what}",
        why=why,
        fix="verify the ledger and compare it with its backup",
    )


def _catalog(tables: tuple[ReadTable, ...], neighbours: Neighbours) -> Catalog:
    """The declarations the derivation reads, and no others."""
    policy = Policy(
        source="",
        ledger=None,
        data_version="",
        person=Person(relation=neighbours),
        promise=None,
        defaults=Defaults(),
        tables={
            table.name: TablePolicy(
                name=table.name,
                source=table.source,
                public=table.public,
                unit_row=table.unit_row,
                person=table.person,
                path=table.path,
                columns={},
            )
            for table in tables
        },
    )
    return Catalog(policy=policy, schema={table.name: table.engine for table in tables})
