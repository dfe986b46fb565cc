"""What is asked for beside the question."""

from decimal import Decimal
from fractions import Fraction

import pandas as pd
import pytest

from dpsql.accounting.account import Account
from dpsql.catalog.model import Defaults, Mode, Noise
from dpsql.errors import BadParameter, DpsqlError
from dpsql.session.terms import Ask, asked, stated, terms_of, wishes_of
from tests.kits.cases import cases
from tests.kits.owners import owner_of
from tests.kits.refusals import each_raises, raised

PURE = Account.opened(epsilon=Fraction(5), delta=Fraction(0), delta_prime=Fraction(0))


@pytest.mark.parametrize("tenth", [0.1, Decimal("0.1"), Fraction(1, 10)])
def test_a_number_is_what_was_written(tenth):
    assert stated(tenth) == Fraction(1, 10)


@cases(__file__, "wrong=")
def test_what_has_no_meaning_is_refused(wrong):
    raised(BadParameter, lambda: asked(**wrong))


def test_the_query_goes_before_the_policy_and_a_price_has_no_default():
    defaults = Defaults(cost_per_query=Fraction(1), confidence=Fraction(9, 10), mode=Mode.CHOOSE, noise=Noise.LAPLACE)
    ask = asked(epsilon=2, confidence=0.99, mode="scale", noise="gaussian")
    own = terms_of(ask, defaults, (PURE,))
    assert (own.cost, own.confidence, own.noise) == (2, Fraction(99, 100), Noise.GAUSSIAN)
    assert wishes_of(ask, defaults, own).mode is Mode.SCALE
    policy = terms_of(Ask(), defaults, (PURE,))
    assert (policy.cost, policy.confidence, policy.noise) == (1, Fraction(9, 10), Noise.LAPLACE)
    assert wishes_of(Ask(), defaults, policy).mode is Mode.CHOOSE
    raised(BadParameter, lambda: terms_of(Ask(), Defaults(), (PURE,)), match="nobody said")


NEAREST = 1 - Fraction(1, 10**30)
QUESTION = "SELECT AVG(f) AS a FROM p"


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_a_confidence_without_a_margin_is_refused_at_every_door_before_it_is_paid_for(kind):
    people = pd.DataFrame({"id": range(100), "f": [0.5] * 100})
    words = {"person": "id", "unique": True, "bounds": {"f": (0, 1)}}
    owner = owner_of(people, "p", **words, epsilon=10, delta=1e-5, cost_per_query=0.1, noise=kind)
    analyst = owner.grant("ana", budget=5)
    nearer, written = 1 - Fraction(1, 10**31), f"9.{'9' * 30}e-1"
    doors = (
        lambda: analyst.sql(QUESTION, confidence=nearer),
        lambda: analyst.query(QUESTION, confidence=nearer),
        lambda: analyst.sql(f"{QUESTION} CONFIDENCE {written}"),
        lambda: analyst.sql(f"SET dp.confidence = {written}"),
        lambda: owner.defaults(confidence=nearer),
    )
    each_raises(DpsqlError, lambda door: door(), doors, match="1e-30")
    assert analyst.budget.spent == 0
    for allowed in (NEAREST, 1 - NEAREST):  # what is let in is answered
        assert analyst.sql(QUESTION, confidence=allowed).confidence == allowed
    owner.close()
