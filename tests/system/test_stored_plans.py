"""Every accepted question: its record and the declared lists of keys give back its plan, and the price charged."""

from __future__ import annotations

from functools import cache

import pytest

from dpsql.accounting.triple import triple
from dpsql.plan.audit import audited
from dpsql.plan.record import lists_of, plan_record, read_plan
from dpsql.sql.emit import engine_text
from tests.kits.noiseless import filled_plans

from fixtures import ACCEPTED, Fixture
from hospital import opened, well_behaved


@cache
def analyst(mode, relation):
    return opened(well_behaved(), mode=mode, relation=relation)


@pytest.mark.parametrize("relation", ["add_remove", "change_one"])
@pytest.mark.parametrize("mode", ["choose", None])
@pytest.mark.parametrize("fixture", ACCEPTED, ids=str)
def test_a_record_gives_back_the_plan_and_its_price(fixture: Fixture, mode, relation):
    for plan in filled_plans(analyst(mode, relation).query(fixture.sql)):
        require_read_again(plan)


def require_read_again(plan):
    record = plan_record(plan, dialect="duckdb")
    steps, tables, neighbours = read_plan(record, lists=lists_of(plan))
    assert steps == plan.steps
    assert neighbours is plan.bounded.neighbours
    assert {table.name for table in tables} == set(plan.bounded.query.tables)
    for ours, theirs in zip(steps, plan.steps, strict=True):  # what is read twice is still read once
        assert engine_text(ours.statement, dialect="duckdb") == engine_text(theirs.statement, dialect="duckdb")
    if plan.event is not None:
        assert audited(record, lists=lists_of(plan)).price == triple(plan.event)
