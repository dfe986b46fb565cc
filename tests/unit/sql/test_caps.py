"""How many rows and groups of a person count: with one row of each on some sides of a join, or with numbered rows."""

from dpsql.sql.caps import rows_left
from tests.kits.cases import cases

from stages import bounded, clinic, resolved

ONE = "(SELECT person, COUNT(*) AS n FROM visits GROUP BY person)"
SEVERAL = "(SELECT person, ward, COUNT(*) AS n FROM visits GROUP BY person, ward)"


@cases(__file__, "tables=", "rows=")
def test_a_side_with_one_row_of_each_person_needs_no_cap(tables: str, rows: int) -> None:
    """visits has a cap of six rows, people is declared unique."""
    (placed,) = bounded(f"SELECT COUNT(*) FROM {tables}").slots
    assert placed.slot.cap == rows


def test_such_sides_are_in_one_group() -> None:
    joined = f"SELECT n, COUNT(*) FROM people p JOIN {ONE} t ON p.person = t.person WHERE n IN (1, 2, 3) GROUP BY n"
    assert bounded(joined).groups == 1
    assert bounded(joined.replace(ONE, SEVERAL)).groups == 3


NUMBERED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY moment) AS n FROM visits"


def left(sql: str) -> int | None:
    query = resolved(sql)
    return rows_left(query.relation, query.owner)


@cases(__file__, "condition", "rows=")
def test_a_filter_on_the_number_says_how_many(condition, rows):
    assert left(f"SELECT COUNT(*) FROM ({NUMBERED}) t WHERE {condition}") == rows


def test_subqueries_that_repeat_no_row_change_nothing():
    assert left(f"SELECT COUNT(*) FROM (SELECT *, points + 1 AS p FROM ({NUMBERED}) a WHERE n = 1) b WHERE p > 0") == 1
    assert left(f"SELECT COUNT(*) FROM (SELECT person, n AS k FROM ({NUMBERED}) a) b WHERE k = 1") == 1
    again = f"SELECT *, RANK() OVER (PARTITION BY person ORDER BY n) AS r FROM ({NUMBERED}) a WHERE n <= 2"
    assert left(f"SELECT COUNT(*) FROM ({again}) b") == 2


@cases(__file__, "inner")
def test_what_is_no_number_of_a_persons_rows_says_nothing(inner):
    assert left(f"SELECT COUNT(*) FROM ({inner}) t WHERE n = 1") is None


def test_the_first_row_needs_no_cap_and_the_first_three_count_as_three():
    unlimited = clinic(rows_per_person=None, rows_per_group=None, groups_per_person=None)
    first = bounded(f"SELECT ward, COUNT(*) FROM ({NUMBERED}) t WHERE n = 1 GROUP BY ward", unlimited)
    assert (first.one_row_each, first.groups, first.mode) == (True, 1, None)
    assert [placed.slot.high for placed in first.slots] == [1]
    some = bounded(f"SELECT ward, COUNT(*) FROM ({NUMBERED}) t WHERE n <= 3 GROUP BY ward", unlimited)
    assert (some.one_row_each, some.groups) == (False, 3)
    assert [placed.slot.high for placed in some.slots] == [3]


def test_a_smaller_cap_of_the_policy_stays():
    few = bounded(f"SELECT COUNT(*) FROM ({NUMBERED}) t WHERE n <= 5", clinic(rows_per_person=2))
    assert [placed.slot.high for placed in few.slots] == [2]
