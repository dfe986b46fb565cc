"""What `derive` says about correct statements and about planted bugs, by hand."""

from dataclasses import replace
from fractions import Fraction

import pytest
from derive_trees import (
    CHANGE_ONE,
    COUNT,
    DOUBLE,
    INTEGER,
    TEXT,
    Different,
    People,
    Readings,
    Scaled,
    Total_,
    Visits,
    catalog,
    column,
    each_refused,
    filtered,
    grouped,
    moves,
    planted,
    projected,
    ref,
    refused,
    scan,
    sum_of,
    whole,
)

from dpsql.errors import InternalError
from dpsql.plan.derive import Ball, derive
from dpsql.sql import inner
from dpsql.sql.intervals import Interval
from dpsql.sql.relations import Join, Listed, Rank, Total
from dpsql.sql.scalars import Apply, Constant
from tests.kits.cases import cases

# Visits: cap 3, charges in [-5, 10], so a person adds [0, 3] and [-15, 30] to each of at most 2 wards.


@cases(__file__, "statement=", "added=", "changed=")
def test_the_reach_under_both_relations(statement, added, changed):
    assert statement().reach() == added
    assert statement().reach(CHANGE_ONE) == changed


def test_weights_follow_the_order_of_the_released_columns():
    assert Scaled().reach(values=(81, 80)) == Ball(weights=(7, 1), radius_squared=10**9)


def test_equal_trees_are_the_same_rows_whether_or_not_they_are_one_object():
    class Shared(Scaled):
        def __init__(self):
            self.pairs = Visits.inside(self)

        def inside(self):
            return self.pairs

    assert Shared().reach() == Scaled().reach()


EARLIER = Listed(columns=(column(60, TEXT),), rows=(), from_step=0)
WARDS_ONCE = projected(scan("wards", {4: "ward", 5: "city"}), c60=ref(4, TEXT))
SAME = {
    "fewer public keys than groups need no window": (planted(Visits, wards=("A", "B"), chosen=Visits.inside), Visits),
    "keys of an earlier step": (planted(Visits, listed=EARLIER), Visits),
    "keys of an earlier step, scaled": (planted(Scaled, listed=EARLIER), Scaled),
    "keys of a public table": (planted(Visits, listed=grouped(WARDS_ONCE, (60,))), Visits),
}


@pytest.mark.parametrize(("statement", "base"), SAME.values(), ids=SAME)
def test_other_public_keys_have_the_same_reach(statement, base):
    assert statement.reach() == base().reach()


def test_more_public_keys_without_a_window_are_all_counted():
    assert planted(Visits, chosen=Visits.inside).reach() == moves((12, 36), (120, 3600), keys=4)


test_keys_that_repeat_or_are_of_unknown_number_are_refused = each_refused(
    {
        "of unknown number": planted(Visits, listed=EARLIER, chosen=Visits.inside),
        "repeated in a public table": planted(Visits, listed=WARDS_ONCE),
        "repeated in a list": planted(Visits, wards=("A", "A", "B")),
    }
)


def test_an_enforced_unique_person_has_one_row():
    class OneEach(Readings):
        def table(self):
            return Visits.table(self)

        def rows(self):
            return projected(self.owned(), c9=ref(9, TEXT), c20=ref(2, TEXT), c21=ref(3))

        def chosen(self):
            given = Readings.chosen(self)
            return replace(
                given, columns=(column(9, TEXT), *given.columns), expressions=(ref(9, TEXT), *given.expressions)
            )

    assert OneEach().reach(catalog(unique={"visits": (("PATIENT_ID",),)})) == Readings().reach()
    refused(OneEach())
    refused(OneEach(), catalog(unique={"visits": (("ID",), ("Patient_ID", "ward"))}))


def test_averages_and_variances_are_capped_triples():
    class Triple(Total_):
        """Charges in [-5, 10] around 2: distances in [-7, 8], squares in [0, 64]."""

        values = (80, 81)

        def per_person(self):
            distance = inner.minus(self.clamped(), 2)
            totals = {"c30": COUNT, "c31": sum_of(distance), "c32": sum_of(inner.squared(distance))}
            return grouped(self.rows(), (9,), **totals)

        def amounts(self):
            centred = inner.down_weighted(ref(31), ref(30), self.cap)
            squares = inner.down_weighted(ref(32), ref(30), self.cap)
            return {
                "c40": inner.clamp_whole(inner.or_zero(centred), low=-24, high=24),
                "c41": inner.clamp_whole(inner.or_zero(squares), low=0, high=192),
            }

    assert Triple().reach() == moves((24, 576), (192, 192**2), keys=1)
    assert Triple().reach(CHANGE_ONE) == moves((48, 48**2), (192, 192**2), keys=1)


