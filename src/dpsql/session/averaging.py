"""Several releases of the same numbers as one table: their average, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dpsql.errors import LedgerBroken
from dpsql.ledger.ledger import ReleasedStep
from dpsql.mechanisms.margins import averaged_slot
from dpsql.plan.finer import Finer, Way
from dpsql.plan.recall import Measured
from dpsql.session.digits import shown_amount
from dpsql.session.release import release_identity
from dpsql.session.released_rows import AveragedPart, ReleasedTable


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
