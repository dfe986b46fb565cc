"""A text of several statements, one by one, as files and command lines hold them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from dpsql.errors import DpsqlError
from dpsql.sql.parse import compared, purpose, statements
from dpsql.sql.setting_text import Show, setting_statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement as it was written."""

    sql: str
    text: str
    """The whole text that holds it."""
    offset: int
    """Where in `text` it begins."""
    is_setting: bool
    """SET, RESET or SHOW, which speak to the session, or EXPLAIN PRIVACY DIFF: it is no question, and has no price."""
    has_result: bool
    """Whoever asks it wants to see something: not so SET and RESET."""

    @property
    def purpose(self) -> str:
        """What is wanted of a question: answer, dry_run, explain, …; "" where it is none."""
        return "" if self.is_setting else purpose(self.sql)[0].value

    @property
    def query(self) -> Statement:
        """The same without the words of its purpose, such as DRY RUN."""
        sql = purpose(self.sql)[1].lstrip()
        return replace(self, sql=sql, offset=self.offset + len(self.sql) - len(sql))

    @contextmanager
    def locating_errors(self, *, prefix: str = "") -> Iterator[None]:
        """Errors raised in this block point into the whole text. `prefix` stands before the statement that is sent,
        and is in neither the text nor a proposal."""
        try:
            yield
        except DpsqlError as error:
            if error.sql is None:  # it is about no text
                raise
            if error.try_sql is not None:
                error.try_sql = error.try_sql.removeprefix(prefix)
            end = self.offset + len(self.sql)
            raise error.moved_to(self.text, start=self.offset, end=end, prefix=len(prefix)) from None


def script(text: str) -> tuple[Statement, ...]:
    """The statements of a text in their order. A text that cannot be split is one statement: whoever answers it says
    what is wrong with it."""
    return tuple(_statement(text, offset, sql) for offset, sql in statements(text))


def _statement(text: str, offset: int, sql: str) -> Statement:
    try:
        setting = setting_statement(sql)
        is_setting = setting is not None or compared(sql) is not None
    except DpsqlError:  # a mistake in one
        return Statement(sql=sql, text=text, offset=offset, is_setting=True, has_result=False)
    has_result = setting is None or isinstance(setting, Show)
    return Statement(sql=sql, text=text, offset=offset, is_setting=is_setting, has_result=has_result)
