"""Check 2: plain SQL with no word of differential privacy in it works for an analyst.

A system fails where one of these ordinary statements has to be rewritten, needs an option, a clause, a parameter or a
call beside it, or comes back without rows.
"""

import re

import pytest

BY_CITY = "SELECT city, COUNT(*) FROM patients GROUP BY city"
ORDINARY = [
    BY_CITY,
    "SELECT COUNT(*) FROM patients WHERE flu AND age BETWEEN 18 AND 64",
    "SELECT sex, AVG(age) AS mean_age FROM patients GROUP BY sex ORDER BY mean_age DESC",
    "SELECT w.ward, SUM(v.charge) AS total FROM visits v JOIN wards w ON v.ward_id = w.ward_id GROUP BY w.ward LIMIT 3",
    "SELECT city, 100.0 * COUNT(*) FILTER (WHERE flu) / COUNT(*) AS percent FROM patients GROUP BY city",
    "SELECT p.city, COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id GROUP BY p.city",
    "SELECT ward, beds FROM wards ORDER BY beds",
]
PRIVACY = re.compile(
    r"\b(epsilon|delta|noise|privacy|private|budget|dp|anon\w*|clamp|within|cost|options)\b", re.IGNORECASE
)


@pytest.mark.parametrize("sql", ORDINARY)
def test_an_ordinary_statement_is_answered_as_it_is(ana, sql):
    assert PRIVACY.search(sql) is None
    answer = ana.sql(sql)
    assert len(answer) > 0
    assert len(answer.columns) == len(answer.rows[0])


def test_the_counts_are_those_of_the_data_but_for_their_margins(ana):
    """The hospital says that it has about 6 000 patients. The noise of a sum of four is one half of its four margins,
    as a standard deviation: three times all margins is exceeded less often than once in 10^20 runs."""
    answer = ana.sql(BY_CITY)
    assert answer.columns[0] == "city"
    assert sorted(answer["city"]) == ["Aarau", "Basel", "Bern", "Geneva"]
    counts = [row[1] for row in answer]
    assert abs(sum(cell.value for cell in counts) - 6000) <= 3 * sum(cell.margin for cell in counts)
    assert all(cell.margin > 0 for cell in counts)
