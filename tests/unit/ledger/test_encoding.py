"""Released steps are read again, exactly, or not at all, and their size does not tell the numbers; digests keep what
they are of apart."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql import codec
from dpsql.errors import InternalError, LedgerBroken
from dpsql.ledger import encoding
from dpsql.ledger.encoding import RECORD_BYTES
from dpsql.ledger.ledger import Question, ReleasedStep
from tests.kits.refusals import raised


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
    raised(LedgerBroken, lambda: encoding.released_from_bytes(record))
