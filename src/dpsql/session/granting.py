"""Grants between the policy, where the owner writes them, and the ledger, which keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from dpsql.catalog.model import Grant, Policy, Promise
from dpsql.catalog.settings import granted
from dpsql.errors import NotPermitted
from dpsql.ledger.facts import Granted, Revoked
from dpsql.ledger.grants import revoked
from dpsql.ledger.ledger import Conditions, Ledger


def keep_grant(ledger: Ledger, grant: Grant, *, anew: bool = True) -> None:
    """Write a grant down with everything it says; the same again is nothing. What was revoked is granted `anew`
    only."""
    conditions = Conditions(
        max_per_query=grant.max_per_query,
        tables=grant.tables,
        expires=grant.expires,
        members=grant.members,
        sees_releases=grant.sees_releases,
    )
    ledger.grant(grant.to, epsilon=grant.budget, conditions=conditions, anew=anew)


def grant_of(name: str, *, written: Iterable[Grant], ledger: Ledger) -> Grant:
    """The grant of an analyst, alone or of a group: as the policy says, else as the ledger does. What was revoked there
    stays revoked, also where the policy still names it."""
    said = ledger.grants()
    for grant in (*written, *_kept(ledger)):
        if name in grant.analysts:
            if isinstance(said.get(grant.to), Revoked):
                raise revoked(grant.to)
            return grant
    if isinstance(said.get(name), Revoked):
        raise revoked(name)
    raise NotPermitted(
        f"{name} has no grant",
        why="every spending has a limit the owner has set",
        fix="add a [[grant]] to the policy, or use grant(...)",
    )


def said_grant(words: Mapping[str, object], policy: Policy, ledger: Ledger) -> Grant:
    """A grant said in a call, held to the rules of the policy file: under the promise that holds, and no second limit
    of somebody who has one in the file or in the ledger."""
    account = ledger.account()  # the promise may be of an earlier opening
    promise = Promise(epsilon=account.epsilon, delta=account.delta, delta_prime=account.delta_prime)
    return granted(words, replace(policy, promise=promise, grants=(*policy.grants, *_kept(ledger))))


def _kept(ledger: Ledger) -> Iterator[Grant]:
    """The grants that hold by the ledger."""
    return (_as_granted(fact) for fact in ledger.grants().values() if isinstance(fact, Granted))


def _as_granted(said: Granted) -> Grant:
    return under(Grant(to=said.analyst, budget=said.epsilon), said.conditions)


def under(grant: Grant, conditions: Conditions) -> Grant:
    """The same grant under what the ledger says of it."""
    return replace(
        grant,
        max_per_query=conditions.max_per_query,
        tables=conditions.tables,
        expires=conditions.expires,
        members=conditions.members,
        sees_releases=conditions.sees_releases,
    )
