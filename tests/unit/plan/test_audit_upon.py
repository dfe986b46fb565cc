"""A release that makes another one finer is compared with the records it rests on, and each lie is found."""

import json
from fractions import Fraction

import pandas as pd
import pytest

import dpsql
from dpsql.errors import LedgerBroken
from dpsql.plan.audit import audited
from dpsql.plan.audit_upon import audited_upon
from dpsql.testing.ledger_cases import charges_of

BOTH = "SELECT COUNT(*) AS n, SUM(age) AS s FROM people"


def charges(*, noise, delta, **promise):
    owner = dpsql.open(":memory:")
    rows = pd.DataFrame({"who": range(60), "age": 30})
    owner.register("people", rows, person="who", unique=True, bounds={"age": (0, 99)})
    owner.promise(epsilon=10, delta=delta, **promise)
    owner.defaults(max_keys=10)
    ana = owner.grant("ana", budget=10)
    for epsilon in (0.1, 0.2, 0.4):
        ana.sql(BOTH, epsilon=epsilon, noise=noise)
    found = charges_of(owner._ledger)
    owner.close()
    return found


MEASURED = charges(noise="gaussian", delta=1e-6)
REVEALED = charges(noise="laplace", delta=0)
AVERAGED = charges(noise="laplace", delta=1e-6)
WAYS = {"measured": MEASURED, "revealed": REVEALED, "averaged": AVERAGED}


def checked(paid, change=lambda told: None, *, upon=None, **charged):
    """The audit of the last charge, its record changed."""
    records = {number: charge.record for number, charge in paid}
    _, last = paid[-1]
    told = json.loads(last.record)
    change(told)
    audited_upon(json.dumps(told), upon=last.upon if upon is None else upon, records=records, **charged)


@pytest.mark.parametrize("way", WAYS)
def test_what_was_charged_agrees(way):
    checked(WAYS[way])
    (first, root), *later = WAYS[way]
    assert root.upon is None
    assert {charge.upon for _, charge in later} == {first}
    assert [json.loads(charge.record)["upon"]["way"] for _, charge in later] == [way, way]


def said(name, value):
    return lambda told: told["upon"].update({name: value})


def renamed(told):
    told["noises"][0]["question"] = "another"


def coarser(told):
    for noise in told["noises"]:
        noise["scale"] = str(Fraction(noise["scale"]) * 2)


LIES = {
    "another price before": said("paid", "1/1000"),
    "a release that is not there": said("receipt", 4711),
    "other numbers": renamed,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found(way, lie):
    with pytest.raises(LedgerBroken):
        checked(WAYS[way], LIES[lie])


@pytest.mark.parametrize("way", WAYS)
def test_another_salt_is_found(way):
    with pytest.raises(LedgerBroken, match="charged upon another release"):
        checked(WAYS[way], upon=WAYS[way][1][0])


def test_less_precision_than_was_sold_is_found():
    with pytest.raises(LedgerBroken, match="less precise"):
        checked(MEASURED, coarser)


@pytest.mark.parametrize("change", [coarser, said("level", "3"), said("level", "2")])
def test_a_level_that_was_not_drawn_is_found(change):
    with pytest.raises(LedgerBroken, match="another level"):
        checked(REVEALED, change)


@pytest.mark.parametrize("place", [0, 2, -1, 99])
def test_a_level_from_another_place_than_was_priced_is_found(place):
    """The ledger tells hidden levels by their place: the place is of the level whose price was paid."""
    at = '"level":1'
    _, last = REVEALED[-1]
    assert json.loads(last.record)["upon"]["level"] == "4"  # the levels are 2, 4, 8, …
    assert last.record.count(at) == 1
    records = {number: charge.record for number, charge in REVEALED}
    with pytest.raises(LedgerBroken, match="another level"):
        audited_upon(last.record.replace(at, f'"level":{place}'), upon=last.upon, records=records)


@pytest.mark.parametrize("way", ["averaged", "measured"])
def test_a_level_that_is_called_otherwise_is_found(way):
    with pytest.raises(LedgerBroken):
        checked(REVEALED, said("way", way))


def test_a_level_for_less_than_the_difference_is_found():
    """The price of a level is derived from its noise and that of the level before it."""
    _, last = REVEALED[-1]
    assert audited(last.record).price.epsilon == Fraction(1, 5)
    cheap = last.record.replace('"epsilon":{"number":"1/5"}', '"epsilon":{"number":"1/50"}')
    assert cheap != last.record
    with pytest.raises(LedgerBroken):
        audited(cheap)


def test_a_level_where_epsilon_alone_is_not_added_up_is_found():
    with pytest.raises(LedgerBroken, match="alone is not what is added up"):
        checked(REVEALED, additive=False)
    (_, drawn), *_ = REVEALED
    assert json.loads(drawn.record)["levels"]
    with pytest.raises(LedgerBroken, match="alone is not what is added up"):
        audited_upon(drawn.record, upon=None, records={}, additive=False)
    for others in (MEASURED, AVERAGED):
        checked(others, additive=False)


def test_a_level_of_a_question_in_a_batch_is_found():
    (first, _), *_ = REVEALED
    with pytest.raises(LedgerBroken, match="in a batch"):
        checked(REVEALED, batched={first})
    checked(AVERAGED, batched={AVERAGED[0][0]})
