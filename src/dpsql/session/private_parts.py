"""The PRIVATE questions of a statement: paid for together or not at all, and told with the answer that reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Final

from dpsql.accounting.account import Account
from dpsql.engines.engine import Engine
from dpsql.errors import BudgetExhausted, DpsqlError, NotSupported
from dpsql.ledger.book import Ledger
from dpsql.plan.expected import COMPUTED, expected
from dpsql.session.answer_value import Answer
from dpsql.session.cost import Cost
from dpsql.session.inquiry import Inquiry, Part, require_few_keys_each
from dpsql.session.noisy import Noisy
from dpsql.session.terms import Ask
from dpsql.sql.released import Told, awaits

_GIVEN: Final = "± takes the released numbers of PRIVATE questions as they are; they carry noise of their own"


def plain_rows(answer: Answer) -> tuple[tuple[Told, ...], ...]:
    """The cells of an answer without their margins."""
    return tuple(tuple(cell.value if isinstance(cell, Noisy) else cell for cell in row) for row in answer.rows)


def for_inner(ask: Ask) -> Ask:
    """What is asked of each inner question: caps at the end of a statement are those of the statement itself."""
    return replace(ask, rows_per_person=None, groups_per_person=None)


def require_no_margin(ask: Ask) -> None:
    """WITHIN is about the numbers that are told, and they rest on released ones too."""
    if ask.within is not None:
        raise NotSupported(
            "WITHIN is not possible in a statement with PRIVATE questions",
            why="its numbers rest on released ones, and how far off those are is not in their own margin",
            fix="say what all of it may cost instead: COST 0.1; or ask the inner question by itself, WITHIN its margin",
            at=ask.priced_at,
        )


def require_all_read(inquiry: Inquiry) -> None:
    """A PRIVATE question that no other reads would be paid for and never told."""
    awaited = frozenset().union(*(awaits(part.draft) for part in inquiry.parts))
    for number, part in enumerate(inquiry.inner):
        if number not in awaited:
            raise NotSupported(
                "a PRIVATE question whose answer nothing reads",
                why="it would be paid for, and its answer would not be shown",
                fix="leave it out, or read it: SELECT … FROM w",
                at=part.draft.bounded.query.at,
            )


def require_payable(inquiry: Inquiry, accounts: Sequence[Account], engine: Engine, ledger: Ledger) -> None:
    """Every account admits all questions at once: half a statement would be paid for and not told."""
    require_few_keys_each(inquiry.payments, engine, ledger)
    event = inquiry.event
    if event is not None and not all(account.admits(event) for account in accounts):
        raise BudgetExhausted(
            "the questions of this statement cost more together than is left",
            why="a statement that ends in the middle would be paid for in part and told in part; nothing was spent",
            fix="ask for less accuracy, or ask the inner question by itself",
        )


@contextmanager
def saying_what_is_paid(answers: Sequence[Answer]) -> Iterator[None]:
    """A failure between two questions leaves what was paid for in the store, and says so."""
    try:
        yield
    except DpsqlError as error:
        if any(answer.cost.epsilon for answer in answers):
            error.fix = (
                f"{error.fix}. The PRIVATE questions before it are answered and stored: asked again, they are free"
            )
        raise


def with_inner(last: Answer, answers: Sequence[Answer], inquiry: Inquiry) -> Answer:
    """The answer of a statement: its cost is that of all its questions, its notes say what the inner ones are worth."""
    costs = [answer.cost for answer in (*answers, last)]
    notes = [_GIVEN if inquiry.outer.is_priced else COMPUTED] if any(part.is_priced for part in inquiry.inner) else []
    for number, (part, answer) in enumerate(zip(inquiry.inner, answers, strict=True), start=1):
        notes += _about(number, part, answer)
    return replace(
        last,
        cost=Cost(
            epsilon=sum((cost.epsilon for cost in costs), Fraction(0)),
            delta=sum((cost.delta for cost in costs), Fraction(0)),
        ),
        notes=(*last.notes, *dict.fromkeys(notes)),
    )


def _about(number: int, part: Part, answer: Answer) -> Iterator[str]:
    """What is known about the numbers of one inner question."""
    release = "" if answer.release is None else f", release #{answer.release}"
    noisy = [column.text for column in expected(part.sealed.plan, read_further=True) if column.noisy]
    if noisy:
        yield f"PRIVATE question {number}{release}: {'; '.join(noisy)}"
    yield from (f"PRIVATE question {number}: {note}" for note in answer.notes)
