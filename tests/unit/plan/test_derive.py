"""What `derive` says about correct statements, by hand, and that no planted bug passes it unseen."""

from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

import pytest
from derive_trees import (
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
    filtered,
    grouped,
    planted,
    projected,
    ref,
    scan,
    sum_of,
    whole,
)

from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.plan.derive import Ball, Move, Moves, derive
from dpsql.privacy.unit import Neighbours
from dpsql.sql import inner
from dpsql.sql.intervals import Interval
from dpsql.sql.relations import Join, Listed, Rank, Total
from dpsql.sql.scalars import Apply, Constant, Windowed

CHANGE_ONE = catalog(Neighbours.CHANGE_ONE)


def moves(*pairs, keys):
    return Moves(columns=tuple(Move(l1=l1, l2_squared=l2) for l1, l2 in pairs), keys_per_unit=keys)


def refused(statement, declared=None, **arguments):
    with pytest.raises(InternalError, match="cannot be derived") as caught:
        statement.reach(declared, **arguments)
    assert caught.value.code == "DP900"


# Visits: cap 3, charges in [-5, 10], so a person adds [0, 3] and [-15, 30] to each of at most 2 wards.


def test_choose_adds_the_largest_contribution_in_every_group():
    assert Visits().reach() == moves((6, 18), (60, 1800), keys=2)


def test_choose_under_change_one_counts_groups_left_and_entered():
    # 2 groups left and 2 entered, 30 each: 120. Squared: the same 2 groups, 45 each, beat 4 groups of 30.
    assert Visits().reach(CHANGE_ONE) == moves((12, 36), (120, 4050), keys=2)


def test_one_number_moves_by_its_range():
    assert Total_().reach() == moves((3, 9), (30, 900), keys=1)
    assert Total_().reach(CHANGE_ONE) == moves((3, 9), (45, 2025), keys=1)


def test_distinct_values_move_by_the_cap_in_every_group():
    assert Different().reach() == moves((6, 18), keys=2)
    assert Different().reach(CHANGE_ONE) == moves((12, 36), keys=2)


def test_people_are_counted_once_under_each_key():
    assert People().reach() == moves((2, 2), keys=2)
    assert People().reach(CHANGE_ONE) == moves((4, 4), keys=2)


def test_a_row_that_is_a_unit_adds_its_value_once():
    assert Readings().reach() == moves((1, 1), (10, 100), keys=1)
    assert Readings().reach(CHANGE_ONE) == moves((2, 2), (20, 225), keys=1)


def test_scale_is_one_ball_with_the_weights_of_the_norm():
    assert Scaled().reach() == Ball(weights=(1, 7), radius_squared=10**9)
    assert Scaled().reach(CHANGE_ONE) == Ball(weights=(1, 7), radius_squared=4 * 10**9)


def test_weights_follow_the_order_of_the_released_columns():
    assert Scaled().reach(values=(81, 80)) == Ball(weights=(7, 1), radius_squared=10**9)


def test_equal_trees_are_the_same_rows_whether_or_not_they_are_one_object():
    class Shared(Scaled):
        def __init__(self):
            self.pairs = Visits.inside(self)

        def inside(self):
            return self.pairs

    assert Shared().reach() == Scaled().reach()


def test_no_window_is_needed_where_there_are_fewer_public_keys_than_groups():
    class AllFit(Visits):
        wards = ("A", "B")

        def chosen(self):
            return self.inside()

    assert AllFit().reach() == Visits().reach()


def test_more_public_keys_without_a_window_are_all_counted():
    assert planted(Visits, chosen=Visits.inside).reach() == moves((12, 36), (120, 3600), keys=4)


def test_keys_of_an_earlier_step_are_distinct_and_of_unknown_number():
    def listed(_):
        return Listed(columns=(column(60, TEXT),), rows=(), from_step=0)

    assert planted(Visits, listed=listed).reach() == Visits().reach()
    assert planted(Scaled, listed=listed).reach() == Scaled().reach()
    refused(planted(Visits, listed=listed, chosen=Visits.inside))


