"""How many rows and groups of one person count, where some sides of a join have one row of each."""

from tests.kits.cases import cases

from stages import bounded

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
