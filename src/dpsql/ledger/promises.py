"""The laws of the promise: made once, renewed and closed by the owner alone, never by a clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from operator import itemgetter
from typing import Final

from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE, Triple
from dpsql.errors import BadParameter, NotPermitted
from dpsql.ledger.facts import Closed, Promised, Renewed, WrittenOff
from dpsql.ledger.ledger import Head, Made
from dpsql.ledger.page import SOURCE, Page, WholePage, about_grant, latest_fact, require_name, require_reason
from dpsql.privacy.window import Window
from dpsql.require import shown

_WAS_CLOSED: Final = "the promise of this source was closed"
_ANOTHER: Final = (
    "the owner of the data can make another one, if people may be promised the sum of both, and grant budgets under it:"
    " owner.promise(epsilon=…), then owner.grant(…); or dpsql policy apply --new-promise"
)


def promise(page: Page, account: Account, *, per: Window, anew: bool = True) -> bool:
    """Open the account of the source. Whether the promise holds: one that was closed is made `anew` only."""
    known = page.account(SOURCE)
    if known is None and not anew and _closed(page) is not None:
        return False
    if known is None:
        page.keep_latest("promise", page.append(Promised(account=account, per=per)))
        page.keep_account(SOURCE, account)
        return True
    changed = [
        _was_and_is(name, before, now)
        for name in ("epsilon", "delta", "delta_prime")
        if (before := getattr(known, name)) != (now := getattr(account, name))
    ]
    held = window(page)
    if per is not held:
        changed.append(f'per was "{held.value}" and is now "{per.value}"')
    if changed:
        raise _another_promise(changed)
    return True


def _was_and_is(name: str, before: Fraction, now: Fraction) -> str:
    """In short digits, unless they are the same: a float is a little beside the decimal it was written as."""
    first, second = shown(before), shown(now)
    if first == second:
        first, second = str(before), str(now)
    return f"{name} was {first} and is now {second}"


def _another_promise(changed: Sequence[str]) -> BadParameter:
    return BadParameter(
        f"this ledger already holds another promise: {'; '.join(changed)}",
        why="people were promised the first one; a second would add up with it, not replace it",
        fix="keep the promise as it is, or close it and make another one: dpsql budget close --reason …, then dpsql "
        "policy apply --new-promise; people are then promised the sum of both",
    )


def window(page: Page) -> Window:
    """When the promise that was made last may be renewed."""
    made = latest_fact(page, "promise", Promised)
    return Window.FOREVER if made is None else made.per


def _closed(page: Page) -> Closed | None:
    """How the last promise ended, where there is none now."""
    return None if page.account(SOURCE) is not None else latest_fact(page, "close", Closed)


def promised(page: Page) -> Account:
    """The account of the source."""
    source = page.account(SOURCE)
    if source is None:
        ended = _closed(page)
        if ended is not None:
            raise NotPermitted(
                f"{_WAS_CLOSED}: {ended.reason}",
                why="another one adds to what people were promised before, so that no file makes it when it is opened",
                fix=_ANOTHER,
            )
        raise BadParameter(
            "something was said before the promise that holds under a promise only",
            why="a grant is a spending limit under the promise of the source, and owners are those it protects",
            fix="make the promise first: (ε, δ) for every person, over the life of the ledger",
        )
    return source


def account(page: Page, analyst: str | None = None) -> Account:
    """The account of the source, or of an analyst, as it stands. NotPermitted without one."""
    found = page.account(SOURCE if analyst is None else require_name(analyst))
    if found is not None:
        return found
    ended = latest_fact(page, "close", Closed)
    if ended is not None and page.account(SOURCE) is None:
        raise NotPermitted(
            f"{_WAS_CLOSED}: {ended.reason}",
            why="every answer, a stored one too, is told under a promise to people, and none holds now",
            fix=_ANOTHER,
        )
    if analyst is None:
        raise NotPermitted(
            "no promise was made for this source",
            why="without a promise to people there is nothing that could be spent",
            fix="have the owner of the data state (ε, δ): [promise] in the policy, then dpsql policy apply",
        )
    if ended is not None and 0 < (page.latest(about_grant(analyst)) or 0) < (page.latest("close") or 0):
        raise NotPermitted(
            f"the grant of {analyst} ended with the promise it was under, which was closed: {ended.reason}",
            why="a grant is a spending limit under one promise; another promise has been made since",
            fix="ask the owner of the data for a grant under the promise that holds now",
        )
    raise NotPermitted(
        f"{analyst} has no grant",
        why="every answer tells a little about people; the owner decides who may ask",
        fix=f"have the owner of the data grant a budget: dpsql grant {analyst} --budget …, a [[grant]] in the"
        " policy, or owner.grant(…)",
    )


def renew(page: Page) -> int:
    """Begin a new period: every account starts again from nothing. What each period may tell adds up for people; the
    number of the period that begins, from 2 on. NotPermitted where the promise was made for ever."""
    promised(page)
    if window(page) is Window.FOREVER:
        raise NotPermitted(
            "this promise is for ever",
            why="people were told that nothing of it is given back as time goes by",
            fix='close it and make another promise, with a window such as per = "month": people are then promised the '
            "sum of both",
        )
    return begin_period(page)


def begin_period(page: Page) -> int:
    """The number of the period that begins, whoever lets it begin."""
    promised(page)
    known = latest_fact(page, "renew", Renewed) if is_renewed(page) else None
    period = 2 if known is None else known.period + 1
    page.keep_latest("renew", page.append(Renewed(period=period)))
    page.end_periods(1)
    for holder, kept in page.accounts().items():
        page.keep_account(holder, replace(kept, spent=FREE))
    return period


def is_renewed(page: Page) -> bool:
    """The promise that holds was renewed since it was made."""
    return (page.latest("renew") or 0) > (page.latest("promise") or 0)


def close(page: Page, reason: str) -> None:
    """End the promise and every grant under it. What was spent stays promised to people; the next `promise` and `own`
    begin anew, and people are then promised the sum of both."""
    promised(page)
    require_reason(reason, "closing a promise")
    page.keep_latest("close", page.append(Closed(reason=reason)))
    page.remove_accounts()
    page.end_periods(1)


def promises(page: WholePage) -> tuple[Made, ...]:
    """Every promise as it was opened, with its periods, those that are lost among them; the last one holds."""
    begun: list[tuple[int, int | None]]
    begun = [(number, page.time_of(number)) for number, _ in (*page.facts_of(Promised), *page.facts_of(Renewed))]
    begun += [(number, None) for number, lost in page.facts_of(WrittenOff) for _ in range(lost.periods)]
    made = page.facts_of(Promised)
    ends = [*[number for number, _ in made[1:]], page.head()[0] + 1][: len(made)]
    return tuple(
        Made(
            account=fact.account,
            per=fact.per,
            begun=tuple(time for number, time in sorted(begun, key=itemgetter(0)) if first <= number < end),
        )
        for (first, fact), end in zip(made, ends, strict=True)
    )


def write_off(page: Page, lost: Head, *, periods: int = 0) -> None:
    """The source has spent at least what an anchor knows of, though the charges themselves are lost; so are this many
    periods of its promise."""
    source = promised(page)
    page.append(WrittenOff(number=lost.number, spent=lost.spent, periods=periods))
    page.end_periods(periods)
    page.keep_account(SOURCE, replace(source, spent=at_least(source.spent, lost.spent)))


def at_least(known: Triple, other: Triple) -> Triple:
    """The larger of both in every part; None is infinite."""
    pairs = ((known.epsilon, other.epsilon), (known.rho, other.rho))
    epsilon, rho = (None if first is None or second is None else max(first, second) for first, second in pairs)
    return Triple(epsilon=epsilon, delta=max(known.delta, other.delta), rho=rho)
