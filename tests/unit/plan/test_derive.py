"""What `derive` says about correct statements, by hand."""

from dataclasses import replace

import pytest
from derive_trees import (
    CHANGE_ONE,
    COUNT,
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
    grouped,
    moves,
    planted,
    projected,
    ref,
    refused,
    scan,
    sum_of,
)

from dpsql.errors import InternalError
from dpsql.plan.derive import Ball, derive
from dpsql.sql import inner
from dpsql.sql.relations import Join, Listed
from dpsql.sql.scalars import Constant

# Visits: cap 3, charges in [-5, 10], so a person adds [0, 3] and [-15, 30] to each of at most 2 wards.


@pytest.mark.parametrize(
    ("statement", "added", "changed"),
    [
        # 2 groups left and 2 entered, 30 each: 120. Squared: the same 2 groups, 45 each, beat 4 groups of 30.
        (Visits, moves((6, 18), (60, 1800), keys=2), moves((12, 36), (120, 4050), keys=2)),
        (Total_, moves((3, 9), (30, 900), keys=1), moves((3, 9), (45, 2025), keys=1)),
        (Different, moves((6, 18), keys=2), moves((12, 36), keys=2)),
        (People, moves((2, 2), keys=2), moves((4, 4), keys=2)),
        (Readings, moves((1, 1), (10, 100), keys=1), moves((2, 2), (20, 225), keys=1)),
        (Scaled, Ball(weights=(1, 7), radius_squared=10**9), Ball(weights=(1, 7), radius_squared=4 * 10**9)),
    ],
)
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
