"""Statements as the rewriter writes them, built by hand, one method per step so that a test can plant one bug."""

from fractions import Fraction

import pytest

from dpsql.catalog import model
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.plan.derive import Ball, Move, Moves, derive
from dpsql.privacy.unit import Neighbours
from dpsql.sql import inner
from dpsql.sql.emit import engine_text
from dpsql.sql.relations import Column, Filter, Group, Join, ListedKeys, Project, Rank, Scan, Total
from dpsql.sql.rewrite import Statement
from dpsql.sql.scalars import Apply, ColumnRef, Constant

INTEGER, TEXT, DOUBLE, BOOLEAN = SqlType.INTEGER, SqlType.TEXT, SqlType.DOUBLE, SqlType.BOOLEAN

TO_VISIT = model.PathStep(columns=("visit_id",), table="visits", to_columns=("id",))
TO_CARE = model.PathStep(columns=("care_id",), table="care", to_columns=("id",))
TABLES = {
    "visits": {"person": ("patient_id",)},
    "patients": {"person": ("patient_id",)},
    "care": {"person": ("patient_id",), "path": (TO_VISIT,)},
    "items": {"person": ("patient_id",), "path": (TO_CARE, TO_VISIT)},
    "stays": {"person": ("hospital", "number")},
    "readings": {"unit_row": True},
    "wards": {"public": True},
}
COLUMNS = {
    "visits": {"ID": INTEGER, "Patient_ID": TEXT, "ward": TEXT, "charge": INTEGER, "nurse_id": TEXT},
    "patients": {"patient_id": TEXT, "age": INTEGER},
    "care": {"id": INTEGER, "visit_id": INTEGER, "cost": INTEGER},
    "items": {"care_id": INTEGER, "pieces": INTEGER},
    "stays": {"hospital": INTEGER, "number": INTEGER, "ward": TEXT, "nights": INTEGER},
    "readings": {"ward": TEXT, "level": INTEGER},
    "wards": {"ward": TEXT, "city": TEXT},
}


def catalog(relation=Neighbours.ADD_REMOVE, unique=None):
    """The declared tables; `unique` adds constraints the engine enforces."""
    policy = model.Policy(
        source="memory:",
        ledger=None,
        data_version="1",
        person=model.Person(relation=relation),
        promise=None,
        defaults=model.Defaults(),
        tables={
            name: model.TablePolicy(name=name, source=f"main.{name}", columns={}, **way) for name, way in TABLES.items()
        },
    )
    schema = {
        name: model.EngineTable(
            name=name,
            columns=tuple(model.EngineColumn(name=column, type=type_) for column, type_ in columns.items()),
            unique=(unique or {}).get(name, ()),
        )
        for name, columns in COLUMNS.items()
    }
    return model.Catalog(policy=policy, schema=schema)


def column(number, type_=INTEGER):
    return Column(id=number, name="", type=type_)


def ref(number, type_=INTEGER):
    return ColumnRef(number, type_)


def refs(columns):
    return tuple(ref(each.id, each.type) for each in columns)


def whole(value):
    return Constant(value, INTEGER)


def scan(table, read, raw=None, **changes):
    """Columns by number, `{2: "ward"}`; `raw` ones are not converted, and are the owner where the table holds one."""
    raw = raw or {}
    held = TABLES[table].get("person") and not TABLES[table].get("path")
    named = {**read, **raw}
    facts = {
        "table": table,
        "source": f"main.{table}",
        "columns": tuple(column(number, COLUMNS[table][name]) for number, name in named.items()),
        "sources": tuple(named.values()),
        "owner": tuple(raw) if held else (),
        "raw": tuple(raw),
        "private": not TABLES[table].get("public", False),
    }
    return Scan(**(facts | changes))


def filtered(relation, *conditions):
    return Filter(input=relation, condition=inner.all_of(*conditions), columns=relation.columns)


def projected(relation, **expressions):
    """Columns by number, `c7=expression`; a bare column goes through unchanged."""
    new = {int(name[1:]): scalar for name, scalar in expressions.items()}
    columns = tuple(column(number, scalar.type) for number, scalar in new.items())
    return Project(input=relation, columns=columns, expressions=tuple(new.values()))


