"""How a command ends: the exit code of an error, by what kind of error it is."""

from __future__ import annotations

from typing import Final

from dpsql import DpsqlError
from dpsql.codes import CODES, EXITS

BAD_USE: Final = 2
BROKEN_LEDGER: Final = 9
ONLY_NOISE: Final = 10
INTERRUPTED: Final = 130
ENDINGS: Final = {
    0: "done",
    **EXITS,
    ONLY_NOISE: "answered, but the noise may be all there is (with --strict-accuracy)",
    INTERRUPTED: "interrupted",
}
"""What a script is told by the number a command ends with."""
MEANINGS: Final = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in ENDINGS.items()) + "."


def exit_code(error: DpsqlError) -> int:
    """What a script is told about an error."""
    return CODES[error.code].exit if error.code in CODES else 1
