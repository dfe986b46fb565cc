"""What changed between two policies, in words."""

import dpsql
from dpsql.session.policy_changes import changes

BEFORE = '{"max_keys":null,"tables":{"visits":{"columns":{"charge":{"bounds":["0","9"]}},"unique":false}}}'


def test_a_changed_bound_is_named_by_table_and_column():
    assert changes(BEFORE, BEFORE.replace('"9"', '"99"')) == "visits.charge.bounds changed"


def test_what_comes_and_goes_is_said():
    added = BEFORE.replace('{"visits"', '{"wards":{"unique":true},"visits"').replace(":null", ":7")
    assert changes(BEFORE, added) == "max_keys added, wards added"
    assert changes(added, BEFORE) == "max_keys removed, wards removed"


def test_many_changes_are_counted():
    many = BEFORE.replace('{"visits"', "{" + ",".join(f'"t{number}":1' for number in range(7)) + ',"visits"')
    assert changes(BEFORE, many) == "t0 added, t1 added, t2 added, t3 added, t4 added and 2 more"


def test_every_policy_under_a_promise_is_in_the_ledger():
    with dpsql.open(":memory:") as owner:
        owner.promise(epsilon=1)
        owner.defaults(max_keys=10)
        owner.defaults(max_keys=10)
        owner.defaults(confidence=0.9)
        told = [happening.what for happening in owner.audit().policies]
    assert told == ["the first version", "max_keys added", "confidence changed"]
