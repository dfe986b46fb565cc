"""Facts survive being written; what was not written by this version is not read."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.errors import LedgerBroken
from dpsql.ledger.encoding import released_to_bytes
from dpsql.ledger.entries import fact_from_entry, fact_to_entry
from dpsql.ledger.facts import (
    Adopted,
    Closed,
    Frozen,
    Granted,
    Issued,
    Opened,
    Promised,
    Refused,
    Renewed,
    Retried,
    Revoked,
    Stored,
    Unfrozen,
    Versioned,
    Withdrawn,
    WrittenOff,
)
from dpsql.ledger.ledger import Conditions, GrantedBy, Ownership, Role, User
from dpsql.privacy.window import Window
from tests.kits.ledger_cases import TOLD, asking

FACTS = [
    Opened(id="ab" * 16),
    Promised(account=Account.opened(epsilon=1, delta=0, delta_prime=0), per=Window.QUARTER),
    Ownership(relation="add_remove", tables=(("people", 'person = "id"'), ("wards", "public = true"))),
    Versioned(label="2026-11"),
    Granted(
        analyst="lab",
        epsilon=Fraction(1, 3),
        conditions=Conditions(
            max_per_query=Fraction(1, 7),
            tables=("people",),
            expires=date(2027, 1, 31),
            sees_releases=True,
        ),
        by=GrantedBy.FILE,
    ),
    Revoked(analyst="ana", by_file=True),
    Renewed(period=2),
    Closed(reason="another person"),
    Frozen(reason="a review", by="dominik"),
    Unfrozen(reason="it is over"),
    Adopted(digest="ab", text="{}"),
    Refused(analyst="ana", code="DP101", sql="SELECT * FROM people -- ü"),
    Issued(user=User(name="ana", role=Role.ANALYST, grant="lab"), digest=bytes(range(32))),
    Withdrawn(name="ana"),
    WrittenOff(number=9, spent=Triple(epsilon=None, delta=Fraction(1, 3), rho=Fraction(1, 8))),
    replace(asking("one", steps=2), grant="lab", upon=3),
    Retried(receipt=7),
    Stored(receipt=7, step=1, released=TOLD),
]

RECORD = released_to_bytes(TOLD)
PROMISED = fact_to_entry(FACTS[1])[1]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_facts_survive(fact):
    assert fact_from_entry(*fact_to_entry(fact)) == fact


def test_what_is_not_said_is_not_written():
    """And what is not written was not said."""
    payload = b'{"analyst":"ana","epsilon":"1/3"}'
    granted = Granted(analyst="ana", epsilon=Fraction(1, 3))
    assert fact_to_entry(granted) == ("grant", payload)
    assert fact_from_entry("grant", payload) == granted
    assert fact_to_entry(Revoked(analyst="ana")) == ("revoke", b'{"analyst":"ana"}')
    assert fact_from_entry("revoke", b'{"analyst":"ana"}') == Revoked(analyst="ana")
    assert fact_to_entry(Frozen(reason="a")) == ("freeze", b'{"reason":"a"}')
    assert fact_from_entry("unfreeze", b'{"reason":"a"}') == Unfrozen(reason="a")
    _, charged = fact_to_entry(asking("one"))
    assert b'"upon"' not in charged


def test_periods_that_are_lost_are_written_where_there_are_some():
    lost = WrittenOff(number=9, spent=Triple(epsilon=None, delta=Fraction(1, 3), rho=Fraction(1, 8)), periods=2)
    assert fact_from_entry(*fact_to_entry(lost)) == lost
    assert b"periods" not in fact_to_entry(replace(lost, periods=0))[1]


def test_every_kind_has_its_own_word():
    assert len({fact_to_entry(fact)[0] for fact in FACTS}) == len(FACTS)


def test_a_stored_step_is_a_line_and_whole_blocks():
    _, payload = fact_to_entry(FACTS[-1])
    line, _, record = payload.partition(b"\n")
    assert line == b'{"receipt":7,"step":1}'
    assert len(record) % 4096 == 0


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("refund", b"{}"),
        ("", b""),
        ("opened", b"{}"),
        ("opened", b'{"id":"x","schema":2}'),
        ("opened", b'{"id": "x", "schema": 1}'),
        ("retry", b'{"receipt":7.0}'),
        ("retry", b'{"receipt":7,"refund":1}'),
        ("retry", b"[7]"),
        ("retry", b"\xff"),
        ("grant", b'{"analyst":"ana","epsilon":0.1}'),
        ("grant", b'{"analyst":"ana","epsilon":"2/20"}'),
        ("grant", b'{"analyst":"ana","epsilon":"1/10","tables":null}'),
        ("grant", b'{"analyst":"ana","epsilon":"1/10","expires":"tomorrow"}'),
        ("grant", b'{"analyst":"ana","epsilon":"1/10","sees_releases":false}'),
        ("issue", b'{"digest":"00","name":"ana","role":"god"}'),
        ("freeze", b'{"reason":7}'),
        ("freeze", b"{}"),
        ("freeze", b'{"by":null,"reason":"a"}'),
        ("unfreeze", b'{"by":7,"reason":"a"}'),
        ("freeze", b'{"reason":"a","until":"tomorrow"}'),
        ("renew", b'{"period":true}'),
        ("renew", b'{"period":"2"}'),
        ("promise", b"null"),
        ("promise", PROMISED.replace(b"quarter", b"fortnight")),
        ("promise", PROMISED.replace(b'"quarter"', b"null")),
        ("version", b'{"label":"2","was":"1"}'),
        ("version", b"{}"),
        ("owners", b'{"relation":"add_remove"}'),
        ("owners", b'{"relation":"add_remove","tables":[["people"]]}'),
        ("owners", b'{"relation":"add_remove","tables":[["people","public = true","or not"]]}'),
        ("owners", b'{"relation":"add_remove","tables":{"people":"public = true"}}'),
        ("charge", b'{"analyst":"ana"}'),
        ("step", b'{"receipt":7,"step":1}'),
        ("step", b'{"receipt":7,"step":1}\n{}'),
        ("step", b'{"receipt": 7,"step":1}\n' + RECORD),
        ("step", b'{"receipt":7,"step":1,"x":1}\n' + RECORD),
        ("step", b'{"receipt":7}\n' + RECORD),
        ("step", b'{"receipt":7,"step":1}\n' + RECORD + b" "),
    ],
)
def test_what_nobody_wrote_is_not_read(kind, payload):
    with pytest.raises(LedgerBroken):
        fact_from_entry(kind, payload)
