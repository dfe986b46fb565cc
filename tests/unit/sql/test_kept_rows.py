"""Public rows that an outer join keeps: the inner join with all of them as groups, and the rewrite of COUNT(*)."""

from dpsql.errors import NotSupported
from dpsql.plan.question import identity
from tests.kits.cases import cases
from tests.kits.refusals import raised

from stages import bounded, rewritten

LEFT = "FROM wards w LEFT JOIN visits v ON v.ward = w.id"


def test_it_is_the_question_of_the_inner_join():
    """With the same groups, and so free where the other was answered."""
    outer = rewritten(f"SELECT w.name, COUNT(v.ward) {LEFT} GROUP BY w.name")
    inner = rewritten("SELECT w.name, COUNT(v.ward) FROM wards w JOIN visits v ON v.ward = w.id GROUP BY w.name")
    assert identity(outer) == identity(inner)


@cases(__file__, "sql=", "proposal=")
def test_counting_all_rows_is_refused_with_a_rewrite_that_counts_people(sql, proposal):
    assert raised(NotSupported, lambda: bounded(sql), match="nobody is in").try_sql == proposal
    if proposal is not None:
        bounded(proposal)
