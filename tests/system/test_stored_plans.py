"""Every accepted question: its record and the declared lists of keys give back its plan, and the price charged.

`make test` reads each in two of the four ways to plan it, in turn; `make audit` (DPSQL_EVERY_PLAN=1) in all.
"""

import os
from functools import cache

import pytest

from dpsql.accounting.triple import triple
from dpsql.plan.audit import audited
from dpsql.plan.record import lists_of, plan_record, read_plan
from dpsql.sql.emit import engine_text
from tests.kits.noiseless import filled_plans

from fixtures import ACCEPTED
from hospital import opened, well_behaved


@cache
def analyst(mode, relation):
    return opened(well_behaved(), mode=mode, relation=relation)


@pytest.mark.parametrize("turn", range(len(ACCEPTED)), ids=[str(fixture) for fixture in ACCEPTED])
def test_a_record_gives_back_the_plan_and_its_price(turn):
    ways = [("choose", "add_remove"), (None, "change_one"), ("choose", "change_one"), (None, "add_remove")]
    if os.environ.get("DPSQL_EVERY_PLAN") != "1":
        ways = ways[:2] if turn % 2 else ways[2:]
    for mode, relation in ways:
        for plan in filled_plans(analyst(mode, relation).query(ACCEPTED[turn].sql)):
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
