"""Whose a row is in a union: that of its own branch, in every branch."""

from dataclasses import replace

import pytest
from derive_trees import (
    INTEGER,
    TEXT,
    Readings,
    Total_,
    column,
    filtered,
    planted,
    projected,
    ref,
    refused,
    scan,
    whole,
)

from dpsql.plan.derive import Move, Moves
from dpsql.sql import inner
from dpsql.sql.relations import Union

ONE = Moves(columns=(Move(l1=3, l2_squared=9), Move(l1=30, l2_squared=900)), keys_per_unit=1)


class Both(Total_):
    """SELECT COUNT(*), SUM(x) FROM (SELECT charge AS x FROM visits UNION ALL SELECT age FROM patients)."""

    def visits(self):
        return projected(scan("visits", {102: "charge"}, raw={101: "Patient_ID"}), c103=ref(101, TEXT), c104=ref(102))

    def patients(self):
        return projected(scan("patients", {202: "age"}, raw={201: "patient_id"}), c203=ref(201, TEXT), c204=ref(202))

    def table(self):
        return Union(branches=(self.visits(), self.patients()), columns=(column(9, TEXT), column(3)))


def test_rows_of_all_branches_are_capped_together():
    assert Both().reach() == ONE


def test_one_table_twice_is_no_more():
    assert (
        planted(Both, patients=lambda self: projected(self.visits(), c203=ref(103, TEXT), c204=ref(104))).reach() == ONE
    )


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

    refused(planted(Readings, table=twice))


def test_persons_of_one_and_of_two_columns_are_not_mixed():
    stays = scan("stays", {202: "nights"}, raw={201: "hospital", 205: "number"})
    refused(planted(Both, patients=lambda self: projected(stays, c203=ref(201), c204=ref(202))))


@pytest.mark.parametrize(
    "columns", [(column(9, TEXT),), (column(9, TEXT), column(3), column(4)), (column(9, TEXT), column(9))]
)
def test_columns_meet_one_to_one(columns):
    refused(planted(Both, table=lambda self: replace(Both.table(self), columns=columns)))


def test_a_union_of_nothing_is_refused():
    refused(planted(Both, table=lambda self: replace(Both.table(self), branches=())))


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
