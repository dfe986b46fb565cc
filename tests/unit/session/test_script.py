"""The statements of a text, which of them speak to the session, and which have something to show."""

from dpsql.session.script import script
from tests.kits.cases import cases

QUESTION, SETTING, SHOWN = (False, True), (True, False), (True, True)


@cases(__file__, "text=", "wanted=")
def test_the_statements_of_a_text(text, wanted):
    assert [(each.sql, each.is_setting, each.has_result) for each in script(text)] == wanted
