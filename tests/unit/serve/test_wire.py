"""One JSON object a line: whatever else comes is refused by one constant sentence, and numbers stay what they were."""

import json
import socket
import threading
import time
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsql.errors
from dpsql.errors import DpsqlError, NotUnderstood, RowLevel
from dpsql.serve import wire
from tests.kits.cases import cases
from tests.kits.refusals import raised


def over_the_wire(value):
    """What a value becomes on its way through JSON."""
    return json.loads(json.dumps(value))


@cases(__file__, "line=")
def test_what_is_no_object_is_refused_in_the_same_words(line):
    assert str(raised(NotUnderstood, lambda: wire.decoded(line))) == str(wire.not_understood())


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_else(line):
    with suppress(NotUnderstood):
        assert isinstance(wire.decoded(line), dict)


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)))
def test_a_message_is_one_line_and_comes_back(message):
    line = wire.encoded(message)
    assert line.index(b"\n") == len(line) - 1
    assert wire.decoded(line[:-1]) == message


@cases(__file__, "said=", "meant=")
def test_numbers_are_exact_on_the_other_side(said, meant):
    assert wire.number_from_wire(over_the_wire(wire.number_to_wire(said))) == meant


@pytest.mark.parametrize("text", ["1/0", "1/00", "١", "1e9999999", "0x10", "nan", "inf", "1 ", "", "1_0", "9" * 500])
def test_texts_that_are_no_numbers_stay_texts_for_others_to_refuse(text):
    assert wire.number_from_wire(text) == text


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), Decimal("NaN"), Decimal("1E+999999"), "0.1x", [1]])
def test_what_is_no_number_does_not_become_one(value):
    sent = over_the_wire(wire.number_to_wire(value))
    assert not isinstance(wire.number_from_wire(sent), int | float | Fraction)


def test_every_kind_of_error_comes_back_as_itself():
    kinds = [kind for kind in vars(dpsql.errors).values() if isinstance(kind, type) and issubclass(kind, DpsqlError)]
    assert len(kinds) > 20
    for kind in kinds:
        error = kind("what", why="why", fix="fix", try_sql="SELECT 1", at=(7, 8))
        found = wire.error_from_wire(over_the_wire(wire.error_to_wire(error))["error"], sql=None)
        assert (type(found), found.as_json()) == (kind, error.as_json())
    error = RowLevel("rows", why="why", fix="fix", at=(7, 8))
    found = wire.error_from_wire(over_the_wire(wire.error_to_wire(error))["error"], sql="SELECT * FROM t")
    assert str(found) == str(error.within("SELECT * FROM t"))


@pytest.fixture
def ends():
    here, there = socket.socketpair()
    with here, there:
        yield here, there


def test_lines_come_one_by_one_however_they_are_cut_and_none_that_is_too_long(ends):
    here, there = ends
    lines = wire.Lines(here, 100)
    for part in (b"on", b"e\ntwo\nth", b"ree\n"):
        there.sendall(part)
    found = [lines.next(first_byte_within=5, rest_within=5) for _ in range(3)]
    assert found == [b"one", b"two", b"three"]
    here, there = ends
    there.sendall(b"x" * 101)
    raised(wire.TooLong, lambda: wire.Lines(here, 100).next(first_byte_within=5, rest_within=5))
    here.sendall(b"y" * 100 + b"\n" + b"z" * 101 + b"\n")
    lines = wire.Lines(there, 100)
    assert lines.next(first_byte_within=5, rest_within=5) == b"y" * 100
    raised(wire.TooLong, lambda: lines.next(first_byte_within=5, rest_within=5))


def test_a_line_that_does_not_end_is_not_waited_for(ends):
    here, there = ends
    stop = threading.Event()

    def drip():
        while not stop.wait(0.01):
            there.sendall(b"x")

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        raised(wire.TooSlow, lambda: wire.Lines(here, 10**9).next(first_byte_within=None, rest_within=0.2))
    finally:
        stop.set()
        dripping.join()


def test_silence_and_an_end_are_told_apart(ends):
    here, there = ends
    raised(wire.TooSlow, lambda: wire.Lines(here, 100).next(first_byte_within=0.01, rest_within=None))
    there.sendall(b"half")
    there.close()
    raised(wire.Gone, lambda: wire.Lines(here, 100).next(first_byte_within=5, rest_within=5))
    raised(wire.Gone, lambda: wire.Lines(here, 100).send({"x": "y" * 10**7}, within=5))


def test_a_reply_nobody_takes_is_not_waited_for(ends):
    raised(wire.TooSlow, lambda: wire.Lines(ends[0], 100).send({"x": "y" * 10**7}, within=0.1))


def test_a_reply_in_pieces_is_waited_for_no_longer_than_one_at_once(ends):
    here, there = ends

    def taken_slowly():
        while True:
            yield b"y" * 1000
            there.recv(1000)
            time.sleep(0.02)

    raised(wire.TooSlow, lambda: wire.Lines(here, 100).send_line(taken_slowly(), within=0.1))