def grouped(relation, by, **totals):
    known = {each.id: each for each in relation.columns}
    new = {int(name[1:]): total for name, total in totals.items()}
    columns = (*(known[number] for number in by), *(column(number) for number in new))
    return Group(input=relation, by=tuple(by), columns=columns, totals=tuple(new.values()))


def sum_of(scalar):
    return Total(function="sum", argument=scalar)


COUNT = Total(function="count")
WARDS = ("A", "B", "C", "D")


class Visits:
    """SELECT ward, COUNT(*), SUM(charge) FROM visits GROUP BY ward, in mode choose, with public wards.

    Numbers: 2 ward, 3 charge, 9 owner; 20 key, 21 argument; 30, 31 totals of a person and group; 40, 41 capped;
    60 public key; 80, 81 what is released.
    """

    cap, groups, low, high = 3, 2, -5, 10
    wards = WARDS
    keys, values = (60,), (80, 81)
    selection = False
    declared = None
    why = ""

    def table(self):
        return scan("visits", {2: "ward", 3: "charge"}, raw={9: "Patient_ID"})

    def owned(self):
        return filtered(self.table(), inner.known(ref(9, TEXT)))

    def rows(self):
        return projected(self.owned(), c9=ref(9, TEXT), c20=ref(2, TEXT), c21=ref(3))

    def clamped(self):
        return inner.clamp_whole(ref(21), low=self.low, high=self.high)

    def per_person(self):
        return grouped(self.rows(), (9, 20), c30=COUNT, c31=sum_of(self.clamped()))

    def amounts(self):
        return {
            "c40": inner.clamp_whole(inner.or_zero(ref(30)), low=0, high=self.cap),
            "c41": inner.clamp_whole(inner.or_zero(ref(31)), low=self.cap * self.low, high=self.cap * self.high),
        }

    def capped(self):
        return projected(self.per_person(), c9=ref(9, TEXT), c20=ref(20, TEXT), **self.amounts())

    def listed(self):
        return ListedKeys(columns=(column(60, TEXT),), keys=model.KeyList(values=self.wards))

    def inside(self):
        return Join(left=self.capped(), right=self.listed(), condition=inner.alike(ref(20, TEXT), ref(60, TEXT)))

    order = (inner.hash_of(inner.SALT, ref(9, TEXT), ref(20, TEXT)), ref(20, TEXT))
    partition = (9,)

    def ranked(self):
        return Rank(input=self.inside(), partition=self.partition, order=self.order, column=column(50))

    def chosen(self):
        return filtered(self.ranked(), inner.at_most(ref(50), self.groups))

    def totals(self):
        return grouped(self.chosen(), (20,), c80=sum_of(ref(40)), c81=sum_of(ref(41)))

    def shown(self):
        renamed = projected(self.totals(), c70=ref(20, TEXT), c80=ref(80), c81=ref(81))
        beside = Join(
            left=self.listed(), right=renamed, condition=inner.alike(ref(60, TEXT), ref(70, TEXT)), outer=True
        )
        return projected(beside, c60=ref(60, TEXT), c80=inner.or_zero(ref(80)), c81=inner.or_zero(ref(81)))

    def statement(self):
        return self.shown()

    def reach(self, declared=None, **arguments):
        facts = {"keys": self.keys, "values": self.values, "selection": self.selection}
        return derive(self.statement(), catalog=declared or self.declared or catalog(), **(facts | arguments))


class Total_(Visits):  # noqa: N801 - Total is a node of the tree
    """SELECT COUNT(*), SUM(charge) FROM visits."""

    keys = ()

    def rows(self):
        return projected(self.owned(), c9=ref(9, TEXT), c21=ref(3))

    def per_person(self):
        return grouped(self.rows(), (9,), c30=COUNT, c31=sum_of(self.clamped()))

    def capped(self):
        return projected(self.per_person(), c9=ref(9, TEXT), **self.amounts())

    def totals(self):
        return grouped(self.capped(), (), c80=sum_of(ref(40)), c81=sum_of(ref(41)))

    def shown(self):
        return projected(self.totals(), c80=inner.or_zero(ref(80)), c81=inner.or_zero(ref(81)))


