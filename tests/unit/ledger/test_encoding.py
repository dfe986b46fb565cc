"""Released steps are read again, exactly, or not at all, and their size does not tell the numbers; digests keep what
they are of apart."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql import codec
from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple, triple
from dpsql.errors import InternalError, LedgerBroken
from dpsql.ledger import encoding, facts
from dpsql.ledger.encoding import CODEC, RECORD_BYTES, fact_from_entry, fact_to_entry, released_to_bytes
from dpsql.ledger.ledger import Conditions, GrantedBy, Ownership, Question, ReleasedStep, Role, User
from dpsql.privacy.events import PRICED_EVENTS, Composed, DiscreteGaussian, Pure
from dpsql.privacy.window import Window
from tests.kits.accountant_kit import Mystery, one_of_each
from tests.kits.cases import cases
from tests.kits.ledger_cases import TOLD, asking
from tests.kits.refusals import each_raises, raised


def test_parts_of_a_question_do_not_run_into_each_other():
    digests = {
        encoding.question_digest(Question(plan=plan, policy=policy, data_version=version))
        for plan, policy, version in [
            ("ab", "c", "1"),
            ("a", "bc", "1"),
            ("a", "b", "c1"),
            ('a","policy":"b', "c", "1"),
        ]
    }
    assert len(digests) == 4


keys = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec=None))
numbers = st.integers(-(2**191), 2**191 - 1)
steps = st.integers(0, 3).flatmap(
    lambda slots: st.lists(
        st.tuples(st.lists(keys, max_size=3).map(tuple), st.lists(numbers, min_size=slots, max_size=slots).map(tuple)),
        max_size=4,
    )
)


@given(steps)
def test_released_steps_survive(rows):
    released = ReleasedStep(keys=tuple(key for key, _ in rows), values=tuple(row for _, row in rows))
    again = encoding.released_from_bytes(encoding.released_to_bytes(released))
    assert again == released
    assert [type(part) for key in again.keys for part in key] == [type(part) for key, _ in rows for part in key]


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=3), st.lists(st.tuples(numbers, numbers), min_size=3))
def test_the_size_of_a_record_does_not_tell_the_numbers(some, others):
    """Also before padding: a failure between draw and commit must not depend on what was drawn."""
    rows = len(some)
    keys = tuple((f"key {row}",) for row in range(rows))
    sizes = set()
    for values in (tuple(some), tuple(others[:rows]), ((0, 0),) * rows):
        record = encoding.released_to_bytes(ReleasedStep(keys=keys, values=values))
        sizes.add((len(record), len(record.rstrip())))
    assert len(sizes) == 1
    assert next(iter(sizes))[0] % RECORD_BYTES == 0


def test_a_record_of_any_size_is_read_again(monkeypatch):
    """It is paid for, and its size depends on how many groups there are: nothing may refuse it afterwards."""
    monkeypatch.setattr(codec, "MOST_BYTES", RECORD_BYTES - 1)
    long = ReleasedStep(keys=((1,),) * 100, values=((2,),) * 100)
    assert encoding.released_from_bytes(encoding.released_to_bytes(long)) == long


def test_a_record_is_padded_to_whole_blocks():
    for count, blocks in ((1, 1), (50, 1), (1000, 14)):  # a row is [], and "48 digits", : 54 bytes of 4096
        step = ReleasedStep(keys=((),) * count, values=((5,),) * count)
        assert len(encoding.released_to_bytes(step)) == blocks * RECORD_BYTES, count


@pytest.mark.parametrize("number", [2**191, -(2**191) - 1, 2**500, True, 1.0, "1", None])
def test_a_number_that_does_not_fit_is_refused(number):
    raised(InternalError, lambda: encoding.released_to_bytes(ReleasedStep(keys=((),), values=((number,),))))


@pytest.mark.parametrize("key", [1.0, b"x", (1,), Fraction(1, 2)])
def test_a_key_of_another_type_is_refused(key):
    raised(InternalError, lambda: encoding.released_to_bytes(ReleasedStep(keys=((key,),), values=((1,),))))


def test_rows_without_keys_are_refused():
    raised(InternalError, lambda: encoding.released_to_bytes(ReleasedStep(keys=((),), values=())))


RIGHT = encoding.released_to_bytes(ReleasedStep(keys=((1,),), values=((1,),)))


def instead(part, new):
    """The right record with another part, padded to the same size: it is for that part alone that it is refused."""
    assert part in RIGHT
    return RIGHT.rstrip().replace(part, new).ljust(len(RIGHT))


@cases(__file__, "record=")
def test_a_record_that_nobody_wrote_is_not_read(record):
    assert record != RIGHT
    raised(LedgerBroken, lambda: encoding.released_from_bytes(record))


# Facts survive being written; what was not written by this version is not read.

FACTS = [
    facts.Opened(id="ab" * 16),
    facts.Promised(account=Account.opened(epsilon=1, delta=0, delta_prime=0), per=Window.QUARTER),
    Ownership(relation="add_remove", tables=(("people", 'person = "id"'), ("wards", "public = true"))),
    facts.Versioned(label="2026-11"),
    facts.Granted(
        analyst="lab",
        epsilon=Fraction(1, 3),
        conditions=Conditions(
            max_per_query=Fraction(1, 7), tables=("people",), expires=date(2027, 1, 31), sees_releases=True
        ),
        by=GrantedBy.FILE,
    ),
    facts.Revoked(analyst="ana", by_file=True),
    facts.Renewed(period=2),
    facts.Closed(reason="another person"),
    facts.Frozen(reason="a review", by="dominik"),
    facts.Unfrozen(reason="it is over"),
    facts.Adopted(digest="ab", text="{}"),
    facts.Refused(analyst="ana", code="DP101", sql="SELECT * FROM people -- ü"),
    facts.Issued(user=User(name="ana", role=Role.ANALYST, grant="lab"), digest=bytes(range(32))),
    facts.Withdrawn(name="ana"),
    facts.WrittenOff(number=9, spent=Triple(epsilon=None, delta=Fraction(1, 3), rho=Fraction(1, 8)), periods=2),
    replace(asking("one", steps=2), grant="lab", upon=3),
    facts.Retried(receipt=7),
    facts.Stored(receipt=7, step=1, released=TOLD),
]

RECORD = released_to_bytes(TOLD)
PROMISED = fact_to_entry(FACTS[1])[1]
CHARGED = fact_to_entry(FACTS[-3])[1]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_facts_survive(fact):
    assert fact_from_entry(*fact_to_entry(fact)) == fact


STORED = {
    "opened": '{"id":"abababababababababababababababab"}',
    "promise": '{"account":{"delta":"0","delta_prime":"0","epsilon":"1","rho":"0"},"per":"quarter"}',
    "owners": r'{"relation":"add_remove","tables":[["people","person = \"id\""],["wards","public = true"]]}',
    "version": '{"label":"2026-11"}',
    "grant": '{"analyst":"lab","by":"file","conditions":{"expires":"2027-01-31","max_per_query":"1/7",'
    '"sees_releases":true,"tables":["people"]},"epsilon":"1/3"}',
    "revoke": '{"analyst":"ana","by_file":true}',
    "renew": '{"period":2}',
    "close": '{"reason":"another person"}',
    "freeze": '{"by":"dominik","reason":"a review"}',
    "unfreeze": '{"reason":"it is over"}',
    "policy": '{"digest":"ab","text":"{}"}',
    "refuse": r'{"analyst":"ana","code":"DP101","sql":"SELECT * FROM people -- \u00fc"}',
    "issue": f'{{"digest":"{bytes(range(32)).hex()}","user":{{"grant":"lab","name":"ana","role":"analyst"}}}}',
    "withdraw": '{"name":"ana"}',
    "write_off": '{"number":9,"periods":2,"spent":{"delta":"1/3","epsilon":null,"rho":"1/8"}}',
    "charge": '{"analyst":"ana","cost":"1/10","event":{"pure":{"epsilon":"1/10"}},"grant":"lab",'
    '"question":{"data_version":"1","plan":"plan one","policy":"policy 1"},'
    r'"record":"{\"steps\":[]}","sql":"SELECT COUNT(*) FROM people -- one","steps":2,"upon":3}',
    "retry": '{"receipt":7}',
}
"""What entries hold. Renaming a class or a field leaves this as it is: `codec.Only` gives a renamed field its old
name in the table of names."""


def test_what_is_stored_does_not_change():
    written = [fact_to_entry(fact) for fact in FACTS[:-1]]
    assert [(word, payload.decode("ascii")) for word, payload in written] == list(STORED.items())


@cases(__file__, "event=", "stored")
def test_events_are_stored_under_their_names(event, stored):
    asked = asking(event=event)
    word, payload = fact_to_entry(asked)
    assert f'"event":{stored},' in payload.decode("ascii")
    assert fact_from_entry(word, payload) == asked
    assert triple(fact_from_entry(word, payload).event) == triple(event)


def test_every_priced_event_has_a_name():
    """The table of prices and the table of names must not drift apart."""
    assert {kind for kind in triple.registry if kind is not object} == set(PRICED_EVENTS.values())


@pytest.mark.parametrize(
    "event",
    [each for each in (*one_of_each(), Mystery()) if type(each) not in PRICED_EVENTS.values()],
    ids=lambda event: type(event).__name__,
)
def test_other_events_are_refused(event):
    each_raises(InternalError, lambda each: fact_to_entry(asking(event=each)), (event, Composed((event,))))


def test_accounts_survive():
    fresh = Account.opened(epsilon=Fraction(13, 10), delta=Fraction(1, 10**6), delta_prime=Fraction(1, 3 * 10**6))
    spent = fresh.charged(DiscreteGaussian(sigma_squared=1000, l2_squared=1))
    granted = fresh.grant(epsilon=Fraction(1, 3)).charged(Pure(epsilon=0.1))
    for account in (fresh, spent, granted, Account.opened(epsilon=1, delta=0, delta_prime=0)):
        assert CODEC.from_bytes(CODEC.to_bytes(account), Account) == account


@cases(__file__, "name", "value=")
def test_an_account_that_no_theorem_certifies_is_not_read(name, value):
    right = CODEC.to_json(Account.opened(epsilon=1, delta=Fraction(1, 10**6), delta_prime=Fraction(1, 10**7)))
    raised(LedgerBroken, lambda: CODEC.from_json({**right, name: value}, Account))


def test_every_kind_has_its_own_word():
    assert len({fact_to_entry(fact)[0] for fact in FACTS}) == len(FACTS)


def test_a_stored_step_is_a_line_and_whole_blocks():
    _, payload = fact_to_entry(FACTS[-1])
    line, _, record = payload.partition(b"\n")
    assert line == b'{"receipt":7,"step":1}'
    assert len(record) % 4096 == 0


@cases(__file__, "kind=", "payload=")
def test_what_nobody_wrote_is_not_read(kind, payload):
    with pytest.raises(LedgerBroken):
        fact_from_entry(kind, payload)
