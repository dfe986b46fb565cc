"""Windows that are not inside one person are refused, with words for both ways that have a rule."""

from dpsql.errors import TwoPeople
from tests.kits.cases import cases
from tests.kits.refusals import raised

from stages import resolved


def refused(inner: str) -> TwoPeople:
    return raised(TwoPeople, lambda: resolved(f"SELECT COUNT(*) FROM ({inner}) t WHERE n = 1"))


@cases(__file__, "inner")
def test_a_rank_among_all_is_not_turned_into_one_inside_a_person(inner):
    error = refused(inner)
    assert "PARTITION BY person" in error.fix
    assert error.try_sql is None
