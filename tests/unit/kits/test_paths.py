"""The enumeration of paths, on functions whose law is known."""

import math
import types
from fractions import Fraction

import pytest

from dpsql import randomness
from tests.kits.paths import law_of


@pytest.fixture
def chance():
    """A module that imported the samplers by name, as mechanisms do."""
    module = types.ModuleType("chance")
    for name in ("uniform_below", "bernoulli", "bernoulli_exp", "shuffled", "discrete_laplace", "discrete_gaussian"):
        setattr(module, name, getattr(randomness, name))
    return module


def test_two_dice(chance):
    law, missed = law_of(
        lambda: chance.uniform_below(6, source=None) + chance.uniform_below(6, source=None) + 2, modules=[chance]
    )
    assert law == pytest.approx({total: (6 - abs(7 - total)) / 36 for total in range(2, 13)})
    assert abs(missed) < 1e-12


def test_coins_and_orders(chance):
    law, _ = law_of(
        lambda: (
            chance.bernoulli(Fraction(1, 3), source=None),
            chance.bernoulli_exp(Fraction(2), source=None),
            tuple(chance.shuffled(2, source=None)),
        ),
        modules=[chance],
    )
    assert len(law) == 8
    assert law[True, True, (1, 0)] == pytest.approx(math.exp(-2) / 6)


def test_noises(chance):
    law, _ = law_of(lambda: int(chance.discrete_laplace(scale=Fraction(1), size=1, source=None)[0]), modules=[chance])
    p = math.exp(-1)
    assert law[-2] == pytest.approx((1 - p) / (1 + p) * p**2)
    law, _ = law_of(
        lambda: int(chance.discrete_gaussian(sigma_squared=Fraction(2), size=1, source=None)[0]), modules=[chance]
    )
    assert law[3] == pytest.approx(math.exp(-9 / 4) / sum(math.exp(-x * x / 4) for x in range(-40, 41)))


def test_a_rejection_loop_is_cut_off_and_said_so(chance):
    def until_heads():
        tries = 1
        while not chance.bernoulli(Fraction(1, 2), source=None):
            tries += 1
        return tries

    law, missed = law_of(until_heads, modules=[chance], depth=5)
    assert law == {n: 0.5**n for n in range(1, 6)}
    assert missed == 0.5**5
    law, missed = law_of(until_heads, modules=[chance], floor=0.1)
    assert law == {n: 0.5**n for n in range(1, 4)}


def test_the_samplers_are_put_back(chance):
    def fails():
        chance.bernoulli(Fraction(1, 2), source=None)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        law_of(fails, modules=[chance])
    assert chance.bernoulli is randomness.bernoulli