def test_several_parts_stand_side_by_side():
    class Both(Visits):
        """COUNT(*), SUM(charge) and COUNT(DISTINCT charge) by ward: two parts beside the same keys."""

        values = (80, 81, 82)
        second = Different()

        def shown(self):
            first = projected(Visits.totals(self), c70=ref(20, TEXT), c80=ref(80), c81=ref(81))
            second = projected(self.second.totals(), c71=ref(20, TEXT), c82=ref(80))
            relation = self.listed()
            for part, twin in ((first, 70), (second, 71)):
                condition = inner.alike(ref(60, TEXT), ref(twin, TEXT))
                relation = Join(left=relation, right=part, condition=condition, outer=True)
            zeros = {f"c{number}": inner.or_zero(ref(number)) for number in self.values}
            return projected(relation, c60=ref(60, TEXT), **zeros)

    assert Both().reach() == moves((6, 18), (60, 1800), (6, 18), keys=2)
    wider = planted(Both, second=planted(Different, groups=3)).reach()
    assert wider == moves((6, 18), (60, 1800), (9, 27), keys=3)


def test_parts_without_keys_are_one_row_each():
    def both(condition, **how):
        count = grouped(Total_().capped(), (), c80=sum_of(ref(40)))
        charge = grouped(Total_().capped(), (), c81=sum_of(ref(41)))
        beside = Join(left=count, right=charge, condition=condition, **how)
        relation = projected(beside, c80=inner.or_zero(ref(80)), c81=inner.or_zero(ref(81)))
        return derive(relation, keys=(), values=(80, 81), catalog=catalog())

    assert both(inner.TRUE) == Total_().reach()
    for condition, how in (
        (inner.at_most(ref(80), 5), {}),
        (Constant(False, inner.TRUE.type), {}),
        (inner.TRUE, {"outer": True}),
    ):
        with pytest.raises(InternalError):
            both(condition, **how)


# Planted bugs among the rows of a person: each is refused, or the reach grows with the bug.

ALL_WARDS = moves((12, 36), (120, 3600), keys=4)
RANKED = Visits().ranked()
LARGER = {
    "three groups": (planted(Visits, groups=3), moves((9, 27), (90, 2700), keys=3)),
    "three groups of people": (planted(People, groups=3), moves((3, 3), keys=3)),
    "four rows": (planted(Visits, cap=4), moves((8, 32), (80, 3200), keys=2)),
    "four values": (planted(Different, cap=4), moves((8, 32), keys=2)),
    # every person keeps all four wards: the only limit left is the number of public keys
    "a window per person and group": (planted(Visits, partition=(9, 20)), ALL_WARDS),
    **{
        f"a limit on {name}": (planted(Visits, chosen=filtered(RANKED, condition)), ALL_WARDS)
        for name, condition in {
            "something else": inner.at_most(ref(40), 2),
            "the rank or anything": Apply("or", (inner.at_most(ref(50), 2), inner.TRUE), inner.TRUE.type),
            "what is not the rank": Apply("not", (inner.at_most(ref(50), 2),), inner.TRUE.type),
            "the rank by a value": Apply("at_most", (ref(50), ref(40)), inner.TRUE.type),
        }.items()
    },
}


@pytest.mark.parametrize(("statement", "reach"), LARGER.values(), ids=LARGER)
def test_a_limit_that_is_off_or_is_none_shows(statement, reach):
    assert statement.reach() == reach


def test_a_count_of_values_that_are_all_missing_is_zero():
    """One row each, with a value or without: 3 less than their number lies between −3 and −2."""
    per_person = Total(function="count_of", argument=ref(21))
    less = planted(
        Total_,
        values=(80,),
        per_person=lambda self: grouped(self.rows(), (9,), c30=per_person),
        amounts={"c40": inner.minus(ref(30), 3)},
        totals=lambda self: grouped(self.capped(), (), c80=sum_of(ref(40))),
        shown=lambda self: projected(self.totals(), c80=inner.or_zero(ref(80))),
    )
    assert less.reach(catalog(unique={"visits": (("patient_id",),)})) == moves((3, 9), keys=1)


