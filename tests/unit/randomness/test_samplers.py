"""What the samplers accept, refuse and return. Their laws are tested in tests/statistical."""

import ast
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpsql.randomness
from dpsql.errors import BadParameter
from dpsql.randomness import SYSTEM, bernoulli, bernoulli_exp, bernoulli_exp_many, discrete_gaussian, discrete_laplace
from dpsql.randomness.blocks import BlockSampler, Exponent
from dpsql.randomness.discrete import Shelf
from tests.kits.refusals import raised

BAD = [0, -1, Fraction(-1, 2), float("nan"), float("inf"), -float("inf"), True, "1", None, Decimal("NaN")]


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_scales_that_are_no_scales_are_refused(bad):
    raised(BadParameter, lambda: discrete_laplace(scale=bad, size=1, source=SYSTEM))
    raised(BadParameter, lambda: discrete_gaussian(sigma_squared=bad, size=1, source=SYSTEM))


@pytest.mark.parametrize("bad", [-1, 1.5, "3", None, True, 2**60], ids=repr)
def test_sizes_that_are_no_sizes_are_refused(bad):
    for draw in (
        lambda: discrete_laplace(scale=Fraction(1), size=bad, source=SYSTEM),
        lambda: discrete_gaussian(sigma_squared=Fraction(1), size=bad, source=SYSTEM),
        lambda: bernoulli_exp_many(Fraction(1), size=bad, source=SYSTEM),
    ):
        with pytest.raises(BadParameter):
            draw()


@pytest.mark.parametrize("bad", [-1, Fraction(-1, 7), 0.5, float("nan"), "1", None], ids=repr)
def test_coins_take_rational_numbers_only(bad):
    raised(BadParameter, lambda: bernoulli_exp(bad, source=SYSTEM))
    raised(BadParameter, lambda: bernoulli_exp_many(bad, size=1, source=SYSTEM))
    raised(BadParameter, lambda: bernoulli(bad, source=SYSTEM))


def test_sure_things_are_sure():
    assert bernoulli(Fraction(1), source=SYSTEM)
    assert not bernoulli(Fraction(0), source=SYSTEM)
    assert bernoulli_exp(Fraction(0), source=SYSTEM)
    assert bernoulli_exp_many(Fraction(0), size=1000, source=SYSTEM).all()
    assert not bernoulli_exp_many(Fraction(10**4), size=1000, source=SYSTEM).any()
    raised(BadParameter, lambda: bernoulli(Fraction(3, 2), source=SYSTEM))


@settings(max_examples=60, deadline=None)
@given(numerator=st.integers(1, 2**70), denominator=st.integers(1, 2**70), size=st.sampled_from([0, 1, 5, 130, 1000]))
def test_every_positive_rational_scale_works(numerator, denominator, size):
    scale = Fraction(numerator, denominator)
    for draws in (
        discrete_laplace(scale=scale, size=size, source=SYSTEM),
        discrete_gaussian(sigma_squared=scale**2, size=size, source=SYSTEM),
    ):
        assert len(draws) == size
        # Beyond 60 scales lies a probability below exp(-60): a million such tests would not see one.
        assert all(abs(int(value)) <= 60 * scale + 60 for value in draws)


def test_wide_scales_return_python_integers():
    wide = discrete_laplace(scale=Fraction(2**80), size=50, source=SYSTEM)
    assert wide.dtype == np.object_
    assert max(abs(value) for value in wide) > 2**70
    assert discrete_laplace(scale=Fraction(2**43), size=50, source=SYSTEM).dtype == np.int64
    assert discrete_gaussian(sigma_squared=Fraction(2**160), size=50, source=SYSTEM).dtype == np.object_


def test_tables_are_built_once_they_pay_and_make_room_when_unused():
    shelf = Shelf()
    laws = [Exponent(square=Fraction(0), linear=Fraction(1, n), shift=0) for n in range(1, 60)]
    assert shelf.tables(laws[0], blocks=40, draws=100) is None
    first = shelf.tables(laws[0], blocks=40, draws=100)
    assert isinstance(first, BlockSampler)
    assert shelf.tables(laws[0], blocks=40, draws=1) is first
    for law in laws[1:]:
        shelf.tables(law, blocks=40, draws=1)
    assert shelf.tables(laws[0], blocks=40, draws=1) is None


FLOATING = {"exp", "log", "log1p", "expm1", "sqrt", "float", "float64", "float32", "random", "uniform", "choice"}


def test_no_floating_point_takes_part_in_a_draw():
    """The modules that decide a draw name no floating-point function, type or constant."""
    root = Path(dpsql.randomness.__file__).parent
    nodes = [
        node
        for file in [*root.glob("*.py"), root.parent / "enclosure.py"]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    ]
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    names |= {node.id for node in nodes if isinstance(node, ast.Name)}
    assert names & FLOATING == set()
    assert [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, float)] == []
