"""Facts survive being written; what was not written by this version is not read."""

from fractions import Fraction

import pytest

from dpsql.accounting.account import Account
from dpsql.errors import LedgerBroken
from dpsql.ledger.encoding import released_to_bytes
from dpsql.ledger.entries import fact_from_entry, fact_to_entry
from dpsql.ledger.facts import Granted, Opened, Promised, Retried, Stored, Versioned
from dpsql.ledger.ledger import Ownership
from dpsql.testing.ledger_cases import TOLD, asking

FACTS = [
    Opened(id="ab" * 16),
    Promised(account=Account.opened(epsilon=1, delta=Fraction(1, 10**6), delta_prime=Fraction(1, 10**7))),
    Ownership(relation="add_remove", tables=(("people", 'person = "id"'), ("wards", "public = true"))),
    Versioned(label="2026-11"),
    Granted(analyst="ana", epsilon=Fraction(1, 3)),
    asking("one", steps=2),
    Retried(receipt=7),
    Stored(receipt=7, step=1, released=TOLD),
]

RECORD = released_to_bytes(TOLD)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_facts_survive(fact):
    assert fact_from_entry(*fact_to_entry(fact)) == fact


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
        ("promise", b"null"),
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
