"""With noise off and no bound biting, every accepted question gives the answer of plain SQL on the same rows. Rows
whose person is NULL beside IN and NOT IN are nobody's, and so a reason for nothing."""

import math
from datetime import date, datetime
from decimal import Decimal
from functools import cache

import pytest

from dpsql.session.noisy import Noisy
from dpsql.sql.parse import parse
from tests.kits.cases import cases
from tests.kits.noiseless import answered_without_noise, without_noise

from fixtures import ACCEPTED, Fixture
from hospital import Hospital, opened, well_behaved


@cache
def analyst(mode):
    return opened(well_behaved(), rows=400, per_group=400, groups=400, mode=mode)


@cache
def plain():
    return well_behaved().connection()


def cells(row):
    return tuple(cell.value if isinstance(cell, Noisy) else cell for cell in row)


def close(ours, theirs):
    """Equal; fractions up to the grain (a millionth of the bounds, times the rows)."""
    if isinstance(theirs, Decimal):  # a sum of its last digits is exact
        return ours is not None and math.isclose(float(ours), float(theirs), rel_tol=1e-12)
    if isinstance(ours, float) or isinstance(theirs, float):
        return (
            ours is not None
            and theirs is not None
            and math.isclose(float(ours), float(theirs), rel_tol=1e-4, abs_tol=0.02)
        )
    return ours == theirs


def order(row):
    return tuple((cell is None, str(cell)) for cell in row if not isinstance(cell, float))


@pytest.mark.parametrize("fixture", ACCEPTED, ids=str)
def test_the_answer_is_that_of_plain_sql(fixture: Fixture):
    theirs = plain().execute(fixture.plain).fetchall()
    chosen, unchosen = (analyst(mode).query(fixture.sql) for mode in ("choose", None))
    require_same(fixture, answered_without_noise(chosen), theirs)
    if steps(chosen) != steps(unchosen):  # the same plan would give the same once more
        require_same(fixture, answered_without_noise(unchosen), theirs)


def steps(query):
    return [part.sealed.plan.steps for part in query.inquiry.parts]


def require_same(fixture, answer, theirs):
    ours = [cells(row) for row in answer]
    is_ordered = parse(fixture.sql, dialect="duckdb").query.order_by  # an inner ORDER BY says nothing of these rows
    if not is_ordered or "OVER" in fixture.sql.upper():
        ours, theirs = sorted(ours, key=order), sorted(theirs, key=order)
    assert len(ours) == len(theirs), (ours, theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert len(our) == len(their)
        assert all(map(close, our, their)), (our, their)


def with_rows_of_nobody() -> Hospital:
    tables = well_behaved().tables
    nobody = (None, 1, 500.0, 7, "flu", date(2025, 3, 3), datetime(2025, 3, 3, 3, 3))
    return Hospital({**tables, "visits": [*tables["visits"], nobody, nobody], "beds": [*tables["beds"], (900, None)]})


NOT_IN = "SELECT COUNT(*) FROM {} WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE {})"


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        # SQL: nobody is known not to be among others of whom one is not known
        (NOT_IN.format("patients", "TRUE"), NOT_IN.format("patients", "patient_id IS NOT NULL")),
        # the same with rows of nobody on both sides
        (NOT_IN.format("beds", "points > 900"), "SELECT COUNT(*) FROM beds WHERE patient_id IS NOT NULL"),
    ],
)
def test_not_in_leaves_nobody_out_for_rows_of_nobody(asked, meant):
    hospital = with_rows_of_nobody()
    connection = hospital.connection()
    ((ours,),) = without_noise(opened(hospital, rows=400, per_group=400, groups=400), asked)
    ((theirs,),) = connection.execute(meant).fetchall()
    assert int(ours) == theirs > 0
    assert connection.execute(asked).fetchone() != (theirs,)


UNDER = "SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM beds) t"


@cases(__file__, "asked=", "plain=")
def test_rows_of_nobody_find_no_partner_and_are_not_counted(asked, plain):
    hospital = with_rows_of_nobody()
    ((ours,),) = without_noise(opened(hospital, rows=400, per_group=400, groups=400), asked)
    assert hospital.connection().execute(plain or asked).fetchone() == (int(ours),)
