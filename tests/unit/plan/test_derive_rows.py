"""Planted bugs among the rows of a person: each is refused, or the reach grows with the bug."""

from dataclasses import replace
from fractions import Fraction

import pytest
from derive_trees import (
    COUNT,
    INTEGER,
    TEXT,
    Different,
    People,
    Scaled,
    Total_,
    Visits,
    catalog,
    column,
    filtered,
    grouped,
    moves,
    planted,
    projected,
    ref,
    refused,
    sum_of,
    whole,
)

from dpsql.sql import inner
from dpsql.sql.intervals import Interval
from dpsql.sql.relations import Rank, Total
from dpsql.sql.scalars import Apply


@pytest.mark.parametrize(
    ("base", "larger", "reach"),
    [
        (Visits, {"groups": 3}, moves((9, 27), (90, 2700), keys=3)),
        (People, {"groups": 3}, moves((3, 3), keys=3)),
        (Visits, {"cap": 4}, moves((8, 32), (80, 3200), keys=2)),
        (Different, {"cap": 4}, moves((8, 32), keys=2)),
    ],
)
def test_a_cap_that_is_off_by_one_shows(base, larger, reach):
    assert planted(base, **larger).reach() == reach


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


def test_a_count_of_values_that_are_all_missing_is_zero():
    """One row each, with a value or without: 3 less than their number lies between −3 and −2."""
    per_person = Total(function="count_of", argument=ref(21))
    less = planted(
        Total_,
        values=(80,),
        per_person=lambda self: grouped(self.rows(), (9,), c30=per_person),
        amounts=lambda self: {"c40": inner.minus(ref(30), 3)},
        totals=lambda self: grouped(self.capped(), (), c80=sum_of(ref(40))),
        shown=lambda self: projected(self.totals(), c80=inner.or_zero(ref(80))),
    )
    assert less.reach(catalog(unique={"visits": (("patient_id",),)})) == moves((3, 9), keys=1)


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
