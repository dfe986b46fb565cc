"""A ledger that is refused as it is now, and may be whole."""

from __future__ import annotations

from typing import Final

from dpsql.errors import LedgerBroken

AFTER_DAMAGE: Final = (
    "stop answering, restore a backup that verifies, and tell the owner of the data: dpsql ledger restore FILE "
    "--replace, dpsql ledger verify, then dpsql audit --report report.html"
)
WHY_UNUSABLE: Final = "an answer that cannot be paid for and stored cannot be given"


class Unusable(LedgerBroken):
    """Nothing of the transaction is told, and a later one may succeed. Other kinds of LedgerBroken end the ledger."""
