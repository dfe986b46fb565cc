"""Planted bugs in scale mode: each is refused, or the ball grows with the bug."""

from derive_trees import (
    DOUBLE,
    TEXT,
    Scaled,
    Visits,
    each_refused,
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

from dpsql.plan.derive import Ball
from dpsql.sql import inner
from dpsql.sql.relations import Join
from dpsql.sql.scalars import Apply, Constant

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
                left=INSIDE,
                right=PER_GROUP,
                condition=inner.all_of(MET, inner.alike(ref(20, TEXT), ref(23, TEXT))),
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
