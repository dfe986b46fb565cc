"""A text of several statements, one by one, as files and command lines hold them."""

from __future__ import annotations

from dataclasses import dataclass

from dpsql.errors import DpsqlError
from dpsql.sql.parse import compared, statements
from dpsql.sql.setting_text import Show, setting_statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement as it was written."""

    sql: str
    is_setting: bool
    """SET, RESET or SHOW, which speak to the session, or EXPLAIN PRIVACY DIFF: it is no question, and has no price."""
    has_result: bool
    """Whoever asks it wants to see something: not so SET and RESET."""


def script(text: str) -> tuple[Statement, ...]:
    """The statements of a text in their order. A text that cannot be split is one statement: whoever answers it says
    what is wrong with it."""
    return tuple(map(_statement, (sql for _, sql in statements(text))))


def _statement(sql: str) -> Statement:
    try:
        setting = setting_statement(sql)
        is_setting = setting is not None or compared(sql) is not None
    except DpsqlError:  # a mistake in one
        return Statement(sql=sql, is_setting=True, has_result=False)
    return Statement(sql=sql, is_setting=is_setting, has_result=setting is None or isinstance(setting, Show))
