"""What is asked for beside the question."""

from decimal import Decimal
from fractions import Fraction

import pytest

from dpsql.accounting.account import Account
from dpsql.catalog.model import Defaults, Mode, Noise
from dpsql.errors import BadParameter
from dpsql.session.terms import Ask, asked, stated, terms_of, wishes_of

PURE = Account.opened(epsilon=Fraction(5), delta=Fraction(0), delta_prime=Fraction(0))


@pytest.mark.parametrize("tenth", [0.1, Decimal("0.1"), Fraction(1, 10)])
def test_a_number_is_what_was_written(tenth):
    assert stated(tenth) == Fraction(1, 10)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"epsilon": "1"},
        {"confidence": 1},
        {"confidence": 0},
        {"mode": "scaled"},
        {"noise": "uniform"},
        {"noise": Noise},
    ],
)
def test_what_has_no_meaning_is_refused(wrong):
    with pytest.raises(BadParameter):
        asked(**wrong)


def test_the_query_goes_before_the_policy():
    defaults = Defaults(cost_per_query=Fraction(1), confidence=Fraction(9, 10), mode=Mode.CHOOSE, noise=Noise.LAPLACE)
    ask = asked(epsilon=2, confidence=0.99, mode="scale", noise="gaussian")
    own = terms_of(ask, defaults, (PURE,))
    assert (own.cost, own.confidence, own.noise) == (2, Fraction(99, 100), Noise.GAUSSIAN)
    assert wishes_of(ask, defaults, own).mode is Mode.SCALE
    policy = terms_of(Ask(), defaults, (PURE,))
    assert (policy.cost, policy.confidence, policy.noise) == (1, Fraction(9, 10), Noise.LAPLACE)
    assert wishes_of(Ask(), defaults, policy).mode is Mode.CHOOSE


def test_a_price_has_no_default():
    with pytest.raises(BadParameter, match="nobody said"):
        terms_of(Ask(), Defaults(), (PURE,))
