"""The laws of ownership: whom the promise is about does not change while it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dpsql.errors import BadPolicy
from dpsql.ledger.ledger import PUBLIC_WAY, Ownership
from dpsql.ledger.page import Page
from dpsql.ledger.promises import is_renewed, promised

SUBJECT: Final = "owners "
"""All declarations of owners are in force at once, each under a subject of its own."""


def own(page: Page, said: Ownership) -> None:
    """Keep whom the promise is about; the same again is nothing, and tables nobody spoke of are added. Another relation
    is BadPolicy at any time, and so is a table that is owned otherwise, once that could have told somebody something.

    A mistake can be corrected as long as it has told nobody anything: nothing was charged, and no exact answer can have
    come from a table that never was public. Of a promise that was renewed the account no longer says what was charged.
    """
    uncharged = promised(page).spent.is_free and not is_renewed(page)
    facts = _owners_said(page)
    public = {table for fact in facts for table, way in fact.tables if way == PUBLIC_WAY}
    known = _known(facts)
    wrong = [each for each in _changed(known, said) if not (uncharged and each[0] in _tables(said, without=public))]
    if wrong:
        raise _owned_otherwise(wrong)
    added = tuple(sorted((table, way) for table, way in said.tables if known.get(_word(table)) != way))
    if added or not known:
        number = page.append(Ownership(relation=said.relation, tables=added))
        page.keep_latest(f"{SUBJECT}{number}", number)


def require_owned(page: Page, said: Ownership | None) -> None:
    """Whom the promise is about was said; and of every table what `said` believes; else BadPolicy. An older declaration
    must not be charged under a newer one, nor one that nobody has written down: what is told exactly leaves no charge
    that would notice."""
    facts = _owners_said(page)
    if not facts:
        raise _never_said("whom the promise of this ledger is about")
    if said is None:
        return
    known = _known(facts)
    changed = _changed(known, said)
    if changed:
        raise _owned_otherwise(changed)
    unheard = [table for table, _ in said.tables if _word(table) not in known]
    if unheard:
        raise _never_said(f"whose the rows of {', '.join(unheard)} are")


def _owners_said(page: Page) -> list[Ownership]:
    """What was said under this promise: of one that was closed, nothing holds."""
    closed = page.latest("close") or 0
    facts = [page.fact(number) for number in page.latest_under(SUBJECT).values() if number > closed]
    return [fact for fact in facts if isinstance(fact, Ownership)]


def _known(facts: Sequence[Ownership]) -> dict[str, str]:
    """What holds: the last word about each table."""
    return {what: way for fact in facts for what, way in _owners(fact).items()}


def _changed(known: Mapping[str, str], said: Ownership) -> list[tuple[str, str, str]]:
    return [(what, known[what], now) for what, now in _owners(said).items() if known.get(what, now) != now]


def _tables(said: Ownership, *, without: set[str]) -> set[str]:
    return {_word(table) for table, _ in said.tables if table not in without}


def _word(table: str) -> str:
    return f"table {table}"


def _owners(said: Ownership) -> dict[str, str]:
    return {"the relation": said.relation, **{_word(table): way for table, way in said.tables}}


def _never_said(what: str) -> BadPolicy:
    return BadPolicy(
        f"nobody has said {what}",
        why="a promise is to people; what is told under it must be about rows of which the ledger knows whose they are",
        fix="open the policy again: that writes it down",
    )


def _owned_otherwise(changed: Sequence[tuple[str, str, str]]) -> BadPolicy:
    told = "; ".join(f"{what} was `{before}` and is now `{now}`" for what, before, now in changed)
    return BadPolicy(
        f"the promise of this ledger is about other people: {told}",
        why="what was spent so far protects people as they were declared then; declared otherwise, nobody could say"
        " what one person was promised",
        fix="put it back as it was, or close the promise and make another one: people are then promised the sum of "
        "both",
    )
