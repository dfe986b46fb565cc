"""price: what a cost buys, and what it cannot."""

from dataclasses import replace

import pytest
from explain_plans import planned, told_again

from dpsql.accounting.triple import FREE, triple
from dpsql.errors import NeedsDelta
from dpsql.plan.price import price
from dpsql.plan.seal import seal

BY_DIAGNOSIS = "SELECT diagnosis, COUNT(*), SUM(charge) FROM visits GROUP BY diagnosis"


def test_a_missing_share_is_not_a_missing_delta():
    plan = planned(BY_DIAGNOSIS)
    with pytest.raises(NeedsDelta) as caught:
        price(plan.recalled, replace(plan.terms, selection_share=None))
    assert "selection_share" in caught.value.fix
    assert "needs delta" not in caught.value.what
    start, end = caught.value.at
    assert BY_DIAGNOSIS[start:end] == "diagnosis"
    with pytest.raises(NeedsDelta, match="needs delta"):
        price(plan.recalled, replace(plan.terms, delta=None))


def test_what_is_charged_is_decided_in_one_place():
    plan = planned("SELECT COUNT(*) FROM patients")
    assert (plan.charged, plan.cost) == (plan.event, plan.terms.cost)
    again = told_again(plan)
    assert (again.charged, again.cost) == (None, 0)
    catalog = plan.bounded.query.catalog
    assert seal(plan, catalog).price == triple(plan.event) != FREE
    assert seal(again, catalog).price == FREE