class WardTable(Visits):
    """Keys are the wards of a public table."""

    def listed(self):
        wards = projected(scan("wards", {4: "ward", 5: "city"}), c60=ref(4, TEXT))
        return grouped(wards, (60,))


def test_keys_of_a_public_table_are_public():
    assert WardTable().reach() == Visits().reach()


def test_repeated_public_keys_are_not_keys():
    refused(planted(WardTable, listed=lambda self: WardTable.listed(self).input))
    refused(planted(Visits, wards=("A", "A", "B")))


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


# Planted bugs: each is refused, or the reach grows with the bug.


def test_a_group_cap_that_is_off_by_one_shows():
    assert planted(Visits, groups=3).reach() == moves((9, 27), (90, 2700), keys=3)
    assert planted(People, groups=3).reach() == moves((3, 3), keys=3)


def test_a_row_cap_that_is_too_large_shows():
    assert planted(Visits, cap=4).reach() == moves((8, 32), (80, 3200), keys=2)
    assert planted(Different, cap=4).reach() == moves((8, 32), keys=2)


def without_clamp(place):
    def amounts(self):
        return Visits.amounts(self) | {f"c{40 + place}": inner.or_zero(ref(30 + place))}

    return amounts


@pytest.mark.parametrize("base", [Visits, Total_, Scaled])
@pytest.mark.parametrize("place", [0, 1])
def test_a_skipped_clamp_is_refused(base, place):
    refused(planted(base, amounts=without_clamp(place)))


@pytest.mark.parametrize("base", [Visits, Total_, Scaled, Different])
def test_a_skipped_clamp_of_rows_is_refused(base):
    refused(planted(base, clamped=lambda self: ref(21)))


def test_a_unit_of_one_row_needs_a_clamp_too():
    def chosen(self):
        return projected(self.rows(), c20=ref(20, TEXT), c40=whole(1), c41=inner.or_zero(ref(21)))

    refused(planted(Readings, chosen=chosen))


def test_declared_and_proved_ranges_are_not_believed():
    def rows(self):
        relation = Visits.rows(self)
        narrow = Interval(Fraction(0), Fraction(1))
        columns = tuple(replace(each, proved=narrow, declared=narrow) for each in relation.columns)
        return replace(relation, columns=columns)

    refused(planted(Visits, rows=rows, clamped=lambda self: ref(21)))


def test_a_missing_row_cap_is_refused():
    """Rows of a person are added up without a group by the person."""

    def capped(self):
        return projected(
            self.rows(), c9=ref(9, TEXT), c20=ref(20, TEXT), c40=whole(1), c41=inner.or_zero(self.clamped())
        )

    refused(planted(Visits, capped=capped))
    refused(planted(People, inside=People.rows))


def test_a_missing_value_cap_is_refused():
    refused(planted(Different, few=Different.met))


def test_distinct_values_of_all_groups_of_a_person_are_refused_or_larger():
    def met(self):
        return self.values_of()

    refused(planted(Different, met=met))


@pytest.mark.parametrize(
    "partition",
    [
        (),  # one window over everybody
        (20,),  # one window per group
        (60,),
    ],
)
def test_a_window_without_the_owner_is_refused(partition):
    refused(planted(Visits, partition=partition))


def test_a_window_per_person_and_group_limits_no_groups():
    # Every person keeps all four wards: the only limit left is the number of public keys.
    assert planted(Visits, partition=(9, 20)).reach() == moves((12, 36), (120, 3600), keys=4)
    refused(planted(People, partition=(9, 20)))


