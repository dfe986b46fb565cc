"""How a command ends: the exit code of an error, by what kind of error it is."""

from __future__ import annotations

from typing import Final

from dpsql import DpsqlError
from dpsql.codes import CODES

BAD_USE: Final = 2
BROKEN_LEDGER: Final = 9
INTERRUPTED: Final = 130
MEANINGS: Final = (
    "Exit codes: 0 done; 2 bad arguments; 5 frozen, or the budget does not suffice; 6 not permitted; 7 the source or "
    "the server cannot be reached; 8 the policy cannot be used; 9 the ledger does not verify."
)


def exit_code(error: DpsqlError) -> int:
    """What a script is told about an error."""
    return CODES[error.code].exit if error.code in CODES else 1