def believed():
    """Declared and proved ranges of the rows, in place of a clamp."""
    narrow = Interval(Fraction(0), Fraction(1))
    rows = Visits().rows()
    columns = tuple(replace(each, proved=narrow, declared=narrow) for each in rows.columns)
    return planted(Visits, rows=replace(rows, columns=columns), clamped=ref(21))


test_a_missing_limit_is_refused = each_refused(
    {
        "declared and proved ranges": believed(),
        # rows of a person are added up without a group by the person
        "no cap": planted(
            Visits,
            capped=projected(
                Visits().rows(), c9=ref(9, TEXT), c20=ref(20, TEXT), c40=whole(1), c41=inner.or_zero(Visits().clamped())
            ),
        ),
        "people without a group": planted(People, inside=People.rows),
        "no cap of values": planted(Different, few=Different.met),
        "values of all groups of a person": planted(Different, met=Different.values_of),
        "one window over everybody": planted(Visits, partition=()),
        "one window per group": planted(Visits, partition=(20,)),
        "one window per public key": planted(Visits, partition=(60,)),
        "people in a window per person and group": planted(People, partition=(9, 20)),
    }
)

HASH = inner.hash_of(inner.SALT, ref(9, TEXT), ref(20, TEXT))
OTHER_ORDERS = {
    "none": (),
    "not by hash": (ref(20, TEXT),),
    "without the salt": (inner.hash_of(ref(9, TEXT), ref(20, TEXT)), ref(20, TEXT)),
    "two keys with one hash": (HASH,),
    "ties by a value": (HASH, ref(41)),
    "hash of a value": (inner.hash_of(inner.SALT, ref(41)), ref(20, TEXT)),
    "a value first": (ref(41), inner.hash_of(inner.SALT, ref(9, TEXT)), ref(20, TEXT)),
    "at random": (inner.hash_of(inner.SALT, Apply("random", (), INTEGER)), ref(20, TEXT)),
    "a column that is not there": (inner.hash_of(inner.SALT, ref(77)), ref(20, TEXT)),
}
AMONG_ALL = Rank(input=Visits().inside(), partition=(20,), order=(ref(41),), column=column(49))
test_an_order_that_is_not_settled_by_the_persons_keys_is_refused = each_refused(
    {
        **{name: planted(Visits, order=order) for name, order in OTHER_ORDERS.items()},
        # the value of other rows: which rank a row has among all rows
        "a rank over everybody": planted(
            Visits,
            ranked=Rank(
                input=AMONG_ALL,
                partition=(9,),
                order=(inner.hash_of(inner.SALT, ref(49)), ref(20, TEXT)),
                column=column(50),
            ),
        ),
    }
)

OTHER_SCANS = (
    {"sources": ("ward", "charge", "nurse_id")},
    {"owner": (2,)},
    {"owner": ()},
    {"raw": ()},
    {"owner": (9, 9)},
    {"owner": (77,)},
    {"private": False},
    {"private": False, "owner": ()},
    {"table": "wards"},
    {"source": "main.wards"},
    {"sources": ("ward", "charge", "nobody")},
    {"sources": ("ward", "nobody", "Patient_ID")},
    {"table": "unheard_of"},
)
BY_WARD_AS_OWNER = projected(Visits().owned(), c9=ref(9, TEXT), c8=ref(2, TEXT), c20=ref(2, TEXT), c21=ref(3))
BY_SOMEBODY_ELSE = grouped(BY_WARD_AS_OWNER, (8, 20), c30=COUNT, c31=sum_of(Visits().clamped()))
test_an_owner_that_is_another_is_refused = each_refused(
    {
        **{str(change): planted(Visits, table=replace(Visits().table(), **change)) for change in OTHER_SCANS},
        **{
            f"replaced on the way by {name}": planted(
                Visits, rows=projected(Visits().owned(), c9=owner, c20=ref(2, TEXT), c21=ref(3))
            )
            for name, owner in {
                "itself in lower case": Apply("lower", (ref(9, TEXT),), TEXT),
                "the ward": ref(2, TEXT),
            }.items()
        },
        "grouped by somebody else": planted(
            Visits, capped=projected(BY_SOMEBODY_ELSE, c9=ref(8, TEXT), c20=ref(20, TEXT), **Visits().amounts())
        ),
    }
)


