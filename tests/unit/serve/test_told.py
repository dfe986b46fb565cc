"""What goes over the wire comes back as it was, and nothing goes over it that is not listed for the role."""

import dataclasses
import json
from dataclasses import make_dataclass
from datetime import date, datetime
from fractions import Fraction

import pytest

import dpsql
from dpsql.codec import Codec, Only, Unreadable
from dpsql.errors import InternalError
from dpsql.privacy.exact import Exact
from dpsql.serve import methods, wire
from dpsql.serve.methods import Visit, reply_to
from dpsql.serve.wire import WIRE, Price, ServedAnswer, ServedAudit, Standing, decoded, encoded
from tests.kits.refusals import raised

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
