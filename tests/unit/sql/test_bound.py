"""How much one person can contribute: caps, bounds, and the room of the engine's integers."""

from contextlib import suppress
from fractions import Fraction

import pytest

from dpsql.catalog.model import Mode, Noise
from dpsql.errors import BadParameter, NotSupported, Unbounded
from dpsql.plan.derive import derive
from dpsql.sql.rewrite import Statement, Unprotected, rewrite
from dpsql.sql.slots import Slot, SlotKind
from tests.kits.cases import cases
from tests.kits.refusals import raised

from stages import CLINIC, bounded, clinic

FUNCTIONS = ["COUNT({})", "SUM({})", "AVG({})", "VAR_POP({})", "STDDEV({})", "COUNT(DISTINCT {})"]


def slots(sql: str) -> list[Slot]:
    return [placed.slot for placed in bounded(sql).slots]


def test_every_slot_says_what_one_person_adds_at_most() -> None:
    """Six rows of one person; points between -50 and 50, so 0 is the middle; price in 1/1024ths of 2 at most."""
    expected = [(SlotKind.ROWS, 0, 6), (SlotKind.SUM, -300, 300)]
    assert [(slot.kind, slot.low, slot.high) for slot in slots("SELECT COUNT(*), SUM(points) FROM visits")] == expected
    count, centred, squares = slots("SELECT VAR_POP(points) FROM visits")
    assert (count.kind, count.high) == (SlotKind.VALUES, 6)
    assert (centred.kind, centred.low, centred.high) == (SlotKind.CENTRED, -300, 300)
    assert (squares.kind, squares.low, squares.high) == (SlotKind.SQUARES, 0, 6 * 50 * 50)


def test_equal_slots_are_released_once() -> None:
    assert len(slots("SELECT COUNT(points), AVG(points), VAR_POP(points), SUM(points) FROM visits")) == 4


@cases(__file__, "sql", "groups=")
def test_a_person_counts_in_so_many_groups(sql: str, groups: int) -> None:
    assert bounded(sql).groups == groups


def test_modes() -> None:
    by_ward = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
    assert bounded(by_ward, gaussian=True).mode is Mode.SCALE
    assert bounded(by_ward, gaussian=False).mode is Mode.CHOOSE
    assert bounded(by_ward, gaussian=True, noise=Noise.LAPLACE).mode is Mode.CHOOSE
    assert bounded("SELECT COUNT(*) FROM visits", gaussian=True).mode is None
    assert bounded("SELECT town, COUNT(*) FROM people GROUP BY town", gaussian=True).mode is None
    with pytest.raises(NotSupported, match="scale"):
        bounded("SELECT ward, COUNT(DISTINCT points) FROM visits GROUP BY ward", gaussian=True, mode=Mode.SCALE)


def test_without_a_cap_nothing_is_counted() -> None:
    with pytest.raises(Unbounded, match="rows_per_person"):
        bounded("SELECT COUNT(*) FROM visits", clinic(rows_per_person=None))


def derived(statement: Statement, catalog: object) -> None:
    keys, values = (tuple(column.id for column in columns) for columns in (statement.keys, statement.values))
    derive(statement.relation, keys=keys, values=values, catalog=catalog, selection=False)  # type: ignore[arg-type]


@pytest.mark.parametrize("cap", [1, 6, 10**6, 10**12, 10**20, 10**30])
@pytest.mark.parametrize("bits", [10, 30, 40, 53, 61])
@pytest.mark.parametrize("grouped", ["", " GROUP BY ward", " GROUP BY illness"])
@pytest.mark.parametrize("mode", [None, Mode.CHOOSE])
def test_what_has_room_is_derived_and_what_has_none_is_refused(
    cap: int, bits: int, grouped: str, mode: Mode | None
) -> None:
    """The two derivations agree on what fits into 128 bits, so that nobody meets the one that cannot explain it."""
    catalog = clinic(rows_per_person=cap, rows_per_group=cap, groups_per_person=3)
    for function in FUNCTIONS:
        argument = function.format(f"CLAMP(code, {-(2**bits)}, {2**bits - 1})")
        sql = f"SELECT {argument} FROM visits{grouped}"
        with suppress(BadParameter):
            made = rewrite(bounded(sql, catalog, gaussian=True, mode=mode))
            assert not isinstance(made, Unprotected)
            assert made.measurement is not None
            derived(made.measurement, catalog)


