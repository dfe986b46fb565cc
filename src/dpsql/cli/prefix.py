"""A question that already says what a command says: `dpsql cost "DRY RUN SELECT …"`, as an error proposes it."""

from __future__ import annotations

import re
from typing import Final

import dpsql

DRY_RUN: Final = re.compile(r"\A\s*DRY\s+RUN\b", re.IGNORECASE)
EXPLAIN: Final = re.compile(r"\A\s*EXPLAIN\s+PRIVACY\b(?:\s*\(\s*FORMAT\s+(JSON)\s*\))?(?!\s+DIFF\b)", re.IGNORECASE)
"""Its group: the explanation is wanted as JSON."""
SIMULATE: Final = re.compile(r"\A\s*SIMULATE\b", re.IGNORECASE)
_NOT_A_BREAK: Final = re.compile(r"[^\r\n]")


def without(words: re.Pattern[str], text: str) -> str:
    """The text with blanks for the words in front of each statement, so that every place in it stays the same."""
    for statement in dpsql.script(text):
        if found := words.match(statement.sql):
            start, end = statement.offset, statement.offset + found.end()
            text = f"{text[:start]}{_NOT_A_BREAK.sub(' ', text[start:end])}{text[end:]}"
    return text