@pytest.mark.parametrize("base", [Visits, Total_, Scaled, Different, People])
def test_rows_without_a_person_must_be_filtered(base):
    refused(planted(base, owned=base.table))
    either = Apply("or", (inner.known(ref(9, TEXT)), inner.known(ref(2, TEXT))), inner.TRUE.type)
    for condition in (inner.known(ref(2, TEXT)), either):
        refused(planted(base, owned=filtered(base().table(), condition)))


# Planted bugs in scale mode: each is refused, or the ball grows with the bug.

OWNED, INSIDE, NORMS, TERM, MET = (getattr(Scaled(), name)() for name in ("owned", "inside", "norms", "term", "met"))
CITIES = scan("wards", {4: "ward", 5: "city"})
COUNTED = inner.squared(inner.times(ref(40), 1024))


def test_a_larger_radius_and_other_weights_show():
    assert planted(Scaled, radius_squared=10**9 + 1).reach().radius_squared == 10**9 + 1
    assert planted(Scaled, weights=(3, 5)).reach().weights == (3, 5)


def together(*others):
    """The rows beside these, each of the same person."""
    rows = INSIDE
    for right in others:
        rows = Join(left=rows, right=right, condition=inner.same(ref(9, TEXT), ref(right.by[0], TEXT)))
    return rows


OTHER_TERMS = {
    "the charge is missing": inner.squared(ref(40)),
    "another amount": inner.plus(COUNTED, inner.squared(ref(40))),
    "counts in other units than they are released": inner.plus(inner.squared(ref(40)), inner.squared(ref(41))),
    "no squares": inner.plus(inner.times(ref(40), 1024), ref(41)),
    "a weight of 0": inner.plus(COUNTED, inner.squared(inner.times(ref(41), 0))),
    "a weight below 0": inner.plus(COUNTED, inner.squared(inner.times(ref(41), -1))),
    "nothing of the row": whole(1),
}
BESIDE = {
    "a norm of other rows": grouped(
        projected(OWNED, c13=ref(9, TEXT), c49=inner.squared(whole(1))), (13,), c48=sum_of(ref(49))
    ),
    "no norm": grouped(projected(OWNED, c13=ref(9, TEXT)), (13,)),
}
PER_GROUP = grouped(projected(INSIDE, c11=ref(9, TEXT), c23=ref(20, TEXT), c43=TERM), (11, 23), c44=sum_of(ref(43)))
OTHER_OWNERS = {
    "anybody": inner.TRUE,
    "the group": inner.same(ref(20, TEXT), ref(11, TEXT)),
    "a converted owner": Apply("eq", (ref(9, TEXT), ref(11, TEXT)), inner.TRUE.type),
    "the owner or anybody": Apply("or", (MET, inner.TRUE), inner.TRUE.type),
}
OTHER_FACTORS = {
    "one": whole(1),
    "of a count": inner.factor(ref(40), radius_squared=10**9),
    "of a radius of the row": Apply("factor", (ref(44), ref(40)), DOUBLE),
    "of no radius": inner.factor(ref(44), radius_squared=0),
    "of a radius too large": inner.factor(ref(44), radius_squared=2**126),
    "twice": Apply("mul", (inner.factor(ref(44), radius_squared=10**9), Constant(2, DOUBLE)), DOUBLE),
}
WITH_NULL = Visits().amounts() | {"c42": inner.clamp_whole(ref(31), low=0, high=3)}
TERM_OF_THREE = inner.plus(*TERM.arguments, inner.squared(ref(42)))
COUNT_, CHARGE = Scaled().shrunk()
test_a_norm_that_is_not_that_of_the_rows_is_refused = each_refused(
    {
        **{f"term: {name}": planted(Scaled, term=term) for name, term in OTHER_TERMS.items()},
        # the rows that are scaled are then no longer those that the norm was taken over
        **{
            f"{name} stands beside, {order}": planted(Scaled, together=together(*(NORMS, other)[::order]))
            for name, other in BESIDE.items()
            for order in (1, -1)
        },
        "per group": planted(Scaled, norms=projected(PER_GROUP, c11=ref(11, TEXT), c44=ref(44))),
        "per group, beside its group": planted(
            Scaled,
            together=Join(
                left=INSIDE, right=PER_GROUP, condition=inner.all_of(MET, inner.alike(ref(20, TEXT), ref(23, TEXT)))
            ),
        ),
        # a row whose count is NULL would leave its charge out of the norm
        "skips NULL": planted(Scaled, amounts=Visits().amounts() | {"c40": inner.clamp_whole(ref(31), low=0, high=3)}),
        **{f"of {name}": planted(Scaled, met=condition) for name, condition in OTHER_OWNERS.items()},
        **{f"factor {name}": planted(Scaled, factor=factor) for name, factor in OTHER_FACTORS.items()},
        "changed after scaling": planted(Scaled, shrunk=[inner.times(COUNT_, 2), CHARGE]),
        # each row meets every city of its ward: a public table may have many
        "rows that are repeated": planted(
            Scaled,
            chosen=Join(left=Scaled().chosen(), right=CITIES, condition=inner.alike(ref(20, TEXT), ref(4, TEXT))),
        ),
    }
)


