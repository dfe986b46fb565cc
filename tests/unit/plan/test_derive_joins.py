"""Whose a row is after a join: public tables, other tables of the same person, paths, persons of two columns."""

from dataclasses import replace

import pytest
from derive_trees import (
    COUNT,
    INTEGER,
    TABLES,
    TEXT,
    TO_VISIT,
    Readings,
    Total_,
    Visits,
    catalog,
    column,
    filtered,
    grouped,
    planted,
    projected,
    ref,
    refused,
    scan,
    sum_of,
    whole,
)

from dpsql.catalog.model import PathStep
from dpsql.errors import InternalError
from dpsql.plan.derive import Move, Moves, derive
from dpsql.sql import inner
from dpsql.sql.relations import Group, Join, Rank
from dpsql.sql.scalars import Apply
from tests.kits.refusals import raised

ONE = Moves(columns=(Move(l1=3, l2_squared=9), Move(l1=30, l2_squared=900)), keys_per_unit=1)


class WithAge(Total_):
    """FROM visits JOIN patients USING (patient_id), where the engine is told that owners are equal."""

    def meeting(self):
        converted = Apply("eq", (ref(3), ref(6)), inner.TRUE.type)
        return inner.all_of(
            Apply("and", (converted, inner.TRUE), inner.TRUE.type), inner.same(ref(9, TEXT), ref(8, TEXT))
        )

    def patients(self):
        return scan("patients", {6: "age"}, raw={8: "patient_id"})

    def table(self):
        return Join(left=super().table(), right=self.patients(), condition=self.meeting())


def test_rows_of_one_person_are_paired():
    assert WithAge().reach() == ONE


def test_rows_without_a_partner_keep_their_owner():
    assert planted(WithAge, table=lambda self: replace(WithAge.table(self), outer=True)).reach() == ONE


def test_the_owner_of_the_side_that_may_be_missing_is_no_owner():
    """Rows without a partner would be nobody's there: the person of the left side alone is carried on."""

    def swapped(self):
        join = WithAge.table(self)
        return replace(join, left=join.right, right=join.left, outer=True)

    refused(planted(WithAge, table=swapped))


def test_both_columns_of_the_owner_may_be_used():
    """After the join both hold the person: either may be known, and either may be grouped by."""

    def owned(self):
        return filtered(self.table(), inner.known(ref(8, TEXT)))

    def rows(self):
        return projected(self.owned(), c9=ref(8, TEXT), c21=ref(3))

    assert planted(WithAge, owned=owned).reach() == ONE
    assert planted(WithAge, owned=owned, rows=rows).reach() == ONE


@pytest.mark.parametrize(
    "meeting",
    [
        inner.TRUE,
        inner.same(ref(9, TEXT), ref(6)),
        inner.same(ref(3), ref(6)),
        Apply("eq", (ref(9, TEXT), ref(8, TEXT)), inner.TRUE.type),  # equality after whatever conversion
        Apply("or", (inner.same(ref(9, TEXT), ref(8, TEXT)), inner.TRUE), inner.TRUE.type),
        Apply("not", (inner.same(ref(9, TEXT), ref(8, TEXT)),), inner.TRUE.type),
        Apply("same", (Apply("lower", (ref(9, TEXT),), TEXT), ref(8, TEXT)), inner.TRUE.type),
    ],
)
def test_a_join_without_equal_owners_is_refused(meeting):
    refused(planted(WithAge, meeting=lambda self: meeting))


def test_a_join_multiplies_rows_before_they_are_capped_not_after():
    """Capped contributions that meet several rows of the same person count several times."""

    def capped(self):
        meeting = inner.same(ref(9, TEXT), ref(8, TEXT))
        return Join(left=Total_.capped(self), right=self.patients(), condition=meeting)

    again = {"capped": capped, "table": Total_.table}
    refused(planted(WithAge, **again))
    one_each = catalog(unique={"patients": (("patient_id",),)})
    assert planted(WithAge, **again).reach(one_each) == ONE


