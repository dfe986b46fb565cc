"""audit: what was promised and what was kept, from the ledger alone. No data and no policy is read.

Every price is derived again from the plan that was kept beside it, by the path of `seal`; whom each plan protected is
compared with what the ledger says of owners; and what was charged is added up anew under every promise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from dpsql.accounting.account import Account
from dpsql.accounting.batch import proven
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.errors import BudgetExhausted, DpsqlError, MissingExtra
from dpsql.ledger.facts import (
    Adopted,
    Batched,
    Closed,
    Entry,
    Fact,
    Frozen,
    Promised,
    Refused,
    Renewed,
    Unfrozen,
    WrittenOff,
)
from dpsql.ledger.ledger import Charge, Ledger, Ownership
from dpsql.ledger.promises import at_least
from dpsql.plan.audit import audited
from dpsql.plan.audit_upon import audited_upon
from dpsql.privacy.events import Event
from dpsql.session.audit_report import in_html, in_markdown, in_text
from dpsql.session.entry_rows import moment_of
from dpsql.session.policy_changes import changes


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCharge:
    """One payment, and what its record says it should have been."""

    receipt: int
    analyst: str
    sql: str
    """Empty where the reader may not see texts."""
    cost: Fraction
    """In ε of the account, as the analyst was told."""
    charged: Triple
    """What the accounts were charged: (ε, δ, ρ) of the stored event."""
    derived: Triple | None
    """The same, from the stored statements and noise alone; None where they do not hold what they promise."""
    problem: str = ""
    unchecked: str = ""
    """Why the price cannot be derived here, and what helps."""
    batch: int | None = None
    """The receipt of the batch that paid for it: then `charged` is what it would cost alone, and not added up."""
    at: datetime | None = None
    """UTC; None: from before times were kept."""

    @property
    def agrees(self) -> bool:
        return not self.problem and not self.unchecked

    @property
    def verdict(self) -> str:
        """One word, or what is wrong."""
        return self.problem or self.unchecked or "agrees"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedPromise:
    """One promise in one of its periods, and everything that was charged under it, added up anew."""

    account: Account
    period: int = 1
    ended: str | None = None
    """Why it was closed; None: it holds."""
    lost: bool = False
    """Nothing is left of it but that it was: it is counted as spent."""

    @property
    def spent(self) -> Fraction:
        return self.account.spent_epsilon

    @property
    def kept(self) -> bool:
        account = self.account
        within = account.spent.delta <= account.delta - account.delta_prime
        return within and (account.pure_branch_open or account.concentrated_branch_open)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystSum:
    """What one analyst did."""

    name: str
    payments: int
    cost: Fraction
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something the owner did, and when."""

    at: datetime | None
    what: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Audit:
    """The findings. Printed, it is a statement in plain language; iterated over, it is the audited payments."""

    ledger: str
    person: str
    since: datetime | None
    entries: int
    last_written: datetime | None
    promises: tuple[AuditedPromise, ...]
    """All of them, whatever `since` says: people remember."""
    charges: tuple[AuditedCharge, ...]
    analysts: tuple[AnalystSum, ...]
    policies: tuple[Happening, ...]
    freezes: tuple[Happening, ...]
    renewals: int
    refused: int
    top_ups: int
    written_off: int
    frozen: str | None
    """Why nothing is answered now; None: questions are answered."""

    @property
    def holds(self) -> bool:
        """Every promise was kept, and every price agrees."""
        return all(promise.kept for promise in self.promises) and all(charge.agrees for charge in self.charges)

    @property
    def problems(self) -> tuple[AuditedCharge, ...]:
        return tuple(charge for charge in self.charges if charge.problem)

    @property
    def unchecked(self) -> tuple[AuditedCharge, ...]:
        """What says neither yes nor no: its accountant is not installed here."""
        return tuple(charge for charge in self.charges if charge.unchecked and not charge.problem)

    def __iter__(self) -> Iterator[AuditedCharge]:
        return iter(self.charges)

    def __len__(self) -> int:
        return len(self.charges)

    def __getitem__(self, place: int) -> AuditedCharge:
        return self.charges[place]

    def __str__(self) -> str:
        return in_text(self)

    __repr__ = __str__

    def markdown(self) -> str:
        """The same with tables, for a file."""
        return in_markdown(self)

    def html(self) -> str:
        """The same as one page; everything anybody wrote is escaped."""
        return in_html(self)


