"""What is written is read again, exactly, or not at all."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.account import Account
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.errors import BadParameter, InternalError, LedgerBroken, UnsupportedEvent
from dpsql.ledger import encoding
from dpsql.ledger.encoding import RECORD_BYTES
from dpsql.ledger.ledger import Question, ReleasedStep
from dpsql.privacy import events
from dpsql.privacy.events import Composed, ContinuousGaussian, DiscreteGaussian, PoissonSampled, Pure
from tests.kits.accountant_kit import Mystery, one_of_each
from tests.kits.ledger_cases import asking

UNPRICED = (ContinuousGaussian, events.ContinuousLaplace, PoissonSampled)

fractions = st.fractions() | st.builds(
    Fraction, st.integers(-(2**9000), 2**9000), st.integers(min_value=1, max_value=2**9000)
)


def through_json(value):
    return encoding.json_value(encoding.json_bytes(value))


@given(fractions)
def test_fractions_survive(value):
    text = encoding.fraction_to_text(value)
    assert encoding.fraction_from_text(text) == value
    assert text.count("/") == 1
    assert text.isascii()


def test_a_fraction_is_readable():
    assert encoding.fraction_to_text(Fraction(-3, 10)) == "-3/10"
    assert encoding.fraction_to_text(Fraction(0)) == "0/1"


@pytest.mark.parametrize(
    "text",
    ["1", "", "1/0", "2/4", "1/-2", "-1/-2", "+1/2", " 1/2", "1/2 ", "1_0/1", "0x1/1", "1/2/3", "0.5", "½/1", "nan"],
)
def test_text_that_is_not_the_one_way_to_write_a_fraction_is_refused(text):
    with pytest.raises(LedgerBroken):
        encoding.fraction_from_text(text)


@pytest.mark.parametrize("value", [0.5, 1, True, "1/2", None])
def test_only_fractions_are_written_as_fractions(value):
    with pytest.raises(BadParameter):
        encoding.fraction_to_text(value)


PRICED = [
    *one_of_each(without=UNPRICED),
    Composed(()),
    Composed((Pure(epsilon=0.1), Composed((Composed(()), DiscreteGaussian(sigma_squared=3, l2_squared=2))))),
]


@pytest.mark.parametrize("event", PRICED, ids=str)
def test_priced_events_survive(event):
    again = encoding.event_from_json(through_json(encoding.event_to_json(event)))
    assert again == event
    assert type(again) is type(event)
    assert triple(again) == triple(event)


def test_every_priced_event_has_a_word():
    """The table of prices and the table of words must not drift apart."""
    priced = {kind for kind in triple.registry if kind is not object}
    assert set(encoding.EVENT_WORDS.values()) == priced


def test_an_event_is_readable():
    event = Composed((Pure(epsilon=Fraction(1, 10)),))
    assert encoding.event_to_json(event) == {"event": "composed", "events": [{"event": "pure", "epsilon": "1/10"}]}


class Disguised(Pure):
    pass


@pytest.mark.parametrize(
    "event",
    [*(event for event in one_of_each() if isinstance(event, UNPRICED)), Mystery(), Disguised(epsilon=1)],
    ids=str,
)
def test_other_events_are_refused(event):
    for wrapped in (event, Composed((event,))):
        with pytest.raises(UnsupportedEvent):
            encoding.event_to_json(wrapped)


def test_endless_nesting_is_refused():
    event = Pure(epsilon=1)
    for _ in range(5000):
        event = Composed((event,))
    with pytest.raises(BadParameter):
        encoding.event_to_json(event)


@pytest.mark.parametrize(
    "value",
    [
        {"event": "mystery"},
        {"event": "pure"},
        {"event": "pure", "epsilon": "-1/1"},
        {"event": "pure", "epsilon": "0/1"},
        {"event": "pure", "epsilon": 1},
        {"event": "pure", "epsilon": None},
        {"event": "pure", "epsilon": "1/1", "discount": "1/2"},
        {"event": "composed", "events": [{"event": "mystery"}]},
        {"event": "composed", "events": ["pure"]},
        {"event": "composed", "events": 3},
        {"event": "key_selection", "epsilon": "1/1", "delta": "1/2", "keys": True},
        {"event": "key_selection", "epsilon": "1/1", "delta": "1/2", "keys": "3"},
        {"event": ["pure"]},
        {},
        [],
        None,
    ],
    ids=str,
)
def test_an_event_that_nobody_wrote_is_not_read(value):
    with pytest.raises(LedgerBroken):
        encoding.event_from_json(value)


TRIPLES = [
    FREE,
    Triple(epsilon=None, delta=Fraction(1, 7), rho=Fraction(2, 3)),
    Triple(epsilon=Fraction(1), delta=Fraction(0), rho=None),
]


@pytest.mark.parametrize("price", TRIPLES, ids=str)
def test_prices_survive(price):
    assert encoding.triple_from_json(through_json(encoding.triple_to_json(price))) == price


def test_accounts_survive():
    fresh = Account.opened(epsilon=Fraction(13, 10), delta=Fraction(1, 10**6), delta_prime=Fraction(1, 3 * 10**6))
    spent = fresh.charged(DiscreteGaussian(sigma_squared=1000, l2_squared=1))
    granted = fresh.grant(epsilon=Fraction(1, 3)).charged(Pure(epsilon=0.1))
    for account in (fresh, spent, granted, Account.opened(epsilon=1, delta=0, delta_prime=0)):
        assert encoding.account_from_json(through_json(encoding.account_to_json(account))) == account


@pytest.mark.parametrize(
    ("name", "value"),
    [("rho", "1000/1"), ("delta_prime", "1/2"), ("epsilon", "-1/1"), ("granted_from", "1/2"), ("spent", None)],
)
def test_an_account_that_no_theorem_certifies_is_not_read(name, value):
    right = encoding.account_to_json(
        Account.opened(epsilon=1, delta=Fraction(1, 10**6), delta_prime=Fraction(1, 10**7))
    )
    with pytest.raises(LedgerBroken):
        encoding.account_from_json({**right, name: value})


def test_a_negative_total_is_not_read():
    with pytest.raises(LedgerBroken):
        encoding.triple_from_json({"epsilon": "-1/1", "delta": "0/1", "rho": "0/1"})


def test_charges_survive():
    charge = asking(event=Composed((Pure(epsilon=0.1),)), steps=3)
    assert encoding.charge_from_json(through_json(encoding.charge_to_json(charge))) == charge


@pytest.mark.parametrize("name", ["analyst", "sql", "record"])
def test_only_text_is_written_as_text(name):
    with pytest.raises(BadParameter):
        encoding.charge_to_json(replace(asking(), **{name: b"bytes"}))


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
numbers = st.integers(-(2**191) + 1, 2**191 - 1)
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


def test_a_record_is_padded_to_whole_blocks():
    for count, blocks in ((1, 1), (50, 1), (1000, 14)):  # a row is [], and "48 digits", : 54 bytes of 4096
        step = ReleasedStep(keys=((),) * count, values=((5,),) * count)
        assert len(encoding.released_to_bytes(step)) == blocks * RECORD_BYTES, count


@pytest.mark.parametrize("number", [2**191, -(2**191), 2**500, True, 1.0, "1", None])
def test_a_number_that_does_not_fit_is_refused(number):
    with pytest.raises(InternalError):
        encoding.released_to_bytes(ReleasedStep(keys=((),), values=((number,),)))


@pytest.mark.parametrize("key", [1.0, b"x", (1,), Fraction(1, 2)])
def test_a_key_of_another_type_is_refused(key):
    with pytest.raises(InternalError):
        encoding.released_to_bytes(ReleasedStep(keys=((key,),), values=((1,),)))


def test_rows_without_keys_are_refused():
    with pytest.raises(InternalError):
        encoding.released_to_bytes(ReleasedStep(keys=((),), values=()))


RIGHT = encoding.released_to_bytes(ReleasedStep(keys=((1,),), values=((1,),)))


@pytest.mark.parametrize(
    "record",
    [
        b"",
        RIGHT[:-1],
        RIGHT.rstrip(),
        RIGHT + b" " * RECORD_BYTES,
        RIGHT.replace(b'"int"', b'"txt"'),
        RIGHT.replace(b'"1"', b"1.0"),
        RIGHT.replace(b'"1"', b"NaN"),
        RIGHT.replace(b'["int","1"]', b'["bool",7]'),
        RIGHT.replace(b'01"', b'1"'),
        b"\xff" * RECORD_BYTES,
    ],
    ids=range(10),
)
def test_a_record_that_nobody_wrote_is_not_read(record):
    assert record != RIGHT
    with pytest.raises(LedgerBroken):
        encoding.released_from_bytes(record)
