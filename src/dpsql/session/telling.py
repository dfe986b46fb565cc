"""release: from stored steps to the answer. Post-processing only; nothing private is in reach any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, TypeGuard

from dpsql.catalog.model import Parameter
from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.engines.desk import Desk
from dpsql.engines.engine import MOST_EXACT_ROWS, NO_PARAMETERS, Capabilities, Rows, too_large
from dpsql.errors import InternalError, LedgerBroken
from dpsql.ledger.book import Ledger
from dpsql.ledger.ledger import Receipt, ReleasedStep
from dpsql.mechanisms.margins import averaged_slot
from dpsql.plan.caveats import caveats
from dpsql.plan.price import Plan
from dpsql.plan.recall import Finer, Measured, Way
from dpsql.plan.seal import Sealed
from dpsql.session.answer_value import Answer
from dpsql.session.charging import question_of
from dpsql.session.digits import NO_COST, Cost, shown_amount
from dpsql.session.noisy import Noisy
from dpsql.session.release import Cell, exact_cells, exact_statement, release_identity, released
from dpsql.session.released_rows import AveragedPart, ReleasedSlot, ReleasedTable
from dpsql.session.render import WITHOUT_MARGIN
from dpsql.session.simulate import has_windows
from dpsql.session.steps import key_values
from dpsql.session.tables import ColumnType
from dpsql.sql.emit import engine_text
from dpsql.sql.finish import Finish
from dpsql.sql.functions import interval_of
from dpsql.sql.intervals import EVERYTHING, Interval
from dpsql.sql.relations import Column
from dpsql.sql.rewrite import Selecting, Statement, Unprotected
from dpsql.sql.scalars import columns_of
from dpsql.sql.slots import SlotKind

Steps: TypeAlias = tuple[ReleasedStep, ...]


NOTHING: Final[Mapping[int, Steps]] = MappingProxyType({})


def told(
    sealed: Sealed, receipt: Receipt, steps: Steps, *, ledger: str, before: Mapping[int, Steps] = NOTHING
) -> Answer:
    """The answer to a plan that has just been performed; free where the receipt was paid for before. `before`: what
    the releases told that it makes finer."""
    plan = sealed.plan
    own = tuple(noise.carried for noise in plan.noises)
    measured = Measured(receipt=receipt.number, noises=own, places=tuple(range(len(own))))
    upon = () if plan.finer is None else plan.finer.upon.measured
    parts = [*((each, before[each.receipt]) for each in upon), (measured, steps)]
    cost = Cost(epsilon=plan.cost, delta=sealed.price.delta) if receipt.paid else NO_COST
    answer = _answer(plan, _table(plan, parts, ledger=ledger), cost=cost, receipt=receipt.number, ledger=ledger)
    if plan.finer is None or not receipt.paid:
        return answer
    return replace(answer, notes=(*answer.notes, made_finer(plan.finer)))


def told_before(plan: Plan, ledger: Ledger) -> dict[int, Steps]:
    """What the releases told that a plan makes finer, by their receipts."""
    if plan.finer is None:
        return {}
    return _steps_of({each.receipt for each in plan.finer.upon.measured}, plan, ledger)


def found_keys(plan: Plan, before: Mapping[int, Steps]) -> Steps:
    """The private keys of the release that is made finer: they are not looked for again."""
    if plan.finer is None or not isinstance(plan.rewritten, Selecting):
        return ()
    return before[plan.finer.upon.measured[0].receipt][:1]


_KNOWN: Final = "already known: it was released before"


def told_again(sealed: Sealed, ledger: Ledger) -> Answer:
    """The answer from a stored release: free. Whose release it was, and which, only its own analyst is told."""
    plan = sealed.plan
    stored = plan.stored
    if stored is None:
        raise InternalError("nothing stored would be told")
    steps = _steps_of({each.receipt for each in stored.measured}, plan, ledger)
    table = _table(plan, [(each, steps[each.receipt]) for each in stored.measured], ledger=ledger.id)
    again = _answer(plan, table, cost=NO_COST, receipt=stored.receipt, ledger=ledger.id)
    return again if stored.own else replace(again, release=None, notes=(*again.notes, _KNOWN))


def _steps_of(receipts: Set[int], plan: Plan, ledger: Ledger) -> dict[int, Steps]:
    recalled = ledger.recall(question_of(plan.recalled), told=receipts)
    found = {each.receipt: each.steps for each in recalled if each.receipt in receipts}
    if found.keys() != receipts:
        raise LedgerBroken("a stored release is gone")
    return found


class PublicRows(Protocol):
    """Whoever runs statements over public tables."""

    @property
    def capabilities(self) -> Capabilities: ...

    def run_public(self, sql: str, /, *, parameters: Mapping[str, Parameter] = NO_PARAMETERS) -> Rows: ...


def told_exactly(sealed: Sealed, engine: PublicRows) -> Answer:
    """The answer to a plan that reads nothing private: exact and free. The engine computes all of it, LIMIT included,
    and no more rows leave it than an answer may have."""
    plan, statement = sealed.plan, _unprotected(sealed.plan)
    finish = plan.bounded.finish
    if statement is None:  # constants of the policy alone
        table = ReleasedTable(keys=(), slots=(), key_rows=((),), values=((),))
        return _answer(plan, table, cost=NO_COST, receipt=None, ledger="")
    dialect = engine.capabilities.dialect
    text = engine_text(statement, dialect=dialect)
    rows = engine.run_public(
        exact_statement(text.sql, _key_columns(plan), finish, dialect=dialect, most=MOST_EXACT_ROWS + 1),
        parameters=text.parameters(),
    )
    if len(rows) > MOST_EXACT_ROWS:
        raise too_large(f"more than {MOST_EXACT_ROWS:,} rows")
    return Answer(
        columns=tuple(output.name for output in plan.bounded.finish.outputs),
        types=_types(plan.bounded.finish, frozenset()),
        rows=tuple(exact_cells(rows, finish)),
        cost=NO_COST,
        confidence=plan.terms.confidence,
        notes=tuple(caveats(plan)),
    )


def _table(plan: Plan, parts: Sequence[tuple[Measured, Steps]], *, ledger: str) -> ReleasedTable:
    """What the last step released, and the law of each of its numbers; of several releases their average."""
    columns = _key_columns(plan)
    measured, steps = parts[-1]
    last = steps[-1]
    slots = tuple(
        ReleasedSlot(column=placed.column, place=place, law=noise)
        for placed, place, noise in zip(plan.bounded.slots, measured.places, measured.noises, strict=True)
    )
    table = ReleasedTable(keys=columns, slots=slots, key_rows=key_values(last, columns), values=last.values)
    if len(parts) == 1:
        return table
    return averaged_table(table, [(each, told[-1]) for each, told in parts], ledger=ledger)


def _key_columns(plan: Plan) -> tuple[Column, ...]:
    """The columns the outputs read as keys."""
    query, statement = plan.bounded.query, _unprotected(plan)
    if query.private or statement is None:
        return tuple(key.column for key in query.keys)
    return statement.keys


def _unprotected(plan: Plan) -> Statement | None:
    return plan.rewritten.statement if isinstance(plan.rewritten, Unprotected) else None


def _answer(plan: Plan, table: ReleasedTable, *, cost: Cost, receipt: int | None, ledger: str) -> Answer:
    """The same noise is known by its ledger, receipt, row and slot."""
    finish, confidence = plan.bounded.finish, plan.terms.confidence
    above_zero = _never_below_zero(plan)
    rows = released(
        table,
        finish,
        confidence=confidence,
        desk=Desk(),
        receipt=receipt or 0,
        ledger=ledger,
        above_zero=above_zero,
    )
    return Answer(
        columns=tuple(output.name for output in finish.outputs),
        types=_types(finish, _noisy(table)),
        rows=rows,
        cost=cost,
        release=receipt,
        confidence=confidence,
        notes=(
            *caveats(plan),
            *_without_margin(plan, table),
            *_over_kept_rows(finish, table),
            *_at_once(rows, finish),
            *_below_zero(rows, above_zero),
        ),
    )


def _without_margin(plan: Plan, table: ReleasedTable) -> Iterator[str]:
    """A word on texts, dates and truths: they show no margin, also where the numbers behind them have one."""
    noisy = _noisy(table)
    for output in plan.bounded.finish.outputs:
        if output.expression.type not in NUMERIC and not noisy.isdisjoint(columns_of(output.expression)):
            yield f"{output.name} {WITHOUT_MARGIN}"


def _over_kept_rows(finish: Finish, table: ReleasedTable) -> Iterator[str]:
    """A word on windows behind HAVING: no margin speaks of the rows that noise has left out or kept."""
    if finish.having is None or _noisy(table).isdisjoint(columns_of(finish.having)):
        return
    names = [output.name for output in finish.outputs if has_windows([output.expression])]
    if names:
        yield f"noisy numbers decide which rows HAVING keeps: {', '.join(names)} looks at those, not at the true ones"


def _noisy(table: ReleasedTable) -> frozenset[int]:
    return frozenset(slot.column.id for slot in table.slots if slot.law is not None)


def _types(finish: Finish, noisy: frozenset[int]) -> tuple[ColumnType, ...]:
    """Of each column: its type, and whether its numbers read `noisy` columns. Ends and margins may be fractions."""
    return tuple(
        ColumnType(
            output.expression.type if output.part is None else SqlType.DOUBLE,
            is_noisy=output.part is None
            and output.expression.type in NUMERIC
            and not noisy.isdisjoint(columns_of(output.expression)),
        )
        for output in finish.outputs
    )


def _at_once(rows: Sequence[Sequence[Cell]], finish: Finish) -> Iterator[str]:
    """Which margins hold for all groups together, and why."""
    wide: dict[str, int] = {}
    for place, output in enumerate(finish.outputs):
        groups = max((cell.groups for row in rows if isinstance(cell := row[place], Noisy)), default=1)
        if groups > 1:
            wide[output.name] = max(groups, wide.get(output.name, 1))
    if wide:
        names, groups = ", ".join(wide), max(wide.values())
        yield (
            f"noisy numbers decide which rows are shown: ± of {names} holds for all {shown_amount(Fraction(groups))} "
            "groups at once"
        )


def _never_below_zero(plan: Plan) -> Mapping[int, str]:
    """Which columns of the answer are never negative: made of released counts, or of sums of such values."""
    kinds = {
        placed.column.id: "count" if placed.slot.kind is not SlotKind.SUM else "sum"
        for placed in plan.bounded.slots
        if placed.slot.low >= 0
    }
    outputs = [output.expression for output in plan.bounded.finish.outputs]
    above = Interval(Fraction(0), None)
    found = {}
    for place, scalar in enumerate(outputs):
        read = {kinds[number] for number in columns_of(scalar) if number in kinds}
        range_ = interval_of(scalar, lambda number: above if number in kinds else EVERYTHING)
        if read and scalar.type in NUMERIC and range_.low is not None and range_.low >= 0:
            found[place] = "sum" if "sum" in read else "count"
    return found


def _below_zero(rows: Sequence[Sequence[Cell]], above_zero: Mapping[int, str]) -> Iterator[str]:
    """A word on counts and sums that were released below 0."""
    found = {kind for place, kind in above_zero.items() if any(_is_below_zero(row[place]) for row in rows)}
    yield from (note for kind, note in _BELOW_ZERO.items() if kind in found)


def _is_below_zero(cell: Cell) -> TypeGuard[Noisy]:
    return isinstance(cell, Noisy) and cell.value < 0


_BELOW_ZERO: Final[Mapping[str, str]] = {
    "count": "a count below 0 is normal where few are counted, since noise goes both ways; GREATEST(COUNT(*), 0) shows "
    "0 instead, and is free",
    "sum": "a sum below 0 of values that are never negative is noise; GREATEST(SUM(…), 0) shows 0 instead, and is free",
}


def averaged_table(
    last: ReleasedTable, releases: Sequence[tuple[Measured, ReleasedStep]], *, ledger: str
) -> ReleasedTable:
    """The rows of the last release, each number averaged with the same number of the others.

    Theorem   docs/theorems/top_up.md.
    Requires  releases of the same keys, in the same order.
    Rounds    nothing: numbers are whole steps of the average.
    """
    if any(step.keys != releases[-1][1].keys for _, step in releases):
        raise LedgerBroken("two releases of the same groups have other groups")
    identities = [release_identity(step.values, receipt=each.receipt, ledger=ledger) for each, step in releases]
    slots, columns = [], []
    for number, slot in enumerate(last.slots):
        law = averaged_slot([each.noises[number] for each, _ in releases])
        parts = tuple(
            AveragedPart(
                release=identity,
                place=each.places[number],
                law=each.noises[number],
                share=Fraction(share, law.law.steps),
            )
            for identity, (each, _), (share, _) in zip(identities, releases, law.parts, strict=True)
        )
        measured = zip(*([row[each.places[number]] for row in step.values] for each, step in releases), strict=True)
        slots.append(replace(slot, place=number, law=law, parts=parts))
        columns.append([law.law.of(numbers) for numbers in measured])
    rows = range(len(last.key_rows))  # of groups alone there are rows and no numbers
    return replace(last, slots=tuple(slots), values=tuple(tuple(column[row] for column in columns) for row in rows))


def made_finer(finer: Finer) -> str:
    """What was paid before and what now. Of an answer to somebody else only that it is there."""
    if not finer.upon.own:
        return "made finer: averaged with an answer that was already known"
    before, now = shown_amount(finer.upon.paid), shown_amount(finer.cost)
    averaged = ", averaged with what was told before" if finer.way is Way.AVERAGED else ""
    return f"made finer: {before} was paid before, {now} now{averaged}"
