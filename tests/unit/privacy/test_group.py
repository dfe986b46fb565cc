"""Group privacy against its recursion, against worst-case mechanisms, and against the exact Gaussian."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import NoTheorem, Refused
from dpsql.privacy.divergence import audit_delta
from dpsql.privacy.group import convert_relation, group_delta, group_privacy
from dpsql.privacy.measure import PrivacyParams
from dpsql.privacy.shifts import GaussianShift
from dpsql.privacy.unit import Neighbours
from tests.kits.drawn_laws import M, mp
from tests.kits.refusals import raised

EPSILONS = st.one_of(st.just(0), st.floats(1e-12, 3), st.fractions(0, 3), st.floats(1e-300, 1e-12))
SIZES = st.integers(1, 60)


@given(epsilon=EPSILONS, delta=st.floats(0, 0.999), size=SIZES)
def test_group_delta_is_the_recursion_over_hybrids(epsilon, delta, size):
    """C114: δ grows by d -> exp(ε) d + δ with each further member; rounded up."""
    true = M.mpf(0)
    for _ in range(size):
        true = M.exp(mp(epsilon)) * true + mp(delta)
    value = group_delta(epsilon=epsilon, delta=delta, size=size)
    assert true * (1 - M.mpf("1e-50")) <= mp(value) <= true * (1 + M.mpf("1e-14")) + M.mpf(2) ** -1074


@given(epsilon=EPSILONS, delta=st.floats(0, 1e-3), size=SIZES)
def test_group_privacy_multiplies_epsilon_and_refuses_where_nothing_is_left(epsilon, delta, size):
    """C114: (kε, δ (exp(kε) - 1)/(exp(ε) - 1)), or "no promise for groups of k"."""
    params = PrivacyParams(epsilon=epsilon, delta=delta)
    if group_delta(epsilon=epsilon, delta=delta, size=size) >= 1:
        raised(Refused, lambda: group_privacy(params, size=size), match=f"no promise for groups of {size}")
    else:
        group = group_privacy(params, size=size)
        assert (
            Fraction(epsilon) * size <= Fraction(group.epsilon) <= Fraction(epsilon) * size * (1 + Fraction(1, 2**52))
        )
        assert group.delta == group_delta(epsilon=epsilon, delta=delta, size=size)


def test_pure_privacy_degrades_gracefully():
    """C114: pure promises stay pure for every group."""
    assert group_privacy(PrivacyParams(epsilon=0.5), size=4) == PrivacyParams(epsilon=2.0)
    assert group_privacy(PrivacyParams(epsilon=0.5), size=1) == PrivacyParams(epsilon=0.5)
    assert group_privacy(PrivacyParams(epsilon=1.0), size=2**53) == PrivacyParams(epsilon=float(2**53))


def test_delta_one_is_already_no_promise():
    for delta, size in ((0.5, 2), (0.5, 3), (0.3, 4)):
        with pytest.raises(Refused, match=f"no promise for groups of {size}"):
            group_privacy(PrivacyParams(epsilon=0, delta=delta), size=size)
    assert group_privacy(PrivacyParams(epsilon=0, delta=0.25), size=3).delta == 0.75


def test_no_promise_is_found_without_computing_enormous_numbers():
    with pytest.raises(Refused, match="no promise for groups of 9007199254740992"):
        group_privacy(PrivacyParams(epsilon=1.0, delta=1e-300), size=2**53)
    raised(Refused, lambda: group_privacy(PrivacyParams(epsilon=1e308), size=100))


def counter_law(count: int, epsilon: float, delta: float) -> list[float]:
    """The law of one bit on `count` members whose neighbours are exactly (ε, δ) apart: w(j + 1) = exp(ε) w(j) + δ."""
    low = 0.0
    for _ in range(count):
        low = math.exp(epsilon) * low + delta
    return [low, 1 - low]


@pytest.mark.parametrize(("epsilon", "delta", "size"), list(product([0.1, 0.5], [1e-3, 1e-2], [2, 3, 5])))
def test_the_bound_is_attained(epsilon, delta, size):
    """C114: no smaller δ holds for all mechanisms: one whose neighbours are (ε, δ) apart reaches it."""
    laws = [counter_law(j, epsilon, delta) for j in range(size + 1)]
    assert all(audit_delta(laws[j], laws[j + 1], epsilon=epsilon) <= delta * (1 + 1e-12) for j in range(size))
    attained = audit_delta(laws[0], laws[size], epsilon=size * epsilon)
    assert attained == pytest.approx(group_delta(epsilon=epsilon, delta=delta, size=size), rel=1e-9)


def test_change_one_is_two_add_remove_steps():
    """C004: conversion between the relations."""
    params = PrivacyParams(epsilon=0.5, delta=1e-6)
    converted = convert_relation(params, given=Neighbours.ADD_REMOVE, wanted=Neighbours.CHANGE_ONE)
    assert converted.epsilon == 1.0
    assert converted.delta == pytest.approx(1e-6 * (1 + math.exp(0.5)), rel=1e-12)
    assert converted.delta >= 1e-6 * (1 + math.exp(0.5))
    for relation in Neighbours:
        assert convert_relation(params, given=relation, wanted=relation) is params


def test_the_way_back_is_closed():
    """C004: a change-one promise says nothing about sizes: an exact COUNT(*) keeps ε = 0 there."""
    with pytest.raises(NoTheorem, match="change-one"):
        convert_relation(PrivacyParams(epsilon=0), given=Neighbours.CHANGE_ONE, wanted=Neighbours.ADD_REMOVE)
    exact_count_of_3, exact_count_of_4 = {3: 1}, {4: 1}
    assert audit_delta(exact_count_of_3, exact_count_of_3, epsilon=0) == 0  # any two of equal size
    assert audit_delta(exact_count_of_3, exact_count_of_4, epsilon=100) == 1


@given(sigma=st.floats(0.5, 20), size=st.integers(1, 8), epsilon=st.floats(0.01, 4))
def test_the_exact_gaussian_is_below_the_generic_bound(sigma, size, epsilon):
    """C114: a group of k is a shift of k sensitivities; the generic theorem is looser."""
    exact_delta = GaussianShift(shift=size, sigma=sigma).hockey_stick(epsilon=epsilon)
    alone = GaussianShift(shift=1, sigma=sigma).hockey_stick(epsilon=Fraction(epsilon) / size)
    assert exact_delta <= group_delta(epsilon=Fraction(epsilon) / size, delta=alone, size=size) * (1 + 1e-9)