@pytest.mark.parametrize(
    "order",
    [
        (),
        (ref(20, TEXT),),  # not by hash
        (inner.hash_of(ref(9, TEXT), ref(20, TEXT)), ref(20, TEXT)),  # without the salt
        (inner.hash_of(inner.SALT, ref(9, TEXT), ref(20, TEXT)),),  # two keys with one hash
        (inner.hash_of(inner.SALT, ref(9, TEXT), ref(20, TEXT)), ref(41)),  # ties by a value
        (inner.hash_of(inner.SALT, ref(41)), ref(20, TEXT)),
        (ref(41), inner.hash_of(inner.SALT, ref(9, TEXT)), ref(20, TEXT)),
        (inner.hash_of(inner.SALT, Apply("random", (), INTEGER)), ref(20, TEXT)),
        (inner.hash_of(inner.SALT, ref(77)), ref(20, TEXT)),
    ],
)
def test_an_order_that_is_not_settled_by_the_persons_keys_is_refused(order):
    refused(planted(Visits, order=order))


def test_an_order_by_a_rank_over_everybody_is_refused():
    """The value of other rows: which rank a row has among all rows."""

    def ranked(self):
        among_all = Rank(input=self.inside(), partition=(20,), order=(ref(41),), column=column(49))
        order = (inner.hash_of(inner.SALT, ref(49)), ref(20, TEXT))
        return Rank(input=among_all, partition=(9,), order=order, column=column(50))

    refused(planted(Visits, ranked=ranked))


def test_a_limit_on_something_else_than_the_rank_is_no_limit():
    wider = moves((12, 36), (120, 3600), keys=4)
    for condition in (
        inner.at_most(ref(40), 2),
        Apply("or", (inner.at_most(ref(50), 2), inner.TRUE), inner.TRUE.type),
        Apply("not", (inner.at_most(ref(50), 2),), inner.TRUE.type),
        Apply("at_most", (ref(50), ref(40)), inner.TRUE.type),
    ):
        assert planted(Visits, chosen=lambda self, by=condition: filtered(self.ranked(), by)).reach() == wider


def test_an_owner_taken_from_another_column_is_refused():
    for change in (
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
    ):
        refused(planted(Visits, table=lambda self, change=change: replace(Visits.table(self), **change)))


def test_an_owner_replaced_on_the_way_is_refused():
    def rows(self):
        return projected(self.owned(), c9=Apply("lower", (ref(9, TEXT),), TEXT), c20=ref(2, TEXT), c21=ref(3))

    refused(planted(Visits, rows=rows))
    refused(planted(Visits, rows=lambda self: projected(self.owned(), c9=ref(2, TEXT), c20=ref(2, TEXT), c21=ref(3))))


def test_grouping_by_somebody_else_is_refused():
    def per_person(self):
        rows = projected(self.owned(), c9=ref(9, TEXT), c8=ref(2, TEXT), c20=ref(2, TEXT), c21=ref(3))
        return grouped(rows, (8, 20), c30=COUNT, c31=sum_of(self.clamped()))

    def capped(self):
        return projected(self.per_person(), c9=ref(8, TEXT), c20=ref(20, TEXT), **self.amounts())

    refused(planted(Visits, per_person=per_person, capped=capped))


@pytest.mark.parametrize("base", [Visits, Total_, Scaled, Different, People])
def test_rows_without_a_person_must_be_filtered(base):
    refused(planted(base, owned=base.table))
    unrelated = planted(base, owned=lambda self: filtered(self.table(), inner.known(ref(2, TEXT))))
    refused(unrelated)
    either = Apply("or", (inner.known(ref(9, TEXT)), inner.known(ref(2, TEXT))), inner.TRUE.type)
    refused(planted(base, owned=lambda self: filtered(self.table(), either)))


def test_people_of_null_are_not_counted_at_the_end_either():
    assert People().reach().keys_per_unit == 2
    refused(planted(People, owned=People.table))


# Scale mode.


def test_a_larger_radius_shows():
    assert planted(Scaled, radius_squared=10**9 + 1).reach().radius_squared == 10**9 + 1


