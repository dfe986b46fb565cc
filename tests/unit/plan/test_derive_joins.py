"""Whose a row is: after joins and paths, in a union, for what rows may be left out, and for persons of two columns."""

from dataclasses import replace

import pytest
from derive_trees import (
    BOOLEAN,
    COUNT,
    INTEGER,
    ONE,
    TEXT,
    TO_VISIT,
    Care,
    Items,
    Readings,
    Total_,
    Visits,
    WithAge,
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
from dpsql.plan.derive import derive
from dpsql.sql import inner
from dpsql.sql.relations import Exists, Group, Join, Rank, Total, Union
from dpsql.sql.scalars import Apply
from tests.kits.refusals import raised

PATIENTS = WithAge().patients()
CITIES = scan("wards", {4: "ward", 5: "city"})
LEVELS = scan("readings", {4: "ward", 5: "level"})
OTHER_STAYS = scan("stays", {6: "nights"}, raw={17: "hospital", 18: "number"})
SAME_PERSON = inner.same(ref(9, TEXT), ref(8, TEXT))
SAME_WARD = inner.alike(ref(2, TEXT), ref(4, TEXT))
OTHER_KNOWN = filtered(WithAge().table(), inner.known(ref(8, TEXT)))


class WithCity(Total_):
    """FROM visits JOIN wards USING (ward): what a public table multiplies is capped afterwards."""

    def table(self):
        return Join(left=super().table(), right=CITIES, condition=Apply("eq", (ref(2, TEXT), ref(4, TEXT)), BOOLEAN))


class Both(Total_):
    """SELECT COUNT(*), SUM(x) FROM (SELECT charge AS x FROM visits UNION ALL SELECT age FROM patients)."""

    def visits(self):
        return projected(scan("visits", {102: "charge"}, raw={101: "Patient_ID"}), c103=ref(101, TEXT), c104=ref(102))

    def patients(self):
        return projected(scan("patients", {202: "age"}, raw={201: "patient_id"}), c203=ref(201, TEXT), c204=ref(202))

    def table(self):
        return Union(branches=(self.visits(), self.patients()), columns=(column(9, TEXT), column(3)))


class WithPatient(Total_):
    """SELECT COUNT(*), SUM(charge) FROM visits WHERE EXISTS (SELECT 1 FROM patients of the same person)."""

    negated = False

    def meeting(self):
        return SAME_PERSON

    def among(self):
        return PATIENTS

    def table(self):
        return Exists(input=super().table(), among=self.among(), condition=self.meeting(), negated=self.negated)


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


def turned(join, **changes):
    return replace(join, left=join.right, right=join.left, **changes)


def joined_stays(*pairs):
    meeting = inner.all_of(*(inner.same(ref(one), ref(other)) for one, other in pairs))
    return planted(Stays, table=Join(left=Stays().table(), right=OTHER_STAYS, condition=meeting))


def stays_among(*pairs):
    meeting = inner.all_of(*(inner.same(ref(one), ref(other)) for one, other in pairs))
    among = Exists(input=Stays().table(), among=OTHER_STAYS, condition=meeting, negated=False)
    return planted(Stays, table=among)


PUBLIC = {"among": scan("wards", {6: "ward"})}
KNOWN = {
    "rows of one person are paired": WithAge(),
    "rows without a partner keep their owner": planted(WithAge, table=replace(WithAge().table(), outer=True)),
    "the person of the other side is known": planted(WithAge, owned=OTHER_KNOWN),
    "the person of the other side is grouped by": planted(
        WithAge, owned=OTHER_KNOWN, rows=projected(OTHER_KNOWN, c9=ref(8, TEXT), c21=ref(3))
    ),
    "rows that meet public rows": WithCity(),
    "public rows that meet rows": planted(WithCity, table=turned(WithCity().table())),
    "the end of a path": Care(),
    "the end of a long path": Items(),
    "a person of two columns": Stays(),
    "a person of two columns in another order": planted(Stays, by=(9, 8)),
    "two columns paired with their own": joined_stays((8, 17), (9, 18)),
    "two columns among their own": stays_among((8, 17), (9, 18)),
    "rows with a partner of the same person": WithPatient(),
    "rows without a partner of the same person": planted(WithPatient, negated=True),
    "rows chosen by any public row": planted(WithPatient, **PUBLIC, meeting=inner.TRUE),
    "rows chosen by their public row": planted(WithPatient, **PUBLIC, meeting=inner.alike(ref(6, TEXT), ref(2, TEXT))),
}


@pytest.mark.parametrize("statement", KNOWN.values(), ids=KNOWN)
def test_rows_whose_owner_is_known_are_capped(statement):
    assert statement.reach() == ONE


# Joins.

NOT_EQUAL_OWNERS = {
    "anything": inner.TRUE,
    "the person and a value": inner.same(ref(9, TEXT), ref(6)),
    "two values": inner.same(ref(3), ref(6)),
    "after whatever conversion": Apply("eq", (ref(9, TEXT), ref(8, TEXT)), BOOLEAN),
    "or anything": Apply("or", (SAME_PERSON, inner.TRUE), BOOLEAN),
    "not": Apply("not", (SAME_PERSON,), BOOLEAN),
    "in lower case": Apply("same", (Apply("lower", (ref(9, TEXT),), TEXT), ref(8, TEXT)), BOOLEAN),
}
ONE_PERSON = grouped(projected(Readings().table(), c21=ref(3)), (), c30=COUNT, c31=sum_of(Total_().clamped()))
RANKED = Rank(
    input=Readings().chosen(),
    partition=(),
    order=(inner.hash_of(inner.SALT, ref(20, TEXT)), ref(20, TEXT)),
    column=column(50),
)
test_a_join_that_loses_the_owner_is_refused = each_refused(
    {
        # rows without a partner would be nobody's
        "the owner of the side that may be missing": planted(WithAge, table=turned(WithAge().table(), outer=True)),
        **{f"joined by {name}": planted(WithAge, meeting=each) for name, each in NOT_EQUAL_OWNERS.items()},
        # which of both a name stands for would be the engine's choice
        "two columns with one number": planted(
            WithCity, table=replace(WithCity().table(), right=scan("wards", {4: "ward", 3: "city"}))
        ),
        "the number of the owner twice": planted(
            Total_, table=replace(Total_().table(), columns=(column(2, TEXT), column(9), column(9, TEXT)))
        ),
        "a public table after the cap": planted(
            Total_, capped=Join(left=Total_().capped(), right=CITIES, condition=inner.TRUE)
        ),
        "rows that are units, paired": planted(
            Readings,
            rows=projected(
                Join(left=Readings().table(), right=LEVELS, condition=SAME_WARD), c20=ref(2, TEXT), c21=ref(3)
            ),
        ),
        # a ward may be listed any number of times
        "rows that are units beside public rows": planted(
            Readings,
            rows=projected(
                Join(left=Readings().table(), right=CITIES, condition=SAME_WARD), c20=ref(2, TEXT), c21=ref(3)
            ),
        ),
        "rows that are units, ranked": planted(Readings, chosen=filtered(RANKED, inner.at_most(ref(50), 2))),
        "rows that are units as those of one": planted(Total_, capped=projected(ONE_PERSON, **Total_().amounts())),
    }
)


def test_a_join_multiplies_rows_before_they_are_capped_not_after():
    """Capped contributions that meet several rows of the same person count several times."""
    again = planted(Total_, capped=Join(left=Total_().capped(), right=PATIENTS, condition=SAME_PERSON))
    refused(again)
    assert again.reach(catalog(unique={"patients": (("patient_id",),)})) == ONE


def test_rows_that_meet_a_few_after_the_cap_are_multiplied():
    """Four wards; or at most two rows of the same person, by a rank over the person that a unique pair settles."""
    wards = planted(Total_, capped=Join(left=Total_().capped(), right=Visits().listed(), condition=inner.TRUE))
    assert wards.reach() == moves((12, 144), (120, 120**2), keys=1)
    pairs = grouped(filtered(PATIENTS, inner.known(ref(8, TEXT))), (8, 6))
    order = (inner.hash_of(inner.SALT, ref(8, TEXT), ref(6)), ref(6))
    ages = filtered(Rank(input=pairs, partition=(8,), order=order, column=column(51)), inner.at_most(ref(51), 2))
    twice = planted(Total_, capped=Join(left=Total_().capped(), right=ages, condition=SAME_PERSON))
    assert twice.reach() == moves((6, 36), (60, 3600), keys=1)


# Paths: care.visit_id -> visits.id -> patient_id; items.care_id -> care.id -> visits.id -> patient_id.


def care_declared(**wrong):
    policy = catalog().policy
    tables = {**policy.tables, "care": replace(policy.tables["care"], **wrong)}
    return planted(Care, declared=replace(catalog(), policy=replace(policy, tables=tables)))


READ_VISITS = scan("visits", {5: "ID"}, raw={9: "Patient_ID"})
OTHER_STEPS = {
    "anything": inner.TRUE,
    "the person instead of the key": inner.same(ref(4), ref(9, TEXT)),
    "another column": inner.same(ref(3), ref(5)),
    "a column like it": inner.alike(ref(3), ref(5)),
    "after a conversion": Apply("eq", (ref(4), ref(5)), BOOLEAN),
    "or anything": Apply("or", (inner.same(ref(4), ref(5)), inner.TRUE), BOOLEAN),
}
test_a_path_that_is_not_followed_is_refused = each_refused(
    {
        "no path": planted(Total_, owned=scan("care", {3: "cost"}, raw={9: "visit_id"})),
        "a visit is not a person": planted(Total_, table=scan("care", {3: "cost"}, raw={9: "visit_id"}, owner=(9,))),
        "one step is left out": planted(Items, lookup=Care.lookup),
        "the other step is left out": planted(Items, lookup=grouped(Items().middle(), (7, 4))),
        **{f"along {name}": planted(Care, step=step) for name, step in OTHER_STEPS.items()},
        "a converted key": planted(Care, start=scan("care", {3: "cost", 4: "visit_id"})),
        "a converted key to be found": planted(
            Care, lookup=Group(input=READ_VISITS, by=(5, 9), columns=READ_VISITS.columns, totals=())
        ),
        "another table": planted(Care, lookup=scan("patients", {}, raw={5: "patient_id"}, owner=(5,))),
        "declared along another column": care_declared(path=(replace(TO_VISIT, columns=("id",)),)),
        "declared along another table": care_declared(path=(replace(TO_VISIT, table="patients"),)),
        "declared with another step": care_declared(path=(TO_VISIT, TO_VISIT)),
        "declared to another person": care_declared(person=("nurse_id",)),
        "public rows on the way": planted(
            Care, start=Join(left=Care().start(), right=scan("wards", {14: "ward"}), condition=inner.TRUE)
        ),
        "from its end": planted(Care, table=turned(Care().table())),
        "totals on the way": planted(Items, middle=grouped(Items().middle(), (7, 4), c33=COUNT)),
        # a person who is reached by two ways would count twice
        "steps in their order": planted(
            Items,
            table=Join(
                left=Join(
                    left=Items().start(), right=grouped(Items().middle(), (7, 4)), condition=inner.same(ref(6), ref(7))
                ),
                right=Care().lookup(),
                condition=Care().step(),
            ),
        ),
        "ranks on the way": planted(
            Care, start=Rank(input=Care().start(), partition=(4,), order=(ref(3),), column=column(50))
        ),
        "an outer path": planted(Care, table=replace(Care().table(), outer=True)),
        "private whatever the scan says": planted(Care, start=replace(Care().start(), private=False)),
        # a person with one visit may have any number of care
        "one row of a person without a cap": planted(
            Care,
            capped=projected(Care().rows(), c9=ref(9, TEXT), c40=whole(1), c41=inner.or_zero(Care().clamped())),
            declared=catalog(unique={"visits": (("Patient_ID",), ("ID",))}),
        ),
    }
)


# A person of two columns.

test_half_a_person_is_nobody = each_refused(
    {
        "grouped by half": planted(Stays, by=(8,)),
        "half is known": planted(Stays, known=(8,)),
        "turned": planted(Stays, table=replace(Stays().table(), owner=(9, 8))),
        "half is read": planted(Stays, table=replace(Stays().table(), owner=(8,))),
        "joined by half": joined_stays((8, 17)),
        "joined crosswise": joined_stays((8, 18), (9, 17)),
        "among half": stays_among((8, 17)),
        "among crosswise": stays_among((8, 18), (9, 17)),
    }
)


def test_a_part_of_the_person_that_is_unique_makes_the_whole_unique():
    given = inner.clamp_whole(inner.or_zero(Stays().clamped()), low=-15, high=30)
    amounts = {"c40": inner.clamp_whole(ref(21), low=0, high=3), "c41": given}
    one_each = planted(Stays, capped=projected(Stays().rows(), c8=ref(8), c9=ref(9), **amounts))
    assert one_each.reach(catalog(unique={"stays": (("number",),)})) == ONE
    refused(one_each, catalog(unique={"stays": (("ward",), ("hospital", "number", "ward"), ())}))


def test_public_statements_have_no_reach():
    wards = grouped(CITIES, (4,), c80=COUNT)
    raised(InternalError, lambda: derive(wards, keys=(4,), values=(80,), catalog=catalog()))


# Unions.


def second_branch(relation, owner=None, value=None):
    """The union with another second branch."""
    return planted(Both, patients=projected(relation, c203=owner or ref(201, TEXT), c204=value or ref(202)))


def levels(first):
    read = scan("readings", {first: "ward", first + 1: "level"})
    return projected(read, **{f"c{first + 2}": ref(first, TEXT), f"c{first + 3}": ref(first + 1)})


CARED_FOR = scan("visits", {}, raw={101: "Patient_ID", 102: "nurse_id"}, owner=(101,))
VISITED = scan("visits", {102: "ward"}, raw={101: "Patient_ID"})
OTHER_PERSONS = (
    scan("visits", {102: "charge"}, raw={101: "Patient_ID", 105: "nurse_id"}, owner=(101,)),
    scan("stays", {202: "nights"}, raw={201: "hospital", 205: "number"}),
)
ALONE = {
    "per_person": lambda self: self.rows(),
    "amounts": lambda self: {
        "c40": inner.clamp_whole(whole(1), low=0, high=1),
        "c41": inner.clamp_whole(inner.or_zero(self.clamped()), low=self.low, high=self.high),
    },
}
"""Rows as they are, with no cap: right where a person has one row."""
test_a_union_that_loses_the_owner_is_refused = each_refused(
    {
        # the columns hold the person here and something else there
        "the owner in another place": planted(
            Both,
            visits=projected(VISITED, c103=ref(101, TEXT), c104=ref(102, TEXT)),
            patients=projected(VISITED, c203=ref(102, TEXT), c204=ref(101, TEXT)),
        ),
        "the owner in another place of the same type": planted(
            Both,
            table=Union(
                branches=(
                    projected(CARED_FOR, c103=ref(101, TEXT), c104=ref(102, TEXT)),
                    projected(CARED_FOR, c203=ref(102, TEXT), c204=ref(101, TEXT)),
                ),
                columns=(column(9, TEXT), column(3, TEXT)),
            ),
            why="rows lose their owner",
        ),
        "a converted owner": second_branch(
            scan("patients", {202: "age", 205: "patient_id"}, raw={201: "patient_id"}), owner=ref(205, TEXT)
        ),
        "public rows": second_branch(scan("wards", {201: "ward", 202: "city"}), value=ref(202, TEXT)),
        "rows that are units": second_branch(scan("readings", {202: "level", 201: "ward"}), owner=ref(201)),
        "a person that is not found yet": second_branch(
            scan("care", {202: "cost"}, raw={201: "visit_id"}), owner=ref(201)
        ),
        "rows that are units in both": planted(
            Readings,
            table=Union(branches=(levels(100), levels(200)), columns=(column(2, TEXT), column(3))),
            why="units of their own",
        ),
        **{
            f"persons of one and of two columns, {order}": planted(
                Both,
                table=Union(branches=OTHER_PERSONS[::order], columns=(column(3), column(9, TEXT), column(10, TEXT))),
                why="two kinds of person",
            )
            for order in (1, -1)
        },
        **{
            name: planted(Both, table=replace(Both().table(), **change))
            for name, change in {
                "a column less": {"columns": (column(9, TEXT),)},
                "a column more": {"columns": (column(9, TEXT), column(3), column(4))},
                "a column twice": {"columns": (column(9, TEXT), column(9))},
                "no branch": {"branches": ()},
            }.items()
        },
        # converted by the engine, each as it likes
        "a number here and a text there": second_branch(
            scan("patients", {202: "patient_id"}, raw={201: "patient_id"}), value=ref(202, TEXT)
        ),
        # two rows of one patient in all
        "one row of each in each branch": planted(Both, **ALONE),
    }
)


def test_a_clamp_in_one_branch_bounds_no_column():
    """Only where every branch clamps its values are they bounded above."""
    clamp = inner.clamp_whole(ref(102), low=0, high=1)
    clamped = projected(scan("visits", {102: "charge"}, raw={101: "Patient_ID"}), c103=ref(101, TEXT), c104=clamp)
    refused(planted(Both, visits=clamped, clamped=ref(21)))
    other = inner.clamp_whole(ref(202), low=-1, high=2)
    both = projected(scan("patients", {202: "age"}, raw={201: "patient_id"}), c203=ref(201, TEXT), c204=other)
    assert planted(Both, visits=clamped, clamped=ref(21), patients=both).reach() == ONE


# EXISTS.

OTHER_MEETINGS = {
    **NOT_EQUAL_OWNERS,
    "the person is known": inner.known(ref(9, TEXT)),
    "a column that is not there": inner.same(ref(9, TEXT), ref(99, TEXT)),
}
WARDS_OF_PEOPLE = Exists(
    input=scan("wards", {12: "ward"}),
    among=scan("visits", {13: "ward"}, raw={14: "Patient_ID"}),
    condition=inner.alike(ref(12, TEXT), ref(13, TEXT)),
    negated=False,
)


def readings_without(among):
    return planted(Readings, table=Exists(input=Readings().table(), among=among, condition=inner.TRUE, negated=True))


test_rows_are_not_left_out_for_what_somebody_else_has = each_refused(
    {
        **{
            f"{'no ' if negated else ''}partner: {name}": planted(WithPatient, meeting=meeting, negated=negated)
            for name, meeting in OTHER_MEETINGS.items()
            for negated in (False, True)
        },
        "rows that are units": readings_without(scan("readings", {6: "ward"})),
        # joined to visits they would decide which of them count
        "public rows for people": planted(
            Total_,
            table=Join(
                left=Total_().table(), right=WARDS_OF_PEOPLE, condition=inner.alike(ref(2, TEXT), ref(12, TEXT))
            ),
        ),
        "rows on the way to their person": planted(WithPatient, among=scan("care", {6: "cost"}, raw={8: "visit_id"})),
        "one row of each that nothing promises": planted(WithPatient, **ALONE),
    }
)


def test_leaving_rows_out_keeps_what_is_known_of_the_others():
    """A person of one row has one row at most; a row that is a unit may be left out for public rows."""
    one = catalog(unique={"visits": (("patient_id",),)})
    assert planted(WithPatient, **ALONE).reach(one) == moves((1, 1), (10, 100), keys=1)
    assert readings_without(scan("wards", {6: "ward"})).reach() == Readings().reach()


class OnWards(Readings):
    """SELECT ward, … FROM readings JOIN (SELECT ward FROM wards GROUP BY ward) AS w ON w.ward = readings.ward."""

    claimed = TEXT
    met = (2, 12)

    def table(self):
        wards = grouped(scan("wards", {12: "ward"}), (12,))
        once = replace(wards, columns=(column(12, self.claimed),))
        condition = inner.alike(ref(self.met[0], self.claimed), ref(self.met[1], self.claimed))
        return Join(left=super().table(), right=once, condition=condition)


def test_a_group_of_public_rows_does_not_say_of_what_type_its_keys_are():
    """'1' and '01' are two wards and one number: a level of 1 would meet both."""
    assert OnWards().reach() == Readings().reach()
    refused(planted(OnWards, claimed=INTEGER, met=(3, 12)))


class InOneWard(Visits):
    """SELECT ward, … FROM visits WHERE ward = (SELECT MAX(ward) FROM wards) GROUP BY ward: nobody is in two groups."""

    total = Total(function="max", argument=ref(11, TEXT))

    def chosen(self):
        one = replace(grouped(scan("wards", {11: "ward"}), (), c12=self.total), columns=(column(12, TEXT),))
        return Join(left=self.capped(), right=one, condition=inner.alike(ref(20, TEXT), ref(12, TEXT)))


def test_a_total_of_public_rows_has_the_type_of_its_function():
    """A count equals wards '1' and '01' alike, whatever type the group gives it: one person may be in both."""
    assert InOneWard().reach().keys_per_unit == 1
    refused(planted(InOneWard, total=Total(function="count")))


def test_a_partner_with_a_column_of_the_same_number_is_refused():
    among = scan("patients", {3: "age"}, raw={8: "patient_id"})
    refused(planted(WithPatient, why="two columns with one number", among=among))


@pytest.mark.parametrize("function", ["own_sum", "own_min", "own_max"])
def test_a_number_of_each_person_over_nothing_is_refused(function):
    totals = {"c30": COUNT, "c31": Total(function=function)}
    refused(planted(Visits, why="of nothing", per_person=lambda self: grouped(self.rows(), (9, 20), **totals)))
