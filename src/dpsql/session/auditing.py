"""audit: every price in the ledger, derived again from what was kept beside it. No data and no policy is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.batch import proven
from dpsql.accounting.triple import Triple, triple
from dpsql.errors import DpsqlError
from dpsql.ledger.ledger import Charge, Ledger, PaidBatch
from dpsql.plan.audit import audited
from dpsql.plan.audit_upon import audited_upon


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCharge:
    """One payment, and what its record says it should have been."""

    receipt: int
    analyst: str
    sql: str
    cost: Fraction
    """In ε of the account, as the analyst was told."""
    charged: Triple
    """What the accounts were charged: (ε, δ, ρ) of the stored event."""
    derived: Triple | None
    """The same, from the stored statements and noise alone; None where they do not hold what they promise."""
    problem: str = ""
    batch: int | None = None
    """The receipt of the batch that paid for it: then `charged` is what it would cost alone, and not added up."""

    @property
    def agrees(self) -> bool:
        return not self.problem

    @property
    def verdict(self) -> str:
        """One word, or what is wrong."""
        return self.problem or "agrees"


def audit(ledger: Ledger) -> tuple[AuditedCharge, ...]:
    """One row for each payment, oldest first; LedgerBroken where the ledger itself does not verify.

    A batch has a row of its own, before those of its questions.
    """
    charges = ledger.charges()
    records = {number: charge.record for number, charge in charges}
    rows = [*(_row(*paid, records) for paid in charges), *(_batch_row(batch, charges) for batch in ledger.batches())]
    return tuple(sorted(rows, key=lambda row: row.receipt))


def _batch_row(batch: PaidBatch, charges: Sequence[tuple[int, Charge]]) -> AuditedCharge:
    """The events of its questions, priced again: each event is compared with its own record in its own row."""
    events = tuple(charge.event for _, charge in charges if charge.batch == batch.number)
    derived, problem = None, ""
    try:
        proof = proven(events, delta=batch.event.delta)
    except DpsqlError as error:
        problem = error.what
    else:
        derived = triple(proof.batch)
        if proof.batch.epsilon > batch.event.epsilon:
            problem = f"{proof.by}, the best accountant at hand, proves more for this batch than was charged"
        elif events != batch.event.events:
            problem = "what was charged together is not what was released"
    return AuditedCharge(
        receipt=batch.number,
        analyst=batch.analyst,
        sql=f"{len(events)} questions planned together",
        cost=batch.cost,
        charged=triple(batch.event),
        derived=derived,
        problem=problem,
    )


def _row(number: int, charge: Charge, records: Mapping[int, str]) -> AuditedCharge:
    charged = triple(charge.event)
    derived, problem = None, ""
    try:
        found = audited(charge.record, in_batch=charge.batch is not None)
        audited_upon(charge.record, upon=charge.upon, records=records)
    except DpsqlError as error:
        problem = error.what
    else:
        derived = found.price
        if derived != charged:
            problem = "what was charged is not the price of what was released"
        elif len(found.steps) != charge.steps:
            problem = "more or fewer steps were paid for than the plan has"
    return AuditedCharge(
        receipt=number,
        analyst=charge.analyst,
        sql=charge.sql,
        cost=charge.cost,
        batch=charge.batch,
        charged=charged,
        derived=derived,
        problem=problem,
    )
