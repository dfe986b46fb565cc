"""An audit from the first entry to the last: what each changes, and what is wrong with what was charged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import assert_never

from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.catalog.digest import declared_keys
from dpsql.catalog.key_lists import named_lists
from dpsql.catalog.model import KeyList
from dpsql.errors import BudgetExhausted, DpsqlError
from dpsql.ledger import facts
from dpsql.ledger.facts import Entry, Fact
from dpsql.ledger.ledger import Charge, Ownership
from dpsql.ledger.page import SOURCE
from dpsql.ledger.promises import at_least
from dpsql.plan.audit import Audited, audited, audited_upon
from dpsql.plan.audit_cost import costs
from dpsql.plan.record import kept
from dpsql.privacy.events import Event
from dpsql.session.audited import AuditedCharge, AuditedGrant, AuditedPromise, Happening, part_of
from dpsql.session.digits import shown_amount
from dpsql.session.entry_rows import deed, moment_of
from dpsql.session.policy_changes import changed_lines, names_of


@dataclass(slots=True, kw_only=True)
class Walk:
    """What is known on the way from the first entry to the last."""

    since: datetime | None
    texts: bool
    promises: list[AuditedPromise] = field(default_factory=list)
    charges: list[AuditedCharge] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    records: dict[int, str] = field(default_factory=dict)
    grants: dict[str, Account] = field(default_factory=dict)
    """What each grant has spent under the promise that holds."""
    passed: set[str] = field(default_factory=set)
    """Whose grant has paid more than its limit in the period that holds."""
    grants_told: list[AuditedGrant] = field(default_factory=list)
    """Of the periods that are over."""
    told_before: int = 0
    """How many payments are of periods that are over."""
    before: dict[str, Account] = field(default_factory=dict)
    """The same before it was granted or renewed last: a question may have been priced just then."""
    deeds: list[Happening] = field(default_factory=list)
    policy: str = ""
    """The declarations that hold."""
    lists: dict[str, KeyList] = field(default_factory=dict)
    """The lists of keys that were declared so far, by the digests that records name them by."""
    counted: Counter[type[Fact]] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    top_ups: int = 0
    stops: int = 0
    """How often nothing was answered any more; a freeze of what is frozen is another reason, and no other stop."""
    frozen: str | None = None
    token_holders: set[str] = field(default_factory=set)

    def past(self, entry: Entry) -> None:
        told, fact = self.since is None or moment_of(entry) >= self.since, entry.fact
        self.counted[type(fact)] += told
        decided = deed(entry)
        if told and decided is not None:
            self.deeds.append(decided)
        match fact:
            case facts.Promised():
                self._begin(AuditedPromise(account=fact.account, per=fact.per, begun=(entry.time,)), grants={})
                self.owners.clear()
            case facts.Renewed():
                self._renewed(entry, fact, told)
            case facts.Granted():
                self._granted(fact)
            case facts.Closed():
                self.promises[-1] = replace(self.promises[-1], ended=fact.reason)
            case facts.WrittenOff():
                self._written_off(fact, told)
            case Ownership():
                self.owners |= {"": fact.relation, **dict(fact.tables)}
            case Charge():
                self._charged(entry, fact, told)
            case facts.Refused():
                self.refused[fact.analyst] += told
            case facts.Adopted():
                self._adopted(entry, fact, told)
            case facts.Frozen():
                self.stops += told and self.frozen is None
                self.frozen = fact.reason
            case facts.Unfrozen():
                self.frozen = None
            case facts.Issued():
                if told and fact.user.name in self.token_holders:
                    self._add_to_deed(", made anew: the earlier one ended")
                self.token_holders.add(fact.user.name)
            case facts.Withdrawn():
                self.token_holders.discard(fact.name)
            case facts.Opened() | facts.Versioned() | facts.Revoked() | facts.Retried() | facts.Stored():
                pass  # they change nothing an audit tells of
            case _:
                assert_never(fact)

    def _renewed(self, entry: Entry, fact: facts.Renewed, told: bool) -> None:
        last = self.promises[-1]
        again = replace(last.account, spent=FREE)
        unspent = {holder: replace(account, spent=FREE) for holder, account in self.grants.items()}
        begun = (*last.begun, entry.time)
        now = AuditedPromise(account=again, per=last.per, period=fact.period, begun=begun)
        self._begin(now, grants=unspent)
        if told and now.is_early:
            self._add_to_deed(f"; sooner than each {now.per.value}")

    def _begin(self, promise: AuditedPromise, *, grants: dict[str, Account]) -> None:
        self.before |= self.grants | ({SOURCE: self.promises[-1].account} if self.promises else {})
        self.end_period()
        self.promises.append(promise)
        self.grants = grants

    def end_period(self) -> None:
        """Only now it is known in which branch a payment counts; so it is after the last entry, too."""
        if not self.promises:
            return
        last, self.charges = (
            self.promises[-1],
            [
                *self.charges[: self.told_before],
                *map(self._with_parts, self.charges[self.told_before :]),
            ],
        )
        self.grants_told += [
            AuditedGrant(holder=holder, account=account, period=last.period, kept=holder not in self.passed)
            for holder, account in self.grants.items()
        ]
        self.told_before = len(self.charges)
        self.passed.clear()

    def _with_parts(self, row: AuditedCharge) -> AuditedCharge:
        of_promise = part_of(self.promises[-1].account, row.charged)
        return replace(row, of_promise=of_promise, of_grant=part_of(self.grants[row.grant], row.charged))

    def _granted(self, fact: facts.Granted) -> None:
        known = self.grants.get(fact.analyst)
        limit = self.promises[-1].account.grant(epsilon=fact.epsilon)
        if known is not None:
            self.before[fact.analyst] = known
        self.grants[fact.analyst] = limit if known is None else replace(limit, spent=known.spent)

    def _written_off(self, fact: facts.WrittenOff, told: bool) -> None:
        last, account = self.promises[-1], self.promises[-1].account
        whole = Triple(epsilon=account.epsilon, delta=account.delta - account.delta_prime, rho=account.rho)
        lost = AuditedPromise(account=replace(account, spent=whole), lost=True)
        spent = at_least(account.spent, fact.spent)
        more = _less(spent, account.spent)
        whole_loss = more if last.written_off is None else last.written_off + more
        begun = (*last.begun, *[None] * fact.periods)
        known = replace(last, account=replace(account, spent=spent), written_off=whole_loss, begun=begun)
        self.promises[-1:] = [lost] * fact.periods + [known]
        if told:
            part = part_of(known.account, more)
            amount = "an amount without a limit" if part is None else f"ε = {shown_amount(part)}"
            self._add_to_deed(f"; {amount} more than the payments that are left")

    def _add_to_deed(self, words: str) -> None:
        """What is known of a decision only from what was before it."""
        self.deeds[-1] = replace(self.deeds[-1], what=self.deeds[-1].what + words)

    def _charged(self, entry: Entry, fact: Charge, told: bool) -> None:
        self.records[entry.number] = fact.record
        if told:
            self.charges.append(self._row(entry, fact))
            self.top_ups += fact.upon is not None
        last, own = self.promises[-1], self.grants[fact.grant]
        self.promises[-1] = replace(last, account=_after(last.account, fact.event), told=last.told + fact.cost)
        if not own.admits(fact.event):
            self.passed.add(fact.grant)
        self.grants[fact.grant] = _after(own, fact.event)

    def _adopted(self, entry: Entry, fact: facts.Adopted, told: bool) -> None:
        before, self.policy = self.policy, fact.text
        self.lists |= named_lists(declared_keys(fact.text))
        if told:
            what = names_of(changed_lines(before, fact.text)) if before else "the first version"
            self.deeds.append(Happening(at=moment_of(entry), kind="policy", what=what))

    def _row(self, entry: Entry, charge: Charge) -> AuditedCharge:
        derived, problem = self._derived(charge)
        return AuditedCharge(
            receipt=entry.number,
            analyst=charge.analyst,
            grant=charge.grant,
            sql=charge.sql if self.texts else "",
            cost=charge.cost,
            charged=triple(charge.event),
            derived=derived,
            problem=problem,
            upon=charge.upon,
            at=moment_of(entry),
        )

    def _derived(self, charge: Charge) -> tuple[Triple | None, str]:
        """The price that follows from the record, and what is wrong with it."""
        try:
            found = audited(charge.record, lists=self.lists)
            audited_upon(charge.record, upon=charge.upon, records=self.records)
        except DpsqlError as error:
            return None, error.what
        except Exception:  # of a part that is another one than its place asks for: no row takes the report with it
            return None, "the parts of its plan do not fit together"
        if found.price != triple(charge.event):
            return found.price, "what was charged is not the price of what was released"
        if len(found.steps) != charge.steps:
            return found.price, "more or fewer steps were paid for than the plan has"
        if not _protects(found.owners, self.owners):
            return found.price, "its plan protects others than the ledger says the promise is about"
        return found.price, self._misstated(charge, found)

    def _misstated(self, charge: Charge, found: Audited) -> str:
        """Where the cost that was told, which the cap of a query looks at, is not that of what was released."""
        if kept(charge.record).cost != charge.cost:
            return "its plan was bought for another cost than was told"
        account = self.promises[-1].account
        possible = costs(found.steps, rate=account.rho / account.epsilon, in_rho=self._counts_rho(charge))
        if any(charge.cost in span for span in possible):
            return ""
        derived = " or ".join(shown_amount(span.low) for span in possible) or "more than it can pay"
        return f"it was said to cost {shown_amount(charge.cost)}, and costs {derived}"

    def _counts_rho(self, charge: Charge) -> bool:
        """One of the accounts that pay does not grant the cost as ε any more, or did not when it was priced."""
        paying = [self.promises[-1].account, self.grants[charge.grant]]
        paying += [self.before[holder] for holder in (SOURCE, charge.grant) if holder in self.before]
        return any(not account.admits_pure(epsilon=charge.cost) for account in paying)


def _after(account: Account, event: Event) -> Account:
    """Added up whether or not it fits: whether it did is what the reader wants to know."""
    try:
        return account.charged(event)
    except BudgetExhausted:
        return replace(account, spent=account.spent + triple(event))


def _less(after: Triple, before: Triple) -> Triple:
    """What was added, part by part; None where it has no end."""

    def less(larger: Fraction | None, smaller: Fraction | None) -> Fraction | None:
        return None if larger is None or smaller is None else larger - smaller

    return Triple(
        epsilon=less(after.epsilon, before.epsilon),
        delta=after.delta - before.delta,
        rho=less(after.rho, before.rho),
    )


def _protects(declared: Iterable[tuple[str, str]], known: dict[str, str]) -> bool:
    """Everything the plan read is owned as the ledger says."""
    return all(known.get(table) == way for table, way in declared)