def test_a_cap_of_two_rows_is_multiplied():
    """Each contribution meets at most two rows: by a rank over the person, settled by a unique pair."""

    class Twice(WithAge):
        def table(self):
            return Total_.table(self)

        def ages(self):
            known = filtered(self.patients(), inner.known(ref(8, TEXT)))
            pairs = grouped(known, (8, 6))
            order = (inner.hash_of(inner.SALT, ref(8, TEXT), ref(6)), ref(6))
            ranked = Rank(input=pairs, partition=(8,), order=order, column=column(51))
            return filtered(ranked, inner.at_most(ref(51), 2))

        def capped(self):
            meeting = inner.same(ref(9, TEXT), ref(8, TEXT))
            return Join(left=Total_.capped(self), right=self.ages(), condition=meeting)

    assert Twice().reach() == Moves(columns=(Move(l1=6, l2_squared=36), Move(l1=60, l2_squared=3600)), keys_per_unit=1)


class WithCity(Total_):
    """FROM visits JOIN wards USING (ward): what a public table multiplies is capped afterwards."""

    def table(self):
        wards = scan("wards", {4: "ward", 5: "city"})
        condition = Apply("eq", (ref(2, TEXT), ref(4, TEXT)), inner.TRUE.type)
        return Join(left=super().table(), right=wards, condition=condition)


def test_rows_that_meet_public_rows_keep_their_owner():
    assert WithCity().reach() == ONE

    def turned(self):
        join = WithCity.table(self)
        return Join(left=join.right, right=join.left, condition=join.condition)

    assert planted(WithCity, table=turned).reach() == ONE


def test_two_columns_with_one_number_are_refused():
    """Which of both a name stands for would be the engine's choice."""

    def table(self):
        join = WithCity.table(self)
        return replace(join, right=scan("wards", {4: "ward", 3: "city"}))

    refused(planted(WithCity, table=table))
    again = planted(
        Total_, table=lambda self: replace(Total_.table(self), columns=(column(2, TEXT), column(9), column(9, TEXT)))
    )
    refused(again)


def test_a_public_table_after_the_cap_is_refused():
    def capped(self):
        wards = scan("wards", {4: "ward", 5: "city"})
        return Join(left=Total_.capped(self), right=wards, condition=inner.TRUE)

    refused(planted(Total_, capped=capped))


def test_a_few_public_rows_after_the_cap_multiply_the_reach():
    def capped(self):
        return Join(left=Total_.capped(self), right=Visits.listed(self), condition=inner.TRUE)

    moves = (Move(l1=12, l2_squared=144), Move(l1=120, l2_squared=120**2))
    assert planted(Total_, capped=capped).reach() == Moves(columns=moves, keys_per_unit=1)


def test_rows_that_are_units_are_paired_with_nothing():
    def rows(self):
        others = scan("readings", {4: "ward", 5: "level"})
        joined = Join(left=self.table(), right=others, condition=inner.alike(ref(2, TEXT), ref(4, TEXT)))
        return projected(joined, c20=ref(2, TEXT), c21=ref(3))

    refused(planted(Readings, rows=rows))

    def with_wards(self):
        wards = scan("wards", {4: "ward", 5: "city"})
        joined = Join(left=self.table(), right=wards, condition=inner.alike(ref(2, TEXT), ref(4, TEXT)))
        return projected(joined, c20=ref(2, TEXT), c21=ref(3))

    refused(planted(Readings, rows=with_wards))  # a ward may be listed any number of times


def test_rows_that_are_units_are_not_ranked_and_not_one_person():
    def ranked(self):
        order = (inner.hash_of(inner.SALT, ref(20, TEXT)), ref(20, TEXT))
        return Rank(input=Readings.chosen(self), partition=(), order=order, column=column(50))

    refused(planted(Readings, chosen=lambda self: filtered(ranked(self), inner.at_most(ref(50), 2))))

    class OnePerson(Total_):
        """A group by nobody, as if all rows were one unit's."""

        def rows(self):
            return projected(Readings.table(self), c21=ref(3))

        def per_person(self):
            return grouped(self.rows(), (), c30=COUNT, c31=sum_of(self.clamped()))

        def capped(self):
            return projected(self.per_person(), **self.amounts())

    refused(OnePerson())


