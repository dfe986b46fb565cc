"""`dpsql table list|show|confirm`: a policy as it stands in its file, and marks taken out of it; `dpsql check`: what is
left to do before it can be used, as a list with the line of each thing. The loader stops at the first mistake, as
whoever asks needs no more; an owner is told all of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from dpsql.catalog import rules
from dpsql.catalog.check import all_mistakes
from dpsql.catalog.lines import Mark, keys_by_line, marks, without
from dpsql.catalog.load import misplaced_ledger, parsed, policy_of, text_of, written_in
from dpsql.catalog.model import EngineTable, KeyPath, Policy, TablePolicy, Written
from dpsql.catalog.names import Mistake, did_you_mean, dotted, folded, line_of, listed
from dpsql.catalog.ownership import settled
from dpsql.catalog.sections import Section
from dpsql.catalog.types import NUMERIC
from dpsql.engines.registry import located, open_source
from dpsql.errors import BadParameter, DpsqlError
from dpsql.safe_text import printable
from dpsql.session.deciding import odds
from dpsql.session.exposure import Exposure, exposures
from dpsql.suggest.proposal import NEEDS, left_out

_STANDS_IN: Final[Mapping[KeyPath, object]] = {
    ("version",): 1,
    ("source", "url"): "memory:",
    ("promise", "epsilon"): 1,
    ("promise", "delta"): 0,
}
"""What must be there, so that the rest can be read where it is wrong or missing."""
_WAYS: Final = ("public", "person", "person_via", "unit")
_COLUMN: Final = 4
"""Parts of ("table", NAME, "columns", COLUMN)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A policy as far as it can be read."""

    policy: Policy | None
    """Without what is wrong; None: nothing can be read."""
    mistakes: tuple[Mistake, ...]
    marks: tuple[Mark, ...]
    written: Written
    source_is_known: bool


def reviewed(text: str, *, name: str, environment: Mapping[str, str] | None = None) -> Reviewed:
    """Everything that is wrong with a text, without an engine; BadPolicy where it is not TOML."""
    data, lines = parsed(text, name)
    reading = _Reading(data=data, environment=os.environ if environment is None else environment)
    policy = reading.policy()
    written = written_in(name, lines)
    wrong = list(reading.found)
    if policy is not None:
        tables, paths = settled(policy.tables)
        policy = replace(policy, tables=tables, written=written)
        wrong += [each for each in (*paths, *rules.mistakes(policy)) if not reading.follows(each)]
        wrong += misplaced_ledger(policy)
    return Reviewed(
        policy=policy,
        mistakes=tuple(wrong),
        marks=marks(text, lines),
        written=replace(written, lines={**written.lines, **lines}),
        source_is_known=("source", "url") not in reading.touched,
    )


@dataclass(slots=True, kw_only=True)
class _Reading:
    """Reads again and again, each time without what was wrong the last time."""

    data: dict[str, Any]
    environment: Mapping[str, str]
    found: list[Mistake] = field(default_factory=list)
    touched: set[KeyPath] = field(default_factory=set)
    """What was taken out, or replaced."""
    grants: list[int] = field(default_factory=list)
    """Of the grants that are left: which of the file they are."""

    def policy(self) -> Policy | None:
        given = self.data.get("grant")
        self.grants = list(range(len(given))) if isinstance(given, list) else []
        while True:
            try:
                policy, waiting = policy_of(Section(data=self.data), self.environment)
            except Mistake as mistake:
                self.found.append(self.placed(mistake))
                if not self.taken_out(mistake.key):
                    return None
            else:
                self.found += waiting
                return policy

    def placed(self, mistake: Mistake) -> Mistake:
        """At its place in the file: grants before it may have been taken out."""
        if mistake.key[:1] != ("grant",) or len(mistake.key) < 2 or not isinstance(mistake.key[1], int):
            return mistake
        key = ("grant", self.grants[mistake.key[1]], *mistake.key[2:])
        return Mistake(mistake.what, why=mistake.why, fix=mistake.fix, key=key)

    def taken_out(self, key: KeyPath) -> bool:
        """The smallest part that can be missed is out; False: nothing can be."""
        part = _part(key)
        if part in self.touched:
            return False
        if part[:1] != ("grant",):
            self.touched.add(part)
        holder: Any = self.data
        for step in part[:-1]:
            holder = holder.setdefault(step, {}) if isinstance(step, str) else holder[step]
            if not isinstance(holder, dict | list):
                return False
        if part in _STANDS_IN:
            holder[str(part[-1])] = _STANDS_IN[part]
            return True
        if part[:1] == ("grant",) and len(part) > 1:
            self.grants.pop(int(part[1]))
        return _deleted(holder, part[-1])

    def follows(self, mistake: Mistake) -> bool:
        """It may be there only because something else was taken out."""
        lost_promise = any(part[:1] == ("promise",) for part in self.touched)
        lost_table = any(part[:1] == ("table",) and len(part) < _COLUMN for part in self.touched)
        of_promise = mistake.key[:1] in (("promise",), ("defaults",), ("grant",))
        of_tables = mistake.key[:1] == ("grant",) or mistake.key[-1:] in (("person_via",), ("person",))
        return (lost_promise and of_promise) or (lost_table and of_tables)


def _part(key: KeyPath) -> KeyPath:
    """What is taken out for a mistake at a key: a column, a grant, a table whose person is wrong, or the key alone."""
    if key[:1] == ("grant",):
        return key[:2]
    if key[:1] == ("table",) and key[2:3] == ("columns",) and len(key) > _COLUMN - 1:
        return key[:_COLUMN]
    if key[:1] == ("table",) and (len(key) < _COLUMN - 1 or key[2] in _WAYS):
        return key[:2]
    return key


def _deleted(holder: dict[str, Any] | list[Any], name: str | int) -> bool:
    if isinstance(holder, list):
        if not isinstance(name, int) or name >= len(holder):
            return False
        holder.pop(name)
        return True
    return isinstance(name, str) and holder.pop(name, holder) is not holder


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
        meaning = odds(epsilon=promise.epsilon, delta=promise.delta, person=policy.person.name)
        yield f"{meaning} ε = {_MUCH} is a last resort already"
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
        yield f"{table.name}: without rows_per_person no rows can be counted or summed, where a person may have several"
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


_SECTIONS: Final = ("person", "promise", "defaults", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """What was confirmed, a line each, and how many lines of the file still wait."""

    lines: tuple[str, ...]
    left: int
    undecided: tuple[str, ...] = ()
    """What `everything` has left, and what it needs: values nobody has decided yet."""


class PolicyFile:
    """A policy file, also one that cannot be used yet: what it says of each table, what is left to do, and marks taken
    out of it. The data are not read, and no ledger is opened."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def review(self) -> Review:
        """Everything that is left to do, held against the catalogue of the source."""
        return review_policy(self._path)

    def tables(self) -> tuple[str, ...]:
        """A line for each table: its name, the way to a person, and how many lines wait."""
        data, _, found, _ = self._read()
        tables = data.get("table")
        named = tables.items() if isinstance(tables, dict) else ()
        return tuple(_listed(str(name), said, found) for name, said in named)

    def table(self, name: str) -> tuple[str, ...]:
        """The lines of the file about one table, column or section, with their numbers."""
        data, lines, _, text = self._read()
        _require_known(name, data)
        rows = [row.removesuffix("\r") for row in text.split("\n")]  # as TOML ends lines; a comment may hold other ends
        apart, keys = _apart(rows), keys_by_line(text, lines)
        return tuple(
            f"{number:>4}  {printable(line)}"
            for number, line in enumerate(rows, start=1)
            if line.strip() and number not in apart and _is_about(keys[number], name)
        )

    def confirm(self, *names: str, everything: bool = False) -> Confirmed:
        """Take marks out of the file: those of tables (`visits`), columns (`visits.charge`) and sections (`promise`),
        or of `everything` but the lines that need a decision and are not named. The rest of the file stays as it is."""
        if not names and not everything:
            raise BadParameter(
                "nothing is named to be confirmed",
                why="each line that is confirmed decides who is protected, and how",
                fix='name it: confirm("visits", "promise"), or say everything=True',
            )
        data, _, found, text = self._read()
        for name in names:
            _require_known(name, data)
        named = {mark for mark in found if any(_is_about(mark.key, name) for name in names)}
        chosen = tuple(mark for mark in found if mark in named or (everything and not is_undecided(mark)))
        if chosen:
            _write(self._path, without(text, chosen))
        waiting = tuple(mark for mark in found if everything and mark not in chosen)
        return Confirmed(
            lines=tuple(self._told(mark, mark.said) for mark in chosen),
            left=len(found) - len(chosen),
            undecided=tuple(self._told(mark, mark.reason) for mark in waiting),
        )

    def _told(self, mark: Mark, words: str) -> str:
        return printable(f"{self._path}:{mark.line}  {place_of(mark.key)}  {words}").rstrip()

    def _read(self) -> tuple[dict[str, object], dict[KeyPath, int], tuple[Mark, ...], str]:
        text_of(self._path)  # says what is wrong with a file that cannot be read
        text = self._path.read_bytes().decode("utf-8-sig")  # with its own ends of lines
        data, lines = parsed(text, str(self._path))
        return data, lines, marks(text, lines), text