def audit(ledger: Ledger, *, since: datetime | None = None, texts: bool = True, person: str = "person") -> Audit:
    """What the ledger shows; LedgerBroken where it does not verify itself. `since` leaves out what was before, but for
    the promises: they hold for ever. `person` is the word for whom they protect."""
    entries = ledger.entries()  # verified
    walk = _Walk(since=since, texts=texts)
    for entry in entries:
        walk.past(entry)
    return Audit(
        ledger=ledger.id,
        person=person,
        since=since,
        entries=len(entries),
        last_written=moment_of(entries[-1]),
        promises=tuple(walk.promises),
        charges=tuple(walk.charges),
        analysts=tuple(_sums(walk)),
        policies=tuple(walk.policies),
        freezes=tuple(walk.freezes),
        renewals=walk.counted[Renewed],
        refused=walk.counted[Refused],
        top_ups=walk.top_ups,
        written_off=walk.counted[WrittenOff],
        frozen=walk.frozen,
    )


def _sums(walk: _Walk) -> Iterator[AnalystSum]:
    """Payments: questions that were paid for by themselves, and batches."""
    paid = [charge for charge in walk.charges if charge.batch is None]
    for name in sorted({*walk.refused, *(charge.analyst for charge in paid)}):
        own = [charge for charge in paid if charge.analyst == name]
        yield AnalystSum(
            name=name,
            payments=len(own),
            cost=sum((charge.cost for charge in own), Fraction(0)),
            refused=walk.refused[name],
        )


@dataclass(slots=True, kw_only=True)
class _Walk:
    """What is known on the way from the first entry to the last."""

    since: datetime | None
    texts: bool
    promises: list[AuditedPromise] = field(default_factory=list)
    charges: list[AuditedCharge] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    records: dict[int, str] = field(default_factory=dict)
    batched_receipts: set[int] = field(default_factory=set)
    """Of the questions that were paid for in batches."""
    batches: dict[int, list[Event]] = field(default_factory=dict)
    """Of each batch, the questions that were announced and did not come yet."""
    policies: list[Happening] = field(default_factory=list)
    policy: str = ""
    """The declarations that hold."""
    freezes: list[Happening] = field(default_factory=list)
    counted: Counter[type[Fact]] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    top_ups: int = 0
    frozen: str | None = None

    def past(self, entry: Entry) -> None:
        told = self._is_told(entry)
        self.counted[type(entry.fact)] += told
        step = _STEPS.get(type(entry.fact))
        if step is not None:
            step(self, entry, entry.fact, told)

    def _is_told(self, entry: Entry) -> bool:
        at = moment_of(entry)
        return self.since is None or (at is not None and at >= self.since)

    def promised(self, entry: Entry, fact: Promised, told: bool) -> None:
        self.promises.append(AuditedPromise(account=fact.account))
        self.owners.clear()

    def renewed(self, entry: Entry, fact: Renewed, told: bool) -> None:
        again = replace(self.promises[-1].account, spent=FREE)
        self.promises.append(AuditedPromise(account=again, period=fact.period))

    def closed(self, entry: Entry, fact: Closed, told: bool) -> None:
        self.promises[-1] = replace(self.promises[-1], ended=fact.reason)

    def written_off(self, entry: Entry, fact: WrittenOff, told: bool) -> None:
        self._spent(at_least(self.promises[-1].account.spent, fact.spent))
        last, account = self.promises[-1], self.promises[-1].account
        whole = Triple(epsilon=account.epsilon, delta=account.delta - account.delta_prime, rho=account.rho)
        self.promises[-1:] = [AuditedPromise(account=replace(account, spent=whole), lost=True)] * fact.periods + [last]

    def owned(self, entry: Entry, fact: Ownership, told: bool) -> None:
        self.owners |= {"": fact.relation, **dict(fact.tables)}

    def batched(self, entry: Entry, fact: Batched, told: bool) -> None:
        self.batches[entry.number] = list(fact.event.events)
        self._charge(fact.event)
        if told:
            self.charges.append(_batch_row(entry, fact))

    def charged(self, entry: Entry, fact: Charge, told: bool) -> None:
        self.records[entry.number] = fact.record
        if fact.batch is not None:
            self.batched_receipts.add(entry.number)
        waiting = self.batches.get(fact.batch or 0, [])
        paid = fact.batch is None or (bool(waiting) and waiting.pop(0) == fact.event)
        if fact.batch is None:
            self._charge(fact.event)
        if told:
            self.charges.append(self._row(entry, fact, "" if paid else "it is not the question its batch has paid for"))
            self.top_ups += fact.upon is not None

    def refusal(self, entry: Entry, fact: Refused, told: bool) -> None:
        self.refused[fact.analyst] += told

    def adopted(self, entry: Entry, fact: Adopted, told: bool) -> None:
        before, self.policy = self.policy, fact.text
        if told:
            what = changes(before, fact.text) if before else "the first version"
            self.policies.append(Happening(at=moment_of(entry), what=what))

    def frozen_for(self, entry: Entry, fact: Frozen, told: bool) -> None:
        self.frozen = fact.reason
        if told:
            self.freezes.append(Happening(at=moment_of(entry), what=f"frozen: {fact.reason}"))

    def unfrozen(self, entry: Entry, fact: Unfrozen, told: bool) -> None:
        self.frozen = None
        if told:
            self.freezes.append(Happening(at=moment_of(entry), what=f"unfrozen: {fact.reason}"))

    def _charge(self, event: Event) -> None:
        """Added up whether or not it fits: whether it did is what the reader wants to know."""
        account = self.promises[-1].account
        try:
            self._spent(account.charged(event).spent)
        except BudgetExhausted:
            self._spent(account.spent + triple(event))

    def _spent(self, spent: Triple) -> None:
        last = self.promises[-1]
        self.promises[-1] = replace(last, account=replace(last.account, spent=spent))

    def _row(self, entry: Entry, charge: Charge, problem: str) -> AuditedCharge:
        additive = charge.batch is None and not self.promises[-1].account.delta_prime
        derived, wrong = _derived(charge, self.owners, self.records, additive, self.batched_receipts)
        return AuditedCharge(
            receipt=entry.number,
            analyst=charge.analyst,
            sql=charge.sql if self.texts else "",
            cost=charge.cost,
            charged=triple(charge.event),
            derived=derived,
            problem=problem or wrong,
            batch=charge.batch,
            at=moment_of(entry),
        )


