"""The capabilities of the checklist that need SQL, each through SQL; every expected number is derived by hand."""

import math
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

import pytest

import dpsql
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.session.noisy import Noisy
from dpsql.testing.fixed import SeededSource
from tests.kits.noiseless import without_noise
from tests.kits.refusals import raised
from tests.kits.replay import excesses, replayed

from hospital import WARDS, Hospital, opened

DELTA = Fraction(1, 10**6)
DAY, MOMENT, BORN = date(2025, 3, 3), datetime(2025, 3, 3, 3, 3), date(1990, 1, 1)


def patient(number, age, city, flu=True, weight=70.0):
    return (number, f"name {number}", age, city, flu, weight, BORN)


def visit(number, *, ward=1, charge=100.0, points=1, diagnosis="flu"):
    return (number, ward, charge, points, diagnosis, DAY, MOMENT)


def hospital(*, patients=(), visits=(), readings=()):
    return Hospital(
        {
            "patients": list(patients),
            "visits": list(visits),
            "beds": [],
            "stays": [],
            "wards": list(WARDS),
            "readings": list(readings),
        }
    )


FIVE = hospital(
    patients=[
        patient(1, 30, "Bern", flu=True),
        patient(2, 40, "Bern", flu=False),
        patient(3, 50, "Basel", flu=True),
        patient(4, 60, "Basel", flu=False),
        patient(5, 120, "Atlantis", flu=True),  # beyond the bound of 110, in a city nobody listed
    ],
    readings=[("a", 1.0, 10), ("a", 3.0, 20), ("b", 5.0, 60), (None, None, None)],
)
"""The five people of the differencing attack."""


def cells(answer):
    return [tuple(cell.value if isinstance(cell, Noisy) else cell for cell in row) for row in answer]


def exactly(analyst, sql):
    return cells(without_noise(analyst, sql))


def plan(analyst, sql, **asked):
    return analyst.query(sql, **asked).sealed.plan


def scales(analyst, sql, **asked):
    """The Laplace scale of every slot, in units of the answer."""
    noises = plan(analyst, sql, **asked).noises
    assert all(isinstance(noise.carried.law, DiscreteLaplaceLaw) for noise in noises)
    return [noise.carried.law.scale * noise.carried.grain for noise in noises]


def with_chance(analyst, seed):
    return replace(analyst, place=replace(analyst.place, source=SeededSource(seed)))


def one(answer):
    ((cell,),) = answer.rows
    return cell


def test_the_curator_adds_noise_to_the_answer_and_is_paid_before_the_data_are_looked_at():
    """C015: the exact answer stays with the curator; what leaves is it plus noise that knows nothing of the data."""
    analyst, four = opened(FIVE, delta=0), opened(FIVE.without(1), delta=0)  # a person with flu is missing

    def asked(analyst):
        """Eight questions that are the same for these people, each with noise of its own."""
        sql = "SELECT COUNT(*) FROM patients WHERE flu AND age > -{}"
        return [one(with_chance(analyst, seed).sql(sql.format(seed + 1))) for seed in range(8)]

    answers = asked(analyst)
    assert all(isinstance(answer, Noisy) and answer.margin > 0 for answer in answers)
    assert [answer.value for answer in asked(four)] == [answer.value - 1 for answer in answers]
    assert len({answer.value for answer in answers}) > 1
    # C015: an answer that fails in the engine is charged all the same.
    before = analyst.budget.spent
    analyst.place.engine.close()
    raised(dpsql.DpsqlError, lambda: analyst.sql("SELECT COUNT(*) FROM patients"))
    assert analyst.budget.spent - before == 1


@pytest.mark.parametrize("relation", ["add_remove", "change_one"])
def test_count_of_rows_is_priced_as_sensitivity_one(relation):
    """C049: COUNT(*) moves by 1 with one row, so by C with one person of at most C rows."""
    analyst = opened(FIVE, delta=0, rows=6, relation=relation)
    assert exactly(analyst, "SELECT COUNT(*) FROM patients") == [(5,)]
    assert exactly(analyst, "SELECT COUNT(*) FROM readings") == [(4,)]
    assert scales(analyst, "SELECT COUNT(*) FROM readings", epsilon=0.25) == [4]
    assert scales(analyst, "SELECT COUNT(*) FROM patients", epsilon=0.25) == [6 / Fraction(1, 4)]


def test_count_with_a_predicate_has_the_sensitivity_of_a_count():
    """C050: a WHERE decides which rows are counted; it changes neither price nor noise, and may be empty."""
    analyst = opened(FIVE, delta=0, rows=6)
    flu = "SELECT COUNT(*) FROM patients WHERE flu"
    assert exactly(analyst, flu) == [(3,)]
    assert exactly(analyst, f"{flu} AND age < 100") == [(2,)]
    assert exactly(analyst, f"{flu} AND age > 500") == [(0,)]
    assert scales(analyst, flu) == scales(analyst, f"{flu} AND age > 500") == [6]
    whole = replayed(analyst, flu, salt=1)
    for person in range(1, 6):
        assert list(excesses(whole, replayed(opened(FIVE.without(person), delta=0, rows=6), flu, salt=1))) == []


