"""UNION ALL: what is known about a column that has several sources. Whose its rows are is shown by their answers."""

from fractions import Fraction

from dpsql.catalog.types import SqlType
from dpsql.errors import BadName, NotSupported
from dpsql.sql.intervals import Interval
from dpsql.sql.relations import Column
from dpsql.sql.scalars import ColumnRef
from tests.kits.cases import cases
from tests.kits.refusals import raised

from clinic import resolved


def column(branches: str) -> Column:
    """The one column `x` of a union."""
    query = resolved(f"SELECT COUNT(x) FROM ({branches}) AS t(x)")
    assert query.multiplied
    (argument,) = query.aggregates[0].arguments
    assert isinstance(argument, ColumnRef)
    return query.findings.columns[argument.id]


def test_bounds_are_those_of_all_branches():
    found = column("SELECT cost FROM visits UNION ALL SELECT age FROM people UNION ALL SELECT -3 FROM people")
    assert found.declared == Interval(Fraction(-3), Fraction(110))
    assert not found.hidden
    assert column("SELECT cost FROM visits UNION ALL SELECT visit FROM visits").declared == Interval(None, None)


def test_a_filter_in_one_branch_says_nothing_about_the_other():
    only = column("SELECT cost FROM visits WHERE cost > 50 UNION ALL SELECT cost FROM visits")
    assert only.declared == Interval(Fraction(0), Fraction(100))
    both = column("SELECT cost FROM visits WHERE cost > 50 UNION ALL SELECT cost FROM visits WHERE cost > 40")
    assert both.declared.low == 41


def test_null_takes_the_type_of_the_others_and_widens_nothing():
    found = column("SELECT NULL FROM people UNION ALL SELECT cost FROM visits")
    assert (found.type, found.declared) == (SqlType.INTEGER, Interval(Fraction(0), Fraction(100)))
    assert not found.not_null


def test_keys_stay_where_all_branches_have_the_same():
    assert column("SELECT city FROM people UNION ALL SELECT city FROM people WHERE age > 9").keys is not None
    assert column("SELECT city FROM people UNION ALL SELECT note FROM visits").keys is None


@cases(__file__, "branches")
def test_what_is_no_name_is_refused(branches):
    raised(BadName, lambda: resolved(f"SELECT COUNT(*) FROM ({branches}) t"))


def test_public_rows_at_the_top_keep_their_names():
    query = resolved("SELECT code AS Code, label FROM codes UNION ALL SELECT 1, NULL FROM codes ORDER BY 1 LIMIT 2")
    assert [output.name for output in query.finish.outputs] == ["Code", "label"]


def test_sixteen_tables_are_read_and_no_more():
    def counted(tables: int) -> str:
        return f"SELECT COUNT(*) FROM ({' UNION ALL '.join(['SELECT cost FROM visits'] * tables)}) t"

    assert resolved(counted(16)).aggregates
    raised(NotSupported, lambda: resolved(counted(17)), match="16")
