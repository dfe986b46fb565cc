"""Planted bugs in scale mode: each is refused, or the ball grows with the bug."""

import pytest
from derive_trees import (
    DOUBLE,
    TEXT,
    Scaled,
    Visits,
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


def test_a_larger_radius_and_other_weights_show():
    assert planted(Scaled, radius_squared=10**9 + 1).reach().radius_squared == 10**9 + 1
    assert planted(Scaled, weights=(3, 5)).reach().weights == (3, 5)


@pytest.mark.parametrize(
    "term",
    [
        inner.squared(ref(40)),  # the charge is missing
        inner.plus(inner.squared(inner.times(ref(40), 1024)), inner.squared(ref(40))),  # another amount
        inner.plus(inner.squared(ref(40)), inner.squared(ref(41))),  # counts in other units than they are released
        inner.plus(inner.times(ref(40), 1024), ref(41)),  # no squares
        inner.plus(inner.squared(inner.times(ref(40), 1024)), inner.squared(inner.times(ref(41), 0))),
        inner.plus(inner.squared(inner.times(ref(40), 1024)), inner.squared(inner.times(ref(41), -1))),
        whole(1),
    ],
)
def test_a_norm_over_other_amounts_is_refused(term):
    refused(planted(Scaled, term=lambda self: term))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    "other",
    [
        grouped(projected(Scaled().owned(), c13=ref(9, TEXT), c49=inner.squared(whole(1))), (13,), c48=sum_of(ref(49))),
        grouped(projected(Scaled().owned(), c13=ref(9, TEXT)), (13,)),
    ],
    ids=["a norm of other rows", "no norm"],
)
def test_a_norm_of_rows_that_something_else_stands_beside_is_refused(other, order):
    """The rows that are scaled are then no longer those that the norm was taken over."""

    def together(self):
        rows = self.inside()
        for right in (self.norms(), other)[::order]:
            rows = Join(left=rows, right=right, condition=inner.same(ref(9, TEXT), ref(right.by[0], TEXT)))
        return rows

    refused(planted(Scaled, together=together))


def test_a_norm_per_group_is_refused():
    def norms(self):
        each = projected(self.inside(), c11=ref(9, TEXT), c23=ref(20, TEXT), c43=self.term())
        return projected(grouped(each, (11, 23), c44=sum_of(ref(43))), c11=ref(11, TEXT), c44=ref(44))

    refused(planted(Scaled, norms=norms))


def test_a_norm_per_group_beside_its_group_is_refused():
    def together(self):
        each = projected(self.inside(), c11=ref(9, TEXT), c23=ref(20, TEXT), c43=self.term())
        both = inner.all_of(self.met(), inner.alike(ref(20, TEXT), ref(23, TEXT)))
        return Join(left=self.inside(), right=grouped(each, (11, 23), c44=sum_of(ref(43))), condition=both)

    refused(planted(Scaled, together=together))


def test_a_norm_with_a_null_that_is_not_released_is_refused():
    """The term of the row is NULL then, and so are count and charge in it."""

    def amounts(self):
        return Visits.amounts(self) | {"c42": inner.clamp_whole(ref(31), low=0, high=3)}

    def term(self):
        return inner.plus(*Scaled.term(self).arguments, inner.squared(ref(42)))

    refused(planted(Scaled, amounts=amounts, term=term))
    known = planted(Scaled, term=term, amounts=lambda self: amounts(self) | {"c42": whole(1)})
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


def test_coordinates_of_two_balls_are_in_neither():
    def factored(self):
        return projected(
            self.together(),
            c9=ref(9, TEXT),
            c20=ref(20, TEXT),
            c40=ref(40),
            c41=ref(41),
            c45=self.factor(),
            c48=inner.factor(ref(44), radius_squared=5),
        )

    def shrunk(self):
        return [inner.shrink(self.amount(0), ref(45, DOUBLE)), inner.shrink(self.amount(1), ref(48, DOUBLE))]

    apart = planted(Scaled, factored=factored, shrunk=shrunk).reach()
    assert apart == moves((4 * 3072, 4 * 3072**2), (120, 3600), keys=4)


def test_groups_added_together_leave_the_ball():
    """Four contributions of one person in one number: their sum may be twice as long as their norm."""

    class Ungrouped(Scaled):
        keys = ()

        def shown(self):
            totals = grouped(self.chosen(), (), c80=sum_of(ref(46)), c81=sum_of(ref(47)))
            return projected(totals, c80=inner.or_zero(ref(80)), c81=inner.or_zero(ref(81)))

    size = 4 * 3 * 1024
    assert Ungrouped().reach() == moves((size, size**2), (120, 120**2), keys=1)


def test_a_norm_that_skips_null_terms_is_refused():
    """A row whose count is NULL would leave its charge out of the norm."""

    def amounts(self):
        return Visits.amounts(self) | {"c40": inner.clamp_whole(ref(31), low=0, high=3)}

    refused(planted(Scaled, amounts=amounts))


def test_a_norm_of_somebody_else_is_refused():
    for met in (
        inner.TRUE,
        inner.same(ref(20, TEXT), ref(11, TEXT)),
        Apply("eq", (ref(9, TEXT), ref(11, TEXT)), inner.TRUE.type),
        Apply("or", (inner.same(ref(9, TEXT), ref(11, TEXT)), inner.TRUE), inner.TRUE.type),
    ):
        refused(planted(Scaled, met=lambda self, met=met: met))


def test_factors_of_anything_else_are_refused():
    for factor in (
        whole(1),
        inner.factor(ref(40), radius_squared=10**9),
        Apply("factor", (ref(44), ref(40)), DOUBLE),
        inner.factor(ref(44), radius_squared=0),
        inner.factor(ref(44), radius_squared=2**126),
        Apply("mul", (inner.factor(ref(44), radius_squared=10**9), Constant(2, DOUBLE)), DOUBLE),
    ):
        refused(planted(Scaled, factor=lambda self, factor=factor: factor))


def test_one_coordinate_released_twice_is_not_in_the_ball():
    """The norm counts it once. Column by column it still has a reach: 4 wards of 3 · 1024."""
    twice = planted(Scaled, totals=lambda self: grouped(self.chosen(), (20,), c80=sum_of(ref(46)), c81=sum_of(ref(46))))
    size = 3 * 1024
    assert twice.reach() == moves((4 * size, 4 * size**2), (4 * size, 4 * size**2), keys=4)


def test_a_number_changed_after_scaling_is_refused():
    def shrunk(self):
        count, charge = Scaled.shrunk(self)
        return [inner.times(count, 2), charge]

    refused(planted(Scaled, shrunk=shrunk))


def test_scaled_rows_that_are_repeated_leave_the_ball():
    """Each row meets every city of its ward: a public table may have many."""

    def chosen(self):
        cities = scan("wards", {4: "ward", 5: "city"})
        return Join(left=Scaled.chosen(self), right=cities, condition=inner.alike(ref(20, TEXT), ref(4, TEXT)))

    refused(planted(Scaled, chosen=chosen))


def test_numbers_a_double_cannot_hold_are_refused():
    """The norm of four known keys has room for more than a double: 4 · 2^106 < 2^126."""

    def norms(self):
        each = projected(self.inside(), c11=ref(9, TEXT), c23=ref(20, TEXT), c63=ref(60, TEXT), c43=self.term())
        return grouped(each, (11,), c44=sum_of(ref(43)))

    wide = {"norms": norms, "weights": (1, 1), "cap": 1, "low": 0}
    assert isinstance(planted(Scaled, **wide, high=2**53 - 1).reach(), Ball)
    refused(planted(Scaled, **wide, high=2**53))