SPENDERS = hospital(
    visits=[
        visit(1, charge=5000.0),  # counts as 2000
        visit(1, charge=-7.0),  # counts as 0
        visit(2, charge=1500.0),
        visit(2, charge=None),
        *[visit(3, charge=1800.0)] * 4,  # 7200, of which 3 rows of at most 2000 may count: 6000
    ]
)


def test_sum_is_clamped_to_its_bounds_and_its_sensitivity_depends_on_the_relation():
    """C051: values inside [0, 2000] row by row, a person's sum inside C·[0, 2000]; the noise hides C·2000."""
    analyst = opened(SPENDERS, delta=0, rows=3)
    assert exactly(analyst, "SELECT SUM(charge) FROM visits") == [(2000 + 1500 + 6000,)]
    assert scales(analyst, "SELECT SUM(charge) FROM visits", epsilon=0.5) == [3 * 2000 / Fraction(1, 2)]
    tighter = "SELECT SUM(CLAMP(charge, 0, 100)) FROM visits"
    assert exactly(analyst, tighter) == [(100 + 100 + 300,)]
    assert scales(analyst, tighter) == [300]
    assert scales(analyst, "SELECT SUM(points) FROM visits") == [150]  # [-50, 50]: the farther end, three times
    # C051: of steps in [0, 50] and of 10 + steps in [10, 60], row by row: max(|m|, |M|), or M − m with 0 inside.
    added, changed = (opened(FIVE, delta=0, relation=name) for name in ("add_remove", "change_one"))
    for sql, expected in (("SUM(steps)", 50), ("SUM(10 + steps)", 60), ("SUM(-steps)", 50)):
        assert scales(added, f"SELECT {sql} FROM readings") == [expected]
        assert scales(changed, f"SELECT {sql} FROM readings") == [expected]
    assert scales(added, "SELECT SUM(steps - 25) FROM readings") == [25]
    assert scales(changed, "SELECT SUM(steps - 25) FROM readings") == [50]


def test_average_with_a_noisy_count():
    """C053: middle + centred sum / count; two slots share the price, and the centred one hides half of the range."""
    analyst = opened(FIVE, delta=0, rows=1)
    assert exactly(analyst, "SELECT AVG(age) FROM patients") == [(pytest.approx((30 + 40 + 50 + 60 + 110) / 5),)]
    assert scales(analyst, "SELECT AVG(age) FROM patients") == [2 * 1, 2 * 55]
    assert exactly(analyst, "SELECT AVG(age) FROM patients WHERE city = 'Nowhere'") == [(55.0,)]
    noisy = one(analyst.sql("SELECT AVG(age) FROM patients"))
    assert 0 <= noisy.value <= 110


def test_a_histogram_over_disjoint_cells_shows_every_public_one_and_no_other():
    """C057: one row is in one cell, so all cells cost one count: sensitivity 1, and 2 where a row is replaced."""
    sql = "SELECT site, COUNT(*) FROM readings GROUP BY site"
    added, changed = (opened(FIVE, delta=0, relation=name) for name in ("add_remove", "change_one"))
    assert exactly(added, sql) == [("a", 2), ("b", 1)]
    assert scales(added, sql) == [1]
    assert scales(changed, sql) == [2]
    answer = added.sql(sql, epsilon=0.5)
    assert answer.cost.epsilon == added.budget.spent == Fraction(1, 2)
    assert [row[0] for row in answer] == ["a", "b"]
    # C057: cities that nobody has appear with a noisy zero; one that only somebody has does not.
    analyst = opened(FIVE, delta=0, rows=1, per_group=1, groups=1)
    sql = "SELECT city, COUNT(*) FROM patients GROUP BY city"
    assert exactly(analyst, sql) == [("Aarau", 0), ("Basel", 2), ("Bern", 2), ("Geneva", 0)]
    assert [row[0] for row in analyst.sql(sql)] == ["Aarau", "Basel", "Bern", "Geneva"]
    assert scales(analyst, sql) == [1]


def test_one_person_stands_behind_a_limited_number_of_keys():
    """C065: fifty labels of one person add at most G to all numbers of people together."""
    many = hospital(visits=[visit(1, diagnosis=f"label {n}") for n in range(50)])
    sql = "SELECT diagnosis FROM visits GROUP BY diagnosis"
    whole, without = (replayed(opened(rows, groups=3), sql, salt=5) for rows in (many, many.without(1)))
    assert sum(row[-1] for row in whole.steps[0].rows) == 3
    assert without.steps[0].rows == []
    assert list(excesses(whole, without)) == []


