"""How many rows and groups of one person count, where some sides of a join have one row of each."""

import pytest

from stages import bounded

ONE = "(SELECT person, COUNT(*) AS n FROM visits GROUP BY person)"
SEVERAL = "(SELECT person, ward, COUNT(*) AS n FROM visits GROUP BY person, ward)"


@pytest.mark.parametrize(
    ("tables", "rows"),
    [
        (f"people p JOIN {ONE} t ON p.person = t.person", 1),
        (f"people p LEFT JOIN {ONE} t ON p.person = t.person", 1),
        (f"{ONE} s JOIN {ONE} t ON s.person = t.person", 1),
        (f"people p JOIN {SEVERAL} t ON p.person = t.person", 6),
        (f"visits v JOIN {ONE} t ON v.person = t.person", 6),
        (f"{ONE} t JOIN visits v ON v.person = t.person", 6),
        ("(SELECT person FROM visits UNION ALL SELECT person FROM people) t", 6),
        (f"(SELECT person FROM {ONE} a UNION ALL SELECT person FROM {ONE} b) t", 2),
        (f"(SELECT person FROM {ONE} a UNION ALL SELECT person FROM people) t", 2),
        (f"visits v JOIN ({' UNION ALL '.join(['SELECT id FROM wards'] * 8)}) w ON v.ward = w.id", 6),
        ("people p WHERE person IN (SELECT person FROM visits)", 1),
    ],
)
def test_a_side_with_one_row_of_each_person_needs_no_cap(tables: str, rows: int) -> None:
    """visits has a cap of six rows, people is declared unique."""
    (placed,) = bounded(f"SELECT COUNT(*) FROM {tables}").slots
    assert placed.slot.cap == rows


def test_such_sides_are_in_one_group() -> None:
    joined = f"SELECT n, COUNT(*) FROM people p JOIN {ONE} t ON p.person = t.person WHERE n IN (1, 2, 3) GROUP BY n"
    assert bounded(joined).groups == 1
    assert bounded(joined.replace(ONE, SEVERAL)).groups == 3
