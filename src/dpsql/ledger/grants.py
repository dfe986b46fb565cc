"""The laws of spending limits: who may pay from which account, until when, and when nobody may."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Final

from dpsql.accounting.account import Account
from dpsql.errors import BadParameter, FrozenLedger, NotPermitted
from dpsql.ledger.facts import Frozen, Granted, Issued, Revoked, Unfrozen
from dpsql.ledger.ledger import NO_CONDITIONS, Charge, Conditions, GrantedBy
from dpsql.ledger.page import (
    Page,
    about_grant,
    about_user,
    latest_fact,
    readable,
    require_name,
    require_new_name,
    require_reason,
)
from dpsql.ledger.promises import account, promised
from dpsql.require import require_epsilon

_ASK: Final = "ask the owner of the data"


def grant(page: Page, holder: str, *, epsilon: Fraction, conditions: Conditions, by: GrantedBy) -> None:
    """Set the budget of a grant; what was spent stays spent."""
    granted = _limit(page, holder, epsilon=epsilon, conditions=conditions)
    said = Granted(analyst=holder, epsilon=granted.epsilon, conditions=conditions, by=by)
    known = page.account(holder)
    if known is not None and latest_fact(page, about_grant(holder), Granted) == said:
        return
    page.keep_latest(about_grant(holder), page.append(said))
    page.keep_account(holder, granted if known is None else replace(granted, spent=known.spent))


def say(
    page: Page,
    holder: str,
    *,
    epsilon: Fraction,
    conditions: Conditions = NO_CONDITIONS,
    by: GrantedBy = GrantedBy.CALL,
) -> None:
    """Open an account of this name under the promise. The same grant again is nothing; a changed one is a new limit on
    the same spending. BadParameter where its last day is past."""
    require_new_name(holder)
    _require_to_come(page, conditions.expires)
    grant(page, holder, epsilon=epsilon, conditions=conditions, by=by)


def _require_to_come(page: Page, expires: date | None) -> None:
    if _is_over(page, expires):
        raise BadParameter(
            f"a grant that ends on {expires} has ended already",
            why=f"by the ledger it is {_today(page).isoformat()} (UTC), and nothing could be asked under it",
            fix="name a later day, or revoke the grant that holds",
        )


def adopt(page: Page, written: Iterable[Granted]) -> set[str]:
    """The grants of a policy file, all of them, when it is opened: what an earlier one named and this one does not is
    revoked; the names of those. Where the owner has revoked a grant under this promise, or said another one in place of
    the file's, that word holds."""
    named = {each.analyst: each for each in written}
    for each in named.values():
        require_new_name(each.analyst)
        _limit(page, each.analyst, epsilon=each.epsilon, conditions=each.conditions)
    words = said(page)
    ended = {
        holder
        for holder, word in words.items()
        if holder not in named and isinstance(word, Granted) and word.by is GrantedBy.FILE
    }
    named = {name: each for name, each in named.items() if name not in words or not is_beside_the_file(words[name])}
    for holder in sorted(ended):
        revoke(page, holder, by_file=True)
    for each in named.values():
        grant(page, each.analyst, epsilon=each.epsilon, conditions=each.conditions, by=GrantedBy.FILE)
    return ended


def of_closed_files(page: Page) -> set[str]:
    """Whose grant a policy file made under a promise that was closed, and nobody has spoken of since."""
    words = (page.fact(number) for number in page.latest_under(about_grant("")).values())
    made = (fact.analyst for fact in words if isinstance(fact, Granted) and fact.by is GrantedBy.FILE)
    return {holder for holder in made if page.account(holder) is None}


def is_beside_the_file(word: Granted | Revoked) -> bool:
    """The owner has said it of somebody whatever the policy file says of them."""
    return not word.by_file if isinstance(word, Revoked) else word.by is GrantedBy.BESIDE


def _limit(page: Page, holder: str, *, epsilon: Fraction, conditions: Conditions) -> Account:
    """The account of a grant, before anything is spent; raises where it cannot be one."""
    require_name(holder)
    _require_conditions(conditions)
    return promised(page).grant(epsilon=epsilon)


def _require_conditions(conditions: Conditions) -> None:
    for table in conditions.tables or ():
        readable(table, "the name of a table", "a grant is for the tables it names; an invisible one could be any")
    if conditions.max_per_query is not None:
        require_epsilon(max_per_query=conditions.max_per_query)


def revoke(page: Page, holder: str, *, by_file: bool = False) -> None:
    """Nothing is paid from the grant any more; the same again is nothing. Its spending is remembered, should there be
    a new one. What the file let go, the owner may still revoke: then the file does not bring it back."""
    require_name(holder)
    known = page.account(holder)
    if known is None:
        raise NotPermitted(
            f"{holder} has no grant",
            why="there is nothing to take back",
            fix="look at the grants in the policy, or in the ledger",
        )
    word = latest_fact(page, about_grant(holder), Revoked)
    if word is None or (word.by_file and not by_file):
        page.keep_latest(about_grant(holder), page.append(Revoked(analyst=holder, by_file=by_file)))


