"""audit: what was promised and what was kept, from the ledger alone; in plain language for a terminal, as
Markdown and as a page of HTML. No data and no policy is read, and no released value is in it.

Every price is derived again from the plan that was kept beside it, by the path of `seal`; whom each plan protected is
compared with what the ledger says of owners; and what was charged is added up anew under every promise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final, assert_never

from dpsql import __version__
from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.catalog.digest import declared_keys
from dpsql.catalog.key_lists import named_lists
from dpsql.catalog.model import KeyList
from dpsql.errors import BudgetExhausted, DpsqlError
from dpsql.ledger import facts
from dpsql.ledger.book import Ledger
from dpsql.ledger.clock import utc_seconds
from dpsql.ledger.facts import Entry, Fact, Refused, Renewed, WrittenOff
from dpsql.ledger.ledger import Charge, Head, Ownership
from dpsql.ledger.page import SOURCE
from dpsql.ledger.promises import at_least
from dpsql.plan.audit import Audited, audited, audited_upon, costs
from dpsql.plan.record import kept
from dpsql.privacy.events import Event
from dpsql.privacy.window import Window
from dpsql.safe_text import html_text, markdown_text, printable
from dpsql.session.audited import AnalystSum, AuditedCharge, AuditedGrant, AuditedPromise, Happening, part_of
from dpsql.session.deciding import odds
from dpsql.session.digits import shown_amount, shown_up
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
        more = spent.since(account.spent)
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


def _protects(declared: Iterable[tuple[str, str]], known: dict[str, str]) -> bool:
    """Everything the plan read is owned as the ledger says."""
    return all(known.get(table) == way for table, way in declared)


__all__ = ["Audit", "AuditedCharge", "audit"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Audit:
    """The findings. Printed, it is a statement in plain language; iterated over, it is the audited payments."""

    ledger: str
    head: Head
    """Where the ledger ended when its entries had been read."""
    version: str
    """Of dpsql."""
    made: datetime
    """When it was made: by the clock, and never before the last entry."""
    person: str
    since: datetime | None
    entries: int
    first_written: datetime
    last_written: datetime
    promises: tuple[AuditedPromise, ...]
    """All of them, whatever `since` says: people remember."""
    owners: tuple[tuple[str, str], ...]
    """Whose the rows of each table are under the promise made last, in the words of the policy; under the empty name
    the relation."""
    grants: tuple[AuditedGrant, ...]
    """All of them in every period, whatever `since` says."""
    charges: tuple[AuditedCharge, ...]
    analysts: tuple[AnalystSum, ...]
    deeds: tuple[Happening, ...]
    """Everything that was decided, by the owner or by somebody with a token, oldest first."""
    renewals: int
    refused: int
    top_ups: int
    stops: int
    """How often answering was stopped by a freeze."""
    written_off: int
    frozen: str | None
    """Why nothing is answered now; None: questions are answered."""

    @property
    def has_losses(self) -> bool:
        """Entries were lost at some time, and written off."""
        return any(promise.lost or promise.written_off is not None for promise in self.promises)

    @property
    def kept(self) -> bool:
        """Every promise was kept, and so was the limit of every grant."""
        return all(promise.kept for promise in self.promises) and all(grant.kept for grant in self.grants)

    @property
    def holds(self) -> bool:
        """Everything was kept, and every price agrees."""
        return self.kept and all(charge.agrees for charge in self.charges)

    @property
    def policies(self) -> tuple[Happening, ...]:
        """Versions of the policy, and what changed with them."""
        return tuple(each for each in self.deeds if each.kind == "policy")

    @property
    def freezes(self) -> tuple[Happening, ...]:
        """When nothing was answered any more, and when it was again."""
        return tuple(each for each in self.deeds if each.kind == "freeze")

    @property
    def problems(self) -> tuple[AuditedCharge, ...]:
        return tuple(charge for charge in self.charges if charge.problem)

    def __iter__(self) -> Iterator[AuditedCharge]:
        return iter(self.charges)

    def __len__(self) -> int:
        return len(self.charges)

    def __getitem__(self, place: int) -> AuditedCharge:
        return self.charges[place]

    def __str__(self) -> str:
        return in_text(self)

    __repr__ = __str__

    def markdown(self, *, place: str = "") -> str:
        """The same with tables, for a file. `place`: the options of the command line that say where the ledger is,
        for whoever wants to make the report again."""
        return in_markdown(self, place=place)

    def html(self, *, place: str = "") -> str:
        """The same as one page; everything anybody wrote is escaped."""
        return in_html(self, place=place)


def audit(ledger: Ledger, *, since: datetime | None = None, texts: bool = True, person: str = "person") -> Audit:
    """What the ledger shows; LedgerBroken where it does not verify itself. `since` leaves out what was before, but for
    the promises: they hold for ever. `person` is the word for whom they protect."""
    entries, head = ledger.entries(), ledger.head()  # verified
    walk = Walk(since=since, texts=texts)
    for entry in entries:
        walk.past(entry)
    walk.end_period()
    last = entries[-1].time
    return Audit(
        ledger=ledger.id,
        head=head,
        version=__version__,
        made=datetime.fromtimestamp(max(utc_seconds(), last), tz=UTC),
        person=person,
        since=since,
        entries=len(entries),
        first_written=moment_of(entries[0]),
        last_written=moment_of(entries[-1]),
        promises=tuple(walk.promises),
        owners=tuple(walk.owners.items()),
        grants=tuple(walk.grants_told),
        charges=tuple(walk.charges),
        analysts=tuple(_sums(walk)),
        deeds=tuple(walk.deeds),
        renewals=walk.counted[Renewed],
        refused=walk.counted[Refused],
        top_ups=walk.top_ups,
        stops=walk.stops,
        written_off=walk.counted[WrittenOff],
        frozen=walk.frozen,
    )


def _sums(walk: Walk) -> Iterator[AnalystSum]:
    for name in sorted({*walk.refused, *(charge.analyst for charge in walk.charges)}):
        own = [charge for charge in walk.charges if charge.analyst == name]
        yield AnalystSum(
            name=name,
            payments=len(own),
            cost=sum((charge.cost for charge in own), Fraction(0)),
            spent=sum((charge.cost if charge.of_grant is None else charge.of_grant for charge in own), Fraction(0)),
            refused=walk.refused[name],
        )


_YES, _NO = "✓", "✗"
_ANALYSTS: Final = "Analysts"
_GRANTS: Final = "Grants"
_RELATIONS: Final = {
    "add_remove": "whether all rows of one {} are there or not",
    "change_one": "all rows of one {} as they are, or others in their place",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under names."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def in_text(audit: Audit) -> str:
    """A line or a few for each finding."""
    lines = [
        f"{title if place == 0 else '':<10} {printable(line)}"
        for title, told in statements(audit)
        for place, line in enumerate(told)
    ]
    return "\n".join(lines)


def statements(audit: Audit) -> Iterator[tuple[str, list[str]]]:
    """What was found, in sentences, each under a word."""
    yield "Report", list(_head(audit))
    written = f"last written {_time(audit.last_written)}"
    yield "Ledger", [f"{_number(audit.entries, 'entry', 'entries')}, chain intact, {written}  {_YES}", *_lost(audit)]
    yield "Promise", list(_promise(audit))
    if audit.owners:
        yield "Protects", list(_protected(audit))
    if audit.since is not None:
        yield "Since", [f"{_time(audit.since)}; the promise above is about everything before, too"]
    yield "Policy", [_policy(audit)]
    yield "Recompute", list(_recomputed(audit))
    yield "Also", [_also(audit)]
    if audit.frozen is not None:
        yield "Frozen", [f"every question is refused: {audit.frozen}"]
    if audit.grants:
        yield _GRANTS, [_granted(each, audit) for each in audit.grants]
    if audit.analysts:
        yield (
            _ANALYSTS,
            [
                f"{each.name}: {_number(each.payments, 'payment')}, {shown_up(each.spent)} in all, "
                f"{each.refused} refused"
                for each in audit.analysts
            ],
        )


def _lost(audit: Audit) -> Iterator[str]:
    if audit.has_losses:
        yield "of what is left: entries were lost before, and what they may have spent was written off as spent"


def _head(audit: Audit) -> Iterator[str]:
    """Which ledger it is about, up to where, and when it was made by what."""
    yield f"about the ledger {audit.ledger}, made {_time(audit.made)} by dpsql {audit.version}"
    begin = audit.first_written if audit.since is None else audit.since
    covered = f"covers {_time(begin)} to {_time(audit.last_written)}"
    later = audit.head.number - audit.entries
    missing = f", of which the last {later} came while this was made and are not in it" if later else ""
    yield f"{covered}; the ledger ends with entry {audit.head.number}{missing}, hash {audit.head.hash.hex()}"


def _promise(audit: Audit) -> Iterator[str]:
    if not audit.promises:
        yield "none was made, and nothing was answered"
        return
    for promise, following in zip(audit.promises, (*audit.promises[1:], None), strict=True):
        is_first = following is not None and following.period > promise.period
        yield f"{_stated(promise, audit.person, is_first=is_first)}  {_YES if promise.kept else _NO}"
        yield from _counted(promise)
    epsilon = sum((promise.account.epsilon for promise in audit.promises), Fraction(0))
    delta = sum((promise.account.delta for promise in audit.promises), Fraction(0))
    yield (
        f"ε limits what answers tell about one {audit.person}: none becomes more than e^ε times as likely, or as"
        f" unlikely, because of their rows{', apart from δ' if delta else ''}"
    )
    number = len(audit.promises)
    until = "for ever" if audit.promises[-1].per is Window.FOREVER else "until it is renewed"
    asked = f"All {number} promises and periods together, which add up" if number > 1 else f"Whatever is asked, {until}"
    yield f"{asked}: {odds(epsilon=epsilon, delta=delta, person=audit.person)}"
    last = audit.promises[-1]
    if last.is_ahead:
        yield (
            f"It was to be renewed each {last.per.value}, and has {len(last.begun)} periods by now: more than that, or "
            "nobody knows when they began"
        )
    if number > 1:
        yield "People remember earlier periods: another renewal or promise adds to this again"


def _protected(audit: Audit) -> Iterator[str]:
    """Whom the promise made last is about."""
    relation = dict(audit.owners)[""]
    yield f"one {audit.person}, {relation}: {_RELATIONS.get(relation, '').format(audit.person)}".rstrip(": ")
    yield from (f"{table}: {whose}" for table, whose in audit.owners if table)


def _recomputed(audit: Audit) -> Iterator[str]:
    wrong, whole = len(audit.problems), len(audit.charges)
    told = f"{whole - wrong}/{whole} prices derived again from the stored plans, {wrong} differ"
    yield f"{told}  {_NO if wrong else _YES}"
    if audit.has_losses:
        yield "payments that were lost are not among them: nothing is left to derive them from"
    yield from (f"#{each.receipt}: {each.verdict}" for each in audit.problems)


def _stated(promise: AuditedPromise, person: str, *, is_first: bool) -> str:
    """A period is numbered where it is not the only one."""
    account = promise.account
    numbered = promise.period > 1 or is_first
    period = ", a lost period" if promise.lost else f", period {promise.period}" if numbered else ""
    if promise.is_early:
        period += f", begun sooner than each {promise.per.value}"
    ended = "" if promise.ended is None else f", closed: {promise.ended}"
    verdict = "kept" if promise.kept else "NOT KEPT"
    return (
        f"one {person}, all rows · ε ≤ {shown_amount(account.epsilon)}, δ ≤ {float(account.delta):g}{period}{ended} · "
        f"{verdict}: {shown_up(promise.spent)} spent{_written_off(promise)}"
    )


def _written_off(promise: AuditedPromise) -> str:
    if promise.lost:
        return ", all of it written off"
    return "" if promise.written_off is None else f", of which {shown_up(promise.lost_part)} was written off"


def _counted(promise: AuditedPromise) -> Iterator[str]:
    """Why the costs that were told do not add up to what is spent, where they do not."""
    of_payments = promise.spent - promise.lost_part
    if promise.lost or shown_up(promise.told) == shown_up(of_payments):
        return
    yield (
        f"its payments were told to cost {shown_up(promise.told)}, each by itself; Gaussian noise has a ρ and no ε, so "
        f"the promise adds all of them up in one of the two, {promise.account.counted_in}, as shares of its limit: "
        f"{shown_up(of_payments)}"
    )


def _granted(grant: AuditedGrant, audit: Audit) -> str:
    verdict = "kept" if grant.kept else "NOT KEPT"
    period = f", period {grant.period}" if any(promise.period > 1 for promise in audit.promises) else ""
    limit, spent = shown_amount(grant.account.epsilon), _spent_of(grant)
    return f"{grant.holder}{period}: ε ≤ {limit} · {verdict}: {spent} spent  {_YES if grant.kept else _NO}"


def _spent_of(grant: AuditedGrant) -> str:
    """Rounded up, but not past a limit that was not passed."""
    limit, spent = grant.account.epsilon, grant.spent
    if spent > limit:
        return f"{shown_up(spent)}{', before the limit was lowered,' if grant.kept else ''}"
    return min((shown_up(spent), shown_amount(limit)), key=Fraction)


def _policy(audit: Audit) -> str:
    if not audit.policies:
        return f"no {'new ' if audit.since is not None else ''}version was written down"
    times = ", ".join(_time(each.at) for each in audit.policies)
    return f"{_number(len(audit.policies), 'version')} written down ({times})"


def _also(audit: Audit) -> str:
    lost = f" · lost charges written off {audit.written_off}×" if audit.written_off else ""
    return (
        f"refused {audit.refused} · top-ups {audit.top_ups} · renewals {audit.renewals} · freezes {audit.stops}{lost}"
    )


def tables(audit: Audit) -> Iterator[Table]:
    """What is told in rows, for a file."""
    yield Table(
        title=_ANALYSTS,
        names=("analyst", "payments", "taken of grants, in ε", "refused"),
        rows=tuple((each.name, str(each.payments), shown_up(each.spent), str(each.refused)) for each in audit.analysts),
    )
    yield Table(
        title=_GRANTS,
        names=("holder", "period", "limit in ε", "spent", "kept"),
        rows=tuple(
            (
                each.holder,
                str(each.period),
                shown_amount(each.account.epsilon),
                _spent_of(each),
                "yes" if each.kept else "NO",
            )
            for each in audit.grants
        ),
    )
    yield Table(
        title="What was decided, and by whom",
        names=("when", "kind", "what", "by"),
        rows=tuple((_time(each.at), each.kind, each.what, each.by) for each in audit.deeds),
    )
    yield _payments(audit)


def _payments(audit: Audit) -> Table:
    texts = any(charge.sql for charge in audit.charges)
    names = ("receipt", "when", "analyst", "paid by", "what", "cost in ε", "of the promise", "of the grant")
    return Table(
        title="Payments",
        names=(*names, "derived again", *(("question",) if texts else ())),
        rows=tuple(
            (
                str(each.receipt),
                _time(each.at),
                each.analyst,
                each.grant,
                ("fresh" if each.upon is None else f"top-up of {each.upon}"),
                shown_amount(each.cost),
                _part(each.of_promise),
                _part(each.of_grant),
                each.verdict,
                *((each.sql,) if texts else ()),
            )
            for each in audit.charges
        ),
    )


def _part(part: Fraction | None) -> str:
    return "not counted" if part is None else shown_amount(part)


def _without_tables(audit: Audit) -> Iterator[tuple[str, list[str]]]:
    """What no table tells in a file."""
    return ((title, told) for title, told in statements(audit) if title not in (_ANALYSTS, _GRANTS))


def _again(audit: Audit, place: str) -> tuple[str, str]:
    """How a reader makes the report again: a sentence, and the command."""
    since = "" if audit.since is None else f" --since {audit.since.astimezone(UTC).replace(tzinfo=None).isoformat()}"
    where = f" {place}" if place else ""
    unknown = "" if place else "; --ledger FILE or --policy FILE says where it is"
    return (
        f"Verify this yourself, with the ledger and its key{unknown}:",
        f"dpsql ledger verify{where} && dpsql audit{where}{since}",
    )


def in_markdown(audit: Audit, *, place: str) -> str:
    """A file of Markdown. Marks that somebody wrote into a name or a reason are shown as they are."""
    lines = [f"# Audit of the ledger {markdown_text(audit.ledger)}", ""]
    for title, told in _without_tables(audit):
        lines += [f"**{title}**", "", *(f"- {markdown_text(line)}" for line in told), ""]
    for table in tables(audit):
        if table.rows:
            lines += [f"## {table.title}", "", _row(table.names), _row(["---"] * len(table.names), plain=True)]
            lines += [*(_row(row) for row in table.rows), ""]
    sentence, command = _again(audit, place)
    lines += [markdown_text(sentence), "", f"    {printable(command)}", ""]
    return "\n".join(lines)


def _row(cells: Sequence[str], *, plain: bool = False) -> str:
    return "| " + " | ".join(cell if plain else markdown_text(cell) for cell in cells) + " |"


def in_html(audit: Audit, *, place: str) -> str:
    """One page without scripts and without anything from elsewhere."""
    body = [f"<h1>Audit of the ledger {html_text(audit.ledger)}</h1>"]
    for title, told in _without_tables(audit):
        body.append(f"<h3>{html_text(title)}</h3><ul>{''.join(f'<li>{html_text(line)}</li>' for line in told)}</ul>")
    for table in tables(audit):
        if table.rows:
            head = "".join(f"<th>{html_text(name)}</th>" for name in table.names)
            rows = "".join(
                "<tr>" + "".join(f"<td>{html_text(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
            )
            body.append(f"<h2>{html_text(table.title)}</h2><table><tr>{head}</tr>{rows}</table>")
    sentence, command = _again(audit, place)
    body.append(f"<p>{html_text(sentence)}</p><pre>{html_text(command)}</pre>")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Audit</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        "<style>body{font:16px sans-serif;margin:2em}td,th{border:1px solid #999;padding:.3em;text-align:left}"
        f"table{{border-collapse:collapse}}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _number(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or f'{one}s'}"


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
