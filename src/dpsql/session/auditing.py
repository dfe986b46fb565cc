"""audit: every price in the ledger, derived again from what was kept beside it. No data and no policy is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.triple import Triple, triple
from dpsql.errors import DpsqlError
from dpsql.ledger.ledger import Charge, Ledger
from dpsql.plan.audit import audited


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

    @property
    def agrees(self) -> bool:
        return not self.problem

    @property
    def verdict(self) -> str:
        """One word, or what is wrong."""
        return self.problem or "agrees"


def audit(ledger: Ledger) -> tuple[AuditedCharge, ...]:
    """One row for each payment, oldest first; LedgerBroken where the ledger itself does not verify."""
    return tuple(_row(number, charge) for number, charge in ledger.charges())


def _row(number: int, charge: Charge) -> AuditedCharge:
    charged = triple(charge.event)
    derived, problem = None, ""
    try:
        found = audited(charge.record)
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
        charged=charged,
        derived=derived,
        problem=problem,
    )
