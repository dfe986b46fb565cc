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
    each_refused,
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
            Visits,
            capped=projected(BY_SOMEBODY_ELSE, c9=ref(8, TEXT), c20=ref(20, TEXT), **Visits().amounts()),
        ),
    }
)


@pytest.mark.parametrize("base", [Visits, Total_, Scaled, Different, People])
def test_rows_without_a_person_must_be_filtered(base):
    refused(planted(base, owned=base.table))
    either = Apply("or", (inner.known(ref(9, TEXT)), inner.known(ref(2, TEXT))), inner.TRUE.type)
    for condition in (inner.known(ref(2, TEXT)), either):
        refused(planted(base, owned=filtered(base().table(), condition)))
