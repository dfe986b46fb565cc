"""Persons of two columns in UNION ALL, IN, EXISTS and FULL JOIN: nobody is taken for somebody with half their name."""

from functools import cache
from itertools import product

import duckdb
import pytest

import dpsql
from tests.kits.noiseless import without_noise
from tests.kits.refusals import raised
from tests.kits.replay import excesses, replayed

PEOPLE = [(house, number, 10 * house + number) for house, number in product(range(1, 5), range(1, 5))]
VISITS = [(house, number, house * number % 7) for house, number, _ in PEOPLE[::2] for _ in range(number)]
NOBODY = [(None, 1, 5), (2, None, 5), (None, None, 5)]
MANY = [(9, 9, n % 7) for n in range(40)]
PERSON = "(house, number)"

TIED = "v.house = p.house AND v.number = p.number"
UNDER = "(SELECT house, number FROM people UNION ALL SELECT house, number FROM visits) u"
LOW, HIGH = "(SELECT * FROM people WHERE x > 22) a", "(SELECT * FROM visits WHERE x > 3) b"

ASKED = [
    "SELECT COUNT(*), SUM(x) FROM (SELECT house, number, x FROM people UNION ALL SELECT number, house, x FROM visits)",
    f"SELECT COUNT(*) FROM (SELECT house, number, COUNT(*) AS n FROM {UNDER} GROUP BY house, number) t WHERE n > 2",
    f"SELECT COUNT(*) FROM people p JOIN {UNDER} ON p.house = u.house AND p.number = u.number",
    f"SELECT COUNT(*), SUM(x) FROM people WHERE {PERSON} IN (SELECT house, number FROM visits WHERE x > 2)",
    f"SELECT COUNT(*) FROM visits WHERE {PERSON} IN (SELECT * FROM {UNDER} GROUP BY 1, 2 HAVING COUNT(*) > 1)",
    f"SELECT COUNT(*) FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE {TIED} AND v.x < p.x)",
    f"SELECT COUNT(*), COUNT(house), COUNT(a.x), COUNT(b.x) FROM {LOW} FULL JOIN {HIGH} USING (house, number)",
    f"SELECT COUNT(*) FROM {LOW} FULL JOIN {HIGH} USING (house, number) JOIN people c USING (house, number)",
]
REFUSED = [
    "SELECT COUNT(*) FROM people WHERE house IN (SELECT house FROM visits)",
    "SELECT COUNT(*) FROM people WHERE (number, house) IN (SELECT house, number FROM visits)",
    f"SELECT COUNT(*) FROM people WHERE {PERSON} IN (SELECT * FROM {UNDER} UNION ALL SELECT number, house FROM visits)",
    "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.house = p.house AND v.x = p.number)",
    "SELECT COUNT(*) FROM people FULL JOIN visits USING (house)",
]


def rows(*, missing: tuple[int, int] | None = None, odd: bool = False) -> dict[str, list[tuple[object, ...]]]:
    everything = {
        "people": [*PEOPLE, *(NOBODY if odd else [])],
        "visits": [*VISITS, *([*NOBODY, *MANY] if odd else [])],
    }
    return {name: [row for row in table if row[:2] != missing] for name, table in everything.items()}


def connection(tables) -> duckdb.DuckDBPyConnection:
    plain = duckdb.connect()
    for name, table in tables.items():
        plain.execute(f"CREATE TABLE {name} (house INTEGER, number INTEGER, x INTEGER)")
        plain.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", table)
    return plain


@cache
def analyst(*, missing=None, odd=False, cap=40) -> dpsql.Analyst:
    owner = dpsql.open(":memory:")
    owner.person(name="patient")
    plain = connection(rows(missing=missing, odd=odd))
    words = {"person": ["house", "number"], "columns": ["house", "number"], "bounds": {"x": (0, 50)}}
    for name in ("people", "visits"):
        owner.register(name, plain, **words, rows_per_person=cap, groups_per_person=1)
    plain.close()
    owner.promise(epsilon=200, delta=1e-6)
    owner.defaults(cost_per_query=1, max_keys=100, selection_share=0.25, delta_per_query=1e-9)
    return owner.grant("ana", budget=200)


@pytest.mark.parametrize("sql", ASKED)
def test_the_answer_is_that_of_plain_sql(sql):
    ((*ours,),) = without_noise(analyst(), sql)
    ((*theirs,),) = connection(rows()).execute(sql).fetchall()
    assert [round(float(each)) for each in ours] == [each or 0 for each in theirs]


@pytest.mark.parametrize("sql", ASKED)
@pytest.mark.parametrize("person", [(1, 2), (2, 1), (3, 3), (9, 9)])
def test_nobody_moves_an_answer_further_than_it_was_priced_for(sql, person):
    whole = replayed(analyst(odd=True, cap=2), sql, salt=5)
    assert whole.sealed is not None, whole.verdict
    without = replayed(analyst(odd=True, cap=2, missing=person), sql, salt=5, forced=whole.recorded)
    assert list(excesses(whole, without)) == []


@pytest.mark.parametrize("sql", REFUSED)
def test_half_a_person_is_nobody(sql):
    assert raised(dpsql.Refused, lambda: analyst().sql(sql)).code == "DP303"