def test_variance_and_standard_deviation():
    """C069: of weights 60, 70, 80, 90 and 100: mean 80, squares 400 + 100 + 0 + 100 + 400 = 1000."""
    weights = (60.0, 70.0, 80.0, 90.0, 100.0)
    rows = hospital(patients=[patient(n, 40, "Bern", weight=weight) for n, weight in enumerate(weights)])
    analyst = opened(rows, delta=0, rows=1)
    names = ("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "STDDEV")
    sql = f"SELECT {', '.join(f'{name}(weight)' for name in names)} FROM patients"
    expected = (200, 250, math.sqrt(200), math.sqrt(250), 250, math.sqrt(250))
    assert exactly(analyst, sql) == [tuple(pytest.approx(number, rel=1e-4) for number in expected)]
    # bounds [0, 200]: count 1, distance from the middle 100, its square 10 000; three slots share the price
    assert scales(analyst, "SELECT VAR_POP(weight) FROM patients") == [3, 3 * 100, 3 * 10_000]
    noisy = one(analyst.sql("SELECT VAR_POP(weight) FROM patients"))
    assert 0 <= noisy.value <= 100**2


BUSY = hospital(
    visits=[
        *(visit(1, ward=1 + n % 4, points=10) for n in range(1000)),  # 250 visits in each of four wards
        visit(2, ward=1, points=10),
    ]
)


def test_contributions_are_capped_per_person():
    """C097: of a thousand rows of one person C count, in sums as in counts; a mean keeps its level."""
    analyst = opened(BUSY, delta=0, rows=6)
    sql = "SELECT COUNT(*), SUM(points), COUNT(DISTINCT patient_id), AVG(points) FROM visits"
    assert exactly(analyst, sql) == [(6 + 1, min(10_000, 6 * 50) + 10, 2, pytest.approx(10))]
    assert [scales(opened(BUSY, delta=0, rows=cap), "SELECT COUNT(*) FROM visits") for cap in (6, 60)] == [[6], [60]]


def test_contributions_are_limited_to_some_groups_by_choosing_or_by_scaling():
    """C097: at most G groups of one person count, chosen by a hash; each of them at most C rows."""
    analyst = opened(BUSY, delta=0, rows=6, per_group=4, groups=3)
    sql = "SELECT ward_id, COUNT(*) FROM visits GROUP BY ward_id"
    for salt in range(5):
        by_ward = dict(cells(without_noise(analyst, sql, salt=salt)))
        by_ward[1] -= 1  # the other person
        assert sorted(by_ward.values()) == [0, 4, 4, 4]
    assert scales(analyst, sql) == [3 * 4]
    # C097: all groups of one person are kept, scaled into the ball of √G groups: 4·√(3/4) rows in each of four.
    analyst = opened(BUSY.without(2), rows=6, per_group=4, groups=3, mode="scale")
    sql = "SELECT ward_id, COUNT(*) FROM visits GROUP BY ward_id"
    whole = replayed(analyst, sql, salt=1)
    counts = [Fraction(row[1], 1024) for row in whole.steps[0].rows]
    assert counts == [pytest.approx(4 * math.sqrt(3 / 4), abs=1 / 1024)] * 4
    assert sum(each * each for each in counts) <= 3 * 4**2
    nobody = replayed(opened(BUSY.without(2).without(1), rows=6, per_group=4, groups=3, mode="scale"), sql, salt=1)
    assert list(excesses(whole, nobody)) == []


def test_what_was_released_can_be_used_again_for_nothing_and_an_average_derived():
    """C115: other orders, filters, shares and columns of the same release, and arithmetic on its numbers, are free."""
    analyst = opened(FIVE, delta=0)
    first = analyst.sql("SELECT city, COUNT(*) AS n FROM patients GROUP BY city")
    spent = analyst.budget.spent
    counts = dict(cells(first))

    largest = analyst.sql("SELECT city, COUNT(*) AS n FROM patients GROUP BY city ORDER BY n DESC, city LIMIT 1")
    assert cells(largest) == [min(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
    doubled = analyst.sql("SELECT city, 2 * COUNT(*) + 1 AS m FROM patients GROUP BY city HAVING COUNT(*) > -99999")
    assert cells(doubled) == [(city, 2 * n + 1) for city, n in counts.items()]
    assert largest.cost.epsilon == doubled.cost.epsilon == 0

    (_, a), (_, b), *_ = first
    difference = a - b
    assert difference.value == a.value - b.value
    assert max(a.margin, b.margin) < difference.margin < a.margin + b.margin
    assert analyst.budget.spent == spent == 1
    # C115: SUM(x) / COUNT(x) in SQL and in Python are functions of one release, and cost nothing more.
    analyst = with_chance(opened(FIVE, delta=0), 8)  # by chance alone, one count of five in forty is a divisor of 0
    ((total, number),) = analyst.sql("SELECT SUM(age), COUNT(age) FROM patients")
    ratio = one(analyst.sql("SELECT SUM(age) / COUNT(age) FROM patients"))
    derived = total / number
    assert ratio.value == pytest.approx(derived.value)
    assert analyst.budget.spent == 1
    assert exactly(analyst, "SELECT SUM(age) / COUNT(age) FROM patients") == [(pytest.approx(290 / 5),)]
