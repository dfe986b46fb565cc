"""A refusal proposes only what would be answered: a rewrite is planned, without data, before anybody sees it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from dpsql.errors import BadName, DpsqlError
from dpsql.sql.other_dialects import in_other_words


def with_sure_proposal(error: DpsqlError, sql: str, plan: Callable[[str], object]) -> DpsqlError:
    """The same refusal, with its rewrite where that has a plan under the same policy and grant, else without one.

    Planning reads names, the policy and the ledger, never a row: whether there is a proposal tells nothing of rows.
    """
    in_other_words(error, sql)
    proposals = (error.try_sql, _respelt(error, sql), _otherwise(error, sql), *error.or_else)
    error.try_sql = next((each for each in proposals if each is not None and _is_planned(each, plan)), None)
    return error


def _is_planned(sql: str, plan: Callable[[str], object]) -> bool:
    try:
        plan(sql)
    except DpsqlError:
        return False
    return True


def _respelt(error: DpsqlError, sql: str) -> str | None:
    """The text with the declared name that was perhaps meant."""
    if not isinstance(error, BadName) or error.meant is None or error.at is None:
        return None
    start, end = error.at
    call = _CALL.match(sql, start, end)
    if call is not None:
        return f"{sql[:start]}{error.meant}{sql[call.end() :]}"
    before, point, _ = sql[start:end].rpartition(".")
    return f"{sql[:start]}{before}{point}{error.meant}{sql[end:]}"


_CALL: Final = re.compile(r"\w+(?=\s*\()")
"""The name of a function, where the whole call is marked."""


def _otherwise(error: DpsqlError, sql: str) -> str | None:
    """The text with what might stand at the marked place."""
    if error.instead is None or error.at is None:
        return None
    start, end = error.at
    return f"{sql[:start]}{error.instead.replace('{}', sql[start:end])}{sql[end:]}"