def test_other_weights_show():
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


def test_a_norm_over_fewer_rows_is_refused():
    refused(planted(Scaled, normed=lambda self: filtered(self.inside(), inner.at_most(ref(40), 2))))
    refused(planted(Scaled, normed=lambda self: planted(Visits, wards=("A",)).inside()))


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


def test_a_norm_over_rows_that_may_be_missing_is_refused():
    refused(planted(Scaled, normed=lambda self: Scaled().together()))


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


# What is released.


def test_keys_of_private_rows_are_refused_in_a_measurement():
    totals = projected(Visits().totals(), c20=ref(20, TEXT), c80=inner.or_zero(ref(80)), c81=inner.or_zero(ref(81)))
    with pytest.raises(InternalError):
        derive(totals, keys=(20,), values=(80, 81), catalog=catalog())


def test_public_keys_are_not_selected():
    refused(planted(Visits, selection=True))
    refused(planted(People, selection=False))
    refused(planted(Total_, selection=True))


def beside(left, right, condition, **how):
    joined = Join(left=left, right=right, condition=condition, **({"outer": True} | how))
    return projected(joined, c60=ref(60, TEXT), c80=inner.or_zero(ref(80)), c81=inner.or_zero(ref(81)))


@pytest.mark.parametrize(
    ("condition", "how"),
    [
        (inner.alike(ref(60, TEXT), ref(70, TEXT)), {"outer": False}),  # a key without people would be missing
        (inner.TRUE, {}),  # every total at every key
        (inner.same(ref(60, TEXT), ref(70, TEXT)), {}),
        (inner.all_of(inner.alike(ref(60, TEXT), ref(70, TEXT)), inner.at_most(ref(80), 9)), {}),
        (Apply("or", (inner.alike(ref(60, TEXT), ref(70, TEXT)), inner.TRUE), inner.TRUE.type), {}),
    ],
)
def test_totals_stand_beside_their_own_key_and_nothing_decides_more(condition, how):
    def shown(self):
        renamed = projected(self.totals(), c70=ref(20, TEXT), c80=ref(80), c81=ref(81))
        return beside(self.listed(), renamed, condition, **how)

    refused(planted(Visits, shown=shown))


def test_totals_repeated_for_another_public_key_are_refused():
    """Wards times years, totals by ward alone: every total would be released twice."""

    class Twice(Visits):
        keys = (60, 61)

        def shown(self):
            renamed = projected(self.totals(), c70=ref(20, TEXT), c80=ref(80), c81=ref(81))
            years = Listed(columns=(column(61),), rows=((2024,), (2025,)))
            both = Join(left=self.listed(), right=years, condition=inner.TRUE)
            joined = Join(left=both, right=renamed, condition=inner.alike(ref(60, TEXT), ref(70, TEXT)), outer=True)
            zeros = {"c80": inner.or_zero(ref(80)), "c81": inner.or_zero(ref(81))}
            return projected(joined, c60=ref(60, TEXT), c61=ref(61), **zeros)

    refused(Twice())


def test_totals_beside_repeated_keys_are_refused():
    """Every total would be released as often as its key is listed."""

    def shown(self):
        renamed = projected(self.totals(), c70=ref(20, TEXT), c80=ref(80), c81=ref(81))
        return beside(
            planted(Visits, wards=("A", "A", "B")).listed(), renamed, inner.alike(ref(60, TEXT), ref(70, TEXT))
        )

    refused(planted(Visits, shown=shown))


@pytest.mark.parametrize(
    "rows", [((1,), (True,)), ((1.5,), (Fraction(3, 2),)), (("a", "b"),), ((date(2024, 1, 1),), (1,))]
)
def test_literal_keys_that_one_engine_might_take_for_equal_are_refused(rows):
    refused(planted(Visits, listed=lambda self: Listed(columns=(column(60, TEXT),), rows=rows)))


