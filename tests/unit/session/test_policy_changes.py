"""The lines in which two policies differ, and the tables whose answers may come out otherwise."""

import json

import dpsql
from dpsql.session.policy_changes import changed_lines, changed_tables, names_of

BEFORE = (
    '{"max_keys":null,"person":{"name":"patient"},"tables":{"visits":{"columns":'
    '{"charge":{"bounds":["number 0/1","number 9/1"],"keys":null}},"unique":false}}}'
)
WIDER = BEFORE.replace("9/1", "19/2")


def with_table(name, table):
    told = json.loads(BEFORE)
    told["tables"][name] = table
    return json.dumps(told)


def test_a_changed_bound_is_a_line_that_was_and_one_that_is():
    name = "tables.visits.columns.charge.bounds"
    assert changed_lines(BEFORE, WIDER) == [f"-{name} = [0, 9]", f"+{name} = [0, 9.5]"]
    assert names_of(changed_lines(BEFORE, WIDER)) == name


def test_what_comes_and_goes_is_one_line():
    assert changed_lines(BEFORE, BEFORE.replace('"max_keys":null', '"max_keys":7')) == ["+max_keys = 7"]
    assert changed_lines(BEFORE.replace("false", "true"), BEFORE) == ["-tables.visits.unique = true"]
    assert changed_lines(BEFORE, BEFORE) == []


def test_values_are_spelled_as_an_owner_writes_them_and_steer_no_terminal():
    listed = with_table("visits", {"columns": {"c": {"keys": ["text a\x1b", None, "date 2020-01-01"], "type": "text"}}})
    assert '+tables.visits.columns.c.keys = ["a\\U0000001B", null, 2020-01-01]' in changed_lines(BEFORE, listed)
    assert '+tables.visits.columns.c.type = "text"' in changed_lines(BEFORE, listed)


def test_texts_that_look_alike_are_not_taken_for_each_other():
    one, two = (with_table("t", {"columns": {}, "keys": keys}) for keys in (["text a", "text b"], ['text a", "b']))
    assert len(changed_lines(one, two)) == 2


def test_many_names_are_counted():
    many = with_table("t", {f"c{number}": 1 for number in range(7)})
    named = names_of(changed_lines(BEFORE, many))
    assert named == "tables.t.c0, tables.t.c1, tables.t.c2, tables.t.c3, tables.t.c4 and 2 more"


def test_tables_whose_answers_may_come_out_otherwise():
    assert changed_tables(BEFORE, WIDER) == {"visits"}
    assert changed_tables(BEFORE, BEFORE.replace('"max_keys":null', '"max_keys":7')) == {None}
    assert changed_tables(BEFORE, BEFORE.replace("patient", "person")) == set()  # a word for people
    new_table = with_table("wards", {"columns": {}, "unique": True})
    assert changed_tables(BEFORE, new_table) == set()  # it was in no answer so far
    assert changed_tables(new_table, BEFORE) == {"wards"}
    new_column = BEFORE.replace('"charge"', '"age":{"bounds":null},"charge"')
    assert changed_tables(BEFORE, new_column) == set()
    assert changed_tables(new_column, BEFORE) == {"visits"}


def test_every_policy_under_a_promise_is_in_the_ledger():
    with dpsql.open(":memory:") as owner:
        owner.promise(epsilon=1)
        owner.defaults(max_keys=10)
        owner.defaults(max_keys=10)
        owner.defaults(confidence=0.9)
        told = [happening.what for happening in owner.audit().policies]
    assert told == ["the first version", "max_keys", "confidence"]