# Paths: care.visit_id -> visits.id -> patient_id; items.care_id -> care.id -> visits.id -> patient_id.


class Care(Total_):
    """SELECT COUNT(*), SUM(cost) FROM care."""

    def lookup(self):
        visits = scan("visits", {}, raw={5: "ID", 9: "Patient_ID"}, owner=(9,))
        return Group(input=visits, by=(5, 9), columns=visits.columns, totals=())

    def start(self):
        return scan("care", {3: "cost"}, raw={4: "visit_id"})

    def step(self):
        return inner.same(ref(4), ref(5))

    def table(self):
        return Join(left=self.start(), right=self.lookup(), condition=self.step())


class Items(Care):
    """SELECT COUNT(*), SUM(pieces) FROM items."""

    def middle(self):
        return scan("care", {}, raw={7: "id", 4: "visit_id"})

    def lookup(self):
        """Who owns a row of care, however many visits lead from it to them."""
        return grouped(Join(left=self.middle(), right=Care.lookup(self), condition=self.step()), (7, 9))

    def start(self):
        return scan("items", {3: "pieces"}, raw={6: "care_id"})

    def table(self):
        return Join(left=self.start(), right=self.lookup(), condition=inner.same(ref(6), ref(7)))


def test_the_owner_stands_at_the_end_of_the_path():
    assert Care().reach() == ONE
    assert Items().reach() == ONE


def test_a_person_with_one_visit_may_have_any_number_of_care():
    def capped(self):
        return projected(self.rows(), c9=ref(9, TEXT), c40=whole(1), c41=inner.or_zero(self.clamped()))

    refused(planted(Care, capped=capped), catalog(unique={"visits": (("Patient_ID",), ("ID",))}))


def test_a_path_that_is_not_followed_has_no_owner():
    refused(planted(Total_, owned=lambda self: scan("care", {3: "cost"}, raw={9: "visit_id"})))
    start = planted(Total_, table=lambda self: scan("care", {3: "cost"}, raw={9: "visit_id"}, owner=(9,)))
    refused(start)  # a visit is not a person
    refused(planted(Items, lookup=Care.lookup))  # one step is left out
    refused(planted(Items, lookup=lambda self: grouped(self.middle(), (7, 4))))  # and the other one


@pytest.mark.parametrize(
    "step",
    [
        inner.TRUE,
        inner.same(ref(4), ref(9, TEXT)),  # the person instead of the key
        inner.same(ref(3), ref(5)),  # another column
        inner.alike(ref(3), ref(5)),
        Apply("eq", (ref(4), ref(5)), inner.TRUE.type),
        Apply("or", (inner.same(ref(4), ref(5)), inner.TRUE), inner.TRUE.type),
    ],
)
def test_a_path_followed_along_other_columns_is_refused(step):
    refused(planted(Care, step=lambda self: step))


def test_a_path_that_reads_converted_columns_is_refused():
    refused(planted(Care, start=lambda self: scan("care", {3: "cost", 4: "visit_id"})))

    def lookup(self):
        visits = scan("visits", {5: "ID"}, raw={9: "Patient_ID"})
        return Group(input=visits, by=(5, 9), columns=visits.columns, totals=())

    refused(planted(Care, lookup=lookup))


def test_a_path_through_another_table_is_refused():
    def lookup(self):
        return scan("patients", {}, raw={5: "patient_id"}, owner=(5,))

    refused(planted(Care, lookup=lookup))
    altered = catalog()
    for wrong in (
        {"path": (replace(TO_VISIT, columns=("id",)),)},
        {"path": (replace(TO_VISIT, table="patients"),)},
        {"path": (TO_VISIT, TO_VISIT)},
        {"person": ("nurse_id",)},
    ):
        tables = {**altered.policy.tables, "care": replace(altered.policy.tables["care"], **wrong)}
        refused(Care(), replace(altered, policy=replace(altered.policy, tables=tables)))


def test_rows_on_the_way_meet_nothing_else():
    def start(self):
        return Join(left=Care.start(self), right=scan("wards", {14: "ward"}), condition=inner.TRUE)

    refused(planted(Care, start=start))
    refused(planted(Care, table=lambda self: Join(left=self.lookup(), right=self.start(), condition=self.step())))