def test_the_refusal_for_want_of_room_offers_a_query_that_has_it() -> None:
    sql = "SELECT VAR_POP(CLAMP(code, 0, 1000000000000000)) FROM visits"
    error = raised(BadParameter, lambda: bounded(sql))
    assert error.try_sql == "SELECT VAR_POP(CLAMP(CLAMP(code, 0, 1000000000000000), 0, 1000)) FROM visits"
    bounded(error.try_sql)


def test_room_by_hand() -> None:
    """C values of at most b need C · b · 2^40 < 2^126."""
    sql = "SELECT SUM(CLAMP(code, 0, {})) FROM visits"
    fits = clinic(rows_per_person=2**26)
    bounded(sql.format(2**60 - 1), fits)
    raised(BadParameter, lambda: bounded(sql.format(2**60), fits), match=r"(?s)128 bits.*rows_per_group")


@pytest.mark.parametrize(
    ("argument", "low", "high"), [("2020", 2019, 2020), ("-3", -3, -2), ("0", 0, 1), ("CLAMP(code, 7, 7)", 6, 7)]
)
def test_a_constant_has_the_narrowest_bounds_that_make_no_sum_larger(argument: str, low: int, high: int) -> None:
    (slot,) = slots(f"SELECT SUM({argument}) FROM visits")
    assert slot.grain is not None
    assert (slot.grain.lower, slot.grain.upper) == (low, high)
    assert slot.reach == 6 * max(abs(low), abs(high))


def test_what_is_nearly_a_constant_keeps_its_value_and_its_sensitivity() -> None:
    """The logarithm's range is a little wider than a point, since libraries err; 0.8109302162163288 is ln 2.25."""
    (slot,) = slots("SELECT SUM(LN(2.25)) FROM visits")
    assert slot.grain is not None
    assert slot.grain.lower < Fraction(0.8109302162163287) < Fraction(0.8109302162163289) < slot.grain.upper
    assert float(slot.reach * slot.size) == pytest.approx(6 * 0.8109302162163288, rel=1e-9)
    assert max(abs(slot.grain.low), abs(slot.grain.high)) < 2**62


def test_public_tables_need_no_bounds() -> None:
    plain = bounded("SELECT region, COUNT(*) FROM wards GROUP BY region")
    assert (plain.slots, plain.domains, plain.mode) == ((), (), None)
    assert CLINIC.policy.tables["wards"].public


@pytest.mark.parametrize(
    ("limit", "told"), [("groups_per_person", "any number of groups"), ("rows_per_person", "any number of rows")]
)
def test_a_limit_that_is_missing_is_missed_for_its_own_reason(limit: str, told: str) -> None:
    with pytest.raises(Unbounded, match=limit) as refusal:
        bounded("SELECT ward, COUNT(*) FROM visits GROUP BY ward", clinic(**{limit: None, "rows_per_group": None}))
    assert told in refusal.value.why


@pytest.mark.parametrize(("asked", "counted"), [(None, 6), (1, 1), (5, 5), (6, 6), (7, 6), (10**6, 6)])
def test_a_query_lowers_the_rows_of_a_person_and_never_raises_them(asked, counted):
    """visits: rows_per_person = 6."""
    found = bounded("SELECT COUNT(*), SUM(points) FROM visits", rows_per_person=asked)
    assert {placed.slot.cap for placed in found.slots} == {counted}


@pytest.mark.parametrize(("asked", "counted"), [(None, 3), (1, 1), (3, 3), (9, 3)])
def test_a_query_lowers_the_groups_of_a_person_and_never_raises_them(asked, counted):
    """visits: groups_per_person = 3, four wards."""
    assert bounded("SELECT ward, COUNT(*) FROM visits GROUP BY ward", groups_per_person=asked).groups == counted


def test_each_count_has_the_rows_its_own_bounds_allow():
    sql = (
        "SELECT COUNT(*, contribution_bounds_per_group => (0, 2)), COUNT(*, contribution_bounds_per_group => (0, 9)), "
        "COUNT(*) FROM visits"
    )
    assert [slot.cap for slot in slots(sql)] == [2, 6]


def test_who_has_one_row_by_construction_keeps_it():
    (one,) = bounded("SELECT COUNT(*) FROM people", rows_per_person=3).slots
    assert one.slot.cap == 1


def test_the_average_of_who_has_one_row_is_that_row() -> None:
    found = bounded("SELECT WITH DIFFERENTIAL_PRIVACY AVG(age) FROM people")
    assert [placed.slot for placed in found.slots] == [
        placed.slot for placed in bounded("SELECT AVG(age) FROM people").slots
    ]
