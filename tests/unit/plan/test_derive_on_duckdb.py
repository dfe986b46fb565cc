"""No person, however extreme, moves what the engine computes further than `derive` says; somebody moves it so far.
Statements damaged at random are refused, or stay within the reach derived for them."""

import random
from dataclasses import fields, replace

import duckdb
import pytest
from derive_trees import (
    TEXT,
    Care,
    Different,
    Items,
    People,
    Readings,
    Scaled,
    Total_,
    Visits,
    WithAge,
    catalog,
    column,
    computed,
    difference,
    judged,
    planted,
    ref,
    text_of,
    whole,
)

from dpsql.catalog.model import KeyList
from dpsql.errors import InternalError
from dpsql.plan.derive import Ball
from dpsql.privacy.unit import Neighbours
from dpsql.sql import inner
from dpsql.sql.relations import Filter, Group, Join, ListedKeys, Project, Rank, Scan, Total
from dpsql.sql.scalars import Apply, ColumnRef, Constant

WARDS = ("A", "B", "C", "D", "E", "", None)
CHARGES = (None, -(2**40), -6, -5, -1, 0, 1, 2, 3, 4, 9, 10, 11, 2**40)
PEOPLE = ("ann", "bob", "cy")


@pytest.fixture
def engine():
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("CREATE TABLE visits (ID BIGINT, Patient_ID VARCHAR, ward VARCHAR, charge BIGINT)")
        connection.execute("CREATE TABLE care (id BIGINT, visit_id BIGINT, cost BIGINT)")
        connection.execute("CREATE TABLE items (care_id BIGINT, pieces BIGINT)")
        connection.execute("CREATE TABLE readings (ward VARCHAR, level BIGINT)")
        connection.execute("CREATE TABLE patients (patient_id VARCHAR, age BIGINT)")
        yield connection


def visits_of(person, chance):
    """Few rows or many, in few wards or all, mild or extreme."""
    wards = chance.sample(WARDS, chance.randint(1, len(WARDS)))
    charges = chance.sample(CHARGES, chance.randint(1, len(CHARGES)))
    return [
        (chance.randint(1, 6), person, chance.choice(wards), chance.choice(charges))
        for _ in range(chance.choice((0, 1, 3, 8, 25)))
    ]


def vector(engine, text, statement, rows):
    return computed(engine, text, len(statement.keys), rows)


def database(chance):
    rows = {person: visits_of(person, chance) for person in PEOPLE}
    rows[None] = visits_of(None, chance)
    return rows


def content(rows):
    """The tables as the engine holds them. Rows reached by a path leave with their last owner."""
    visits = [row for each in rows.values() for row in each]
    reached = {row[0] for row in visits}
    care = [(number % 4, number % 7, 3 * number - 20) for number in range(12) if number % 7 in reached]
    kept = {number for number, _, _ in care}
    items = [(number % 5, number - 4) for number in range(15) if number % 5 in kept]
    return {"visits": visits, "care": care, "items": items}


STATEMENTS = [
    Visits(),
    Total_(),
    Different(),
    People(),
    Scaled(),
    planted(Scaled, weights=(1, 300), radius_squared=10**6),
    Care(),
    Items(),
]
NAMES = ["choose", "total", "distinct", "people", "scale", "narrow scale", "path", "long path"]


@pytest.mark.parametrize("statement", STATEMENTS, ids=NAMES)
def test_no_person_reaches_further_by_leaving(engine, statement):
    reach, text, chance = statement.reach(), text_of(statement), random.Random(1)
    for _ in range(12):
        rows = database(chance)
        before = vector(engine, text, statement, content(rows))
        for person in PEOPLE:
            after = vector(engine, text, statement, content(rows | {person: []}))
            assert max(judged(reach, difference(before, after, len(statement.values)))) <= 1


@pytest.mark.parametrize("statement", STATEMENTS[:6], ids=NAMES[:6])
def test_no_person_reaches_further_by_changing(engine, statement):
    reach, text, chance = statement.reach(catalog(Neighbours.CHANGE_ONE)), text_of(statement), random.Random(2)
    for _ in range(30):
        rows = database(chance)
        before = vector(engine, text, statement, content(rows))
        person = chance.choice(PEOPLE)
        after = vector(engine, text, statement, content(rows | {person: visits_of(person, chance)}))
        assert max(judged(reach, difference(before, after, len(statement.values)))) <= 1


def extreme(person, charge, wards="ABCD"):
    return [(1, person, ward, charge if charge is not None else number) for ward in wards for number in range(9)]


