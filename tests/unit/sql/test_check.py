"""What a refusal offers instead: columns that stand beside the one it refuses, and names that are SQL."""

import pytest

from dpsql.catalog.check import checked
from dpsql.catalog.load import loads
from dpsql.errors import Hidden
from dpsql.sql.check import check
from tests.kits.refusals import raised

from clinic import POLICY, SCHEMA, resolved


def hidden(sql: str) -> str:
    return raised(Hidden, lambda: check(resolved(sql))).fix


@pytest.mark.parametrize("tables", ["people p JOIN visits v", "visits v JOIN people p"])
def test_public_groups_are_those_beside_the_hidden_one(tables):
    """`city` has keys and stands in people, whichever table is named first; visits has no column with keys."""
    sql = f"SELECT COUNT(*) FROM {tables} ON p.house = v.house AND p.number = v.number WHERE p.name = 'x'"
    assert hidden(sql).startswith("use another column; public groups here: city (2). ")


def test_nothing_stands_beside_a_computed_column():
    assert hidden("SELECT COUNT(*) FROM (SELECT house + 1 AS h FROM people) WHERE h = 3").startswith(
        "use another column. It may be counted"
    )


@pytest.mark.parametrize("items", ["label", "*", "code, UPPER(label) AS l"])
def test_a_hidden_column_of_public_rows_is_not_shown(items):
    """Of private rows nothing is shown anyway."""
    codes = "[table.codes]\npublic = true\n"
    policy = POLICY.replace(codes, f"{codes}[table.codes.columns]\ncode = {{}}\nlabel = {{ hidden = true }}\n")
    catalog = checked(loads(policy, name="dpsql.toml"), SCHEMA)
    check(resolved("SELECT code FROM codes", catalog))
    with pytest.raises(Hidden, match="showing label is not allowed"):
        check(resolved(f"SELECT {items} FROM codes", catalog))
