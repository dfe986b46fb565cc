"""One JSON object a line: whatever else comes is refused by one constant sentence. What goes over the wire comes back
as it was, numbers too, and nothing goes over it that is not listed for the role."""

import dataclasses
import json
import socket
import threading
import time
from contextlib import suppress
from dataclasses import make_dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsql
import dpsql.errors
from dpsql.codec import Codec, Only, Unreadable
from dpsql.errors import DpsqlError, InternalError, NotUnderstood, RowLevel
from dpsql.privacy.exact import Exact
from dpsql.serve import methods, wire
from dpsql.serve.methods import Visit, reply_to
from dpsql.serve.wire import WIRE, Price, ServedAnswer, ServedAudit, Standing, decoded, encoded
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


BUDGET = Standing(total=Fraction(1), spent=Fraction(1, 3), left=Fraction(2, 3), short="", text="2/3")
ANSWER = ServedAnswer(
    columns=("k", "n"),
    rows=((None, dpsql.Estimate(value=100, margin=21, low=79, high=121, doubtful=True)),),
    kinds=(("text", False), ("integer", True)),
    epsilon=Fraction(1, 20),
    delta=Fraction(0),
    release=7,
    confidence=Fraction(19, 20),
    notes=("a note",),
    head="#7:01234567",
    text="100",
    budget=BUDGET,
)
AUDIT = ServedAudit(holds=True, text="holds", markdown="# holds")
PRICE = Price(epsilon=Fraction(1, 20), delta=Fraction(0), margins={"n": Fraction(21), "s": None})
TOLD = {"analyst": (ANSWER, PRICE, BUDGET), "auditor": (BUDGET, AUDIT), "owner": (BUDGET, AUDIT)}


def over(role, value):
    return WIRE[role].from_json(decoded(encoded(WIRE[role].to_json(value))[:-1]), type(value))


@pytest.mark.parametrize("role", TOLD)
@pytest.mark.parametrize("value", [ANSWER, PRICE, BUDGET, AUDIT], ids=lambda value: type(value).__name__)
def test_each_role_is_told_what_is_listed_for_it(role, value):
    if any(value is each for each in TOLD[role]):
        assert over(role, value) == value
    else:
        raised(InternalError, lambda: WIRE[role].to_json(value))


def test_an_answer_is_readable_without_dpsql():
    answer = WIRE["analyst"].to_json(ANSWER)
    assert answer["rows"] == [[None, {"noisy": {"value": 100, "margin": 21, "low": 79, "high": 121, "doubtful": True}}]]
    assert (answer["epsilon"], answer["confidence"], answer["kinds"]) == (
        "1/20",
        "19/20",
        [["text", False], ["integer", True]],
    )
    assert WIRE["analyst"].to_json(PRICE) == {"epsilon": "1/20", "delta": "0", "margins": {"n": "21", "s": None}}


@pytest.mark.parametrize(
    "cell",
    [
        *(None, True, 7, -(2**100), 1.5, "text\n", Fraction(2, 3)),
        *(date(2026, 1, 31), datetime(2026, 1, 31, 12, 30, 1, 5)),
        dpsql.Estimate(value=1.5, margin=None, low=None, high=None),
    ],
    ids=str,
)
def test_cells_come_back_as_they_were(cell):
    (found,) = over("analyst", dataclasses.replace(ANSWER, rows=((cell,),))).rows[0]
    assert found == cell
    assert type(found) is type(cell)


# What must not get over it


SALT = "5e3a1c"


@pytest.mark.parametrize("kind", [ServedAnswer, Standing, ServedAudit, Price])
def test_a_new_field_does_not_go_over_the_wire_before_it_is_listed(kind):
    known = next(value for values in TOLD.values() for value in values if type(value) is kind)
    grown = make_dataclass("Renamed", [("salt", str, SALT)], bases=(kind,), frozen=True, kw_only=True)
    listed = {each.kind: each for each in wire.LISTED.values()}[kind]
    names = {f"{name}": each for name, each in wire.LISTED.items() if each.kind is not kind}
    codec = Codec({"float": float, **names, "grown": Only(grown, listed.fields)}, whole=True)
    fields = {each.name: getattr(known, each.name) for each in dataclasses.fields(kind) if each.init}
    assert codec.to_json(grown(**fields)) == Codec({"float": float, **wire.LISTED}, whole=True).to_json(known)


@pytest.mark.parametrize("role", TOLD)
def test_a_class_that_is_not_listed_does_not_go_over_the_wire(role):
    for value in TOLD[role]:
        other = make_dataclass("Other", [("salt", str, SALT)], bases=(type(value),), frozen=True, kw_only=True)
        fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.init}
        raised(InternalError, lambda other=other, fields=fields: WIRE[role].to_json(other(**fields)))


def test_an_exact_value_does_not_go_over_the_wire(clinic, monkeypatch):
    clinic.grant("ana", budget=5)
    ana = Visit(owner=clinic, name="ana", role="analyst")
    question = {"do": "sql", "sql": "SELECT COUNT(*) AS n FROM people"}
    (cell,) = reply_to(ana, question)["ok"]["rows"][0]
    right = methods.served
    for planted in (
        {"rows": ((Exact(4711),),)},
        {"rows": ((dpsql.Estimate(value=Exact(4711), margin=1, low=1, high=1),),)},
        {"text": Exact(4711)},
        {"notes": (Exact(4711),)},
        {"epsilon": Exact(4711)},
        {"budget": dataclasses.replace(BUDGET, left=Exact(4711))},
    ):
        monkeypatch.setattr(
            methods, "served", lambda answer, planted=planted: dataclasses.replace(right(answer), **planted)
        )
        line = encoded(reply_to(ana, question))
        assert json.loads(line)["error"]["code"] == "DP900"
        assert b"4711" not in line
    assert set(cell["noisy"]) == {"value", "margin", "low", "high", "doubtful"}


def test_what_the_server_would_not_say_is_not_believed():
    right = WIRE["analyst"].to_json(ANSWER)
    for wrong in (
        {"rows": [[None, {"noisy": [7, 1.5, 5, 9, True]}]]},
        {"rows": [[None, {"noisy": {"value": 7}}]]},
        {"rows": [[None, {"exact": 7}]]},
        {"kinds": [["text", False], ["money", True]]},
        {"epsilon": 0.05},
        {"budget": {}},
        {"salt": 1},
    ):
        raised(Unreadable, lambda wrong=wrong: WIRE["analyst"].from_json({**right, **wrong}, ServedAnswer))
    for missing in right:
        less = {name: part for name, part in right.items() if name != missing}
        raised(Unreadable, lambda less=less: WIRE["analyst"].from_json(less, ServedAnswer))
