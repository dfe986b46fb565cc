"""Ranges of integer expressions, held against all values of small ranges and against the edges of the engine."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from derive_trees import BOOLEAN, DOUBLE, INTEGER, TEXT, ref, whole

from dpsql.errors import InternalError
from dpsql.plan.derivation.ranges import added, largest_of, range_of
from dpsql.plan.derivation.states import Fact, Range
from dpsql.sql import inner
from dpsql.sql.intervals import Interval
from dpsql.sql.scalars import Apply, AwaitedValue, Constant
from tests.kits.cases import cases
from tests.kits.refusals import raised


def facts(**ranges):
    """Integer columns a, b, … numbered from 1, with their ranges."""
    return {number: Fact(type=INTEGER, range=range_) for number, range_ in enumerate(ranges.values(), 1)}


def sure(low, high, null=False):
    return Range(low=low, high=high, null=null, sure=True)


def toward_zero(a, b):
    return abs(a) // b * (1 if a >= 0 else -1)


@pytest.mark.parametrize("low", range(-4, 4))
@pytest.mark.parametrize("width", [0, 1, 5])
def test_ranges_hold_every_value_and_both_ends(low, width):
    high = low + width
    values = range(low, high + 1)
    known = facts(a=sure(low, high), b=sure(0, 9))
    for scalar, results in {
        inner.minus(ref(1), 3): [v - 3 for v in values],
        inner.minus(ref(1), -2): [v + 2 for v in values],
        inner.times(ref(1), 7): [7 * v for v in values],
        inner.times(ref(1), -7): [-7 * v for v in values],
        inner.squared(ref(1)): [v * v for v in values],
        inner.plus(ref(1), ref(2), whole(5)): [v + w + 5 for v, w in product(values, range(10))],
        inner.clamp_whole(inner.times(ref(1), 100), low=-3, high=2): [-3, 2],
    }.items():
        assert range_of(scalar, known) == sure(min(results), max(results)), scalar
    scaled = [v if n <= 2 else toward_zero(2 * v, n) for v, n in product(values, range(10))]
    weighted = range_of(inner.down_weighted(ref(1), ref(2), 2), known)
    assert weighted.low <= min(scaled) <= max(scaled) <= weighted.high
    assert (weighted.low, weighted.high) == (min(low, 0), max(high, 0))


def test_null_becomes_zero_only_by_saying_so():
    known = facts(a=sure(3, 5, null=True), b=Range())
    assert range_of(ref(1), known).null
    assert range_of(inner.or_zero(ref(1)), known) == sure(0, 5)
    assert range_of(inner.clamp_whole(ref(1), low=0, high=9), known) == sure(0, 9, null=True)
    assert range_of(inner.clamp_whole(inner.or_zero(ref(2)), low=0, high=9), known) == sure(0, 9)
    assert range_of(inner.plus(ref(1), whole(1)), known).null


def test_what_nothing_bounds_has_no_range():
    known = facts(a=Range()) | {2: Fact(type=TEXT), 3: Fact(type=DOUBLE), 4: Fact(type=None)}
    for scalar in (
        ref(1),
        ref(2, TEXT),
        ref(4),
        inner.or_zero(ref(1)),
        Apply("presence", (ref(1),), INTEGER),
        Apply("add", (whole(1), whole(2)), INTEGER),
        Apply("case", (inner.TRUE, whole(1), whole(2)), INTEGER),
        Apply("clamp", (ref(1), whole(0), whole(1)), INTEGER),
        Apply("grains", (ref(3), whole(0), whole(1), whole(0), whole(1), whole(1)), INTEGER),
        AwaitedValue(question=0, type=INTEGER, range=Interval(Fraction(0), Fraction(1))),
        Constant(None, INTEGER),
        Constant(True, INTEGER),
        Constant(True, BOOLEAN),
        Constant("1", TEXT),
    ):
        assert (range_of(scalar, known).low, range_of(scalar, known).high) == (None, None)
        assert not range_of(scalar, known).sure


@cases(__file__, "scalar=")
def test_arithmetic_on_what_is_not_a_bounded_integer_is_refused(scalar):
    known = facts(a=Range()) | {
        2: Fact(type=TEXT),
        3: Fact(type=DOUBLE),
        4: Fact(type=None),
        5: Fact(type=INTEGER, range=sure(0, 9)),
    }
    raised(InternalError, lambda: range_of(scalar, known))


@cases(__file__, "scalar=", "fits=", "too_large=")
def test_nothing_leaves_the_engines_integers(scalar, fits, too_large):
    if fits is not None:
        assert range_of(scalar, facts(a=sure(min(fits, 0), max(fits, 0)))).sure
    if too_large is not None:
        raised(InternalError, lambda: range_of(scalar, facts(a=sure(min(too_large, 0), max(too_large, 0)))))


def test_a_sum_of_rows_includes_nobody():
    assert added(sure(3, 5), times=4) == sure(0, 20, null=True)
    assert added(sure(-5, -3), times=4) == sure(-20, 0, null=True)
    assert added(Range(low=-1, high=1, sure=False), times=2) == Range(low=-2, high=2, sure=False)
    raised(InternalError, lambda: added(sure(0, 2**120), times=64))


def test_grains_between_limits_that_are_not_literals_are_refused():
    limits = [Constant(Fraction(number), DOUBLE) for number in (-2, 3, 0, 1, 4)]
    fine = Apply("fine_grains", (ref(1, DOUBLE), *limits), INTEGER)
    known = {1: Fact(type=DOUBLE), 2: Fact(type=DOUBLE)}
    assert largest_of(fine, known) == 3 * 4 + 1
    for place in range(1, 6):
        arguments = (*fine.arguments[:place], ref(2, DOUBLE), *fine.arguments[place + 1 :])
        refusal = raised(
            InternalError, lambda arguments=arguments: largest_of(replace(fine, arguments=arguments), known)
        )
        assert "not literals" in refusal.what