@pytest.mark.parametrize("statement", STATEMENTS[:5], ids=NAMES[:5])
def test_somebody_reaches_as_far(engine, statement):
    """The reach is not only an upper bound: with enough rows everywhere it is attained (a ball up to truncation)."""
    charge = None if isinstance(statement, Different) else 2**40
    rows = {"ann": extreme("ann", charge)}
    text, reach = text_of(statement), statement.reach()
    if isinstance(statement, Scaled):  # a ball that bites: one ward alone would fill it
        statement = planted(Scaled, radius_squared=10**7)
        text, reach = text_of(statement), statement.reach()
    before, after = (vector(engine, text, statement, content(each)) for each in (rows, {"ann": []}))
    used = judged(reach, difference(before, after, len(statement.values)))
    assert all(0.99 < each <= 1 for each in used)
    assert isinstance(reach, Ball) or used == [1] * len(used)


def test_somebody_reaches_as_far_by_changing(engine):
    """From the worst to the best value in the same wards: squared distances; in other wards: distances."""
    statement = Visits()
    reach, text = statement.reach(catalog(Neighbours.CHANGE_ONE)), text_of(statement)
    low, high = ({"ann": extreme("ann", charge, wards)} for charge, wards in ((-(2**40), "AB"), (2**40, "AB")))
    before, after = (vector(engine, text, statement, content(rows)) for rows in (low, high))
    assert sum(row[1] ** 2 for row in difference(before, after, 2)) == reach.columns[1].l2_squared
    other = {"ann": extreme("ann", 2**40, "CD")}
    after, there = (vector(engine, text, statement, content(rows)) for rows in (high, other))
    assert sum(abs(row[1]) for row in difference(after, there, 2)) == reach.columns[1].l1


def test_a_row_that_is_a_unit_reaches_no_further(engine):
    statement, chance = Readings(), random.Random(3)
    text = text_of(statement)
    for _ in range(20):
        rows = [(chance.choice(WARDS), chance.choice(CHARGES)) for _ in range(6)]
        before = vector(engine, text, statement, {"readings": rows})
        without = vector(engine, text, statement, {"readings": rows[1:]})
        assert max(judged(statement.reach(), difference(before, without, 2))) <= 1
        other = [(chance.choice(WARDS), chance.choice(CHARGES)), *rows[1:]]
        after = vector(engine, text, statement, {"readings": other})
        assert max(judged(statement.reach(catalog(Neighbours.CHANGE_ONE)), difference(before, after, 2))) <= 1


def test_the_judge_sees_a_reach_that_is_too_small(engine):
    """The statement with G = 3, judged by the reach of G = 2."""
    statement = planted(Visits, groups=3)
    rows = {"ann": extreme("ann", 2**40)}
    before, after = (vector(engine, text_of(statement), statement, content(each)) for each in (rows, {"ann": []}))
    assert max(judged(Visits().reach(), difference(before, after, 2))) > 1


# Statements damaged at random.


WHOLE = [*STATEMENTS[:6], planted(Visits, chosen=Visits.inside), Care(), WithAge()]
NUMBERS = (2, 3, 9, 20, 21, 30, 31, 40, 41, 43, 44, 45, 46, 47, 50, 60, 70, 80, 81)
WORDS = ("same", "alike", "or_zero", "clamp_whole", "minus", "times", "plus", "all", "or", "known", "squared", "shrink")
NODES = (Scan, ListedKeys, Filter, Project, Join, Group, Rank, Total, ColumnRef, Constant, Apply)


def places(thing, path=()):
    """Every node of a tree, with the way to it."""
    if isinstance(thing, NODES):
        yield path, thing
        for field in fields(thing):
            yield from places(getattr(thing, field.name), (*path, field.name))
    elif isinstance(thing, tuple):
        for place, part in enumerate(thing):
            yield from places(part, (*path, place))


def changed(thing, path, new):
    if not path:
        return new
    first, *rest = path
    if isinstance(thing, tuple):
        return (*thing[:first], changed(thing[first], rest, new), *thing[first + 1 :])
    return replace(thing, **{first: changed(getattr(thing, first), rest, new)})


def without(items, chance):
    gone = chance.randrange(len(items)) if items else 0
    return items[:gone] + items[gone + 1 :], gone