def _apart(rows: Sequence[str]) -> set[int]:
    """Remarks after an empty line: they belong to nothing before them."""
    found: set[int] = set()
    for number, line in enumerate(rows, start=1):
        after_a_gap = number == 1 or not rows[number - 2].strip() or number - 1 in found
        if line.startswith("#") and after_a_gap:
            found.add(number)
    return found


def _listed(name: str, said: object, found: Sequence[Mark]) -> str:
    way = next((f"{key} = {_shown(said[key])}" for key in _WAYS if isinstance(said, dict) and key in said), "no person")
    waiting = sum(_is_about(mark.key, name) for mark in found)
    left = f"{waiting} to confirm" if waiting else "confirmed"
    return "\t".join(map(printable, (name, way, left)))


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_about(key: KeyPath, name: str) -> bool:
    """The key lies in this table, column or section."""
    path = tuple(folded(part) if isinstance(part, str) else part for part in key)
    return any(path[: len(place)] == place for place in _places(name))


def _places(name: str) -> Iterator[KeyPath]:
    """What a name may mean: a table, whose name may have a point; a column of a table; a section; a line of one."""
    word = folded(name)
    yield ("table", word)
    table, point, column = word.rpartition(".")
    if point:
        yield ("table", table, "columns", column)
        yield ("table", table, column)
    if table in _SECTIONS:
        yield (table, column)
    if word in _SECTIONS:
        yield (word,)


def _require_known(name: str, data: dict[str, object]) -> None:
    tables = data.get("table")
    known = {folded(str(table)) for table in tables} if isinstance(tables, dict) else set()
    for place in _places(name):
        if place[0] != "table" or place[1] in known:
            return
    raise BadParameter(
        f"the policy has no table {name}{did_you_mean(name, known)}",
        why="only what stands in the file can be shown or confirmed",
        fix=f"name one of {listed(sorted(known))}; or a column, as in visits.charge",
    )


def _write(file: Path, text: str) -> None:
    """In the place of the file, whole or not at all; its mode and its line ends stay. A link stays one: what it leads
    to is written."""
    file = Path(os.path.realpath(file))
    beside = file.with_name(f".{file.name}.new")
    try:
        begins = file.read_bytes().startswith(b"\xef\xbb\xbf")
        beside.write_bytes((b"\xef\xbb\xbf" if begins else b"") + text.encode())
        shutil.copymode(file, beside)
        os.replace(beside, file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise BadParameter(
            f"{file} cannot be written: {error.strerror}",
            why="what is confirmed is written into the file itself",
            fix="take the marks out by hand, or change who may write the file",
        ) from None
