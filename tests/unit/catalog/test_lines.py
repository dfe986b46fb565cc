"""The line of every key, against texts whose lines are known because they were counted while they were written."""

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.catalog.lines import key_lines, marks, without
from dpsql.catalog.load import loads
from dpsql.errors import BadPolicy
from tests.kits.cases import cases
from tests.kits.refusals import raised
from tests.kits.rows import read_rows

TEXT = '''\
# [not.a] = header
top = 1
a.b."c.d" = { x = 1, "y z" = [ { w = 2 }, { w = 3 } ] }
text = """
[inside] # a string
k = 1 \\""" still inside
"""""
raw = \'\'\'
[[also]]
\'\'\'\'
quote = "# [no] \\" = 1"

[one]  # a comment = with ] signs
list = [
  "a", # one
  [ 1,
    2 ],
]
last = 1979-05-27 07:32:00.5
  [one.two]
\tk.l = 0.5
[[grant]]
to = "a"
[[grant]]
to = "b"
[grant.inner]
deep = true
[[grant.many]]
x = 1
[[grant.many]]
x = 2
["é \\u00e9".'[[x]]']
z = {}
'''


def test_every_kind_of_key():
    assert tomllib.loads(TEXT)["text"] == '[inside] # a string\nk = 1 """ still inside\n""'
    rows = read_rows(__file__, "every kind of key")
    assert key_lines(TEXT) == {tuple(json.loads(path)): int(line) for path, line in rows}


def test_a_header_is_a_better_place_than_a_section_inside():
    lines = key_lines("[a.b]\n[a]\nx = 1\n")
    assert lines[("a",)] == 2
    assert lines[("a", "b")] == 1


@pytest.mark.parametrize("text", ["", "\n", "# nothing", "\r\n\r\n"])
def test_nothing(text):
    assert key_lines(text) == {}


def test_windows_lines():
    assert key_lines("a = 1\r\n[b]\r\nc = '''\r\nx'''\r\nd = 2") == {("a",): 1, ("b",): 2, ("b", "c"): 3, ("b", "d"): 5}


NAMES = st.sampled_from(["a", "b1", "c-d", '"e f"', "'#g'", '"h.i"', '"[j]"', '"\\"k="', "7"])
SCALARS = st.sampled_from(
    [
        "1",
        "-0.5",
        '"x # y"',
        "'[z]'",
        '"""\nm = 1\n[n]\n"""',
        "'''\n\"\n'''",
        "[\n1,\n# c = 2\n2,\n]",
        "true",
        "2024-01-01",
    ]
)
COMMENTS = st.sampled_from(["", "  # note", " # [a] = {"])
BLANK = st.sampled_from(["", "\n", "# q = 1\n", "\n# [r]\n\n"])


@st.composite
def documents(draw):
    """A text and the lines of its keys, written down together."""
    text, lines = "", {}
    sections = draw(st.lists(st.tuples(NAMES, NAMES), unique_by=lambda pair: tuple(map(plain, pair)), max_size=5))
    for outer, inner in sections:
        text += draw(BLANK)
        prefix = ("top" + plain(outer), plain(inner))
        quoted = '"top' + plain(outer).replace('"', '\\"') + '"'
        lines[prefix] = text.count("\n") + 1
        lines.setdefault(prefix[:1], lines[prefix])
        text += f"[ {quoted} . {inner} ]{draw(COMMENTS)}\n"
        for name in draw(st.lists(NAMES, unique_by=plain, max_size=4)):
            text += draw(BLANK)
            lines[(*prefix, plain(name))] = text.count("\n") + 1
            text += f"{name} = {draw(SCALARS)}{draw(COMMENTS)}\n"
    return text, lines


def plain(name: str) -> str:
    (key,) = tomllib.loads(f"{name} = 1")
    return key


PIECES = [*"[]{}=,.#'\n ab", '"', '"""', "'''", "\\"]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_it_ends_on_any_text(text):
    """Of a text that is no TOML the lines mean nothing, but there is an end."""
    try:
        lines = key_lines(text)
    except ValueError:
        return
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


@given(documents())
def test_lines_that_were_counted_while_writing(document):
    text, lines = document
    tomllib.loads(text)
    found = {key: line for key, line in key_lines(text).items() if not isinstance(key[-1], int)}
    assert found == lines


# `# CONFIRM`: a policy in which one line is marked cannot be used, however the mark is written; texts are no marks.

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
