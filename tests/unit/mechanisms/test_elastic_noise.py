"""Counts over joins with elastic noise. The statistical test is a χ²-free bound at six standard errors, fixed seed."""

import math
from fractions import Fraction

import pytest

from dpsql.errors import BadParameter, NoTheorem
from dpsql.mechanisms.elastic_noise import ElasticLaplace, Measured
from dpsql.mechanisms.smooth_noise import smooth_beta
from dpsql.privacy.events import Approximate
from dpsql.privacy.exact import Exact
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.elastic.algebra import Attribute, Column, Count, GroupedCount, Join, Table
from dpsql.testing.fixed import SeededSource
from tests.kits.refusals import raised

KEY = (Column(name="cid"),)
JOIN = Join(
    Table(name="orders", columns=KEY),
    Table(name="recs", columns=KEY),
    ((Attribute("orders", "cid"), Attribute("recs", "cid")),),
)
FREQUENCIES = {("orders", "cid"): 100, ("recs", "cid"): 250}


def mechanism(query=None, *, dimensions=1, neighbours=Neighbours.ADD_REMOVE, epsilon=1, delta=1e-6):
    return ElasticLaplace(
        query=query or Count(JOIN), neighbours=neighbours, epsilon=epsilon, delta=delta, dimensions=dimensions
    )


def test_elastic_counts_are_released_at_scale_2s_over_epsilon():
    """C093: S = max_k exp(-βk)(250 + k) by hand; 300 counts have a mean deviation of 2S/ε."""
    beta = smooth_beta(epsilon=1, delta=1e-6, dimensions=1)
    scale = 2 * max(math.exp(-beta * k) * (250 + k) for k in range(1000))
    value = Exact(Measured(counts=(10_000,), frequencies=FREQUENCIES))
    ready, source = mechanism(), SeededSource(3)
    deviations = [abs(ready.release(value, source=source)[0] - 10_000) for _ in range(300)]
    assert abs(sum(deviations) / 300 - scale) < 6 * scale / math.sqrt(300)
    assert ready.event == Approximate(epsilon=Fraction(1), delta=Fraction(1e-6))


def test_groups_pay_for_their_number_in_smoothness():
    """C082, C092: one S for all groups, so β is that of as many noises."""
    grouped = mechanism(GroupedCount(JOIN, ()), dimensions=50)
    assert grouped.noise.beta == smooth_beta(epsilon=1, delta=1e-6, dimensions=50)
    value = Exact(Measured(counts=(5,) * 50, frequencies=FREQUENCIES))
    assert len(grouped.release(value, source=SeededSource(4))) == 50


def test_nothing_private_is_printed():
    """C083: the frequencies arrive hidden and leave in no message."""
    measured = Measured(counts=(4711,), frequencies={("orders", "cid"): 4711})
    assert "4711" not in repr(measured)
    with pytest.raises(BadParameter) as caught:
        mechanism().release(Exact(measured), source=SeededSource(1))  # recs was not measured
    assert "4711" not in str(caught.value)
    with pytest.raises(BadParameter) as caught:
        mechanism().release(
            Exact(Measured(counts=(1,), frequencies={**FREQUENCIES, ("recs", "cid"): -4711})), source=SeededSource(1)
        )
    assert "4711" not in str(caught.value)


def test_refusals_come_before_any_row_is_read():
    raised(BadParameter, lambda: mechanism(dimensions=2))
    raised(BadParameter, lambda: mechanism(Count(Table(name="p", public=True))))
    raised(BadParameter, lambda: mechanism(epsilon=12, delta=0.01))
    raised(BadParameter, lambda: mechanism(neighbours="add_remove"))
    counted = GroupedCount(Table(name="orders", columns=KEY), (Attribute("orders", "cid"),))
    on = ((Attribute("orders", "cid"), Attribute("recs", "cid")),)
    raised(NoTheorem, lambda: mechanism(Count(Join(counted, Table(name="recs", columns=KEY), on))))
