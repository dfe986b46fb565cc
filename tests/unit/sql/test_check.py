"""What a refusal offers instead: columns that stand beside the one it refuses, and names that are SQL."""

from __future__ import annotations

import pytest

from dpsql.errors import Hidden
from dpsql.sql.check import check

from clinic import resolved


def hidden(sql: str) -> str:
    with pytest.raises(Hidden) as caught:
        check(resolved(sql))
    return caught.value.fix


@pytest.mark.parametrize("tables", ["people p JOIN visits v", "visits v JOIN people p"])
def test_public_groups_are_those_beside_the_hidden_one(tables):
    """`city` has keys and stands in people, whichever table is named first; visits has no column with keys."""
    sql = f"SELECT COUNT(*) FROM {tables} ON p.house = v.house AND p.number = v.number WHERE p.name = 'x'"
    assert hidden(sql).startswith("use another column; public groups here: city (2). ")


def test_nothing_stands_beside_a_computed_column():
    assert hidden("SELECT COUNT(*) FROM (SELECT house + 1 AS h FROM people) WHERE h = 3").startswith(
        "use another column. It may be counted"
    )
