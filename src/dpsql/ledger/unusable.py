"""A ledger that is refused as it is now, and may be whole."""

from __future__ import annotations

from typing import Final

from dpsql.errors import LedgerBroken

WHY_UNUSABLE: Final = "an answer that cannot be paid for and stored cannot be given"
WHY_UNWRITTEN: Final = (
    "an answer is told once it is paid for and stored; what was charged stays charged, and asked again it is told for "
    "nothing"
)
"""Of a ledger that is whole, and could not be written or read just now."""


class Unusable(LedgerBroken):
    """Nothing of the transaction is told, and a later one may succeed. Other kinds of LedgerBroken end the ledger."""
