"""All mistakes of a policy at once: each that the loader would tell one after the other, none that only follows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.catalog.load import loads
from dpsql.catalog.names import dotted, line_of
from dpsql.errors import BadPolicy
from dpsql.suggest.policy_file import reviewed
from tests.kits.refusals import raised

GOOD = """version = 1
[source]
url = "memory:"
[promise]
epsilon = 2.0
delta = 1e-6
[defaults]
cost_per_query = 0.1
[table.people]
person = "id"
[table.people.columns]
age = { bounds = [0, 110] }
city = { keys = ["a", "b"] }
[table.visits]
person_via = "id -> people.id"
[[grant]]
to = "ana"
budget = 1.0
tables = ["people"]
[[grant]]
to = "bob"
budget = 1.0
"""


def found(text):
    review = reviewed(text, name="p.toml", environment={})
    return [(line_of(mistake.key, review.written), dotted(mistake.key)) for mistake in review.mistakes]


def changed(*pairs):
    text = GOOD
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after, 1)
    return text


def test_what_is_right_has_no_mistakes():
    review = reviewed(GOOD, name="p.toml")
    assert review.mistakes == ()
    assert review.policy == loads(GOOD, name="p.toml")


BROKEN = [
    (("version = 1", "version = 2"), (1, "version")),
    (('url = "memory:"', 'url = "${NOBODY}"'), (3, "source.url")),
    (("epsilon = 2.0", 'epsilon = "much"'), (5, "promise.epsilon")),
    (("cost_per_query = 0.1", "cost_per_query = true"), (8, "defaults.cost_per_query")),
    (("[0, 110]", "[110, 0]"), (12, "table.people.columns.age.bounds")),
    (('"a", "b"', '"a", "a"'), (13, "table.people.columns.city.keys")),
    (("budget = 1.0\ntables", "budget = -1\ntables"), (18, "grant[1].budget")),
    (('to = "bob"', 'too = "bob"'), (21, "grant[2].too")),
]


@pytest.mark.parametrize(("change", "place"), BROKEN)
def test_one_mistake_is_told_once_and_nothing_that_follows_from_it(change, place):
    assert found(changed(change)) == [place]
    error = raised(BadPolicy, lambda: loads(changed(change), name="p.toml", environment={}))
    assert error.what.startswith(f"p.toml:{place[0]} {place[1]}: ")


def test_all_of_them_are_told_at_once():
    everything = [
        change for change, _ in BROKEN if "budget = -1" not in change[1]
    ]  # needs a promise to be compared with
    assert sorted(found(changed(*everything))) == sorted(place for change, place in BROKEN if change in everything)


def test_a_table_that_cannot_be_read_is_no_mistake_of_those_that_name_it():
    assert found(changed(('person = "id"', 'persn = "id"'))) == [(10, "table.people.persn"), (9, "table.people")]


def test_a_later_grant_is_told_at_its_own_place():
    text = changed(("budget = 1.0\ntables", "budgt = 1.0\ntables"), ("budget = 1.0\n", 'budget = "x"\n'))
    assert found(text) == [(18, "grant[1].budgt"), (22, "grant[2].budget")]


def test_what_cannot_be_read_at_all_ends():
    for text in ("grant = 3", "table = 3", "source = 3", "table.x = 3", "[[promise]]", "version = []", ""):
        reviewed(text, name="p.toml", environment={})
    raised(BadPolicy, lambda: reviewed("[", name="p.toml"), match="not TOML")


VALUES = ["3", '"x"', "[]", "{}", "true", "-1", "[1, 2]", "0.5", "{ x = 1 }", '["a", "a"]', "2024-01-01", "inf"]


@given(st.lists(st.tuples(st.integers(0, 21), st.integers(0, 3), st.sampled_from(VALUES)), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_nothing_is_left_to_do_exactly_where_the_loader_takes_it(changes):
    """Whatever is mistyped or still marked: an owner who has done everything on the list can use the policy."""
    lines = GOOD.split("\n")
    for place, kind, value in changes:
        line = lines[place]
        lines[place] = {
            0: "",
            1: f"{line.partition('=')[0]}= {value}" if "=" in line else line,
            2: f"{line}  # CONFIRM",
            3: f"x{line}" if "=" in line else line,
        }[kind]
    text = "\n".join(lines)
    try:
        loads(text, name="p.toml", environment={})
        is_taken = True
    except BadPolicy:
        is_taken = False
    try:
        review = reviewed(text, name="p.toml", environment={})
        is_done = not review.mistakes and not review.marks
    except BadPolicy:
        is_done = False
    assert is_taken == is_done