def _batch_row(entry: Entry, fact: Batched) -> AuditedCharge:
    """Its events, priced again: each of them is compared with its own record in its own row."""
    derived, problem, missing = None, "", None
    try:
        proof = proven(fact.event.events, delta=fact.event.delta)
    except MissingExtra as error:
        missing = error
    except DpsqlError as error:
        problem = error.what
    else:
        derived = triple(proof.batch)
        if proof.batch.epsilon > fact.event.epsilon:
            missing = proof.without
            problem = f"{proof.by}, the best accountant at hand, proves more for this batch than was charged"
    return AuditedCharge(
        receipt=entry.number,
        analyst=fact.analyst,
        sql=f"{len(fact.event.events)} questions planned together",
        cost=fact.cost,
        charged=triple(fact.event),
        derived=derived if missing is None else None,
        problem=problem if missing is None else "",
        unchecked="" if missing is None else f"not checked here: {missing.what}; {missing.fix}",
        at=moment_of(entry),
    )


def _derived(
    charge: Charge, owners: dict[str, str], records: Mapping[int, str], additive: bool, batched: Container[int]
) -> tuple[Triple | None, str]:
    """The price that follows from the record, and what is wrong with it."""
    try:
        found = audited(charge.record, in_batch=charge.batch is not None)
        audited_upon(charge.record, upon=charge.upon, records=records, additive=additive, batched=batched)
    except DpsqlError as error:
        return None, error.what
    if found.price != triple(charge.event):
        return found.price, "what was charged is not the price of what was released"
    if len(found.steps) != charge.steps:
        return found.price, "more or fewer steps were paid for than the plan has"
    if not _protects(found.owners, owners):
        return found.price, "its plan protects others than the ledger says the promise is about"
    return found.price, ""


def _protects(declared: Iterable[tuple[str, str]], known: dict[str, str]) -> bool:
    """Everything the plan read is owned as the ledger says."""
    return all(known.get(table) == way for table, way in declared)


_STEPS: dict[type[Any], Any] = {
    Promised: _Walk.promised,
    Renewed: _Walk.renewed,
    Closed: _Walk.closed,
    WrittenOff: _Walk.written_off,
    Ownership: _Walk.owned,
    Batched: _Walk.batched,
    Charge: _Walk.charged,
    Refused: _Walk.refusal,
    Adopted: _Walk.adopted,
    Frozen: _Walk.frozen_for,
    Unfrozen: _Walk.unfrozen,
}
"""What an entry changes; other kinds change nothing an audit tells of."""
