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
    """The grant of an analyst: as the policy says, else as the ledger does. What was revoked there stays revoked, also
    where the policy still names it."""
    for grant in written:
        if name in grant.analysts:
            require_not_revoked(ledger, grant.to)
            return grant
    require_not_revoked(ledger, name)
    said = ledger.granted(name)
    if isinstance(said, Granted):
        return _as_granted(said)
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


def require_not_revoked(ledger: Ledger, name: str) -> None:
    """The owner has not taken the grant back."""
    if isinstance(ledger.granted(name), Revoked):
        raise NotPermitted(
            f"the grant of {name} was revoked",
            why="the owner decides who may ask",
            fix="ask the owner of the data for a new one",
        )