def test_a_norm_with_a_null_that_is_not_released_is_refused():
    """The term of the row is NULL then, and so are count and charge in it."""
    refused(planted(Scaled, amounts=WITH_NULL, term=TERM_OF_THREE))
    known = planted(Scaled, amounts=WITH_NULL | {"c42": whole(1)}, term=TERM_OF_THREE)
    assert known.reach() == Scaled().reach()


def test_a_column_beside_the_rows_is_not_a_column_of_the_rows():
    """The norm takes the number of the charge; what is scaled is the norm."""

    class Taken(Scaled):
        cap, low, high = 1, 0, 1

        def together(self):
            left = projected(self.inside(), c9=ref(9, TEXT), c20=ref(20, TEXT), c40=ref(40))
            norm = inner.clamp_whole(inner.or_zero(ref(44)), low=0, high=1)
            right = projected(self.norms(), c11=ref(11, TEXT), c44=ref(44), c41=norm)
            return Join(left=left, right=right, condition=self.met())

    refused(Taken())


def test_what_leaves_the_ball_has_a_reach_column_by_column():
    """Each count is at most 3 · 1024 in each of four wards; a ball would promise less."""
    size = 3 * 1024
    amounts = {"c9": ref(9, TEXT), "c20": ref(20, TEXT), "c40": ref(40), "c41": ref(41), "c45": Scaled().factor()}
    of_two_balls = planted(
        Scaled,
        factored=projected(Scaled().together(), **amounts, c48=inner.factor(ref(44), radius_squared=5)),
        shrunk=[inner.shrink(Scaled().amount(0), ref(45, DOUBLE)), inner.shrink(Scaled().amount(1), ref(48, DOUBLE))],
    )
    assert of_two_balls.reach() == moves((4 * size, 4 * size**2), (120, 3600), keys=4)
    twice = planted(Scaled, totals=grouped(Scaled().chosen(), (20,), c80=sum_of(ref(46)), c81=sum_of(ref(46))))
    assert twice.reach() == moves((4 * size, 4 * size**2), (4 * size, 4 * size**2), keys=4)
    totals = grouped(Scaled().chosen(), (), c80=sum_of(ref(46)), c81=sum_of(ref(47)))
    shown = projected(totals, c80=inner.or_zero(ref(80)), c81=inner.or_zero(ref(81)))
    added = planted(Scaled, keys=(), shown=shown)
    assert added.reach() == moves((4 * size, (4 * size) ** 2), (120, 120**2), keys=1)


def test_numbers_a_double_cannot_hold_are_refused():
    """The norm of four known keys has room for more than a double: 4 · 2^106 < 2^126."""

    def norms(self):
        each = projected(self.inside(), c11=ref(9, TEXT), c23=ref(20, TEXT), c63=ref(60, TEXT), c43=self.term())
        return grouped(each, (11,), c44=sum_of(ref(43)))

    wide = {"norms": norms, "weights": (1, 1), "cap": 1, "low": 0}
    assert isinstance(planted(Scaled, **wide, high=2**53 - 1).reach(), Ball)
    refused(planted(Scaled, **wide, high=2**53))
