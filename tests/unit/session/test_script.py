"""The statements of a text, and which of them speak to the session."""

import pytest

from dpsql.session.script import script


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ("SELECT ';'; -- no; not here\nSELECT 2", [("SELECT ';'", False), ("SELECT 2", False)]),
        ("-- first\nSET dp.epsilon = 1; show dp.budget;", [("SET dp.epsilon = 1", True), ("show dp.budget", True)]),
        ("EXPLAIN PRIVACY DIFF a; b; c", [("EXPLAIN PRIVACY DIFF a; b", True), ("c", False)]),
        ("SET dp.epsilon = lots", [("SET dp.epsilon = lots", True)]),
        ("SELECT 'never ends; SELECT 1", [("SELECT 'never ends; SELECT 1", False)]),
    ],
)
def test_the_statements_of_a_text(text, wanted):
    assert [(each.sql, each.is_setting) for each in script(text)] == wanted
