"""audit: what was promised and what was kept, from the ledger alone. No data and no policy is read.

Every price is derived again from the plan that was kept beside it, by the path of `seal`; whom each plan protected is
compared with what the ledger says of owners; and what was charged is added up anew under every promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

from dpsql import __version__
from dpsql.ledger.book import Ledger
from dpsql.ledger.clock import utc_seconds
from dpsql.ledger.facts import Refused, Renewed, WrittenOff
from dpsql.ledger.ledger import Head
from dpsql.session.audit_report import in_html, in_markdown, in_text
from dpsql.session.audit_walk import Walk
from dpsql.session.audited import AnalystSum, AuditedCharge, AuditedGrant, AuditedPromise, Happening
from dpsql.session.entry_rows import moment_of

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
