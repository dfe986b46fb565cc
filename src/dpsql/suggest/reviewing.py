"""`dpsql check`: what is left to do before a policy can be used, as a list with the line of each thing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Final

from dpsql.catalog.check import all_mistakes
from dpsql.catalog.load import text_of
from dpsql.catalog.marks import Mark
from dpsql.catalog.mistakes import Mistake, line_of
from dpsql.catalog.model import EngineTable, KeyPath, Policy, TablePolicy
from dpsql.catalog.names import dotted, folded, listed
from dpsql.catalog.review import Reviewed, reviewed
from dpsql.catalog.types import NUMERIC
from dpsql.engines.registry import located, open_source
from dpsql.errors import DpsqlError
from dpsql.require import shown
from dpsql.safe_text import printable
from dpsql.session.exposure import Exposure, exposures
from dpsql.suggest.proposal import NEEDS, left_out

_MUCH: Final = 5
"""An ε above which an owner is told what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One thing to do."""

    line: int
    place: str
    """As in visits.charge."""
    what: str
    is_mistake: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What is left to do in a policy, and what its owner may want to know."""

    file: str
    tasks: tuple[Task, ...]
    notes: tuple[str, ...]
    """Not wrong: what cannot be asked as it is."""
    exposed: tuple[Exposure, ...]
    """Files that other users of the machine can read or write."""
    complete: str | None
    """Whom the policy protects, in words; None: something is left to do."""
    unreachable: DpsqlError | None
    """Why the policy could not be held against its source."""

    def lines(self) -> Iterator[str]:
        """The list, a line for each task."""
        places = [f"{self.file}:{task.line}" for task in self.tasks]
        widths = max(map(len, places), default=0), max((len(task.place) for task in self.tasks), default=0)
        for place, task in zip(places, self.tasks, strict=True):
            yield printable(f"{place:<{widths[0]}}  {task.place:<{widths[1]}}  {task.what}")
        if self.tasks:
            number = len(self.tasks)
            yield f"{number} thing{'s' if number > 1 else ''} left. Nothing can be queried until they are decided."
        if self.complete is not None:
            yield printable(self.complete)


def review_policy(path: str | os.PathLike[str]) -> Review:
    """Everything that is left to do in a policy file, held against the catalogue of its source. No row is read."""
    file = Path(path)
    found = reviewed(text_of(file), name=str(file))
    schema, nameless, mistakes, unreachable = _held_against_its_source(found, file)
    marked = list(_marked(found.marks))
    places = {(task.line, task.place) for task in marked}
    wrong = (_task(mistake, found) for mistake in mistakes)
    tasks = [*marked, *(task for task in wrong if (task.line, task.place) not in places)]  # its mark says it already
    if found.policy is not None and found.policy.promise is None:
        tasks.append(Task(line=1, place="promise", what="is missing: without it nothing is answered", is_mistake=True))
    tasks = sorted(dict.fromkeys(tasks), key=lambda task: task.line)
    done = not tasks and unreachable is None and found.policy is not None
    return Review(
        file=str(file),
        tasks=tuple(tasks),
        notes=()
        if found.policy is None
        else (*_notes(found.policy, schema, _declared(found)), *map(left_out, nameless)),
        exposed=exposures(found.policy, file) if found.policy is not None and found.source_is_known else (),
        complete=_protected(found.policy) if done and found.policy is not None else None,
        unreachable=unreachable,
    )


def _held_against_its_source(
    found: Reviewed, file: Path
) -> tuple[Mapping[str, EngineTable], list[str], list[Mistake], DpsqlError | None]:
    mistakes = list(found.mistakes)
    if found.policy is None or not found.source_is_known:
        return {}, [], mistakes, None
    try:
        with closing(open_source(located(found.policy.source, folder=file.parent))) as engine:
            schema, views = engine.schema(), engine.views()
            nameless = [name for name in engine.constraints() if name not in schema]
    except DpsqlError as error:
        return {}, [], mistakes, error
    told = {(mistake.key, mistake.what) for mistake in mistakes}
    lost = {mistake.key[1:2] for mistake in mistakes if mistake.key[:1] == ("table",)}
    more = all_mistakes(found.policy, schema, views=views)
    new = [mistake for mistake in more if (mistake.key, mistake.what) not in told]
    if lost:  # a path to a table that cannot be read yet is no second mistake
        new = [mistake for mistake in new if mistake.key[-1:] not in (("person_via",), ("tables",))]
    return schema, nameless, [*mistakes, *new], None


