"""What was refused is written down: every question that wanted an answer and did not get one.

Whether a question is refused, and by which code, depends on its text, the policy and the ledger. A failure of the
engine is no refusal: it may depend on rows, and nobody writes those down.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from dpsql.errors import NO_REFUSALS, DpsqlError, NotSupported, NotUnderstood
from dpsql.ledger.book import Ledger
from dpsql.sql.parsing.text import prepared
from dpsql.sql.syntax import Purpose


class RefusalsIgnored:
    """Go on after this block where a question is refused in it: another way to ask it is tried then. A failure, of the
    ledger or of dpsql itself, says nothing about the question, and is raised."""

    def __enter__(self) -> None:
        """Nothing is to be done before."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return isinstance(error, DpsqlError) and not isinstance(error, NO_REFUSALS)


@contextmanager
def refusals_written(ledger: Ledger, *, analyst: str, sql: str) -> Iterator[None]:
    """A refusal in this block is written down before it is told."""
    try:
        yield
    except NO_REFUSALS:
        raise
    except DpsqlError as error:
        about = sql if error.sql is None else error.sql  # of several questions, the one it speaks of
        if wants_an_answer(about):
            ledger.refuse(analyst, code=error.code, sql=_writable(about))
        raise


def wants_an_answer(sql: object) -> bool:
    """Whether it is a question for an answer; an explanation or a price that is refused tells nobody anything."""
    if not isinstance(sql, str):
        return False
    try:
        return prepared(sql).purpose is Purpose.ANSWER
    except (NotUnderstood, NotSupported):
        return True


def _writable(sql: str) -> str:
    """Characters that are of no language have no bytes."""
    return sql.encode("utf-8", "replace").decode("utf-8")
