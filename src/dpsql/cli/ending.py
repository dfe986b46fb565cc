"""How a command ends: the exit code of an error, by what kind of error it is."""

from __future__ import annotations

from typing import Final

from dpsql import DpsqlError

BAD_USE: Final = 2
BROKEN_LEDGER: Final = 9
INTERRUPTED: Final = 130
_BY_CODE: Final = (
    ("DP900", 1),
    ("DP9", BROKEN_LEDGER),
    ("DP402", 6),
    ("DP410", BAD_USE),
    ("DP42", BAD_USE),
    ("DP43", BAD_USE),
    ("DP100", 3),
    ("DP4", 3),
    ("DP1", 4),
    ("DP3", 4),
    ("DP2", 5),
    ("DP6", 7),
    ("DP5", 8),
)
"""How codes begin, the longer first."""

MEANINGS: Final = (
    "Exit codes: 0 done; 2 bad arguments; 5 frozen, or the budget does not suffice; 6 not permitted; 7 the source or "
    "the server cannot be reached; 8 the policy cannot be used; 9 the ledger does not verify."
)


def exit_code(error: DpsqlError) -> int:
    """What a script is told about an error."""
    return next((number for start, number in _BY_CODE if error.code.startswith(start)), 1)
