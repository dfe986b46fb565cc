"""Random statements from a grammar of the SQL that is answered, and of what lies around it.

Each form is one production: a function in SOURCES (what stands after FROM), CONDITIONS (what stands after WHERE),
ENDINGS (what is done with released rows) or QUERIES (whole statements). To teach the grammar a new form, write one
function with its decorator. A form that is refused today counts as refused until there is a rule for it.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dpsql.catalog.model import Catalog
from dpsql.sql.words import AGGREGATES, PAIRS, RAW_AGGREGATES

from sentence_parts import BOOLEAN, DATE, DOUBLE, INTEGER, TEXT, TYPES, Column, Expressions, Part, both, joined
from writings import Original

PERSON = "patient_id"
SEVERAL_OWNERS = ("rounds",)
"""Tables whose rows lead to several people: they count once for each."""
EXACT = ("count", "sum", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp")
"""Aggregates whose answer without noise is that of plain SQL."""


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A statement, and what is known about its answer."""

    text: str
    plain: str | None
    """Plain SQL with the same answer when there is no noise; None: nobody says."""
    keys: int = 0
    """The first columns that are keys; all others are numbers."""
    form: str = ""
    wild: bool = False


@dataclass(frozen=True, kw_only=True)
class Source:
    """What stands after FROM."""

    text: Part
    columns: tuple[Column, ...]
    ties: Part | None = None
    """A condition that belongs into WHERE."""
    alike: bool = True
    """Plain SQL gives the same rows."""


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Writes one statement about the tables of a catalogue."""

    chance: random.Random
    tables: Mapping[str, tuple[Column, ...]]
    public: frozenset[str]
    wild: float = 0.0
    depth: int = 2

    def table(self, *names: str, alias: str | None = None) -> Source:
        """A declared table, one of `names` or any private one."""
        name = self.chance.choice(names or sorted(self.tables.keys() - self.public))
        if self.wild and self.chance.random() < self.wild:
            name = self.chance.choice(("doctors", "main.patients", "'secret.csv'", "range(9)", *self.tables))
        columns = self.tables.get(name, ())
        alike = name not in SEVERAL_OWNERS
        if alias is None and self.chance.random() < 0.5:
            return Source(text=both(name), columns=columns, alike=alike)
        called = alias or self.name("t")
        own = tuple(replace(column, name=f"{called}.{column.name}") for column in columns)
        return Source(text=both(f"{name} {self.chance.choice(('AS ', ''))}{called}"), columns=own, alike=alike)

    def name(self, letter: str) -> str:
        return f"{letter}{self.chance.randrange(100)}"

    def expressions(self, source: Source) -> Expressions:
        return Expressions(chance=self.chance, columns=source.columns, wild=self.wild)

    def source(self) -> tuple[str, Source]:
        return _picked(SOURCES, self)

    def where(self, source: Source, likely: float = 0.5) -> Part:
        conditions = [] if source.ties is None else [source.ties]
        if self.chance.random() < likely:
            conditions.append(_picked(CONDITIONS, self, source)[1])
        return both(" WHERE ") + joined(" AND ", conditions) if conditions else both("")

    def aggregate(self, source: Source) -> tuple[Part, bool]:
        """An aggregate, and whether plain SQL says the same."""
        name = self.chance.choice((*sorted(AGGREGATES), "count", "count", "sum", "avg"))
        if self.wild and self.chance.random() < 3 * self.wild:
            name = self.chance.choice(sorted(RAW_AGGREGATES))
        expressions = self.expressions(source)
        if name == "count":
            argument = self.chance.choice(
                (
                    lambda: both("*"),
                    lambda: expressions.of(self.chance.choice(TYPES), 1),
                    lambda: self._distinct(source),
                )
            )()
        elif name in PAIRS:
            argument = expressions.bounded() + ", " + expressions.bounded()
        else:
            argument = expressions.bounded()
        call = both(f"{name.upper()}(") + argument + ")"
        if self.chance.random() < 0.2:
            call = call + " FILTER (WHERE " + expressions.of(BOOLEAN, 1) + ")"
        if name == "sum":
            call = Part(ours=call.ours, plain=f"COALESCE({call.plain}, 0)")
        return call, name in EXACT

    def _distinct(self, source: Source) -> Part:
        people = [column.name for column in source.columns if column.person]
        if people and self.chance.random() < 0.5:
            return both(f"DISTINCT {self.chance.choice(people)}")
        return both("DISTINCT ") + self.expressions(source).of(self.chance.choice((INTEGER, TEXT, DATE)), 0)

    def key(self, source: Source) -> Part:
        expressions = self.expressions(source)
        keyed = [column.name for column in source.columns if column.key]
        picked = self.chance.random()
        if keyed and picked < 0.6:
            return both(self.chance.choice(keyed))
        if picked < 0.75:
            return expressions.of(BOOLEAN, 1)
        if picked < 0.85:
            return both("CASE WHEN ") + expressions.of(BOOLEAN, 1) + " THEN 'yes' ELSE 'no' END"
        dates = [column.name for column in source.columns if column.type == DATE and not column.hidden]
        if dates and picked < 0.95:
            return both(f"EXTRACT(month FROM {self.chance.choice(dates)})")
        found = expressions.of(self.chance.choice((INTEGER, TEXT)), 1)
        named = any(column.name in found.ours for column in source.columns)
        return found if named else both("'all'")  # plain SQL takes - -3 for the third column


def writer(catalog: Catalog, chance: random.Random, *, wild: float) -> Writer:
    tables = {}
    for name, table in catalog.policy.tables.items():
        types = {column.name: column.type for column in catalog.schema[name].columns}
        tables[name] = tuple(
            Column(
                name=column.name,
                type=types[column.name].value,
                hidden=column.hidden,
                key=column.keys is not None or (table.public and types[column.name].value in (INTEGER, TEXT)),
                bounded=column.bounds is not None and types[column.name].value in (INTEGER, DOUBLE),
                person=column.name in table.person,
            )
            for column in table.columns.values()
        )
    public = frozenset(name for name, table in catalog.policy.tables.items() if table.public)
    return Writer(chance=chance, tables=tables, public=public, wild=wild)


# ---- productions ---------------------------------------------------------------------------------------------------

Production = Callable[..., object]
SOURCES: list[tuple[int, Production]] = []
CONDITIONS: list[tuple[int, Production]] = []
ENDINGS: list[tuple[int, Production]] = []
QUERIES: list[tuple[int, Production]] = []


def production(table: list[tuple[int, Production]], weight: int) -> Callable[[Production], Production]:
    def add(form: Production) -> Production:
        table.append((weight, form))
        return form

    return add


def _picked(table, writer, *given):
    forms = [form for _, form in table]
    (form,) = writer.chance.choices(forms, weights=[weight for weight, _ in table])
    return form.__name__, form(writer, *given)


# ---- after FROM ----------------------------------------------------------------------------------------------------


@production(SOURCES, 10)
def one_table(writer):
    return writer.table()


@production(SOURCES, 3)
def row_table(writer):
    return writer.table("readings")


def _of_people(writer):
    one, two = writer.chance.sample(("patients", "visits", "beds"), 2)
    return writer.table(one, alias="a"), writer.table(two, alias="b"), f"a.{PERSON} = b.{PERSON}"


@production(SOURCES, 5)
def people_joined(writer):
    one, two, condition = _of_people(writer)
    if writer.chance.random() < writer.wild:
        condition = writer.chance.choice((f"a.{PERSON}::VARCHAR = b.{PERSON}", "TRUE", f"a.{PERSON} + 0 = b.{PERSON}"))
    kind = writer.chance.choice((" JOIN ", " INNER JOIN "))
    return Source(text=one.text + kind + two.text + f" ON {condition}", columns=one.columns + two.columns)


@production(SOURCES, 3)
def people_left(writer):
    one, two, condition = _of_people(writer)
    kind = writer.chance.choice((" LEFT JOIN ", " RIGHT JOIN ", " LEFT OUTER JOIN "))
    return Source(text=one.text + kind + two.text + f" ON {condition}", columns=one.columns + two.columns)


@production(SOURCES, 1)
def people_full(writer):
    one, two, condition = _of_people(writer)
    return Source(text=one.text + " FULL JOIN " + two.text + f" ON {condition}", columns=one.columns + two.columns)


@production(SOURCES, 3)
def people_beside(writer):
    one, two, condition = _of_people(writer)
    return Source(text=one.text + ", " + two.text, columns=one.columns + two.columns, ties=both(condition))


@production(SOURCES, 4)
def with_wards(writer):
    one, two = writer.table("visits", alias="v"), writer.table("wards", alias="w")
    kind = writer.chance.choice((" JOIN ", " JOIN ", " LEFT JOIN "))
    return Source(text=one.text + kind + two.text + " ON v.ward_id = w.id", columns=one.columns + two.columns)


@production(SOURCES, 1)
def wards_preserved(writer):
    one, two = writer.table("wards", alias="w"), writer.table("visits", alias="v")
    return Source(
        text=one.text + " LEFT JOIN " + two.text + " ON v.ward_id = w.id",
        columns=one.columns + two.columns,
        alike=False,
    )


@production(SOURCES, 3)
def filtered(writer):
    inner = writer.table()
    name = writer.name("q")
    kept = tuple(column for column in inner.columns if not column.hidden or column.person)
    if not kept:
        return inner
    chosen = writer.chance.sample(kept, writer.chance.randint(1, len(kept)))
    columns = tuple(replace(column, name=f"{name}.c{n}") for n, column in enumerate(chosen))
    items = ", ".join(f"{column.name} AS c{n}" for n, column in enumerate(chosen))
    text = both(f"(SELECT {items} FROM ") + inner.text + writer.where(inner, 0.8) + f") AS {name}"
    return Source(text=text, columns=columns, alike=inner.alike)


def _per_person(writer, name):
    table = writer.chance.choice(("visits", "visits", "patients"))
    inner = Source(text=both(table), columns=writer.tables[table])
    own = Column(name=PERSON, type=INTEGER, hidden=table == "patients", person=True)
    aggregates = [Column(name="n", type=INTEGER, bounded=True)]
    items = [both(PERSON), both("COUNT(*) AS n")]
    for number in range(writer.chance.randrange(3)):
        function = writer.chance.choice(("SUM", "MAX", "MIN", "AVG"))
        items.append(both(f"{function}(") + writer.expressions(inner).bounded() + f") AS x{number}")
        aggregates.append(Column(name=f"x{number}", type=DOUBLE, bounded=True))
    having = writer.chance.choice(("", "", " HAVING COUNT(*) > 1"))
    text = both("SELECT ") + joined(", ", items) + " FROM " + inner.text + writer.where(inner, 0.4)
    columns = tuple(replace(column, name=f"{name}.{column.name}") for column in (own, *aggregates))
    return text + f" GROUP BY {PERSON}{having}", columns


@production(SOURCES, 4)
def per_person(writer):
    name = writer.name("q")
    text, columns = _per_person(writer, name)
    return Source(text=both("(") + text + f") {name}", columns=columns)


@production(SOURCES, 2)
def cohort(writer):
    text, columns = _per_person(writer, "f")
    one = writer.table("patients", "visits", alias="p")
    return Source(text=one.text + " JOIN (" + text + f") f ON p.{PERSON} = f.{PERSON}", columns=one.columns + columns)


@production(SOURCES, 2)
def distinct_rows(writer):
    text = both(f"(SELECT DISTINCT {PERSON}, ward_id FROM visits) d")
    return Source(text=text, columns=(Column(name="d.ward_id", type=INTEGER, bounded=True, key=True),))


@production(SOURCES, 2)
def stacked(writer):
    """UNION ALL: the owner of each branch."""
    text = both(f"(SELECT {PERSON}, points AS x FROM visits UNION ALL SELECT {PERSON}, age FROM patients) u")
    return Source(text=text, columns=(Column(name="u.x", type=INTEGER, bounded=True),))


@production(SOURCES, 2)
def numbered(writer):
    """Windows over the rows of one person."""
    call = writer.chance.choice(("ROW_NUMBER()", "LAG(points)", "SUM(points)", "COUNT(*)", "RANK()"))
    order = writer.chance.choice((" ORDER BY day, charge, points", " ORDER BY moment", ""))
    text = both(f"(SELECT points, ward_id, {call} OVER (PARTITION BY {PERSON}{order}) AS k FROM visits) r")
    columns = (
        Column(name="r.points", type=INTEGER, bounded=True),
        Column(name="r.ward_id", type=INTEGER, bounded=True, key=True),
        Column(name="r.k", type=INTEGER, bounded=True),
    )
    return Source(text=text, columns=columns, alike=call != "RANK()" and "moment" not in order)


# ---- after WHERE ---------------------------------------------------------------------------------------------------


@production(CONDITIONS, 12)
def any_condition(writer, source):
    return writer.expressions(source).of(BOOLEAN, writer.depth)


def _person_of(writer, source):
    people = [column.name for column in source.columns if column.person]
    return writer.chance.choice(people) if people else PERSON


@production(CONDITIONS, 1)
def in_query(writer, source):
    word = writer.chance.choice(("IN", "NOT IN"))
    return both(f"{_person_of(writer, source)} {word} (SELECT {PERSON} FROM visits WHERE charge > 500)")


@production(CONDITIONS, 1)
def exists(writer, source):
    word = writer.chance.choice(("EXISTS", "NOT EXISTS"))
    person = _person_of(writer, source)
    if person == PERSON and source.text.ours.isidentifier():  # the name alone would be that of the inner table
        person = f"{source.text.ours}.{PERSON}"
    return both(f"{word} (SELECT 1 FROM beds e WHERE e.{PERSON} = {person})")


@production(CONDITIONS, 1)
def scalar_subquery(writer, source):
    """A released value; plain SQL has no word PRIVATE. Without it only what is public is a value."""
    value = writer.chance.choice(
        (
            "(SELECT AVG(age) FROM patients)",
            "(SELECT MAX(id) FROM wards)",
            "PRIVATE (SELECT AVG(age) FROM patients)",
            "PRIVATE (SELECT COUNT(*) FROM visits WHERE charge > 500)",
        )
    )
    return Part(ours=f"1 < {value}", plain=f"1 < {value.removeprefix('PRIVATE ')}")


# ---- released rows -------------------------------------------------------------------------------------------------


@production(ENDINGS, 10)
def nothing(writer, keys):
    return both("")


@production(ENDINGS, 2)
def having(writer, keys):
    return both(f" HAVING COUNT(*) {writer.chance.choice(('>', '<='))} {writer.chance.randrange(5)}")


@production(ENDINGS, 2)
def ordered(writer, keys):
    return both(f" ORDER BY {writer.chance.choice(('1', 'COUNT(*)', '2 DESC', '1 NULLS FIRST'))}")


@production(ENDINGS, 1)
def limited(writer, keys):
    return both(f" ORDER BY 1 LIMIT {writer.chance.randrange(4)} OFFSET {writer.chance.randrange(2)}")


# ---- statements ----------------------------------------------------------------------------------------------------


def _measured(writer, *, grouped):
    form, source = writer.source()
    keys = [writer.key(source) for _ in range(writer.chance.choice((1, 1, 2)))] if grouped else []
    found = [writer.aggregate(source) for _ in range(writer.chance.choice((1, 1, 2, 3)))]
    items = [*keys, *(part for part, _ in found)]
    text = both("SELECT ") + joined(", ", items) + " FROM " + source.text + writer.where(source)
    if keys:
        numbered = writer.chance.random() < 0.5
        text = (
            text
            + " GROUP BY "
            + (both(", ".join(map(str, range(1, len(keys) + 1)))) if numbered else joined(", ", keys))
        )
    _, ending = _picked(ENDINGS, writer, keys)
    text = text + ending
    alike = source.alike and all(exact for _, exact in found) and ending.ours == ""
    return Sentence(text=text.ours, plain=text.plain if alike else None, keys=len(keys), form=form)


@production(QUERIES, 10)
def ungrouped(writer):
    return _measured(writer, grouped=False)


@production(QUERIES, 10)
def grouped(writer):
    return _measured(writer, grouped=True)


@production(QUERIES, 2)
def common_table(writer):
    inner = writer.table("patients", "visits")
    kept = tuple(column for column in inner.columns if not column.hidden)
    if not kept:
        return _measured(writer, grouped=False)
    name = writer.chance.choice(("c", "c", "visits", "patients"))
    items = ", ".join(f"{column.name} AS k{n}" for n, column in enumerate(kept))
    source = Source(text=both(name), columns=tuple(replace(column, name=f"k{n}") for n, column in enumerate(kept)))
    call, exact = writer.aggregate(source)
    text = both(f"WITH {name} AS (SELECT {items} FROM ") + inner.text + writer.where(inner) + ") SELECT " + call
    text = text + f" FROM {name}" + writer.where(source)
    return Sentence(text=text.ours, plain=text.plain if exact else None, form="common_table")


@production(QUERIES, 2)
def computed(writer):
    """Expressions and windows over released numbers."""
    _, source = writer.source()
    one, two = writer.aggregate(source)[0], writer.aggregate(source)[0]
    item = writer.chance.choice(("{0} / {1}", "ROUND({0} - {1}, 2)", "RANK() OVER (ORDER BY {0})", "SUM({0}) OVER ()"))
    key = writer.key(source)
    text = f"SELECT {key.ours}, {item.format(one.ours, two.ours)} FROM {source.text.ours}{writer.where(source).ours}"
    return Sentence(text=f"{text} GROUP BY 1", plain=None, form="computed")


@production(QUERIES, 2)
def public_rows(writer):
    source = writer.table("wards")
    items = [writer.expressions(source).of(writer.chance.choice((INTEGER, TEXT, BOOLEAN)), 1) for _ in range(2)]
    text = both("SELECT ") + joined(", ", items) + " FROM " + source.text + writer.where(source)
    return Sentence(text=text.ours, plain=text.plain, keys=2, form="public_rows")


@production(QUERIES, 1)
def rows_of_people(writer):
    _, source = writer.source()
    text = both("SELECT ") + writer.expressions(source).of(TEXT, 1) + " FROM " + source.text + writer.where(source)
    return Sentence(text=text.ours, plain=None, form="rows_of_people")


@production(QUERIES, 1)
def private_step(writer):
    source = writer.table("visits")
    inner = both("SELECT ward_id, COUNT(*) AS n FROM ") + source.text + writer.where(source) + " GROUP BY ward_id"
    outer, alike = writer.chance.choice(
        (
            ("SELECT AVG(n) FROM w", False),  # ours has groups that nobody is in
            ("SELECT COUNT(*) FROM visits v JOIN w ON v.ward_id = w.ward_id WHERE w.n > 3", True),
        )
    )
    plain = f"WITH w AS ({inner.plain}) {outer}" if alike else None
    return Sentence(text=f"WITH w AS PRIVATE ({inner.ours}) {outer}", plain=plain, form="private_step")


# ---- all together --------------------------------------------------------------------------------------------------

WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "AND", "OR", "NOT", "(", ")", ",", "*", "+", "=", "'x'", "1", "NULL", "AS",
    "t", "JOIN", "ON", "UNION ALL", "DISTINCT", "COUNT", "patients", "age", "OVER", "CASE", "END", "INTERVAL", ".",
    "::", "LIMIT", "WITH", "EXISTS", "USING", "LATERAL", "FILTER", "WITHIN", "PER PERSON", "OPTIONS",
)  # fmt: skip


def mutated(text: str, chance: random.Random) -> str:
    """One to three tokens deleted, doubled, swapped or replaced."""
    original = Original.of(text)
    if original is None:
        return text
    words = [text[token.start : token.end + 1] for token in original.tokens]
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(words))
        match chance.randrange(4):
            case 0 if len(words) > 1:
                del words[place]
            case 1:
                words.insert(place, words[place])
            case 2:
                other = chance.randrange(len(words))
                words[place], words[other] = words[other], words[place]
            case _:
                words[place] = chance.choice(WORDS)
    return " ".join(words)


def sentence(catalog: Catalog, seed: str) -> Sentence:
    """The statement of a seed: most are tame, some have foreign parts, some have lost a token."""
    chance = random.Random(seed)
    kind = chance.random()
    wild = 0.0 if kind < 0.7 else 0.05
    _, found = _picked(QUERIES, writer(catalog, chance, wild=wild))
    if kind >= 0.85:
        return replace(found, text=mutated(found.text, chance), plain=None, wild=True)
    return replace(found, wild=bool(wild))
