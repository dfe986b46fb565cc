"""A question that already says what a command says: `dpsql cost "DRY RUN SELECT …"`, as an error proposes it."""

from __future__ import annotations

import re
from typing import Final

from dpsql import script

DRY_RUN: Final = re.compile(r"\A\s*DRY\s+RUN\b", re.IGNORECASE)
EXPLAIN: Final = re.compile(r"\A\s*EXPLAIN\s+PRIVACY\b(?:\s*\(\s*FORMAT\s+(JSON)\s*\))?(?!\s+DIFF\b)", re.IGNORECASE)
"""Its group: the explanation is wanted as JSON."""
SIMULATE: Final = re.compile(r"\A\s*SIMULATE\b", re.IGNORECASE)


def without(words: re.Pattern[str], text: str) -> list[str]:
    """Each statement of a text without the words in front of it."""
    return [words.sub("", statement.sql, count=1) for statement in script(text)]