def damaged_scalar(scalar, chance):
    match scalar:
        case ColumnRef():
            return replace(scalar, id=chance.choice(NUMBERS))
        case Constant(value=int(value)) if not isinstance(value, bool):
            return replace(scalar, value=chance.choice((value + 1, value - 1, 2 * value, 0, -value)))
        case Apply():
            return chance.choice(
                (
                    *scalar.arguments[:1],
                    replace(scalar, arguments=without(scalar.arguments, chance)[0]),
                    replace(scalar, function=chance.choice(WORDS)),
                    inner.times(scalar, 3),
                )
            )
        case _:
            return scalar


def damaged_relation(relation, chance):
    number = chance.choice(NUMBERS)
    match relation:
        case Filter():
            return chance.choice((relation.input, replace(relation, condition=inner.TRUE)))
        case Project():
            kept, gone = without(relation.columns, chance)
            fewer = (*relation.expressions[:gone], *relation.expressions[gone + 1 :])
            mixed = tuple(chance.choices(relation.expressions, k=len(relation.expressions)))
            return chance.choice(
                (replace(relation, columns=kept, expressions=fewer), replace(relation, expressions=mixed))
            )
        case Group():
            by, gone = without(relation.by, chance)
            fewer = replace(relation, by=by, columns=(*relation.columns[:gone], *relation.columns[gone + 1 :]))
            more = replace(relation, by=(number, *relation.by), columns=(column(number, TEXT), *relation.columns))
            return chance.choice((relation.input, more, fewer if relation.by else more))
        case Rank():
            order, _ = without(relation.order, chance)
            return chance.choice(
                (
                    relation.input,
                    replace(relation, partition=without(relation.partition, chance)[0]),
                    replace(relation, partition=(*relation.partition, number)),
                    replace(relation, order=order),
                    replace(relation, order=(*order, ref(number))),
                )
            )
        case Join():
            turned = replace(relation, left=relation.right, right=relation.left)
            other = replace(relation, outer=not relation.outer)
            return chance.choice(
                (relation.left, relation.right, turned, other, replace(relation, condition=inner.TRUE))
            )
        case Scan():
            return chance.choice(
                (replace(relation, owner=(number,)), replace(relation, raw=()), replace(relation, owner=()))
            )
        case ListedKeys():
            values = relation.keys.values
            return replace(relation, keys=KeyList(values=chance.choice((values + values[:1], values[:2]))))
        case Total():
            functions = ("count", "sum", "count_of", "count_distinct", "max")
            return replace(relation, function=chance.choice(functions), argument=chance.choice((None, ref(number))))


def damaged(tree, chance):
    path, node = chance.choice(list(places(tree)))
    scalar = isinstance(node, (ColumnRef, Constant, Apply))
    return changed(tree, path, damaged_scalar(node, chance) if scalar else damaged_relation(node, chance))


def tables(people):
    """With two rows in `patients` for everybody who visits."""
    rows = content(people)
    patients = [(person, age) for person, visits in people.items() if visits for age in (1, 2)]
    return {"visits": rows["visits"], "care": rows["care"], "patients": patients}


def crowds(chance):
    yield database(chance)
    yield {person: extreme(person, chance.choice((2**40, -(2**40), None))) for person in PEOPLE}
    yield {person: visits_of(person, chance) for person in PEOPLE}


@pytest.mark.parametrize("seed", range(4))
def test_damage_is_refused_or_covered(engine, seed):
    chance, covered, refused = random.Random(seed), 0, 0
    declared = catalog()
    for _ in range(120):
        statement = chance.choice(WHOLE)
        relation = statement.statement()
        for _ in range(chance.choice((1, 1, 2))):
            relation = damaged(relation, chance)
        try:
            reach = type("Damaged", (type(statement),), {"statement": lambda self, r=relation: r})().reach(declared)
        except InternalError:
            refused += 1
            continue
        try:
            text = text_of(statement, relation)
            computed(engine, text, len(statement.keys), tables({"ann": []}))
        except (duckdb.Error, LookupError):  # not a statement any more: nothing would run
            continue
        covered += 1
        for people in crowds(chance):
            before = computed(engine, text, len(statement.keys), tables(people))
            for person in PEOPLE[:2]:
                after = computed(engine, text, len(statement.keys), tables(people | {person: []}))
                assert statement.selection or before.keys() == after.keys()
                assert max(judged(reach, difference(before, after, len(statement.values)))) <= 1, text
    assert covered > 5
    assert refused > 50


def test_the_damage_reaches_every_kind_of_node():
    chance = random.Random(0)
    for node in (whole(3), ref(2), inner.or_zero(ref(2)), inner.TRUE):
        assert damaged_scalar(node, chance) is not None
    kinds = {type(node) for statement in WHOLE for _, node in places(statement.statement())}
    assert kinds == set(NODES)