class Scaled(Visits):
    """The same by ward, in mode scale: counts in 1024ths, everything inside one ball of radius √radius_squared."""

    weights = (1, 7)
    radius_squared = 10**9

    def amount(self, place):
        return (inner.times(ref(40), 1024), ref(41))[place]

    def term(self):
        return inner.plus(*(inner.squared(inner.times(self.amount(j), w)) for j, w in enumerate(self.weights)))

    def normed(self):
        return self.inside()

    def norms(self):
        each = projected(self.normed(), c11=ref(9, TEXT), c43=self.term())
        return grouped(each, (11,), c44=sum_of(ref(43)))

    def met(self):
        return inner.same(ref(9, TEXT), ref(11, TEXT))

    def together(self):
        return Join(left=self.inside(), right=self.norms(), condition=self.met())

    def factor(self):
        return inner.factor(ref(44), radius_squared=self.radius_squared)

    def factored(self):
        return projected(
            self.together(), c9=ref(9, TEXT), c20=ref(20, TEXT), c40=ref(40), c41=ref(41), c45=self.factor()
        )

    def shrunk(self):
        return [inner.shrink(self.amount(place), ref(45, DOUBLE)) for place in (0, 1)]

    def chosen(self):
        count, charge = self.shrunk()
        return projected(self.factored(), c9=ref(9, TEXT), c20=ref(20, TEXT), c46=count, c47=charge)

    def totals(self):
        return grouped(self.chosen(), (20,), c80=sum_of(ref(46)), c81=sum_of(ref(47)))


class Different(Visits):
    """SELECT ward, COUNT(DISTINCT charge) FROM visits GROUP BY ward."""

    values = (80,)

    def values_of(self):
        rows = filtered(self.rows(), inner.known(ref(21)))
        return grouped(rows, (9, 20, 21))

    def counted(self):
        return projected(Visits.chosen(self), c12=ref(9, TEXT), c22=ref(20, TEXT))

    def meeting(self):
        return inner.all_of(inner.alike(ref(9, TEXT), ref(12, TEXT)), inner.alike(ref(20, TEXT), ref(22, TEXT)))

    def met(self):
        return Join(left=self.values_of(), right=self.counted(), condition=self.meeting())

    value_order = (inner.hash_of(inner.SALT, ref(9, TEXT), ref(20, TEXT), ref(21)), ref(21))

    def few(self):
        ranked = Rank(input=self.met(), partition=(9, 20), order=self.value_order, column=column(51))
        return filtered(ranked, inner.at_most(ref(51), self.cap))

    def totals(self):
        return grouped(self.few(), (20,), c80=Total(function="count_distinct", argument=ref(21)))

    def shown(self):
        renamed = projected(self.totals(), c70=ref(20, TEXT), c80=ref(80))
        beside = Join(
            left=self.listed(), right=renamed, condition=inner.alike(ref(60, TEXT), ref(70, TEXT)), outer=True
        )
        return projected(beside, c60=ref(60, TEXT), c80=inner.or_zero(ref(80)))


class People(Visits):
    """The number of people per ward, each in at most G wards: selects private keys."""

    keys, values, selection = (20,), (80,), True

    def inside(self):
        return grouped(self.rows(), (9, 20))

    def statement(self):
        return grouped(self.chosen(), (20,), c80=COUNT)


class Readings(Visits):
    """SELECT ward, COUNT(level), SUM(level) FROM readings GROUP BY ward: every row is a unit."""

    def table(self):
        return scan("readings", {2: "ward", 3: "level"})

    def rows(self):
        return projected(self.table(), c20=ref(2, TEXT), c21=ref(3))

    def chosen(self):
        present = Apply("presence", (ref(21),), INTEGER)
        return projected(
            self.rows(),
            c20=ref(20, TEXT),
            c40=inner.clamp_whole(inner.or_zero(present), low=0, high=1),
            c41=inner.clamp_whole(inner.or_zero(self.clamped()), low=self.low, high=self.high),
        )


class WithAge(Total_):
    """FROM visits JOIN patients USING (patient_id), where the engine is told that owners are equal."""

    def meeting(self):
        converted = Apply("eq", (ref(3), ref(6)), BOOLEAN)
        return inner.all_of(Apply("and", (converted, inner.TRUE), BOOLEAN), inner.same(ref(9, TEXT), ref(8, TEXT)))

    def patients(self):
        return scan("patients", {6: "age"}, raw={8: "patient_id"})

    def table(self):
        return Join(left=super().table(), right=self.patients(), condition=self.meeting())


