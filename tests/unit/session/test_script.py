"""The statements of a text, which of them speak to the session, and which have something to show."""

from dpsql.session.script import script
from tests.kits.cases import cases

QUESTION, SETTING, SHOWN = (False, True), (True, False), (True, True)


def test_the_query_of_a_statement_stays_where_it_is():
    text = "SELECT 1; EXPLAIN /* b */ PRIVACY (FORMAT -- c\nJSON) -- d\n SELECT 2; EXPLAIN PRIVACY DIFF a; b; SIMULATE"
    statements = script(text)
    assert [each.purpose for each in statements] == ["answer", "explain_json", "", "simulate"]
    assert statements[1].query.sql == "-- d\n SELECT 2"
    assert all(text[each.query.offset :].startswith(each.query.sql) for each in statements)


def test_a_hint_in_front_of_a_query_is_not_passed_over():
    for text in ("DRY /*+ dp(epsilon=9) */ RUN SELECT 1", "DRY RUN 'never ends", "EXPLAIN SELECT 1"):
        assert script(text)[0].purpose == "answer"


@cases(__file__, "text=", "wanted=")
def test_the_statements_of_a_text(text, wanted):
    assert [(each.sql, each.is_setting, each.has_result) for each in script(text)] == wanted
