"""What is released: keys that are public, totals beside their own key, and sums that have room."""

from dataclasses import replace
from datetime import date, datetime

from derive_trees import (
    COUNT,
    DOUBLE,
    INTEGER,
    TEXT,
    WARDS,
    People,
    Readings,
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

from dpsql.catalog.model import KeyRange
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.plan.derive import Ball, derive
from dpsql.sql import inner
from dpsql.sql.relations import AwaitedRows, Join, Listed, ListedKeys, Rank, Total
from dpsql.sql.scalars import Apply, Windowed
from tests.kits.cases import cases
from tests.kits.refusals import raised


@cases(__file__, "relation=", "how=")
def test_what_is_no_release_is_refused(relation, how):
    raised(InternalError, lambda: derive(relation, **how, catalog=catalog()))


def beside(left, right, condition, **how):
    joined = Join(left=left, right=right, condition=condition, **({"outer": True} | how))
    return projected(joined, c60=ref(60, TEXT), c80=inner.or_zero(ref(80)), c81=inner.or_zero(ref(81)))


KEYS = Visits().listed()
TWIN = projected(Visits().totals(), c70=ref(20, TEXT), c80=ref(80), c81=ref(81))
OWN_KEY = inner.alike(ref(60, TEXT), ref(70, TEXT))
YEARS = Listed(columns=(column(61),), rows=((2024,), (2025,)))
KEY_AND_YEAR = Join(left=KEYS, right=YEARS, condition=inner.TRUE)
test_totals_stand_beside_their_own_key_and_nothing_decides_more = each_refused(
    {
        "public keys are selected": planted(Visits, selection=True),
        "a total is selected": planted(Total_, selection=True),
        "private keys are not selected": planted(People, selection=False),
        "a key without people is missing": planted(Visits, shown=beside(KEYS, TWIN, OWN_KEY, outer=False)),
        **{
            name: planted(Visits, shown=beside(KEYS, TWIN, condition))
            for name, condition in {
                "every total at every key": inner.TRUE,
                "NULL beside nothing": inner.same(ref(60, TEXT), ref(70, TEXT)),
                "small totals alone": inner.all_of(OWN_KEY, inner.at_most(ref(80), 9)),
                "any key": Apply("or", (OWN_KEY, inner.TRUE), inner.TRUE.type),
            }.items()
        },
        # wards times years, totals by ward alone: every total would be released twice
        "totals repeated for another public key": planted(
            Visits,
            keys=(60, 61),
            shown=projected(
                Join(left=KEY_AND_YEAR, right=TWIN, condition=OWN_KEY, outer=True),
                c60=ref(60, TEXT),
                c61=ref(61),
                c80=inner.or_zero(ref(80)),
                c81=inner.or_zero(ref(81)),
            ),
        ),
        "keys that are repeated": planted(
            Visits, shown=beside(planted(Visits, wards=("A", "A", "B")).listed(), TWIN, OWN_KEY)
        ),
    }
)


MONTHS = KeyRange(first=datetime(2024, 1, 1), count=3, months=1)
HOURS = KeyRange(first=datetime(2024, 1, 31, 5), count=3, microseconds=3_600_000_000)
DAYS = KeyRange(first=date(2024, 1, 31), count=3)


def by_keys(kind, keys, **parts):
    """Groups of this type, held inside these public keys."""

    def rows(self):
        key = Apply("some_function", (ref(2, TEXT),), kind)
        return projected(self.owned(), c9=ref(9, TEXT), c20=key, c21=ref(3))

    many = isinstance(keys, tuple)
    listed = Listed(columns=(column(60, kind),), rows=tuple((key,) for key in keys)) if many else None
    listed = listed or ListedKeys(columns=(column(60, kind),), keys=keys)
    return planted(Visits, **({"rows": rows, "listed": listed} | parts))


@cases(__file__, "type_=", "keys=")
def test_public_keys_of_their_type_are_distinct(type_, keys):
    assert by_keys(type_, keys).reach() == Visits().reach()
    for other in {SqlType.INTEGER, SqlType.TEXT, SqlType.DATE, SqlType.TIMESTAMP, SqlType.BOOLEAN} - {type_}:
        refused(by_keys(other, keys))
        converted = by_keys(other, keys).rows  # equal only after a conversion
        refused(by_keys(type_, keys, rows=converted))
        refused(by_keys(type_, keys, rows=converted, inside=Visits.capped))
    if isinstance(keys, tuple):
        refused(by_keys(type_, (*keys, keys[0])))


@cases(__file__, "type_=", "keys=")
def test_public_keys_that_may_come_twice_are_refused(type_, keys):
    refused(by_keys(type_, keys))


def test_rows_outside_the_keys_are_dropped_before_groups_are_chosen():
    """Only the keys that are shown may take a place among the groups of a person, and none but them may count."""
    assert by_keys(SqlType.INTEGER, KeyRange(first=1, count=1), groups=5).reach().keys_per_unit == 1
    assert by_keys(SqlType.INTEGER, KeyRange(first=1, count=9), groups=5).reach().keys_per_unit == 5
    refused(by_keys(SqlType.INTEGER, KeyRange(first=1, count=9), inside=Visits.capped, chosen=Visits.capped))


NUMBERS = Listed(columns=(column(61),), rows=((1,), (2,)))
HALVES = projected(Visits().owned(), c9=ref(9, TEXT), c20=Apply("to_double", (ref(3),), DOUBLE), c21=ref(3))
TABLE, TOTALS = Visits().table(), Total_().totals()
test_keys_and_totals_limit_no_rows = each_refused(
    {
        # '1' and '01' both equal 1: two public numbers can be many texts
        "a list of another type": planted(
            Visits, chosen=Join(left=Visits().capped(), right=NUMBERS, condition=inner.alike(ref(20, TEXT), ref(61)))
        ),
        **{
            f"fractions are no keys, {step}": planted(
                Visits, rows=HALVES, listed=Listed(columns=(column(60, DOUBLE),), rows=rows, from_step=step)
            )
            for rows, step in ((((1,), (2,)), None), ((), 0))
        },
        # exact totals beside rows would let rows be filtered by what everybody has
        **{
            name: planted(
                Visits, owned=filtered(Join(left=left, right=right, condition=inner.TRUE), inner.known(ref(9, TEXT)))
            )
            for name, left, right in (("totals meet rows", TOTALS, TABLE), ("rows meet totals", TABLE, TOTALS))
        },
        "an outer join that keeps public rows": planted(
            Visits,
            inside=Join(
                left=KEYS, right=Visits().capped(), condition=inner.alike(ref(20, TEXT), ref(60, TEXT)), outer=True
            ),
        ),
    }
)


def test_public_keys_limit_no_groups_where_rows_without_a_key_are_kept():
    """Four listed wards are four groups at most; with rows of other wards beside them, only a rank limits groups."""

    def kept(self):
        return replace(Visits.inside(self), outer=True)

    assert planted(Visits, inside=kept).reach() == Visits().reach()
    assert planted(Visits, chosen=lambda self: self.inside()).reach().keys_per_unit == len(WARDS)
    refused(planted(Visits, inside=kept, chosen=lambda self: self.inside()))


OTHER_COLUMNS = (
    ((), (80, 81)),
    ((60, 60), (80, 81)),
    ((70,), (80, 81)),
    ((60,), (80, 80)),
    ((60,), (60,)),
    ((60,), (80, 99)),
    ((60,), ()),
)
test_released_columns_are_the_keys_and_the_totals = each_refused(
    {f"{keys} {values}": planted(Visits, keys=keys, values=values) for keys, values in OTHER_COLUMNS}
)


OVER_ALL = Windowed(function="sum", arguments=(ref(3),), partition_by=(), order_by=(), frame="", type=INTEGER)
SMALL = Total(function="sum", argument=ref(41), filter=inner.at_most(ref(41), 5))
NOT_ZERO = projected(Visits().shown().input, c60=ref(60, TEXT), c80=ref(80), c81=ref(81))
HALF = projected(Visits().owned(), c9=ref(9, TEXT), c21=Apply("to_double", (ref(3),), DOUBLE))
CHOSEN = Visits().chosen()
test_other_totals_are_refused = each_refused(
    {
        "NULL without people": planted(Visits, shown=NOT_ZERO),
        "NULL without anybody": planted(Total_, shown=Total_.totals),
        # never NULL in a group, but NULL where there is none
        "a count that is NULL without people": planted(
            Visits,
            values=(80,),
            totals=grouped(CHOSEN, (20,), c80=COUNT, c81=COUNT),
            shown=lambda self: replace(Visits.shown(self), expressions=NOT_ZERO.expressions),
        ),
        "filtered before the noise": planted(Visits, totals=filtered(Visits().totals(), inner.at_most(ref(80), 9))),
        "added up before the noise": planted(
            Visits, totals=grouped(Visits().totals(), (20,), c80=sum_of(ref(80)), c81=COUNT)
        ),
        "doubled before the noise": planted(
            Total_, shown=projected(TOTALS, c80=inner.times(ref(80), 2), c81=inner.or_zero(ref(81)))
        ),
        "a filter": planted(Visits, totals=grouped(CHOSEN, (20,), c80=sum_of(ref(40)), c81=SMALL)),
        "a window in an expression": planted(
            Visits, rows=projected(Visits().owned(), c9=ref(9, TEXT), c20=ref(2, TEXT), c21=OVER_ALL)
        ),
        "fractions, clamped": planted(Total_, rows=HALF),  # fractions are left, and NaN at a limit
        "fractions": planted(Total_, rows=HALF, clamped=ref(21, DOUBLE)),
        **{
            f"{function} {place}": statement
            for function in ("min", "max", "avg", "any_value", "sum_distinct", "stddev")
            for place, statement in {
                "of everybody": planted(
                    Visits,
                    totals=grouped(CHOSEN, (20,), c80=sum_of(ref(40)), c81=Total(function=function, argument=ref(41))),
                ),
                "inside a person": planted(
                    Visits,
                    per_person=grouped(
                        Visits().rows(), (9, 20), c30=COUNT, c31=Total(function=function, argument=Visits().clamped())
                    ),
                ),
            }.items()
        },
    }
)


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


OWNED, ROWS = Visits().owned(), Visits().rows()
SWAPPED = projected(OWNED, c9=ref(9, TEXT), c2=ref(3), c3=Apply("length", (ref(2, TEXT),), INTEGER))
RANKED_AS_CHARGE = Rank(input=Visits().inside(), partition=(9,), order=Visits.order, column=column(41))
test_numbers_mean_one_column_and_columns_one_expression = each_refused(
    {
        "a key list": planted(Visits, listed=Listed(columns=(column(20, TEXT),), rows=(("A",),))),
        "numbers swapped": planted(Total_, rows=projected(SWAPPED, c9=ref(9, TEXT), c21=ref(3))),
        "a column that is gone": planted(Visits, rows=projected(OWNED, c9=ref(9, TEXT), c20=ref(2, TEXT), c21=ref(99))),
        "a filter by a column that is gone": planted(Visits, owned=replace(OWNED, condition=inner.known(ref(99)))),
        "a filter with more columns": planted(Visits, owned=replace(OWNED, columns=(*OWNED.columns, column(98)))),
        **{
            f"a condition that is none: {condition}": planted(Visits, owned=filtered(OWNED, condition))
            for condition in (ref(2, TEXT), whole(1), inner.all_of(inner.known(ref(9, TEXT)), ref(3)))
        },
        # else `rank <= 2` might be read as a limit on the charge
        "a rank with the number of the charge": planted(
            Visits, chosen=filtered(RANKED_AS_CHARGE, inner.at_most(ref(41), 2))
        ),
        "a column without an expression": planted(Visits, rows=replace(ROWS, columns=(*ROWS.columns, column(22)))),
        "a total without a column": planted(Visits, totals=replace(Visits().totals(), totals=(COUNT,))),
        "groups in another order": planted(Visits, per_person=replace(Visits().per_person(), by=(20, 9))),
        "two values in one column": planted(Visits, listed=Listed(columns=(column(60, TEXT),), rows=(("A", "B"),))),
    }
)


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


# ---- rows that an earlier question of the statement will have released


def awaited(*columns):
    return AwaitedRows(columns=columns, question=0)


def test_awaited_rows_are_public_and_nothing_else_is_known_of_them():
    """They may repeat: as keys of totals they would show a key twice, unless each is taken once."""

    def reach(keys):
        return derive(beside(keys, TWIN, OWN_KEY), keys=(60,), values=(80, 81), catalog=catalog())

    raised(InternalError, lambda: reach(awaited(column(60, TEXT))), match="not distinct public keys")
    known = Listed(columns=(column(60, TEXT),), rows=(("a",), ("b",)))
    assert reach(grouped(awaited(column(60, TEXT)), (60,))) == reach(known)


def test_awaited_rows_alone_are_no_totals_of_people():
    total = grouped(awaited(column(60)), (), c80=COUNT)
    raised(InternalError, lambda: derive(total, keys=(), values=(80,), catalog=catalog()))
