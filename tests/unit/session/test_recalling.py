"""What is stored is told again, free and with the same numbers, however the question is written."""

from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest

from dpsql.catalog.model import Bounds, ColumnPolicy
from dpsql.errors import EngineFailed
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

CITIES = ["Basel", "Bern"]


@pytest.fixture
def owner():
    rows = pd.DataFrame({"who": range(400), "city": CITIES * 200, "age": [20, 30, 40, 50] * 100, "spare": 1})
    rows = rows.convert_dtypes()  # columns of nullable dtypes are copied also where nothing is declared of them
    words = {"person": "who", "keys": {"city": CITIES}, "bounds": {"age": (0, 100)}}
    caps = {"rows_per_person": 2, "groups_per_person": 1, "max_keys": 100}
    shares = {"delta": 1e-3, "cost_per_query": 1, "selection_share": 0.25, "delta_per_query": 1e-6}
    return owner_of(rows, **words, **caps, epsilon=100, **shares)


@pytest.fixture
def analyst(owner):
    return owner.grant("ana", budget=100)


def values(answer):
    return [[getattr(cell, "value", cell) for cell in row] for row in answer]


def test_the_order_of_aggregates_means_nothing(analyst):
    first = analyst.sql("SELECT city, COUNT(*), SUM(age) FROM people WHERE age > 5 AND city <> 'x' GROUP BY city")
    again = analyst.sql(
        "SELECT SUM(age) AS s, COUNT(1) AS n, city FROM people WHERE 'x' <> city AND 5 < age GROUP BY 3"
    )
    assert (first.cost.epsilon, again.cost.epsilon) == (1, 0)
    assert [[row[2], row[1], row[0]] for row in values(first)] == values(again)
    assert first.release == again.release


@pytest.mark.parametrize("part", ["COUNT(*)", "SUM(age)", "AVG(age)", "COUNT(DISTINCT city)"])
def test_a_part_of_what_was_released_is_free(analyst, part):
    whole = analyst.sql("SELECT COUNT(*), SUM(age), AVG(age), COUNT(DISTINCT city) FROM people")
    some = analyst.sql(f"SELECT {part} AS x FROM people", epsilon=0.1)
    (expected,) = whole[part]
    (cell,) = some["x"]
    assert some.cost.epsilon == 0
    assert (cell.value, cell.margin) == (expected.value, expected.margin)


def test_noise_that_two_answers_share_is_counted_once(analyst):
    """The sum of a number and itself is off by twice as much, not by √2 as much; their difference is exact."""
    (_, whole), *_ = analyst.sql("SELECT COUNT(*), SUM(age) FROM people")
    ((part,),) = analyst.sql("SELECT SUM(age) FROM people", epsilon=0.1)
    assert ((whole - part).value, (whole - part).margin) == (0, 0)
    assert (whole + part).margin == pytest.approx(2 * whole.margin)
    (plain, _), *_ = analyst.sql("SELECT SQRT(SUM(age)), COUNT(*) FROM people")
    ((again,),) = analyst.sql("SELECT SQRT(SUM(age)) FROM people", epsilon=0.1)
    assert (plain - again).margin == 0


def test_a_coarser_number_does_not_stand_for_a_finer_one_nor_a_part_for_the_whole(analyst):
    """Beside another aggregate a number gets half of the price, so alone it is more precise."""
    analyst.sql("SELECT COUNT(*), SUM(age) FROM people")
    assert analyst.query("SELECT COUNT(*) FROM people", epsilon=0.5).cost.epsilon == 0
    assert analyst.query("SELECT COUNT(*) FROM people", epsilon=1).cost.epsilon == 1
    analyst.sql("SELECT COUNT(*) FROM people WHERE age > 25")
    assert analyst.sql("SELECT COUNT(*), SUM(age) FROM people WHERE age > 25").cost.epsilon == 1


def test_declaring_a_column_nobody_asked_for_keeps_what_is_stored(analyst):
    first = analyst.sql("SELECT COUNT(*) FROM people WHERE age > 30")
    catalog = analyst.place.catalog
    table = catalog.policy.tables["people"]
    spare = ColumnPolicy(name="spare", type=None, bounds=Bounds(low=Fraction(0), high=Fraction(1)))
    tables = {**catalog.policy.tables, "people": replace(table, columns={**table.columns, "spare": spare})}
    analyst.place.declared.catalog = replace(catalog, policy=replace(catalog.policy, tables=tables))
    again = analyst.sql("SELECT COUNT(*) FROM people WHERE age > 30")
    assert again.cost.epsilon == 0
    assert values(first) == values(again)


def test_a_payment_that_was_never_answered_is_not_continued_by_another_question(analyst, monkeypatch):
    """Both questions have the same rows, groups, price and event; only what is added up differs."""
    engine = analyst.place.engine

    def fails(*_, **__):
        raise EngineFailed("gone", why="a test", fix="none")

    with monkeypatch.context() as patched:
        patched.setattr(type(engine), "run", fails)
        raised(EngineFailed, lambda: analyst.sql("SELECT COUNT(*) FROM people", noise="laplace"))
    once = analyst.budget.spent
    other = analyst.sql("SELECT COUNT(age) FROM people", noise="laplace")
    twice = analyst.budget.spent
    assert 0 < once < twice
    assert analyst.sql("SELECT COUNT(*) FROM people", noise="laplace").release != other.release
    assert analyst.budget.spent == twice
