"""A release that makes another one finer is compared with the records it rests on, and each lie is found."""

import json
from fractions import Fraction

import pytest

from dpsql.errors import LedgerBroken
from dpsql.plan.audit import audited_upon
from tests.kits.ledger_cases import charges_of
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

BOTH = "SELECT COUNT(*) AS n, SUM(age) AS s FROM people"


def charges(*, noise):
    owner = owner_of(60, epsilon=10, delta=1e-6, max_keys=10)
    ana = owner.grant("ana", budget=10)
    for epsilon in (0.1, 0.2, 0.4):
        ana.sql(BOTH, epsilon=epsilon, noise=noise)
    found = charges_of(owner._ledger)
    owner.close()
    return found


MEASURED = charges(noise="gaussian")
AVERAGED = charges(noise="laplace")
WAYS = {"measured": MEASURED, "averaged": AVERAGED}


def checked(paid, change=lambda told: None, *, upon=None):
    """The audit of the last charge, its record changed."""
    records = {number: charge.record for number, charge in paid}
    _, last = paid[-1]
    told = json.loads(last.record)
    change(told)
    audited_upon(json.dumps(told), upon=last.upon if upon is None else upon, records=records)


@pytest.mark.parametrize("way", WAYS)
def test_what_was_charged_agrees(way):
    checked(WAYS[way])
    (first, root), *later = WAYS[way]
    assert root.upon is None
    assert {charge.upon for _, charge in later} == {first}
    assert [json.loads(charge.record)["kept"]["upon"]["way"] for _, charge in later] == [way, way]


def said(name, value):
    return lambda told: told["kept"]["upon"].update({name: value})


def renamed(told):
    told["kept"]["noises"][0][0] = "another"


def coarser(told):
    for _, noise in told["kept"]["noises"]:
        law = noise["law"]["gaussian"]
        law["sigma_squared"] = str(Fraction(law["sigma_squared"]) * 2)


LIES = {
    "another price before": said("paid", "1/1000"),
    "a release that is not there": said("receipt", 4711),
    "other numbers": renamed,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found(way, lie):
    raised(LedgerBroken, lambda: checked(WAYS[way], LIES[lie]))


@pytest.mark.parametrize("way", WAYS)
def test_another_salt_is_found(way):
    raised(LedgerBroken, lambda: checked(WAYS[way], upon=WAYS[way][1][0]), match="charged upon another release")


def test_less_precision_than_was_sold_is_found():
    raised(LedgerBroken, lambda: checked(MEASURED, coarser), match="less precise")
