"""Entries of a ledger as people and other programs read them: who did what, when; and what was decided, in words. No
released value is in them, no hash of a token, and no text of a question unless the reader may see texts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final, NamedTuple

from dpsql.accounting.triple import Triple, triple
from dpsql.ledger import facts
from dpsql.ledger.encoding import word_of
from dpsql.ledger.facts import Entry, of_every_kind
from dpsql.ledger.ledger import Charge, GrantedBy, Ownership
from dpsql.privacy.window import Window
from dpsql.safe_text import printable
from dpsql.session.audited import Happening
from dpsql.session.digits import shown_amount
from dpsql.session.tables import unlike_a_formula

_TEXTS: Final = frozenset({"sql", "policy"})
"""What only authors and the owner see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """One entry in plain words."""

    number: int
    at: datetime
    """UTC."""
    kind: str
    who: str
    """The analyst or user it is about; empty where it is about the source."""
    details: Mapping[str, object]

    def as_json(self) -> dict[str, object]:
        """Exact: fractions are texts such as 1/20."""
        said = {name: _exact(value) for name, value in self.details.items()}
        return {"number": self.number, "at": self.at.isoformat(), "kind": self.kind, "who": self.who, **said}

    def __str__(self) -> str:
        said = " ".join(f"{name}={printable(_shown(value))}" for name, value in self.details.items())
        at = f"{self.at:%Y-%m-%d %H:%M:%S}"
        return f"{self.number:>6}  {at}  {self.kind:<9}  {printable(self.who):<12}  {said}".rstrip()


def entry_rows(entries: Iterable[Entry], *, texts: bool) -> Iterator[EntryRow]:
    """The entries in order."""
    for entry in entries:
        who, details = _KINDS[type(entry.fact)].row(entry.fact)
        yield EntryRow(
            number=entry.number,
            at=moment_of(entry),
            kind=word_of(type(entry.fact)),
            who=who,
            details={
                name: value for name, value in details.items() if value is not None and (texts or name not in _TEXTS)
            },
        )


def deed(entry: Entry) -> Happening | None:
    """The decision in words; None where nobody decided anything. Of a policy, what changed is told elsewhere."""
    kind = _KINDS[type(entry.fact)]
    if kind.decided is None:
        return None
    what, by = kind.decided(entry.fact)
    return Happening(at=moment_of(entry), kind=kind.deed, what=what, by=by)


def moment_of(entry: Entry) -> datetime:
    """When it was written."""
    return datetime.fromtimestamp(entry.time, tz=UTC)


def as_json_lines(rows: Iterable[EntryRow]) -> Iterator[str]:
    """One object a line."""
    for row in rows:
        yield json.dumps(row.as_json(), ensure_ascii=False) + "\n"


def as_csv(rows: Iterable[EntryRow]) -> Iterator[str]:
    """One line per entry under a line of names. No cell is taken for a formula by a spreadsheet."""
    yield _csv_line(("number", "at", "kind", "who", *_COLUMNS, "more"))
    for row in rows:
        known = [_shown(row.details[name]) if name in row.details else "" for name in _COLUMNS]
        more = "; ".join(f"{name}={_shown(value)}" for name, value in row.details.items() if name not in _COLUMNS)
        yield _csv_line((row.number, row.at.isoformat(), row.kind, row.who, *known, more))


_COLUMNS: Final = ("cost", "epsilon", "delta", "rho", "receipt", "code", "reason", "sql")