def test_totals_on_the_way_are_refused():
    def middle(self):
        care = scan("care", {}, raw={7: "id", 4: "visit_id"})
        return grouped(care, (7, 4), c33=COUNT)

    refused(planted(Items, middle=middle))


def test_steps_that_are_joined_in_their_order_are_refused():
    """A person who is reached by two ways would count twice."""

    def table(self):
        there = Join(left=self.start(), right=grouped(self.middle(), (7, 4)), condition=inner.same(ref(6), ref(7)))
        return Join(left=there, right=Care.lookup(self), condition=self.step())

    refused(planted(Items, table=table))


def test_ranks_on_the_way_are_refused():
    refused(
        planted(
            Care, start=lambda self: Rank(input=Care.start(self), partition=(4,), order=(ref(3),), column=column(50))
        )
    )


def test_an_outer_path_is_refused():
    refused(planted(Care, table=lambda self: replace(Care.table(self), outer=True)))


def test_a_path_is_private_whatever_the_scan_says():
    assert TABLES["care"]["path"] == (TO_VISIT,)
    assert isinstance(TO_VISIT, PathStep)
    refused(planted(Care, start=lambda self: replace(Care.start(self), private=False)))


# A person of two columns.


class Stays(Total_):
    """SELECT COUNT(*), SUM(nights) FROM stays; a person is (hospital, number)."""

    by = (8, 9)
    known = (8, 9)

    def table(self):
        return scan("stays", {3: "nights"}, raw={8: "hospital", 9: "number"})

    def owned(self):
        return filtered(self.table(), *(inner.known(ref(number)) for number in self.known))

    def rows(self):
        return projected(self.owned(), c8=ref(8), c9=ref(9), c21=ref(3))

    def per_person(self):
        return grouped(self.rows(), self.by, c30=COUNT, c31=sum_of(self.clamped()))

    def capped(self):
        return projected(self.per_person(), **{f"c{n}": ref(n) for n in self.by}, **self.amounts())


def test_a_person_of_two_columns_needs_both():
    assert Stays().reach() == ONE
    assert planted(Stays, by=(9, 8)).reach() == ONE
    refused(planted(Stays, by=(8,)))
    refused(planted(Stays, known=(8,)))
    refused(planted(Stays, table=lambda self: replace(Stays.table(self), owner=(9, 8))))
    refused(planted(Stays, table=lambda self: replace(Stays.table(self), owner=(8,))))


def test_a_part_of_the_person_that_is_unique_makes_the_whole_unique():
    def capped(self):
        given = inner.clamp_whole(inner.or_zero(self.clamped()), low=-15, high=30)
        return projected(self.rows(), c8=ref(8), c9=ref(9), c40=inner.clamp_whole(ref(21), low=0, high=3), c41=given)

    one_each = planted(Stays, capped=capped)
    assert one_each.reach(catalog(unique={"stays": (("number",),)})) == ONE
    refused(one_each, catalog(unique={"stays": (("ward",), ("hospital", "number", "ward"), ())}))


def test_two_columns_are_paired_with_their_own():
    def table(meeting):
        def build(self):
            other = scan("stays", {6: "nights"}, raw={17: "hospital", 18: "number"})
            return Join(left=Stays.table(self), right=other, condition=meeting)

        return build

    both = inner.all_of(inner.same(ref(8), ref(17)), inner.same(ref(9), ref(18)))
    assert planted(Stays, table=table(both)).reach() == ONE
    refused(planted(Stays, table=table(inner.same(ref(8), ref(17)))))
    crossed = inner.all_of(inner.same(ref(8), ref(18)), inner.same(ref(9), ref(17)))
    refused(planted(Stays, table=table(crossed)))


def test_public_statements_have_no_reach():
    wards = grouped(scan("wards", {4: "ward", 5: "city"}), (4,), c80=COUNT)
    raised(InternalError, lambda: derive(wards, keys=(4,), values=(80,), catalog=catalog()))
    assert INTEGER is ref(80).type
