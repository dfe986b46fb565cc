"""`dpsql init`: the catalogue of a source in, a policy to confirm out. No row, no statistic, no row count is read.

Whose the rows of each table are, as far as names and references tell: one person table, and ways that lead there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from dpsql.catalog.model import EngineTable, PathStep
from dpsql.catalog.names import RESERVED_SCHEMA, folded, listed
from dpsql.catalog.ownership import spelled_step
from dpsql.catalog.spelling import toml
from dpsql.engines.engine import Constraints
from dpsql.engines.registry import open_source
from dpsql.errors import NoSource
from dpsql.session.deciding import odds
from dpsql.suggest.columns import NOTHING, Sample, Subject, column_line, identifies, known, words
from dpsql.suggest.proposal import NEEDS, Line, Proposal, TableProposal, left_out

PEOPLE: Final = frozenset(
    {
        *("patient", "person", "people", "customer", "client", "user", "member", "employee", "student", "pupil"),
        *("subject", "participant", "citizen", "resident", "individual", "voter", "passenger", "driver", "guest"),
        *("subscriber", "donor", "teacher", "worker", "tenant", "applicant", "beneficiary"),
    }
)
_PLURALS: Final[Mapping[str, str]] = {"people": "person", "persons": "person", "children": "child"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One table as the catalogue has it."""

    table: EngineTable
    constraints: Constraints

    @property
    def key(self) -> tuple[str, ...]:
        return self.constraints.primary_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A way from a table to the key of another one."""

    step: PathStep
    """Names as the engine spells them."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """How a table is owned: by `person` of its own, or by way of another table."""

    person: tuple[str, ...] = ()
    via: PathStep | None = None
    reason: str
    also: tuple[str, ...] = ()
    """Other columns that lead to people as well."""
    beside: tuple[str, ...] = ()
    """Of a person table: those that look more like it."""


def singular(name: str) -> str:
    """patients → patient: the last word of a name, one of them."""
    last = (words(name.rpartition(".")[2]) or ["person"])[-1]
    if last in _PLURALS:
        return _PLURALS[last]
    if last.endswith("ies"):
        return last[:-3] + "y"
    return last[:-1] if last.endswith("s") and not last.endswith("ss") else last


def references(tables: Mapping[str, Facts]) -> dict[str, tuple[Reference, ...]]:
    """By table: its foreign keys, and columns that are called like the key of another table."""
    keys = _callers(tables)
    return {name: (*_declared(facts), *_by_name(name, facts, keys)) for name, facts in tables.items()}


def _declared(facts: Facts) -> Iterator[Reference]:
    for key in facts.constraints.foreign_keys:
        step = PathStep(columns=key.columns, table=key.table, to_columns=key.to_columns)
        yield Reference(step=step, reason=f"FOREIGN KEY to {key.table}")


def _callers(tables: Mapping[str, Facts]) -> dict[tuple[str, str], list[PathStep]]:
    """By name and type of a column: the keys of one column that it may hold, in the order of the tables."""
    found: dict[tuple[str, str], list[PathStep]] = {}
    for name, facts in tables.items():
        for column in facts.table.columns:
            if facts.key == (column.name,):
                for called in _called(name, column.name):
                    step = PathStep(columns=(), table=name, to_columns=facts.key)
                    found.setdefault((called, column.engine_type), []).append(step)
    return found


def _by_name(name: str, facts: Facts, keys: Mapping[tuple[str, str], list[PathStep]]) -> Iterator[Reference]:
    taken = {folded(column) for key in facts.constraints.foreign_keys for column in key.columns}
    for column in facts.table.columns:
        if folded(column.name) in taken or facts.key == (column.name,):
            continue
        held = keys.get((folded(column.name), column.engine_type), ())
        step = next((step for step in held if step.table != name), None)
        if step is not None:
            reason = f"the name: it is called like the key of {step.table}"
            yield Reference(step=replace(step, columns=(column.name,)), reason=reason)


def _called(table: str, key: str) -> set[str]:
    """How columns that hold this key are called."""
    own = folded(key)
    return {f"{singular(table)}_id", f"{singular(table)}id"} if own == "id" else {own}


def person_tables(tables: Mapping[str, Facts], refers: Mapping[str, Sequence[Reference]]) -> tuple[str, ...]:
    """Tables with one row per person, the likeliest first: they have a key, and are called like people."""
    pointed: dict[str, int] = {}
    for name, found in refers.items():
        for there in {reference.step.table for reference in found} - {name}:
            pointed[there] = pointed.get(there, 0) + 1
    called = [name for name, facts in tables.items() if facts.key and _is_called_like_people(name)]
    return tuple(sorted(called, key=lambda name: (-pointed.get(name, 0), list(tables).index(name))))


def _is_called_like_people(name: str) -> bool:
    return singular(name) in PEOPLE


def owners(tables: Mapping[str, Facts], refers: Mapping[str, Sequence[Reference]]) -> dict[str, Owned]:
    """By table, for those that lead to a person: the shortest way, foreign keys before names."""
    people = person_tables(tables, refers)
    found = {
        name: Owned(
            person=tables[name].key, reason=f"PRIMARY KEY({', '.join(tables[name].key)})", beside=people[:index]
        )
        for index, name in enumerate(people)
    }
    if not found:
        found = dict(_by_person_column(tables))
    waiting = [name for name in tables if name not in found]
    while True:
        reached = {name: owned for name in waiting if (owned := _step(refers[name], found)) is not None}
        if not reached:
            return found
        found |= reached
        waiting = [name for name in waiting if name not in reached]


def _by_person_column(tables: Mapping[str, Facts]) -> Iterator[tuple[str, Owned]]:
    """Where no table is called like people: columns such as user_id say whose a row is."""
    for name, facts in tables.items():
        called = [column.name for column in facts.table.columns if _names_a_person(column.name)]
        if called:
            reason = f"the name: {called[0]} is called like a person"
            yield name, Owned(person=(called[0],), reason=reason, also=tuple(called[1:]))


def _names_a_person(column: str) -> bool:
    parts = words(column)
    return len(parts) == 2 and parts[0] in PEOPLE and parts[1] in ("id", "no", "number")


def _step(refers: Iterable[Reference], found: Mapping[str, Owned]) -> Owned | None:
    order = list(found)  # the likeliest person first
    leading = sorted(
        (reference for reference in refers if reference.step.table in found),
        key=lambda reference: order.index(reference.step.table),
    )
    if not leading:
        return None
    first, *others = leading
    also = tuple(
        column for other in others for column in other.step.columns if other.step.columns != first.step.columns
    )
    owner = found[first.step.table]
    if owner.person and owner.person == first.step.to_columns:
        return Owned(person=first.step.columns, reason=first.reason, also=also)
    return Owned(via=first.step, reason=first.reason, also=also)


_PUBLIC: Final = "nobody is in this table: no way leads from it to a person, and other tables refer to it"
_NO_PERSON: Final = (
    f'{NEEDS} a person: person = "…" or person_via = "… -> table.key"; where there is none, one of its lines without '
    'the #: unit = "row" protects each row alone; public = true protects no row, and says: nobody is in this table'
)
_WITHOUT_A_PERSON: Final = (
    Line(key="unit", value=toml("row"), reason="protects each row alone, where no column names a person"),
    Line(key="public", value="true", reason="protects no row, and says: nobody is in this table"),
)


def propose(address: str, *, samples: Mapping[str, Sample]) -> Proposal:
    """What the catalogue of a source suggests. `samples` are columns of a public file, by folded name."""
    tables, views, nameless = _read(address)
    refers = references(tables)
    owned = owners(tables, refers)
    leading = next(iter(owned), None)
    public = _public(tables, refers, owned)
    around = _Around(tables=tables, refers=refers, owned=owned, public=public, samples=samples)
    proposed = tuple(_Table(name, around).proposal() for name in tables)
    return Proposal(
        person="person" if leading is None else _person_called(leading, owned[leading]),
        person_reason=f"{NEEDS} a name for one of them" if leading is None else f"from the name of {leading}",
        tables=proposed,
        read=tuple(_counted(tables, views)),
        remarks=(
            *(f"{name} is a view: declare it like a table if somebody needs it" for name in views),
            *map(left_out, nameless),
        ),
    )


def _person_called(leading: str, owned: Owned) -> str:
    """What a person is called: by their table, or by the column that names them."""
    return singular(leading) if owned.reason.startswith("PRIMARY") else singular(owned.person[0].rpartition("_")[0])


def _read(address: str) -> tuple[dict[str, Facts], list[str], list[str]]:
    """The tables, the names of views, and of what no policy can name."""
    with closing(open_source(address)) as engine:
        schema, constraints = engine.schema(), engine.constraints()
    nameless = [name for name in constraints if name not in schema]
    tables = {
        name: Facts(table=table, constraints=constraints[name])
        for name, table in schema.items()
        if name in constraints and not constraints[name].view and folded(name).partition(".")[0] != RESERVED_SCHEMA
    }
    if not tables:
        raise NoSource(
            "the source has no tables",
            why="; ".join(["a policy is proposed from the names and types of tables", *map(left_out, nameless)]),
            fix="name a database that has tables; tables in memory are declared in Python: owner.register(…)",
        )
    return tables, [name for name in schema if name in constraints and constraints[name].view], nameless


def _public(
    tables: Mapping[str, Facts], refers: Mapping[str, Sequence[Reference]], owned: Mapping[str, Owned]
) -> frozenset[str]:
    """Tables that others refer to, that lead to nobody, and whose columns speak of nobody. Where no person was found at
    all, nothing tells a list of wards from a list of people."""
    pointed = {reference.step.table for found in refers.values() for reference in found} if owned else set()
    return frozenset(
        name for name in pointed - set(owned) if name in tables and not any(map(identifies, tables[name].table.columns))
    )


def _counted(tables: Mapping[str, Facts], views: Sequence[str]) -> Iterator[str]:
    """What was read, kind by kind."""
    facts = list(tables.values())
    kinds = {
        "names of tables": len(facts),
        "names, types and NOT NULL of columns": sum(len(each.table.columns) for each in facts),
        "PRIMARY KEY and UNIQUE": sum(len(each.table.unique) for each in facts),
        "FOREIGN KEY": sum(len(each.constraints.foreign_keys) for each in facts),
        "CHECK": sum(len(each.constraints.checks) for each in facts),
        "ENUM types": sum(len(each.constraints.choices) for each in facts),
        "comments": sum(bool(each.constraints.comment) + len(each.constraints.comments) for each in facts),
        "names of views": len(views),
    }
    return (f"{kind} ({number})" for kind, number in kinds.items() if number)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """Everything that was read, by table."""

    tables: Mapping[str, Facts]
    refers: Mapping[str, Sequence[Reference]]
    owned: Mapping[str, Owned]
    public: frozenset[str]
    samples: Mapping[str, Sample]


class _Table:
    """One table among the others."""

    def __init__(self, name: str, around: _Around) -> None:
        self.name, self.facts, self.refers = name, around.tables[name], around.refers
        self.owned, self.samples = around.owned, around.samples
        self.public = around.public

    def proposal(self) -> TableProposal:
        """What is proposed about it."""
        if self.name in self.public:
            lines = (Line(key="public", value="true", reason=_PUBLIC),)
            return TableProposal(name=self.name, lines=lines, public=True)
        if self.name not in self.owned:
            reason = _NO_PERSON + self._if_people()
            return TableProposal(name=self.name, header_reason=reason, offers=_WITHOUT_A_PERSON)
        found = [column_line(each) for each in self._subjects()]
        return TableProposal(
            name=self.name,
            lines=tuple(self._way(self.owned[self.name])),
            columns=tuple(line for line in found if isinstance(line, Line)),
            remarks=tuple(line for line in found if isinstance(line, str)),
        )

    def _if_people(self) -> str:
        """Where no table is called like people: one that others refer to may be theirs."""
        referring = [name for name, found in self.refers.items() if any(each.step.table == self.name for each in found)]
        if self.owned or len(self.facts.key) != 1 or not referring:
            return ""
        return f'. {listed(referring)} refer to it: if a row of it is a person, write person = "{self.facts.key[0]}"'

    def _way(self, owned: Owned) -> Iterator[Line]:
        """The way to a person, and the caps that are needed."""
        also = f"; {listed(owned.also)} may lead to a person too, and only one of them is protected here" * bool(
            owned.also
        )
        if owned.beside:
            reason = (
                f"{NEEDS} your decision: {listed(owned.beside)} are people too, and equal numbers count as one person"
            )
        else:
            reason = f"from {owned.reason}{also}"
        if owned.via is not None:
            yield Line(key="person_via", value=toml(spelled_step(owned.via)), reason=reason)
        else:
            person = owned.person[0] if len(owned.person) == 1 else owned.person
            yield Line(key="person", value=toml(person), reason=reason)
        if bool(owned.person) and any(set(key) <= set(owned.person) for key in self.facts.table.unique):
            yield Line(key="unique", value="true", reason="from the key: one row per person")
            return  # which is the cap
        for key, about in _CAPS.items():
            yield Line(key=key, value=_CAP[key], reason=f"{NEEDS} your number: {about}")

    def _subjects(self) -> Iterator[Subject]:
        constraints = self.facts.constraints
        said = known(constraints.checks)
        for column in self.facts.table.columns:
            name = folded(column.name)
            yield Subject(
                column=column,
                known=said.get(name, NOTHING),
                choices=constraints.choices.get(column.name, ()),
                hidden_because=self._hidden_because(column.name),
                public_table=self._public_table(column.name),
                comment=constraints.comments.get(column.name, ""),
                sample=self.samples.get(f"{folded(self.name)}.{name}", self.samples.get(name)),
            )

    def _hidden_because(self, column: str) -> str | None:
        if self.name in self.owned and column in self.owned[self.name].person:
            return "the person: it says who a row is about"
        for reference in self.refers[self.name]:
            if column in reference.step.columns and reference.step.table not in self.public:
                return f"the reference to {reference.step.table}: it may lead to a person"
        if any(key == (column,) for key in (*self.facts.table.unique, self.facts.key)):
            return "the key: it tells rows apart"
        return None

    def _public_table(self, column: str) -> str | None:
        steps: Iterable[PathStep] = (reference.step for reference in self.refers[self.name])
        return next((step.table for step in steps if column in step.columns and step.table in self.public), None)


_CAPS: Final[Mapping[str, str]] = {
    "rows_per_person": "how many rows of one person count at most",
    "groups_per_person": "in how many groups one person counts",
}
_CAP: Final[Mapping[str, str]] = {"rows_per_person": "10", "groups_per_person": "3"}
"""Numbers to begin with: no catalogue tells how often people come, and every one of them waits for the owner."""


def decided_by_the_owner(person: str) -> dict[str, tuple[Line, ...]]:
    """[promise] and [defaults]: what no catalogue tells, with values to begin with and what they mean."""
    meaning = odds(epsilon=Fraction(_EPSILON), delta=Fraction(_DELTA), person=person).rstrip(".")
    return {
        "promise": (
            Line(key="epsilon", value=_EPSILON, reason=f"{NEEDS} your decision: with {_EPSILON}, {meaning}"),
            Line(key="delta", value=_DELTA, reason=f"{NEEDS} your decision: far below one over the number of people"),
        ),
        "defaults": (
            Line(
                key="cost_per_query",
                value="0.05",
                reason=f"{NEEDS} your decision: {_EPSILON} pays for about 20 questions",
            ),
            Line(
                key="max_keys",
                value="1000",
                reason=f"{NEEDS} your decision: so many public groups in one answer at most",
            ),
            Line(
                key="selection_share", value="0.25", reason=f"{NEEDS} your decision: of a price, to find private groups"
            ),
            Line(
                key="delta_per_query", value="1e-9", reason=f"{NEEDS} your decision: of delta, to find private groups"
            ),
        ),
    }


_EPSILON: Final = "1.0"
_DELTA: Final = "1e-6"