def _csv_line(cells: Iterable[object]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow([unlike_a_formula(cell) for cell in cells])
    return out.getvalue()


def _exact(value: object) -> object:
    if isinstance(value, Fraction):
        return str(value)
    return [_exact(each) for each in value] if isinstance(value, tuple) else value


def _shown(value: object) -> str:
    if isinstance(value, Fraction):
        return shown_amount(value)
    return ",".join(map(_shown, value)) if isinstance(value, tuple) else str(value)


Words = tuple[str, dict[str, object]]
Deed = tuple[str, str]


class Kind(NamedTuple):
    """What is told of one kind of entries."""

    row: Callable[[Any], Words]
    """Whom it is about, and what it says."""
    deed: str = ""
    """The kind of decision it is."""
    decided: Callable[[Any], Deed] | None = None
    """What was decided, and where it was said or by whom, as far as the ledger knows. None: nothing."""


def _price(spent: Triple) -> dict[str, object]:
    """What is infinite is not counted: Gaussian noise has no ε by itself."""
    parts = (("epsilon", spent.epsilon, "rho"), ("delta", spent.delta, ""), ("rho", spent.rho, "epsilon"))
    return {name: f"not counted, see {other}" if value is None else value for name, value, other in parts}


def _charge(fact: Charge) -> Words:
    version = fact.question.data_version
    more = {"grant": fact.grant, "upon": fact.upon, "steps": fact.steps, "data_version": version, "sql": fact.sql}
    return fact.analyst, {"cost": fact.cost, **_price(triple(fact.event)), **more}


def _promise(fact: facts.Promised) -> Words:
    account, per = fact.account, fact.per.value
    return "", {"epsilon": account.epsilon, "delta": account.delta, "delta_prime": account.delta_prime, "per": per}


def _promised(fact: facts.Promised) -> Deed:
    window = "for ever" if fact.per is Window.FOREVER else f"to be renewed each {fact.per.value}"
    return f"ε = {shown_amount(fact.account.epsilon)}, δ = {float(fact.account.delta):g} for everybody, {window}", ""


def _owners(fact: Ownership) -> Words:
    return "", {"relation": fact.relation, "tables": tuple(f"{table}: {way}" for table, way in fact.tables)}


def _owned(fact: Ownership) -> Deed:
    return "; ".join((fact.relation, *(f"{table}: {whose}" for table, whose in fact.tables))), ""


def _grant(fact: facts.Granted) -> Words:
    said = fact.conditions
    return fact.analyst, {
        "epsilon": fact.epsilon,
        "max_per_query": said.max_per_query,
        "tables": said.tables,
        "expires": None if said.expires is None else said.expires.isoformat(),
        "sees_releases": said.sees_releases or None,
        "by": None if fact.by is GrantedBy.CALL else fact.by.value,
    }


def _granted(fact: facts.Granted) -> Deed:
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


def _issued(fact: facts.Issued) -> Deed:
    user = fact.user
    return f"{user.name} has one, as {user.role.value}{f' under the grant of {user.grant}' if user.grant else ''}", ""


def _lost(fact: facts.WrittenOff) -> Deed:
    periods = f", with {fact.periods} whole periods of the promise" if fact.periods else ""
    return f"what was lost up to entry {fact.number} counts as spent{periods}", ""


def _stop(fact: facts.Frozen | facts.Unfrozen) -> Words:
    return "", {"reason": fact.reason, "by": fact.by}


FILE: Final = "the policy file"
_BY: Final = {GrantedBy.FILE: FILE, GrantedBy.BESIDE: "the owner, in place of the policy file", GrantedBy.CALL: ""}
_KINDS: Final = of_every_kind(
    {
        facts.Opened: Kind(lambda fact: ("", {"ledger": fact.id})),
        facts.Promised: Kind(_promise, "promise", _promised),
        Ownership: Kind(_owners, "owners", _owned),
        facts.Versioned: Kind(
            lambda fact: ("", {"data_version": fact.label}), "data", lambda fact: (f"version {fact.label}", "")
        ),
        facts.Granted: Kind(_grant, "grant", _granted),
        facts.Revoked: Kind(
            lambda fact: (fact.analyst, {"by": GrantedBy.FILE.value if fact.by_file else None}),
            "revoke",
            lambda fact: (fact.analyst, FILE if fact.by_file else ""),
        ),
        facts.Renewed: Kind(
            lambda fact: ("", {"period": fact.period}),
            "renewal",
            lambda fact: (f"period {fact.period} begins: people are promised one ε more", ""),
        ),
        facts.Closed: Kind(
            lambda fact: ("", {"reason": fact.reason}),
            "close",
            lambda fact: (f"the promise has ended: {fact.reason}", ""),
        ),
        facts.Frozen: Kind(_stop, "freeze", lambda fact: (f"frozen: {fact.reason}", fact.by or "")),
        facts.Unfrozen: Kind(_stop, "freeze", lambda fact: (f"unfrozen: {fact.reason}", fact.by or "")),
        facts.Adopted: Kind(lambda fact: ("", {"digest": fact.digest, "policy": fact.text})),
        facts.Refused: Kind(lambda fact: (fact.analyst, {"code": fact.code, "sql": fact.sql})),
        facts.Issued: Kind(
            lambda fact: (fact.user.name, {"role": fact.user.role.value, "grant": fact.user.grant}), "token", _issued
        ),
        facts.Withdrawn: Kind(
            lambda fact: (fact.name, {}), "token", lambda fact: (f"{fact.name} has none any more", "")
        ),
        facts.WrittenOff: Kind(
            lambda fact: ("", {"lost_up_to": fact.number, "periods": fact.periods, **_price(fact.spent)}),
            "write-off",
            _lost,
        ),
        Charge: Kind(_charge),
        facts.Retried: Kind(lambda fact: ("", {"receipt": fact.receipt})),
        facts.Stored: Kind(lambda fact: ("", {"receipt": fact.receipt, "step": fact.step})),
    }
)
