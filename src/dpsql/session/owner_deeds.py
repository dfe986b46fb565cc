"""What was decided, in words: promises, renewals, grants, tokens, freezes and everything else that was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dpsql.ledger import facts
from dpsql.ledger.facts import Entry
from dpsql.ledger.ledger import GrantedBy, Ownership, User
from dpsql.privacy.window import Window
from dpsql.session.audited import Happening
from dpsql.session.digits import shown_amount
from dpsql.session.entry_rows import moment_of

POLICY: Final = "policy"
FREEZE: Final = "freeze"
_FILE: Final = "the policy file"
_BY: Final = {GrantedBy.FILE: _FILE, GrantedBy.BESIDE: "the owner, in place of the policy file", GrantedBy.CALL: ""}


def is_deed(entry: Entry) -> bool:
    """Whether it was written because somebody decided something; of a policy, what changed is told elsewhere."""
    return type(entry.fact) in _WORDS


def deed(entry: Entry) -> Happening:
    """The decision in words."""
    kind, say = _WORDS[type(entry.fact)]
    what, by = say(entry.fact)
    return Happening(at=moment_of(entry), kind=kind, what=what, by=by)


def _promised(fact: facts.Promised) -> tuple[str, str]:
    window = "for ever" if fact.per is Window.FOREVER else f"to be renewed each {fact.per.value}"
    return f"ε = {shown_amount(fact.account.epsilon)}, δ = {float(fact.account.delta):g} for everybody, {window}", ""


def _granted(fact: facts.Granted) -> tuple[str, str]:
    return f"{fact.analyst}: {', '.join(_limits(fact))}", _BY[fact.by]


def _limits(fact: facts.Granted) -> Iterator[str]:
    said = fact.conditions
    yield f"ε = {shown_amount(fact.epsilon)} in all"
    if said.max_per_query is not None:
        yield f"at most {shown_amount(said.max_per_query)} a question"
    if said.tables is not None:
        yield f"tables {' '.join(said.tables)}"
    if said.expires is not None:
        yield f"until {said.expires.isoformat()}"
    if said.sees_releases:
        yield "sees what others were told"


def _token(user: User) -> str:
    return f"{user.name} has one, as {user.role.value}{f' under the grant of {user.grant}' if user.grant else ''}"


def _owned(fact: Ownership) -> tuple[str, str]:
    return "; ".join((fact.relation, *(f"{table}: {whose}" for table, whose in fact.tables))), ""


def _lost(fact: facts.WrittenOff) -> tuple[str, str]:
    periods = f", with {fact.periods} whole periods of the promise" if fact.periods else ""
    return f"what was lost up to entry {fact.number} counts as spent{periods}", ""


Words = Callable[[Any], tuple[str, str]]

_WORDS: Final[Mapping[type, tuple[str, Words]]] = {
    facts.Promised: ("promise", _promised),
    Ownership: ("owners", _owned),
    facts.Versioned: ("data", lambda fact: (f"version {fact.label}", "")),
    facts.Renewed: ("renewal", lambda fact: (f"period {fact.period} begins: people are promised one ε more", "")),
    facts.Closed: ("close", lambda fact: (f"the promise has ended: {fact.reason}", "")),
    facts.Granted: ("grant", _granted),
    facts.Revoked: ("revoke", lambda fact: (fact.analyst, _FILE if fact.by_file else "")),
    facts.Frozen: (FREEZE, lambda fact: (f"frozen: {fact.reason}", fact.by or "")),
    facts.Unfrozen: (FREEZE, lambda fact: (f"unfrozen: {fact.reason}", fact.by or "")),
    facts.Issued: ("token", lambda fact: (_token(fact.user), "")),
    facts.Withdrawn: ("token", lambda fact: (f"{fact.name} has none any more", "")),
    facts.WrittenOff: ("write-off", _lost),
}
"""The kind of a decision, what was decided, and where it was said or by whom, as far as the ledger knows."""