@pytest.mark.parametrize(
    ("type_", "rows"),
    [
        (SqlType.INTEGER, (1, 2, None)),
        (SqlType.BOOLEAN, (False, True)),
        (SqlType.DATE, (date(2024, 1, 1), date(2024, 1, 2))),
        (SqlType.TIMESTAMP, (datetime(2024, 1, 1), datetime(2024, 1, 2))),
    ],
)
def test_literal_keys_of_their_type_are_distinct(type_, rows):
    def by(kind, values, **parts):
        def grouped_by(self):
            key = Apply("some_function", (ref(2, TEXT),), kind)
            return projected(self.owned(), c9=ref(9, TEXT), c20=key, c21=ref(3))

        listed = Listed(columns=(column(60, type_),), rows=tuple((value,) for value in values))
        return planted(Visits, rows=grouped_by, listed=lambda self: listed, **parts)

    assert by(type_, rows).reach() == Visits().reach()
    refused(by(type_, (*rows, rows[0])))
    refused(by(TEXT, rows))  # equal only after a conversion
    refused(by(TEXT, rows, inside=Visits.capped))


def test_keys_inside_a_list_of_another_type_are_not_limited_by_it():
    """'1' and '01' both equal 1: two public numbers can be many texts."""

    def inside(self):
        numbers = Listed(columns=(column(61),), rows=((1,), (2,)))
        return Join(left=self.capped(), right=numbers, condition=inner.alike(ref(20, TEXT), ref(61)))

    refused(planted(Visits, chosen=inside))


def test_fractions_are_no_keys():
    key = Apply("to_double", (ref(3),), DOUBLE)
    rows = {"rows": lambda self: projected(self.owned(), c9=ref(9, TEXT), c20=key, c21=ref(3))}
    for listed in (
        Listed(columns=(column(60, DOUBLE),), rows=((1,), (2,))),
        Listed(columns=(column(60, DOUBLE),), rows=(), from_step=0),
    ):
        refused(planted(Visits, **rows, listed=lambda self, listed=listed: listed))


def test_totals_meet_no_rows():
    """Exact totals beside rows would let rows be filtered by what everybody has."""

    def owned(self):
        totals = Total_().totals()
        return filtered(Join(left=totals, right=self.table(), condition=inner.TRUE), inner.known(ref(9, TEXT)))

    refused(planted(Visits, owned=owned))

    def turned(self):
        totals = Total_().totals()
        return filtered(Join(left=self.table(), right=totals, condition=inner.TRUE), inner.known(ref(9, TEXT)))

    refused(planted(Visits, owned=turned))


def test_an_outer_join_from_the_private_side_is_refused():
    def inside(self):
        return replace(Visits.inside(self), outer=True)

    refused(planted(Visits, inside=inside))

    def kept_wards(self):
        condition = inner.alike(ref(20, TEXT), ref(60, TEXT))
        return Join(left=self.listed(), right=self.capped(), condition=condition, outer=True)

    refused(planted(Visits, inside=kept_wards))


def test_a_raw_column_is_never_a_value():
    with pytest.raises(InternalError):
        derive(Visits().owned(), keys=(2,), values=(3,), catalog=catalog())
    with pytest.raises(InternalError):
        derive(Visits().chosen(), keys=(20,), values=(40, 41), catalog=catalog(), selection=True)
    with pytest.raises(InternalError):
        derive(grouped(Visits().rows(), (9,)), keys=(9,), values=(), catalog=catalog(), selection=True)


@pytest.mark.parametrize(
    ("keys", "values"),
    [
        ((), (80, 81)),
        ((60, 60), (80, 81)),
        ((70,), (80, 81)),
        ((60,), (80, 80)),
        ((60,), (60,)),
        ((60,), (80, 99)),
        ((60,), ()),
    ],
)
def test_released_columns_are_the_keys_and_the_totals(keys, values):
    refused(Visits(), keys=keys, values=values)