class Care(Total_):
    """SELECT COUNT(*), SUM(cost) FROM care: care.visit_id -> visits.id -> patient_id."""

    def lookup(self):
        visits = scan("visits", {}, raw={5: "ID", 9: "Patient_ID"}, owner=(9,))
        return Group(input=visits, by=(5, 9), columns=visits.columns, totals=())

    def start(self):
        return scan("care", {3: "cost"}, raw={4: "visit_id"})

    def step(self):
        return inner.same(ref(4), ref(5))

    def table(self):
        return Join(left=self.start(), right=self.lookup(), condition=self.step())


class Items(Care):
    """SELECT COUNT(*), SUM(pieces) FROM items: items.care_id -> care.id -> visits.id -> patient_id."""

    def middle(self):
        return scan("care", {}, raw={7: "id", 4: "visit_id"})

    def lookup(self):
        """Who owns a row of care, however many visits lead from it to them."""
        return grouped(Join(left=self.middle(), right=Care.lookup(self), condition=self.step()), (7, 9))

    def start(self):
        return scan("items", {3: "pieces"}, raw={6: "care_id"})

    def table(self):
        return Join(left=self.start(), right=self.lookup(), condition=inner.same(ref(6), ref(7)))


def planted(base, **parts):
    """The statement with one step built differently: a method of one argument, what it gives, or another value."""

    def built(name, part):
        given = callable(getattr(base, name, None)) and not callable(part)
        return (lambda self: part) if given else part

    return type("Planted", (base,), {name: built(name, part) for name, part in parts.items()})()


CHANGE_ONE = catalog(Neighbours.CHANGE_ONE)


def moves(*pairs, keys=1):
    return Moves(columns=tuple(Move(l1=l1, l2_squared=l2) for l1, l2 in pairs), keys_per_unit=keys)


ONE = moves((3, 9), (30, 900), keys=1)


def refused(statement, declared=None, **arguments):
    with pytest.raises(InternalError, match=f"cannot be derived: .*{statement.why}") as caught:
        statement.reach(declared, **arguments)
    assert caught.value.code == "DP900"


def each_refused(statements):
    """A test that each of these is refused, by its name."""

    @pytest.mark.parametrize("statement", statements.values(), ids=statements)
    def test(statement):
        refused(statement)

    return test


# On an engine.


def text_of(statement, relation=None):
    """What the engine is sent for a statement, or for this relation in its place."""
    relation = relation or statement.statement()
    columns = {each.id: each for each in relation.columns}
    keys, values = (tuple(columns[number] for number in numbers) for numbers in (statement.keys, statement.values))
    return engine_text(Statement(relation=relation, keys=keys, values=values), dialect="duckdb")


def computed(engine, text, width, tables):
    """{key: values} over these rows, which take the place of all others. A key that came twice would be told apart."""
    for table, rows in tables.items():
        engine.execute(f"TRUNCATE {table}")
        if rows:
            one = f"({', '.join('?' * len(rows[0]))})"
            engine.execute(
                f"INSERT INTO {table} VALUES {', '.join([one] * len(rows))}", [v for row in rows for v in row]
            )
    found = engine.execute(text.sql, text.parameters(salt=7_654_321)).fetchall()
    keyed = {row[:width]: row[width:] for row in found}
    assert len(keyed) == len(found)
    return keyed


def difference(before, after, columns):
    nothing = (0,) * columns
    keys = before.keys() | after.keys() or [()]
    return [tuple(a - b for a, b in zip(before.get(k, nothing), after.get(k, nothing), strict=True)) for k in keys]


def share(moved, limit):
    return Fraction(moved, limit) if limit else float("inf") if moved else 0


def judged(reach, moved):
    """For each column how much of its l1 and l2 was used; for a ball how much of it. At most 1."""
    if isinstance(reach, Ball):
        total = sum((w * c) ** 2 for row in moved for w, c in zip(reach.weights, row, strict=True))
        return [share(total, reach.radius_squared)]
    columns = list(zip(*moved, strict=True))
    return [
        max(share(sum(map(abs, column)), move.l1), share(sum(c * c for c in column), move.l2_squared))
        for column, move in zip(columns, reach.columns, strict=True)
    ]
