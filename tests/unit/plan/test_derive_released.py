"""What is released: keys that are public, totals beside their own key, and sums that have room."""

from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction

import pytest
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

from dpsql.catalog.model import KeyList, KeyRange
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.plan.derive import Ball, derive
from dpsql.sql import inner
from dpsql.sql.relations import AwaitedRows, Join, Listed, ListedKeys, Rank, Total
from dpsql.sql.scalars import Apply, Windowed
from tests.kits.refusals import raised


@pytest.mark.parametrize(
    ("relation", "how"),
    [
        (
            projected(Visits().totals(), c20=ref(20, TEXT), c80=inner.or_zero(ref(80)), c81=inner.or_zero(ref(81))),
            {"keys": (20,), "values": (80, 81)},
        ),
        (Visits().owned(), {"keys": (2,), "values": (3,)}),
        (Visits().chosen(), {"keys": (20,), "values": (40, 41), "selection": True}),
        (grouped(Visits().rows(), (9,)), {"keys": (9,), "values": (), "selection": True}),
        ("a table", {"keys": (), "values": (1,)}),
    ],
    ids=["keys of private rows", "a raw column", "a value of a person", "the person", "an unknown operator"],
)
def test_what_is_no_release_is_refused(relation, how):
    raised(InternalError, lambda: derive(relation, **how, catalog=catalog()))


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


MONTHS = KeyRange(first=datetime(2024, 1, 1), count=3, months=1)
HOURS = KeyRange(first=datetime(2024, 1, 31, 5), count=3, microseconds=3_600_000_000)
DAYS = KeyRange(first=date(2024, 1, 31), count=3)


def by_keys(kind, keys, **parts):
    """Groups of this type, held inside these public keys."""

    def rows(self):
        key = Apply("some_function", (ref(2, TEXT),), kind)
        return projected(self.owned(), c9=ref(9, TEXT), c20=key, c21=ref(3))

    listed = ListedKeys(columns=(column(60, kind),), keys=keys)
    return planted(Visits, rows=rows, listed=lambda self: listed, **parts)


@pytest.mark.parametrize(
    ("type_", "keys"),
    [
        (SqlType.INTEGER, KeyList(values=(1, 2, None))),
        (SqlType.BOOLEAN, KeyList(values=(False, True))),
        (SqlType.DATE, KeyList(values=(date(2024, 1, 1), date(2024, 1, 2), None))),
        (SqlType.TIMESTAMP, KeyList(values=(datetime(2024, 1, 1), datetime(2024, 1, 2)))),
        (SqlType.INTEGER, KeyRange(first=-3, count=10)),
        (SqlType.DATE, DAYS),
        (SqlType.TIMESTAMP, MONTHS),
        (SqlType.TIMESTAMP, HOURS),
    ],
)
def test_public_keys_of_their_type_are_distinct(type_, keys):
    assert by_keys(type_, keys).reach() == Visits().reach()
    for other in {SqlType.INTEGER, SqlType.TEXT, SqlType.DATE, SqlType.TIMESTAMP, SqlType.BOOLEAN} - {type_}:
        refused(by_keys(other, keys))


@pytest.mark.parametrize(
    ("type_", "keys"),
    [
        (SqlType.TEXT, KeyList(values=("a", "b", "a"))),
        (SqlType.INTEGER, KeyList(values=(1, True))),
        (SqlType.INTEGER, KeyList(values=(1, Fraction(3, 2)))),
        (DOUBLE, KeyList(values=(1, Fraction(3, 2)))),
        (SqlType.DATE, KeyList(values=(date(2024, 1, 1), datetime(2024, 1, 1)))),
        (SqlType.INTEGER, KeyRange(first=True, count=2)),
        (SqlType.INTEGER, KeyRange(first=1, count=-2)),
        (SqlType.INTEGER, KeyRange(first=1, count=2, months=1)),
        (SqlType.DATE, replace(DAYS, microseconds=1)),
        (SqlType.TIMESTAMP, replace(HOURS, microseconds=0)),  # the same moment three times
        (SqlType.TIMESTAMP, replace(HOURS, microseconds=-1)),
        (SqlType.TIMESTAMP, replace(HOURS, months=1)),
        (SqlType.TIMESTAMP, replace(MONTHS, first=datetime(2024, 1, 31))),  # 31 January and a month is 29 February
        (SqlType.TIMESTAMP, replace(MONTHS, first=datetime(2024, 1, 1, tzinfo=UTC))),
        (SqlType.TIMESTAMP, DAYS),
    ],
)
def test_public_keys_that_may_come_twice_are_refused(type_, keys):
    refused(by_keys(type_, keys))


def test_rows_outside_the_keys_are_dropped_before_groups_are_chosen():
    """Only the keys that are shown may take a place among the groups of a person, and none but them may count."""
    assert by_keys(SqlType.INTEGER, KeyRange(first=1, count=1), groups=5).reach().keys_per_unit == 1
    assert by_keys(SqlType.INTEGER, KeyRange(first=1, count=9), groups=5).reach().keys_per_unit == 5
    refused(by_keys(SqlType.INTEGER, KeyRange(first=1, count=9), inside=Visits.capped, chosen=Visits.capped))


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


def test_public_keys_limit_no_groups_where_rows_without_a_key_are_kept():
    """Four listed wards are four groups at most; with rows of other wards beside them, only a rank limits groups."""

    def kept(self):
        return replace(Visits.inside(self), outer=True)

    assert planted(Visits, inside=kept).reach() == Visits().reach()
    assert planted(Visits, chosen=lambda self: self.inside()).reach().keys_per_unit == len(WARDS)
    refused(planted(Visits, inside=kept, chosen=lambda self: self.inside()))


def test_an_outer_join_that_keeps_public_rows_is_refused():
    def kept_wards(self):
        condition = inner.alike(ref(20, TEXT), ref(60, TEXT))
        return Join(left=self.listed(), right=self.capped(), condition=condition, outer=True)

    refused(planted(Visits, inside=kept_wards))


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
        Visits, values=(80,), totals=lambda self: grouped(self.chosen(), (20,), c80=COUNT, c81=COUNT), shown=shown
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


# ---- rows that an earlier question of the statement will have released


def awaited(*columns):
    return AwaitedRows(columns=columns, question=0)


def test_awaited_rows_are_public_and_nothing_else_is_known_of_them():
    """They may repeat: as keys of totals they would show a key twice, unless each is taken once."""
    condition = inner.alike(ref(60, TEXT), ref(70, TEXT))
    twin = projected(Visits().totals(), c70=ref(20, TEXT), c80=ref(80), c81=ref(81))

    def reach(keys):
        return derive(beside(keys, twin, condition), keys=(60,), values=(80, 81), catalog=catalog())

    raised(InternalError, lambda: reach(awaited(column(60, TEXT))), match="not distinct public keys")
    known = Listed(columns=(column(60, TEXT),), rows=(("a",), ("b",)))
    assert reach(grouped(awaited(column(60, TEXT)), (60,))) == reach(known)


def test_awaited_rows_alone_are_no_totals_of_people():
    total = grouped(awaited(column(60)), (), c80=COUNT)
    raised(InternalError, lambda: derive(total, keys=(), values=(80,), catalog=catalog()))
