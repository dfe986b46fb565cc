"""Grants between the policy, where the owner writes them, and the ledger, which keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dpsql.catalog.model import Grant, Policy, Promise
from dpsql.catalog.names import OWNER_ACCOUNT
from dpsql.catalog.sections import granted
from dpsql.errors import NotPermitted
from dpsql.ledger.book import Ledger
from dpsql.ledger.facts import Granted, Revoked
from dpsql.ledger.grants import is_beside_the_file
from dpsql.ledger.ledger import Conditions, GrantedBy
from dpsql.safe_text import printable
from dpsql.session.digits import shown_amount


def grants_of_file(policy: Policy) -> tuple[Granted, ...]:
    """What a policy file grants, as the ledger keeps it."""
    return tuple(_as_fact(grant, GrantedBy.FILE) for grant in policy.grants)


def changed_grants(before: Mapping[str, Granted | Revoked], after: Mapping[str, Granted | Revoked]) -> tuple[str, ...]:
    """What is granted since, changed or revoked, each in words."""
    return tuple(
        f"{printable(name)}: {_change(before.get(name), word)}"
        for name, word in sorted(after.items())
        if before.get(name) != word
    )


def grant_changes(ledger: Ledger, policy: Policy) -> Iterator[str]:
    """What applying the file would change in the grants, in words; nothing is written."""
    words = ledger.grants()
    written = {grant.analyst: grant for grant in grants_of_file(policy)}
    for name, word in sorted({**words, **written}.items()):
        known = words.get(name)
        if known is not None and is_beside_the_file(known):
            continue
        if name not in written and isinstance(known, Granted) and known.by is GrantedBy.FILE:
            yield f"{printable(name)}: {_change(known, Revoked(analyst=name, by_file=True))}"
        elif name in written and word != known:
            yield f"{printable(name)}: {_change(known, word)}"


def _change(before: Granted | Revoked | None, after: Granted | Revoked) -> str:
    if isinstance(after, Revoked):
        return "revoked"
    budget = shown_amount(after.epsilon)
    if not isinstance(before, Granted):
        return f"granted {budget}"
    if before.epsilon != after.epsilon:
        return f"changed to {budget}, was {shown_amount(before.epsilon)}"
    return f"changed, still {budget}"


def keep_grant(ledger: Ledger, grant: Grant, policy: Policy) -> None:
    """Write a grant down that was said in a call; the same again is nothing. Of somebody whom the policy file names it
    holds in place of the file's, until it says the same as the file."""
    by = GrantedBy.CALL
    if any(each.to == grant.to for each in policy.grants):
        by = GrantedBy.FILE if grant in policy.grants else GrantedBy.BESIDE
    fact = _as_fact(grant, by)
    ledger.grant(fact.analyst, epsilon=fact.epsilon, conditions=fact.conditions, by=fact.by)


def _as_fact(grant: Grant, by: GrantedBy) -> Granted:
    conditions = Conditions(
        max_per_query=grant.max_per_query,
        tables=grant.tables,
        expires=grant.expires,
        sees_releases=grant.sees_releases,
    )
    return Granted(analyst=grant.to, epsilon=grant.budget, conditions=conditions, by=by)


def grant_of(name: str, *, ledger: Ledger) -> Grant:
    """The grant that pays for an analyst, as the ledger says: the one that their token names, or that of their name."""
    require_a_persons_name(name)
    word = ledger.granted_to(name)
    return under(Grant(to=word.analyst, budget=word.epsilon), word.conditions)


def said_grant(words: Mapping[str, object], policy: Policy, ledger: Ledger) -> Grant:
    """A grant said in a call, held to the rules of the policy file under the promise that holds."""
    account = ledger.account()  # the promise may be of an earlier opening
    promise = Promise(epsilon=account.epsilon, delta=account.delta, delta_prime=account.delta_prime)
    return granted(words, replace(policy, promise=promise))


def analysts_of(ledger: Ledger) -> tuple[str, ...]:
    """Everybody who has a grant by the ledger, by name; the account of the owner is nobody."""
    held = {name for name, word in ledger.grants().items() if isinstance(word, Granted)}
    return tuple(sorted(held - {OWNER_ACCOUNT}))


def require_a_persons_name(name: str | None) -> None:
    """NotPermitted where this is the account of the owner, whose only limit is the promise."""
    if name == OWNER_ACCOUNT:
        raise NotPermitted(
            f"nobody asks as {OWNER_ACCOUNT}",
            why="under this name the ledger keeps what the owner pays for suggestions, and its limit is the promise",
            fix="ask under the name of a grant; for suggestions: dpsql table suggest, owner.suggest_bounds(…)",
        )


def under(grant: Grant, conditions: Conditions) -> Grant:
    """The same grant under what the ledger says of it."""
    return replace(
        grant,
        max_per_query=conditions.max_per_query,
        tables=conditions.tables,
        expires=conditions.expires,
        sees_releases=conditions.sees_releases,
    )