def test_a_total_that_is_null_without_people_is_refused():
    def shown(self):
        relation = Visits.shown(self)
        return replace(relation, expressions=(ref(60, TEXT), ref(80), ref(81)))

    refused(planted(Visits, shown=shown))
    refused(planted(Total_, shown=Total_.totals))
    counts = planted(
        Visits,
        values=(80,),
        totals=lambda self: grouped(self.chosen(), (20,), c80=COUNT, c81=COUNT),
        shown=shown,
    )
    refused(counts)  # never NULL in a group, but NULL where there is none


def test_totals_are_not_touched_before_the_noise():
    refused(planted(Visits, totals=lambda self: filtered(Visits.totals(self), inner.at_most(ref(80), 9))))
    refused(planted(Visits, totals=lambda self: grouped(Visits.totals(self), (20,), c80=sum_of(ref(80)), c81=COUNT)))
    doubled = planted(
        Total_, shown=lambda self: projected(self.totals(), c80=inner.times(ref(80), 2), c81=inner.or_zero(ref(81)))
    )
    refused(doubled)


@pytest.mark.parametrize("function", ["min", "max", "avg", "any_value", "sum_distinct", "stddev"])
def test_other_totals_over_private_rows_are_refused(function):
    total = Total(function=function, argument=ref(41))
    refused(planted(Visits, totals=lambda self: grouped(self.chosen(), (20,), c80=sum_of(ref(40)), c81=total)))
    inside = Total(function=function, argument=Visits().clamped())
    refused(planted(Visits, per_person=lambda self: grouped(self.rows(), (9, 20), c30=COUNT, c31=inside)))


def test_totals_with_filters_and_windows_in_expressions_are_refused():
    chosen = Total(function="sum", argument=ref(41), filter=inner.at_most(ref(41), 5))
    refused(planted(Visits, totals=lambda self: grouped(self.chosen(), (20,), c80=sum_of(ref(40)), c81=chosen)))
    over_all = Windowed(function="sum", arguments=(ref(3),), partition_by=(), order_by=(), frame="", type=INTEGER)
    refused(planted(Visits, rows=lambda self: projected(self.owned(), c9=ref(9, TEXT), c20=ref(2, TEXT), c21=over_all)))


def test_fractions_are_not_added_up():
    class Halves(Total_):
        def rows(self):
            half = Apply("to_double", (ref(3),), DOUBLE)
            return projected(self.owned(), c9=ref(9, TEXT), c21=half)

    refused(Halves())  # a clamp of a double leaves fractions, and NaN at a limit
    refused(planted(Halves, clamped=lambda self: ref(21, DOUBLE)))


# Overflow.


def test_sums_that_could_leave_128_bits_are_refused():
    assert planted(Visits, low=0, high=2**80).reach().columns[1].l1 == 2 * 3 * 2**80
    refused(planted(Visits, low=0, high=2**86))  # 2^40 rows of 2^86
    refused(planted(Visits, low=-(2**86), high=0))


def test_totals_of_everybody_that_could_leave_128_bits_are_refused():
    """One row of a unit is far from it, 2^40 units are not."""
    assert planted(Readings, low=0, high=2**86 - 1).reach().columns[1].l1 == 2**86 - 1
    refused(planted(Readings, low=0, high=2**86))


def test_squares_that_could_leave_128_bits_are_refused():
    def squares(self):
        return grouped(self.rows(), (9,), c30=COUNT, c31=sum_of(inner.squared(self.clamped())))

    assert planted(Total_, per_person=squares, high=2**42).reach()
    refused(planted(Total_, per_person=squares, high=2**43))


