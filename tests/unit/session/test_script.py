"""The statements of a text, which of them speak to the session, and which have something to show."""

import pytest

from dpsql.session.script import script
from tests.kits.cases import cases

QUESTION, SETTING, SHOWN = (False, True), (True, False), (True, True)


def test_the_query_of_a_statement_stays_where_it_is():
    text = "SELECT 1; EXPLAIN /* b */ PRIVACY (FORMAT -- c\nJSON) -- d\n SELECT 2; EXPLAIN PRIVACY DIFF a; b; SIMULATE"
    statements = script(text)
    assert [each.purpose for each in statements] == ["answer", "explain_json", "", "simulate"]
    query = "/* b */                 -- c\n      -- d\n SELECT 2"
    assert (statements[1].query.sql, statements[1].query.offset) == (query, text.index("/* b"))
    for text in ("DRY RUN 'never ends", "EXPLAIN SELECT 1"):
        assert (script(text)[0].purpose, script(text)[0].query.sql) == ("answer", text)


@cases(__file__, "text=", "wanted=")
def test_the_statements_of_a_text(text, wanted):
    assert [(each.sql, each.is_setting, each.has_result) for each in script(text)] == wanted


@pytest.mark.parametrize(
    "text",
    ["SELECT 1; /*+ dp(epsilon=0.01) */", "/*+ dp(epsilon=0.01) */; SELECT 1", "SELECT 1; --+ dp(noise='laplace')"],
)
def test_a_hint_that_a_semicolon_cut_off_is_not_passed_over(text):
    """The question would be asked at another price."""
    assert sorted(each.sql[:3] for each in script(text)) in (["/*+", "SEL"], ["--+", "SEL"])
    assert [each.sql for each in script("SELECT 1; --+----+ /*+ */")] == ["SELECT 1"]
