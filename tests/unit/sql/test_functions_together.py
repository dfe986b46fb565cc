"""Several values as one, as the engine compares them."""

import duckdb
import pytest

from dpsql.catalog.types import SqlType
from dpsql.sql.functions import interval_of, parts_of, print_scalar, together
from dpsql.sql.intervals import EVERYTHING
from dpsql.sql.scalars import Apply, ColumnRef, Constant

A, B = ColumnRef(1, SqlType.INTEGER), ColumnRef(2, SqlType.TEXT)
ROWS = "(VALUES (1, 'x'), (1, 'x'), (1, NULL), (NULL, NULL), (NULL, NULL), (2, 'y')) t(a, b)"


def different(scalar) -> int:
    text = print_scalar(scalar, dialect="duckdb", column=lambda number: {1: "a", 2: "b"}[number])
    ((count,),) = duckdb.sql(f"SELECT count(DISTINCT {text}) FROM {ROWS}").fetchall()
    return count


def test_a_null_inside_is_a_value_like_others():
    assert different(together((A, B))) == 4


@pytest.mark.parametrize(("part", "count"), [(A, 3), (B, 2)])
def test_where_the_condition_is_not_true_there_is_nothing(part, count):
    assert different(together((A, B), where=Apply("is_not_null", (part,), SqlType.BOOLEAN))) == count


def test_it_is_made_of_its_parts_and_has_no_limits():
    assert parts_of(together((A, B), where=Constant(False, SqlType.BOOLEAN))) == (A, B)
    assert parts_of(A) == (A,)
    assert interval_of(together((A, A)), lambda _: EVERYTHING) == EVERYTHING