def said(page: Page) -> dict[str, Granted | Revoked]:
    """What was said last about each grant under this promise, by its name."""
    words = [page.fact(number) for number in page.latest_under(about_grant("")).values()]
    return {
        fact.analyst: fact
        for fact in words
        if isinstance(fact, (Granted, Revoked)) and page.account(fact.analyst) is not None
    }


def granted_to(page: Page, analyst: str) -> Granted:
    """What was said last about the grant that pays for an analyst: the one that their token names, or that of their
    name. NotPermitted without one."""
    account(page)  # where no promise holds, that is why
    require_name(analyst)
    user = latest_fact(page, about_user(analyst), Issued)
    holder = analyst if user is None or user.user.grant is None else user.user.grant
    account(page, holder)  # where it has ended with its promise, that is why
    return _granted(page, holder)


def conditions_for(page: Page, analyst: str, *, grant: str) -> Conditions:
    """What the owner says of this grant now. Raises where this analyst may not ask under it."""
    require_not_frozen(page)
    conditions = _granted(page, grant).conditions
    if not _pays_for(page, grant, analyst):
        raise NotPermitted(
            f"{analyst} does not pay from the budget of {grant}",
            why="a budget is spent under its own name, or by a token that names it",
            fix=_ASK,
        )
    _require_not_expired(page, grant, conditions.expires)
    return conditions


def _pays_for(page: Page, grant: str, analyst: str) -> bool:
    """It is the grant of this name, or the one that a token of this name is for."""
    held = None if analyst == grant else latest_fact(page, about_user(analyst), Issued)
    return analyst == grant or (held is not None and held.user.grant == grant)


def end_of(page: Page, grant: str, *, analyst: str | None = None) -> str | None:
    """Why nothing is paid from a grant any more, or nothing that this analyst asks: "revoked", "ended on 2026-12-31";
    None: it holds."""
    granted = latest_fact(page, about_grant(grant), Granted)
    if granted is None:
        return "revoked"
    if _is_over(page, granted.conditions.expires):
        return f"ended on {granted.conditions.expires}"
    if analyst is not None and not _pays_for(page, grant, analyst):
        return f"not for {analyst} any more"
    return None


def _require_not_expired(page: Page, holder: str, expires: date | None) -> None:
    if _is_over(page, expires):
        raise NotPermitted(
            f"the grant of {holder} ended on {expires}",
            why="the owner gave access for a limited time",
            fix="ask the owner for a new grant",
        )


def _is_over(page: Page, expires: date | None) -> bool:
    """By the time of the ledger: that of the clock or of the last entry, whichever is later."""
    return expires is not None and _today(page) >= expires


def _today(page: Page) -> date:
    return datetime.fromtimestamp(page.now(), UTC).date()


def require_below_cap(conditions: Conditions, asked: Charge) -> None:
    """The owner allows this price for one question."""
    if conditions.max_per_query is not None and asked.cost > conditions.max_per_query:
        raise NotPermitted(
            "this answer costs more than the grant allows for one question",
            why="the owner limits what one answer may cost",
            fix="ask for less accuracy",
        )


def _granted(page: Page, holder: str) -> Granted:
    said = latest_fact(page, about_grant(holder), Granted)
    if said is None:
        raise NotPermitted(
            f"the grant of {holder} was revoked",
            why="the owner decides who may ask",
            fix="ask the owner of the data for a new one",
        )
    return said


def freeze(page: Page, reason: str, *, by: str | None = None) -> None:
    """Nothing is charged and nothing told until `unfreeze`; the same reason again is nothing. `by` is who says so;
    None: the owner."""
    require_reason(reason, "a freeze")
    if by is not None:
        require_name(by)
    if frozen(page) != reason:
        page.keep_latest("freeze", page.append(Frozen(reason=reason, by=by)))


def unfreeze(page: Page, reason: str, *, by: str | None = None) -> None:
    """Questions are answered again; nothing where they are already."""
    require_reason(reason, "an unfreeze")
    if by is not None:
        require_name(by)
    if frozen(page) is not None:
        page.keep_latest("freeze", page.append(Unfrozen(reason=reason, by=by)))


def frozen(page: Page) -> str | None:
    """Why nothing is told now; None: it is."""
    said = latest_fact(page, "freeze", Frozen)
    return None if said is None else said.reason


def require_not_frozen(page: Page) -> None:
    """Questions are answered now."""
    said = latest_fact(page, "freeze", Frozen)
    if said is not None:
        raise FrozenLedger(
            f"{said.by or 'the owner'} has frozen this source: {said.reason}",
            why="while something is being looked into, nothing more is told about anybody",
            fix=f"{_ASK}; nothing was spent",
        )
