"""`# CONFIRM`: a policy in which one line is marked cannot be used, however the mark is written; texts are no marks."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.catalog.lines import key_lines, marks, without
from dpsql.catalog.load import loads
from dpsql.errors import BadPolicy
from tests.kits.cases import cases
from tests.kits.refusals import raised

BODY = """version = 1
source.url = "memory:"
[promise]
epsilon = 1.0
delta = 0
[table.people]
person = "id"
[table.people.columns]
age = { bounds = [0, 110] }
city = { keys = [
  "Basel",
  "# CONFIRM is a city",
] }
"""


def found(text):
    return marks(text, key_lines(text))


def marked(line, mark):
    lines = BODY.split("\n")
    lines[line - 1] += mark
    return "\n".join(lines)


def refusal(text):
    return raised(BadPolicy, lambda: loads(text, name="p.toml"))


def test_a_policy_without_marks_is_read_also_where_a_text_looks_like_one():
    assert found(BODY) == ()
    assert set(loads(BODY, name="p.toml").tables) == {"people"}
    assert found(BODY + "# Confirmed by Olga: nothing is unconfirmed, reconfirm is another word\n") == ()


@pytest.mark.parametrize("line", range(1, 14))
@pytest.mark.parametrize("mark", ["  # CONFIRM from the name", "#CONFIRM", "# years # CONFIRM: why", "#\tCONFIRM\r"])
def test_one_mark_on_any_line_blocks_everything(line, mark):
    if line == 12:
        line = 11  # inside the list, before the text that looks like a mark
    error = refusal(marked(line, mark))
    assert error.code == "DP501"
    assert f"not confirmed yet: line {line}" in error.what
    assert "dpsql check" in error.fix


@cases(__file__, "mark=", "reason=")
def test_a_mark_that_was_edited_by_hand_blocks_as_before_and_can_be_taken_out(mark, reason):
    text = marked(7, f"  {mark}\r").replace("110] }", f"110] }}  # years {mark}")
    assert "not confirmed yet: lines 7, 9" in refusal(text).what
    assert found(text)[0].reason == reason
    assert found(text)[0].said == 'person = "id"'
    taken = without(text, found(text))
    assert taken == marked(7, "\r").replace("110] }", "110] }  # years")
    assert found(taken) == ()


def test_the_message_names_the_line_of_each_mark_and_the_key_of_the_first():
    text = marked(4, "  # CONFIRM a").replace("110] }", "110] }  # CONFIRM b")
    assert refusal(text).what == "p.toml:4 promise.epsilon: not confirmed yet: lines 4, 9"
    assert [mark.key for mark in found(text)] == [("promise", "epsilon"), ("table", "people", "columns", "age")]
    assert [mark.reason for mark in found(text)] == ["a", "b"]


def test_a_line_that_is_all_comment_waits_too():
    text = BODY.replace(
        "[table.people.columns]", "# rows_per_person = 6  # CONFIRM needs a number\n[table.people.columns]"
    )
    assert refusal(text).what == "p.toml:7 table.people.person: not confirmed yet: line 8"


def test_taking_marks_out_leaves_everything_else():
    text = marked(4, "   # mine # CONFIRM from me\r").replace('person = "id"', 'person = "id" # CONFIRM x')
    whole = without(text, found(text))
    assert whole == marked(4, "   # mine\r")
    loads(whole, name="p.toml")
    first = without(text, found(text)[:1])
    assert first == marked(4, "   # mine\r").replace('person = "id"', 'person = "id" # CONFIRM x')


@given(st.lists(st.sampled_from(range(1, 14)), unique=True, max_size=5), st.text("ab #'\"\\", max_size=8))
@settings(max_examples=30)
def test_every_mark_is_found_and_can_be_taken_out(lines, said):
    text = BODY
    for line in lines:
        parts = text.split("\n")
        parts[line - 1] += f"  # CONFIRM {said}"
        text = "\n".join(parts)
    assert [mark.line for mark in found(text)] == sorted(lines)
    assert without(text, found(text)) == BODY
