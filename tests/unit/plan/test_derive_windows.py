"""Window functions inside one unit: what is derived of them, and every way to look at somebody else. Ranges of integer
expressions, held against all values of small ranges and against the edges of the engine."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from derive_trees import (
    BOOLEAN,
    COUNT,
    DOUBLE,
    INTEGER,
    TEXT,
    catalog,
    column,
    filtered,
    grouped,
    moves,
    projected,
    ref,
    refs,
    scan,
    sum_of,
    whole,
)

from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.plan.derivation.ranges import added, largest_of, range_of, require_fits
from dpsql.plan.derivation.states import ROWS, Fact, Range
from dpsql.plan.derive import derive
from dpsql.sql import inner
from dpsql.sql.intervals import Interval
from dpsql.sql.relations import Join, Window
from dpsql.sql.scalars import Apply, AwaitedValue, ColumnRef, Constant, Sorted, Windowed
from tests.kits.cases import cases
from tests.kits.refusals import raised

VISITS = scan("visits", {2: "ward", 3: "charge"}, {9: "Patient_ID"})
BY_ALL = (Sorted(by=ref(3)), Sorted(by=ref(2, TEXT)))


def window(function="row_number", **changes):
    """A window inside the person, in an order that settles everything."""
    facts = {"arguments": (), "partition_by": (ref(9, TEXT),), "order_by": BY_ALL, "frame": "", "type": INTEGER}
    return Windowed(function=function, **(facts | changes))


def statement(*calls, below=VISITS, value=None, owner=9, clamp=True):
    """Σ over everybody of what one window says of each row, at most 3 rows of a person, clamped to [0, 5]."""
    added = tuple(column(50 + place, call.type) for place, call in enumerate(calls))
    rows = filtered(Window(input=below, added=added, calls=calls), inner.known(ref(owner, TEXT)))
    value = value or ref(50)
    value = inner.clamp_whole(value, low=0, high=5) if clamp else value
    rows = projected(rows, **{f"c{owner}": ref(owner, TEXT), "c60": value})
    own = grouped(rows, (owner,), c61=sum_of(ref(60)))
    own = projected(own, **{f"c{owner}": ref(owner, TEXT), "c62": inner.clamp_whole(ref(61), low=0, high=15)})
    return projected(grouped(own, (), c70=sum_of(ref(62))), c71=inner.or_zero(ref(70)))


def reach(*calls, **parts):
    return derive(statement(*calls, **parts), keys=(), values=(71,), catalog=catalog())


def refused(*calls, **parts):
    raised(InternalError, lambda: reach(*calls, **parts), match="cannot be derived")


ACCEPTED = [
    window(),
    window("ntile", arguments=(whole(3),)),
    window("lag", arguments=(ref(3), whole(1), whole(0))),
    window("lead", arguments=(ref(3),)),
    window("first_value", arguments=(ref(3),)),
    window("last_value", arguments=(ref(3),)),
    window("rank", order_by=(Sorted(by=ref(3)),)),
    window("dense_rank", order_by=()),
    window("count", order_by=(Sorted(by=ref(2, TEXT)),)),
    window("count", order_by=(), arguments=(ref(2, TEXT),)),
    window("sum", arguments=(ref(3),), order_by=(Sorted(by=ref(2, TEXT)),)),
    window("max", arguments=(ref(3),), order_by=()),
    window("min", arguments=(ref(3),), frame="ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
    window("count", order_by=(Sorted(by=ref(3)),), frame="RANGE BETWEEN 2 PRECEDING AND CURRENT ROW"),
    window("count", order_by=(), frame="RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
    window(partition_by=(ref(9, TEXT), ref(2, TEXT)), order_by=(Sorted(by=ref(3)),)),
]


@pytest.mark.parametrize("call", ACCEPTED, ids=lambda call: f"{call.function} {call.frame}")
def test_a_window_inside_a_person_moves_what_its_clamp_allows(call):
    assert reach(call) == moves((15, 225), keys=1)


@pytest.mark.parametrize("call", ACCEPTED, ids=lambda call: f"{call.function} {call.frame}")
@pytest.mark.parametrize("partition", [(), (ref(2, TEXT),), (ref(3),), (Apply("lower", (ref(9, TEXT),), TEXT),)])
def test_a_window_that_looks_at_others_is_refused(call, partition):
    refused(replace(call, partition_by=partition))


TELLS_APART = [
    *ACCEPTED[:6],
    window("count", frame="ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
    window("max", arguments=(ref(3),), frame="ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
]


@pytest.mark.parametrize("call", TELLS_APART, ids=lambda call: f"{call.function} {call.frame}")
@cases(__file__, "order=")
def test_tied_rows_that_are_told_apart_are_refused(call, order):
    refused(replace(call, order_by=order))


@cases(__file__, "call=")
def test_what_no_rule_names_is_refused(call):
    refused(call)


def test_a_window_over_rows_of_nobody_is_refused():
    wards = scan("wards", {2: "ward", 3: "city"})
    readings = scan("readings", {2: "ward", 3: "level"})
    for rows in (wards, readings):
        relation = Window(input=rows, added=(column(50),), calls=(window(partition_by=(ref(2, TEXT),)),))
        with pytest.raises(InternalError, match="no owner"):
            derive(relation, keys=(), values=(50,), catalog=catalog())


def test_every_part_of_a_person_must_be_in_the_partition():
    stays = scan("stays", {4: "nights"}, {7: "hospital", 8: "number"})
    for partition, known in (((7, 8), True), ((7,), False), ((8,), False)):
        call = window("count", order_by=(), partition_by=tuple(map(ref, partition)))
        rows = filtered(Window(input=stays, added=(column(50),), calls=(call,)), *map(inner.known, (ref(7), ref(8))))
        own = grouped(rows, (7, 8), c61=COUNT)
        own = projected(own, c7=ref(7), c8=ref(8), c62=inner.clamp_whole(ref(61), low=0, high=3))
        relation = projected(grouped(own, (), c70=sum_of(ref(62))), c71=inner.or_zero(ref(70)))
        if known:
            assert derive(relation, keys=(), values=(71,), catalog=catalog()) == moves((3, 9), keys=1)
        else:
            with pytest.raises(InternalError, match="inside one person"):
                derive(relation, keys=(), values=(71,), catalog=catalog())


def test_nothing_bounds_what_a_window_says():
    """Whole numbers without a clamp are not added up, whatever the function promises."""
    for call in (window(), window("count", order_by=())):
        refused(call, clamp=False)


def test_columns_and_functions_are_as_many():
    for columns, calls in (((column(50), column(51)), (window(),)), ((column(3),), (window(),)), ((), (window(),))):
        relation = Window(input=VISITS, added=columns, calls=calls)
        with pytest.raises(InternalError):
            derive(relation, keys=(), values=(50,), catalog=catalog())


def test_a_window_keeps_the_rows_of_a_person_as_few_as_they_were():
    """One row per person below, by a constraint of the engine: one row above."""
    patients = scan("patients", {3: "age"}, {9: "patient_id"})
    unique = catalog(unique={"patients": (("patient_id",),)})
    call = window("count", order_by=())
    rows = filtered(Window(input=patients, added=(column(50),), calls=(call,)), inner.known(ref(9, TEXT)))
    rows = projected(rows, c9=ref(9, TEXT), c60=inner.clamp_whole(ref(50), low=0, high=5))
    relation = projected(grouped(rows, (), c70=sum_of(ref(60))), c71=inner.or_zero(ref(70)))
    assert derive(relation, keys=(), values=(71,), catalog=unique) == moves((5, 25), keys=1)
    raised(InternalError, lambda: derive(relation, keys=(), values=(71,), catalog=catalog()))


def test_days_have_whole_distances_and_moments_have_none():
    for type_, known in ((SqlType.DATE, True), (SqlType.TIMESTAMP, False), (DOUBLE, False)):
        key = Apply(f"to_{type_.value}", (ref(2, TEXT),), type_)
        call = window("count", order_by=(Sorted(by=key),), frame="RANGE BETWEEN CURRENT ROW AND 7 FOLLOWING")
        if known:
            assert reach(call) == moves((15, 225), keys=1)
        else:
            refused(call)


def test_several_windows_stand_beside_each_other():
    assert reach(window(), window("count", order_by=())) == moves((15, 225), keys=1)
    assert refs(statement(window()).columns) == (ref(71),)


# ---- how many rows are left where rows are numbered ------------------------------------------------------------------


def kept(condition, *, call=None, change=None):
    """The number of rows of everybody for which a condition on the row number 50 holds, without any cap."""
    rows = Window(input=VISITS, added=(column(50),), calls=(call or window(),))
    rows = rows if change is None else change(rows)
    rows = filtered(rows, condition, inner.known(ref(9, TEXT)))
    return projected(grouped(rows, (), c70=COUNT), c71=inner.or_zero(ref(70)))


def left(condition, **parts):
    return derive(kept(condition, **parts), keys=(), values=(71,), catalog=catalog())


def compared(function, *arguments):
    return Apply(function, arguments, SqlType.BOOLEAN)


@cases(__file__, "condition=", "rows=")
def test_a_filter_on_row_numbers_keeps_so_many_rows_of_a_person(condition, rows):
    assert left(condition) == moves((rows, rows * rows), keys=1)


FIRST = compared("eq", ref(50), whole(1))


BY_WARD = window(partition_by=(ref(9, TEXT), ref(2, TEXT)))
WARDS = scan("wards", {20: "ward", 21: "city"})
SAME_WARD = compared("alike", ref(2, TEXT), ref(20, TEXT))
UNLIMITED = {
    "at least": {"condition": compared("ge", ref(50), whole(1))},
    "more than": {"condition": compared("gt", ref(50), whole(1))},
    "not the first": {"condition": compared("ne", ref(50), whole(1))},
    "not below": {"condition": compared("le", whole(3), ref(50))},
    "a value of the row": {"condition": compared("eq", ref(3), whole(1))},
    "the number is a value": {"condition": compared("eq", ref(50), ref(3))},
    "either": {"condition": compared("or", FIRST, compared("eq", ref(50), whole(2)))},
    "not": {"condition": compared("not", FIRST)},
    "several rows may be the first": {"call": window("rank")},
    "a count": {"call": window("count", order_by=())},
    "one row of each ward": {"call": BY_WARD},
    "one row of each lower ward": {"call": window(partition_by=(ref(9, TEXT), Apply("lower", (ref(2, TEXT),), TEXT)))},
    "which ward is no longer there": {
        "call": BY_WARD,
        "change": lambda rows: projected(rows, c9=ref(9, TEXT), c50=ref(50)),
    },
    "rows are repeated": {"change": lambda rows: Join(left=rows, right=WARDS, condition=SAME_WARD)},
    **{
        f"changed on the way: {name}": {"change": lambda rows, to=to: projected(rows, c9=ref(9, TEXT), c50=to)}
        for name, to in {
            "divided": Apply("intdiv", (ref(50), whole(9)), INTEGER),
            "1": whole(1),
            "charge": ref(3),
        }.items()
    },
}


@pytest.mark.parametrize("parts", UNLIMITED.values(), ids=UNLIMITED)
def test_other_conditions_and_numbers_limit_nothing(parts):
    raised(InternalError, lambda: left(**({"condition": FIRST} | parts)), match="any number of rows")


def test_numbers_go_through_what_repeats_no_row():
    copied = {"c9": ref(9, TEXT), "c2": ref(2, TEXT), "c3": ref(3), "c50": ref(50)}
    assert left(FIRST, change=lambda rows: projected(rows, **copied)) == moves((1, 1), keys=1)
    assert left(FIRST, change=lambda rows: filtered(rows, compared("gt", ref(3), whole(0)))) == moves((1, 1), keys=1)
    again = window("count", order_by=())
    assert left(FIRST, change=lambda rows: Window(input=rows, added=(column(51),), calls=(again,))) == moves(
        (1, 1), keys=1
    )


def test_grains_too_many_for_128_bits_are_refused():
    """2^40 rows of 2^90 grains: more than the engine can add up."""
    wide = Apply(
        "fine_grains",
        (
            ColumnRef(3, SqlType.DOUBLE),
            *(Constant(end, SqlType.DOUBLE) for end in (Fraction(0), Fraction(1))),
            *(Constant(end, SqlType.INTEGER) for end in (0, 2**90)),
            Constant(Fraction(2**90), SqlType.DOUBLE),
        ),
        SqlType.INTEGER,
    )
    facts = {3: Fact(type=SqlType.DOUBLE)}
    raised(InternalError, lambda: require_fits(ROWS * largest_of(wide, facts)), match="leave the engine's integers")
    high, per_unit = Constant(2**80, SqlType.INTEGER), Constant(Fraction(2**80), SqlType.DOUBLE)
    require_fits(ROWS * largest_of(replace(wide, arguments=(*wide.arguments[:4], high, per_unit)), facts))


# Ranges of integer expressions.


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
