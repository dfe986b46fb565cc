"""apart: one statement as the questions it asks. Parsed -> Questions.

Every query the analyst calls PRIVATE is a question of its own, with a price, a release and a record of its own, and
stands before the ones that read it. The last question is the statement itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from dpsql.errors import NotSupported
from dpsql.sql.parsing.refusals import SUBQUERY, unsupported
from dpsql.sql.sources import NOTHING, Known
from dpsql.sql.syntax import (
    Among,
    At,
    Call,
    Derived,
    Expression,
    From,
    Joined,
    Over,
    Parsed,
    PrivateValue,
    Query,
    Select,
    UnionAll,
)

MOST_QUESTIONS: Final = 16
"""PRIVATE queries in one statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One query, and the common tables in sight where it is written."""

    query: Query
    known: Known
    unsaid: At = None
    """Where it stands as a value without the word PRIVATE."""

    @property
    def at(self) -> At:
        return self.query.at


def apart(parsed: Parsed) -> tuple[Question, ...]:
    """The questions of a statement, each after all that it may read; the statement itself comes last."""
    found: dict[At, Question] = {}
    for question in _inside(parsed.query, NOTHING):
        found.setdefault(question.at, question)  # BETWEEN and CASE write their operand more than once
        if len(found) > MOST_QUESTIONS:
            raise NotSupported(
                f"a statement with more than {MOST_QUESTIONS} PRIVATE questions",
                why="each is planned before the first is asked, and the work would grow without limit",
                fix="ask some of them by themselves: their answers are stored, and can be written as literals",
                at=question.at,
            )
    return (*found.values(), Question(query=parsed.query, known=NOTHING))


def unsaid(question: Question, text: str) -> NotSupported:
    """The refusal of a question about people that the analyst does not call one."""
    start = question.unsaid[0] if question.unsaid else 0
    lesson = replace(SUBQUERY, try_sql=f"{text[:start]}PRIVATE {text[start:]}")
    return unsupported(lesson, at=question.unsaid)


def _inside(query: Query, known: Known) -> Iterator[Question]:
    """The PRIVATE queries within a query, those inside others first."""
    for common in query.with_:
        yield from _asked(common.query, known, private=common.private)
        known = known.with_(common)
    for expression in _expressions(query):
        yield from _within(expression, known)
    if isinstance(query, UnionAll):
        for branch in query.branches:
            yield from _inside(branch, known)
    elif query.from_ is not None:
        yield from _in_from(query.from_, known)


def _asked(query: Query, known: Known, *, private: bool) -> Iterator[Question]:
    yield from _inside(query, known)
    if private:
        yield Question(query=query, known=known)


def _in_from(item: From, known: Known) -> Iterator[Question]:
    match item:
        case Derived():
            yield from _asked(item.query, known, private=item.private)
        case Joined():
            yield from _in_from(item.left, known)
            yield from _in_from(item.right, known)
            if item.on is not None:
                yield from _within(item.on, known)


def _expressions(query: Query) -> Iterator[Expression]:
    yield from (key.expression for key in query.order_by)
    if isinstance(query, Select):
        yield from (item.expression for item in query.items)
        yield from query.group_by
        yield from (part for part in (query.where, query.having, query.qualify) if part is not None)


def _within(expression: Expression, known: Known) -> Iterator[Question]:
    match expression:
        case PrivateValue():
            yield from _inside(expression.query, known)
            yield Question(query=expression.query, known=known, unsaid=None if expression.said else expression.at)
        case Among():
            yield from _asked(expression.query, known, private=False)
            for operand in expression.operands:
                yield from _within(operand, known)
        case Call():
            for argument in (*expression.arguments, *_around(expression)):
                yield from _within(argument, known)


def _around(call: Call) -> Iterator[Expression]:
    """FILTER and OVER of a call."""
    if call.filter is not None:
        yield call.filter
    if isinstance(call.over, Over):
        yield from call.over.partition_by
        yield from (key.expression for key in call.over.order_by)
