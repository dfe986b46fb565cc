"""The line of every key, against texts whose lines are known because they were counted while they were written."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.catalog.lines import key_lines
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
