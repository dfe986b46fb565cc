"""The statements of a text, which of them speak to the session, and which have something to show."""

import pytest

from dpsql.session.script import script

QUESTION, SETTING, SHOWN = (False, True), (True, False), (True, True)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ("SELECT ';'; -- no; not here\nSELECT 2", [("SELECT ';'", *QUESTION), ("SELECT 2", *QUESTION)]),
        ("-- first\nSET dp.epsilon = 1; RESET ALL", [("SET dp.epsilon = 1", *SETTING), ("RESET ALL", *SETTING)]),
        ("show dp.budget;", [("show dp.budget", *SHOWN)]),
        ("SET dp.epsilon = lots", [("SET dp.epsilon = lots", *SETTING)]),
        ("SELECT 'never ends; SELECT 1", [("SELECT 'never ends; SELECT 1", *QUESTION)]),
        ("EXPLAIN PRIVACY DIFF a; b; c", [("EXPLAIN PRIVACY DIFF a; b", *SHOWN), ("c", *QUESTION)]),
    ],
)
def test_the_statements_of_a_text(text, wanted):
    assert [(each.sql, each.is_setting, each.has_result) for each in script(text)] == wanted
