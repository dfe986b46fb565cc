"""Whose a row is in a union, and for what rows may be left out: for what the same person has, or is public."""

from dataclasses import replace

import pytest
from derive_trees import (
    BOOLEAN,
    INTEGER,
    TEXT,
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

from dpsql.plan.derive import Move, Moves
from dpsql.sql import inner
from dpsql.sql.relations import Exists, Join, Total, Union
from dpsql.sql.scalars import Apply

ONE = Moves(columns=(Move(l1=3, l2_squared=9), Move(l1=30, l2_squared=900)), keys_per_unit=1)


class Both(Total_):
    """SELECT COUNT(*), SUM(x) FROM (SELECT charge AS x FROM visits UNION ALL SELECT age FROM patients)."""

    def visits(self):
        return projected(scan("visits", {102: "charge"}, raw={101: "Patient_ID"}), c103=ref(101, TEXT), c104=ref(102))

    def patients(self):
        return projected(scan("patients", {202: "age"}, raw={201: "patient_id"}), c203=ref(201, TEXT), c204=ref(202))

    def table(self):
        return Union(branches=(self.visits(), self.patients()), columns=(column(9, TEXT), column(3)))


def test_the_owner_is_a_column_of_every_branch():
    """Swapped in one branch, the columns hold the person here and something else there."""

    def swapped(self):
        return projected(
            scan("visits", {102: "ward"}, raw={101: "Patient_ID"}), c203=ref(102, TEXT), c204=ref(101, TEXT)
        )

    both = planted(
        Both,
        visits=lambda self: projected(
            scan("visits", {102: "ward"}, raw={101: "Patient_ID"}), c103=ref(101, TEXT), c104=ref(102, TEXT)
        ),
        patients=swapped,
    )
    refused(both)


def test_a_converted_owner_is_no_owner():
    converted = scan("patients", {202: "age", 205: "patient_id"}, raw={201: "patient_id"})
    refused(planted(Both, patients=lambda self: projected(converted, c203=ref(205, TEXT), c204=ref(202))))


def test_a_branch_without_an_owner_is_refused():
    public = projected(scan("wards", {201: "ward", 202: "city"}), c203=ref(201, TEXT), c204=ref(202, TEXT))
    refused(planted(Both, patients=lambda self: public))
    refused(planted(Both, patients=lambda self: projected(scan("readings", {202: "level", 201: "ward"}),
                                                          c203=ref(201, TEXT), c204=ref(202))))  # fmt: skip
    nobody = planted(Both, patients=lambda self: projected(scan("care", {202: "cost"}, raw={201: "visit_id"}),
                                                           c203=ref(201, TEXT), c204=ref(202)))  # fmt: skip
    refused(nobody)  # its person is not found yet


def test_rows_that_are_units_are_not_put_under_one_another():
    def twice(self):
        one, two = (
            projected(
                scan("readings", {n: "ward", n + 1: "level"}), **{f"c{n + 2}": ref(n, TEXT), f"c{n + 3}": ref(n + 1)}
            )
            for n in (100, 200)
        )
        return Union(branches=(one, two), columns=(column(2, TEXT), column(3)))

    refused(planted(Readings, table=twice), what="units of their own")


@pytest.mark.parametrize("order", [1, -1])
def test_persons_of_one_and_of_two_columns_are_not_mixed(order):
    visits = scan("visits", {102: "charge"}, raw={101: "Patient_ID", 105: "nurse_id"}, owner=(101,))
    stays = scan("stays", {202: "nights"}, raw={201: "hospital", 205: "number"})
    both = Union(branches=(visits, stays)[::order], columns=(column(3), column(9, TEXT), column(10, TEXT)))
    refused(planted(Both, table=lambda self: both), what="two kinds of person")


@pytest.mark.parametrize(
    "change",
    [
        {"columns": (column(9, TEXT),)},
        {"columns": (column(9, TEXT), column(3), column(4))},
        {"columns": (column(9, TEXT), column(9))},
        {"branches": ()},
    ],
)
def test_columns_meet_one_to_one_and_branches_there_are(change):
    refused(planted(Both, table=lambda self: replace(Both.table(self), **change)))


def test_types_do_not_change_under_way():
    """A number here and a text there would be converted by the engine, each as it likes."""
    text = projected(
        scan("patients", {202: "patient_id"}, raw={201: "patient_id"}), c203=ref(201, TEXT), c204=ref(202, TEXT)
    )
    refused(planted(Both, patients=lambda self: text))


def test_what_limits_a_branch_limits_no_union():
    """One row of each patient in each branch: two of one patient in all, which only the cap above makes one."""

    def one_each(self):
        return filtered(self.table(), inner.known(ref(9, TEXT)))

    unique = planted(Both, owned=one_each, per_person=lambda self: self.rows(), amounts=lambda self: {
        "c40": inner.clamp_whole(whole(1), low=0, high=1),
        "c41": inner.clamp_whole(inner.or_zero(self.clamped()), low=self.low, high=self.high),
    })  # fmt: skip
    refused(unique)


def test_a_clamp_in_one_branch_bounds_no_column():
    """Only where every branch clamps its values are they bounded above."""
    clamp = inner.clamp_whole(ref(102), low=0, high=1)
    clamped = projected(scan("visits", {102: "charge"}, raw={101: "Patient_ID"}), c103=ref(101, TEXT), c104=clamp)
    parts = {"visits": lambda self: clamped, "clamped": lambda self: ref(21, INTEGER)}
    refused(planted(Both, **parts))
    other = inner.clamp_whole(ref(202), low=-1, high=2)
    parts["patients"] = lambda self: projected(
        scan("patients", {202: "age"}, raw={201: "patient_id"}), c203=ref(201, TEXT), c204=other
    )
    assert planted(Both, **parts).reach() == ONE


class WithPatient(Total_):
    """SELECT COUNT(*), SUM(charge) FROM visits WHERE EXISTS (SELECT 1 FROM patients of the same person)."""

    negated = False

    def meeting(self):
        return inner.same(ref(9, TEXT), ref(8, TEXT))

    def among(self):
        return scan("patients", {6: "age"}, raw={8: "patient_id"})

    def table(self):
        return Exists(input=super().table(), among=self.among(), condition=self.meeting(), negated=self.negated)


def test_rows_with_and_without_a_partner_of_the_same_person_or_for_public_rows():
    public = {"among": lambda self: scan("wards", {6: "ward"})}
    for parts in (
        {},
        {"negated": True},
        {**public, "meeting": lambda self: inner.TRUE},
        {**public, "meeting": lambda self: inner.alike(ref(6, TEXT), ref(2, TEXT))},
    ):
        assert planted(WithPatient, **parts).reach() == ONE


def test_rows_that_are_units_may_be_left_out_for_public_rows_alone():
    def chosen(self, among):
        return Exists(input=Readings.table(self), among=among, condition=inner.TRUE, negated=True)

    public = planted(Readings, table=lambda self: chosen(self, scan("wards", {6: "ward"})))
    assert public.reach() == Readings().reach()
    refused(planted(Readings, table=lambda self: chosen(self, scan("readings", {6: "ward"}))))


@pytest.mark.parametrize(
    "meeting",
    [
        inner.TRUE,
        inner.same(ref(3), ref(6)),  # something of both, but not the person
        Apply("eq", (ref(9, TEXT), ref(8, TEXT)), BOOLEAN),  # equal after a conversion
        Apply("or", (inner.same(ref(9, TEXT), ref(8, TEXT)), inner.same(ref(3), ref(6))), BOOLEAN),
        Apply("not", (inner.same(ref(9, TEXT), ref(8, TEXT)),), BOOLEAN),
        inner.known(ref(9, TEXT)),
        inner.same(ref(9, TEXT), ref(99, TEXT)),  # a column that is not there
    ],
    ids=str,
)
@pytest.mark.parametrize("negated", [False, True])
def test_rows_are_not_left_out_for_what_somebody_else_has(meeting, negated):
    refused(planted(WithPatient, meeting=lambda self: meeting, negated=negated))


def test_half_a_person_is_nobody():
    def stays(self):
        return scan("stays", {3: "nights"}, raw={9: "hospital", 10: "number"})

    def chosen(self, *pairs):
        among = scan("stays", {6: "nights"}, raw={7: "hospital", 8: "number"})
        equal = inner.all_of(*(inner.same(ref(a), ref(b)) for a, b in pairs))
        return Exists(input=stays(self), among=among, condition=equal, negated=False)

    whole_person = {
        "owned": lambda self: filtered(self.table(), inner.known(ref(9)), inner.known(ref(10))),
        "rows": lambda self: projected(self.owned(), c9=ref(9), c10=ref(10), c21=ref(3)),
        "per_person": lambda self: grouped(
            self.rows(), (9, 10), c30=Total(function="count"), c31=sum_of(self.clamped())
        ),
        "capped": lambda self: projected(self.per_person(), c9=ref(9), c10=ref(10), **self.amounts()),
    }
    assert planted(Total_, table=lambda self: chosen(self, (9, 7), (10, 8)), **whole_person).reach() == ONE
    refused(planted(Total_, table=lambda self: chosen(self, (9, 7)), **whole_person))
    refused(planted(Total_, table=lambda self: chosen(self, (9, 8), (10, 7)), **whole_person))


def test_public_rows_are_not_left_out_for_people():
    """Joined to visits they would decide which of them count."""

    def joined(self):
        wards = Exists(
            input=scan("wards", {12: "ward"}),
            among=scan("visits", {13: "ward"}, raw={14: "Patient_ID"}),
            condition=inner.alike(ref(12, TEXT), ref(13, TEXT)),
            negated=False,
        )
        return Join(left=Total_.table(self), right=wards, condition=inner.alike(ref(2, TEXT), ref(12, TEXT)))

    refused(planted(Total_, table=joined))


def test_rows_on_the_way_to_their_person_are_no_partners():
    among = scan("care", {6: "cost"}, raw={8: "visit_id"})
    refused(planted(WithPatient, among=lambda self: among))


def test_leaving_rows_out_keeps_what_is_known_of_the_others():
    """A person of one row has one row at most."""
    one = catalog(unique={"visits": (("patient_id",),)})
    alone = {
        "per_person": lambda self: self.rows(),
        "amounts": lambda self: {
            "c40": inner.clamp_whole(whole(1), low=0, high=1),
            "c41": inner.clamp_whole(inner.or_zero(self.clamped()), low=self.low, high=self.high),
        },
    }
    assert planted(WithPatient, **alone).reach(one) == Moves(
        columns=(Move(l1=1, l2_squared=1), Move(l1=10, l2_squared=100)), keys_per_unit=1
    )
    refused(planted(WithPatient, **alone))


class OnWards(Readings):
    """SELECT ward, … FROM readings JOIN (SELECT ward FROM wards GROUP BY ward) AS w ON w.ward = readings.ward."""

    claimed = TEXT
    met = (2, 12)

    def wards_once(self):
        return grouped(scan("wards", {12: "ward"}), (12,))

    def table(self):
        once = replace(self.wards_once(), columns=(column(12, self.claimed),))
        condition = inner.alike(ref(self.met[0], self.claimed), ref(self.met[1], self.claimed))
        return Join(left=super().table(), right=once, condition=condition)


def test_a_group_of_public_rows_does_not_say_of_what_type_its_keys_are():
    """'1' and '01' are two wards and one number: a level of 1 would meet both."""
    assert OnWards().reach() == Readings().reach()
    refused(planted(OnWards, claimed=INTEGER, met=(3, 12)))


class InOneWard(Visits):
    """SELECT ward, … FROM visits WHERE ward = (SELECT MAX(ward) FROM wards) GROUP BY ward: nobody is in two groups."""

    total = Total(function="max", argument=ref(11, TEXT))

    def inside(self):
        one = replace(grouped(scan("wards", {11: "ward"}), (), c12=self.total), columns=(column(12, TEXT),))
        return Join(left=self.capped(), right=one, condition=inner.alike(ref(20, TEXT), ref(12, TEXT)))

    def chosen(self):
        return self.inside()


def test_a_total_of_public_rows_has_the_type_of_its_function():
    """A count equals wards '1' and '01' alike, whatever type the group gives it: one person may be in both."""
    assert InOneWard().reach().keys_per_unit == 1
    refused(planted(InOneWard, total=Total(function="count")))
