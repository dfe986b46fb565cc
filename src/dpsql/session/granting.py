"""Grants between the policy, where the owner writes them, and the ledger, which keeps them."""

from __future__ import annotations

from collections.abc import Iterable

from dpsql.catalog.model import Grant
from dpsql.errors import NotPermitted
from dpsql.ledger.facts import Granted, Revoked
from dpsql.ledger.ledger import Conditions, Ledger


def keep_grant(ledger: Ledger, grant: Grant) -> None:
    """Write a grant down with everything it says; the same again is nothing."""
    conditions = Conditions(
        max_per_query=grant.max_per_query,
        tables=grant.tables,
        expires=grant.expires,
        members=grant.members,
        sees_releases=grant.sees_releases,
    )
    ledger.grant(grant.to, epsilon=grant.budget, conditions=conditions)


def grant_of(name: str, *, written: Iterable[Grant], ledger: Ledger) -> Grant:
    """The grant of an analyst, alone or of a group: as the policy says, else as the ledger does. What was revoked there
    stays revoked, also where the policy still names it."""
    said = ledger.grants()
    for grant in (*written, *(_as_granted(fact) for fact in said.values() if isinstance(fact, Granted))):
        if name in grant.analysts:
            if isinstance(said.get(grant.to), Revoked):
                raise _revoked(grant.to)
            return grant
    if isinstance(said.get(name), Revoked):
        raise _revoked(name)
    raise NotPermitted(
        f"{name} has no grant",
        why="every spending has a limit the owner has set",
        fix="add a [[grant]] to the policy, or use grant(...)",
    )


def _as_granted(said: Granted) -> Grant:
    conditions = said.conditions
    return Grant(
        to=said.analyst,
        budget=said.epsilon,
        max_per_query=conditions.max_per_query,
        tables=conditions.tables,
        expires=conditions.expires,
        members=conditions.members,
        sees_releases=conditions.sees_releases,
    )


def _revoked(holder: str) -> NotPermitted:
    return NotPermitted(
        f"the grant of {holder} was revoked",
        why="the owner decides who may ask",
        fix="ask the owner of the data for a new one",
    )
