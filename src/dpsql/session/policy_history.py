"""The history of a policy, from the ledger: when what was declared, promised or granted, and by whose word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from dpsql.ledger import facts
from dpsql.ledger.facts import Adopted, Entry
from dpsql.ledger.ledger import GrantedBy
from dpsql.require import shown
from dpsql.session.digits import shown_amount
from dpsql.session.entry_rows import moment_of
from dpsql.session.policy_changes import changed_lines
from dpsql.session.render import printable

_BY: Final = {GrantedBy.FILE: "policy file", GrantedBy.CALL: "owner", GrantedBy.BESIDE: "owner"}


def policy_history(entries: Iterable[Entry]) -> Iterator[str]:
    """A line for each change, the oldest first: time (UTC), by whose word, what."""
    before: str | None = None
    for entry in entries:
        fact = entry.fact
        if isinstance(fact, Adopted):
            told = ["the first version"] if before is None else changed_lines(before, fact.text)
            before = fact.text
            yield from (_line(entry, "policy file", f"declared: {what}") for what in told)
        elif type(fact) in _WORDS:
            yield _line(entry, *_WORDS[type(fact)](fact))


def _line(entry: Entry, by: str, what: str) -> str:
    return f"{moment_of(entry):%Y-%m-%d %H:%M:%S}  {by:<11}  {what}"


def _promised(fact: facts.Promised) -> tuple[str, str]:
    account = fact.account
    return "policy file", f"promised: epsilon = {shown(account.epsilon)}, delta = {shown(account.delta)}"


def _granted(fact: facts.Granted) -> tuple[str, str]:
    return _BY[fact.by], f"granted: {printable(fact.analyst)} {shown_amount(fact.epsilon)}"


_WORDS: Final[Mapping[type, Callable[[Any], tuple[str, str]]]] = {
    facts.Promised: _promised,
    facts.Granted: _granted,
    facts.Revoked: lambda fact: ("policy file" if fact.by_file else "owner", f"revoked: {printable(fact.analyst)}"),
    facts.Renewed: lambda fact: ("owner", f"renewed: period {fact.period}"),
    facts.Closed: lambda fact: ("owner", f"closed: {printable(fact.reason)}"),
    facts.Versioned: lambda fact: ("owner", f"data version: {printable(fact.label)}"),
}