def is_undecided(mark: Mark) -> bool:
    """Its line says nothing yet, or a value that only the owner can know."""
    return mark.reason.startswith(NEEDS)


def _marked(marks: tuple[Mark, ...]) -> Iterator[Task]:
    for mark in marks:
        ready = mark.said and not is_undecided(mark)
        what = f"confirm  {mark.said}  ({mark.reason})" if ready else mark.reason or "is not confirmed"
        yield Task(line=mark.line, place=place_of(mark.key), what=what, is_mistake=False)


def _task(mistake: Mistake, found: Reviewed) -> Task:
    line = line_of(mistake.key, found.written)
    return Task(line=line, place=place_of(mistake.key), what=f"{mistake.what}. {mistake.fix}", is_mistake=True)


def place_of(key: KeyPath) -> str:
    """`visits.charge` of table.visits.columns.charge, and the key itself elsewhere."""
    if key[:1] == ("table",) and len(key) > 1:
        return dotted(tuple(part for index, part in enumerate(key[1:]) if not (index == 1 and part == "columns")))
    return dotted(key) or "policy"


def _protected(policy: Policy) -> str:
    tables = policy.tables
    units = []
    if any(table.person for table in tables.values()):
        units.append(policy.person.label or f"one {policy.person.name}, with all their rows")
    alone = [name for name, table in tables.items() if table.unit_row]
    if alone:
        units.append(f"each row of {listed(alone)}")
    number = f"{len(tables)} table{'s' if len(tables) != 1 else ''}"
    if not units:
        return f"✓ policy complete. {number}, all of them public: nobody is protected, and nobody needs to be."
    count = f"{len(units)} unit{'s' if len(units) > 1 else ''} of protection"
    return f"✓ policy complete. {number}, {count}: {'; '.join(units)}."


def _declared(found: Reviewed) -> set[str]:
    """Every table that the file speaks of, also where it says something wrong, as the engine calls it."""
    tables = {} if found.policy is None else found.policy.tables
    spoken = {str(key[1]) for key in found.written.lines if key[:1] == ("table",) and len(key) > 1}
    return {folded(name) for name in spoken} | {folded(table.source) for table in tables.values()}


def _notes(policy: Policy, schema: Mapping[str, EngineTable], declared: set[str]) -> Iterator[str]:
    promise = policy.promise
    if promise is not None and promise.epsilon > _MUCH:
        factor = f"{exp(min(float(promise.epsilon), 700)):.0f}" if promise.epsilon < 30 else "any number"
        yield (
            f"epsilon = {shown(promise.epsilon)} lets what is told about one {policy.person.name} become likelier by a "
            f"factor of {factor}: {_MUCH} is a last resort already"
        )
    if policy.defaults.cost_per_query is None:
        yield "no cost_per_query: every question must say what it may cost, as in COST 0.05"
    by_source = {folded(name): table for name, table in schema.items()}
    for table in policy.tables.values():
        if not table.public:
            yield from _of_table(table, by_source.get(folded(table.source)))
    other = [name for name in schema if folded(name) not in declared]
    if other:
        yield f"not declared, so that nobody can ask about them: {listed(other)}"


def _of_table(table: TablePolicy, engine: EngineTable | None) -> Iterator[str]:
    if not table.unique and table.rows_per_person is None and not table.unit_row:
        yield f"{table.name}: without rows_per_person nothing can be counted or summed"
    kinds = {} if engine is None else {folded(column.name): column for column in engine.columns}
    unbounded = [
        name
        for name, column in table.columns.items()
        if not column.hidden and column.bounds is None and column.keys is None and name not in table.person
        if name in kinds and kinds[name].type in NUMERIC and not (bool(table.path) and name in table.path[0].columns)
    ]
    if unbounded:
        yield f"{table.name}: without bounds nobody can sum {listed(unbounded)}"
    silent = [column.name for name, column in kinds.items() if name not in table.columns]
    if silent:
        yield f"{table.name}: not declared, so that nobody can ask about them: {listed(silent)}"
