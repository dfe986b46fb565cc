"""Rows whose person is NULL beside IN and NOT IN: they are nobody's, and so a reason for nothing."""

from datetime import date, datetime

import pytest

from tests.kits.cases import cases
from tests.kits.noiseless import without_noise

from hospital import Hospital, opened, well_behaved


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