def test_a_norm_over_public_keys_may_use_the_room_of_fewer_rows():
    """At most 2^30 keys: squares of 2^95 fit, also where the keys are not counted yet."""

    def listed(_):
        return Listed(columns=(column(60, TEXT),), rows=(), from_step=0)

    wide = {"listed": listed, "low": 0, "high": 2**25, "cap": 1}
    assert isinstance(planted(Scaled, **wide, weights=(1, 2**22)).reach(), Ball)  # (2^47)² · 2^30 < 2^126
    refused(planted(Scaled, **wide, weights=(1, 2**23)))


def test_numbers_mean_one_column():
    refused(planted(Visits, listed=lambda self: Listed(columns=(column(20, TEXT),), rows=(("A",),))))

    def swapped(self):
        return projected(self.owned(), c9=ref(9, TEXT), c2=ref(3), c3=Apply("length", (ref(2, TEXT),), INTEGER))

    refused(planted(Total_, rows=lambda self: projected(swapped(self), c9=ref(9, TEXT), c21=ref(3))))
    gone = planted(Visits, rows=lambda self: projected(self.owned(), c9=ref(9, TEXT), c20=ref(2, TEXT), c21=ref(99)))
    refused(gone)
    refused(planted(Visits, owned=lambda self: replace(Visits.owned(self), condition=inner.known(ref(99)))))
    more = (*Visits().table().columns, column(98))
    refused(planted(Visits, owned=lambda self: replace(Visits.owned(self), columns=more)))


def test_conditions_are_true_or_false():
    for condition in (ref(2, TEXT), whole(1), inner.all_of(inner.known(ref(9, TEXT)), ref(3))):
        refused(planted(Visits, owned=lambda self, by=condition: filtered(Visits.owned(self), by)))


def test_a_rank_has_a_number_of_its_own():
    """Else `rank <= 2` might be read as a limit on the charge."""

    def ranked(self):
        return Rank(input=self.inside(), partition=(9,), order=self.order, column=column(41))

    refused(planted(Visits, ranked=ranked, chosen=lambda self: filtered(self.ranked(), inner.at_most(ref(41), 2))))


def test_columns_and_expressions_are_pairs():
    def rows(self):
        relation = Visits.rows(self)
        return replace(relation, columns=(*relation.columns, column(22)))

    refused(planted(Visits, rows=rows))
    refused(planted(Visits, totals=lambda self: replace(Visits.totals(self), totals=(COUNT,))))
    refused(planted(Visits, per_person=lambda self: replace(Visits.per_person(self), by=(20, 9))))
    refused(planted(Visits, listed=lambda self: Listed(columns=(column(60, TEXT),), rows=(("A", "B"),))))


def test_a_key_of_totals_is_not_dropped():
    """People by ward and illness, shown by ward: the rows of one ward could be told apart by their order."""

    class TwoKeys(People):
        keys = (20, 24)
        order = (inner.hash_of(inner.SALT, ref(9, TEXT), ref(20, TEXT), ref(24)), ref(20, TEXT), ref(24))

        def rows(self):
            return projected(self.owned(), c9=ref(9, TEXT), c20=ref(2, TEXT), c24=ref(3))

        def inside(self):
            return grouped(self.rows(), (9, 20, 24))

        def statement(self):
            return grouped(self.chosen(), (20, 24), c80=COUNT)

    assert TwoKeys().reach() == moves((2, 2), keys=2)
    refused(planted(TwoKeys, order=TwoKeys.order[:2]))
    dropped = planted(
        TwoKeys, statement=lambda self: projected(TwoKeys.statement(self), c20=ref(20, TEXT), c80=ref(80))
    )
    refused(dropped, keys=(20,))
    twice = {"c20": ref(20, TEXT), "c25": ref(20, TEXT), "c24": ref(24), "c80": ref(80)}
    refused(planted(TwoKeys, statement=lambda self: projected(TwoKeys.statement(self), **twice)), keys=(20, 25, 24))


def test_an_unknown_operator_is_refused():
    with pytest.raises(InternalError):
        derive("a table", keys=(), values=(1,), catalog=catalog())
