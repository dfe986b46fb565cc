"""Public keys by the thousand: bound as one array or kept as a range, named by a digest, and answered as few are."""

import json
from datetime import date, datetime, timedelta
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest

from counted_calls import counted_calls, growth
from dpsql.errors import BadKey, LedgerBroken
from dpsql.ledger.facts import Adopted
from dpsql.ledger.ledger import Charge
from dpsql.ledger.memory import MemoryLedger
from dpsql.plan.record import lists_of, plan_record, read_plan
from dpsql.session.auditing import audit
from dpsql.session.declared import ownership_of
from dpsql.sql.emit import engine_text
from tests.kits.noiseless import without_noise
from tests.kits.owners import owner_of
from tests.kits.refusals import raised
from tests.kits.replay import excesses, replayed

COUNT = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"


def opened(table, *, max_keys=10**6, groups=2, **declared):
    caps = {"rows_per_person": 6, "rows_per_group": 3, "groups_per_person": groups, "max_keys": max_keys}
    shares = {"cost_per_query": 1, "selection_share": 0.25, "delta_per_query": 1e-9, "delta": 1e-6}
    owner = owner_of(pa.table(table), "t", person="id", **caps, **declared, epsilon=1000, **shares)
    return owner, owner.grant("ana", budget=1000)


def measured(ana, sql):
    """What the engine would be sent."""
    return engine_text(ana.query(sql).sealed.plan.steps[-1].statement, dialect="duckdb")


TEXTS = ["it's", 'say "hi"', "$list1", "); DROP TABLE t; --", "ü\U0001f600", "", "NULL", "2024-01-01", None]
DAY = date(2024, 2, 27)
COLUMNS = {
    "whole numbers": [7, -1, 2**62, 0, None],
    "texts": TEXTS,
    "days": [DAY, DAY + timedelta(days=4), date(9999, 12, 31), None],
    "moments": [datetime(2024, 1, 1), datetime(2024, 1, 1, 5, 6, 7, 8), None],
    "truth values": [True, False, None],
}


@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS)
def test_keys_of_every_type_are_bound_and_answered_like_plain_sql(values):
    rows = [value for place, value in enumerate(values) for _ in range(place % 3)]
    owner, ana = opened({"id": range(len(rows)), "k": rows}, keys={"k": values}, groups=1)
    text = measured(ana, COUNT)
    (bound,) = text.lists.values()
    assert sorted(map(repr, bound)) == sorted(map(repr, values))
    assert text.sql.count("$list1") == 1
    shorter = opened({"id": range(len(rows)), "k": rows}, keys={"k": values[:2]}, groups=1)[1]
    assert measured(shorter, COUNT).sql == text.sql  # nothing of the keys is in it
    found = [(key, n.value) for key, n in without_noise(ana, COUNT)]
    assert found == [(value, rows.count(value)) for value in (*sorted(filter(_is_there, values)), None)]
    assert [row[0] for row in ana.sql(COUNT)] == [key for key, _ in found]
    assert owner.audit().holds


def _is_there(value):
    return value is not None


def test_rows_outside_the_list_and_null_that_is_not_listed_are_dropped():
    _, ana = opened({"id": range(6), "k": ["a", "b", "z", None, "a", "y"]}, keys={"k": ["b", "a", "c"]})
    assert [(key, n.value) for key, n in without_noise(ana, COUNT)] == [("a", 2), ("b", 1), ("c", 0)]


RANGES = {
    "whole numbers": ([3, 5, 5, 99, None], (1, 6), "k", range(1, 7)),
    "days": (
        [DAY, DAY, date(2030, 1, 1)],
        (DAY, DAY + timedelta(days=3)),
        "k",
        [DAY + timedelta(days=d) for d in range(4)],
    ),
    "months": (
        [DAY, DAY, date(2030, 1, 1)],
        (DAY, date(2025, 1, 5)),
        "date_trunc('month', k)",
        [datetime(2024, month, 1) for month in range(2, 13)] + [datetime(2025, 1, 1)],
    ),
    "weeks": (
        [DAY, DAY, date(2030, 1, 1)],
        (DAY, DAY + timedelta(days=9)),
        "date_trunc('week', k)",
        [datetime(2024, 2, 26), datetime(2024, 3, 4)],
    ),
    "hours": (
        [datetime(2024, 1, 1, 5, 30), datetime(2025, 1, 1)],
        (datetime(2024, 1, 1, 4), datetime(2024, 1, 1, 7)),
        "date_trunc('hour', k)",
        [datetime(2024, 1, 1, hour) for hour in range(4, 8)],
    ),
}


@pytest.mark.parametrize(("rows", "bounds", "key", "keys"), RANGES.values(), ids=RANGES)
def test_a_range_stays_a_range_and_is_answered_like_a_list(rows, bounds, key, keys):
    calendar = {} if isinstance(bounds[0], int) else {"keys": {"k": "calendar"}}
    owner, ana = opened({"id": range(len(rows)), "k": rows}, bounds={"k": bounds}, **calendar)
    sql = f"SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY 1"
    text = measured(ana, sql)
    assert text.lists == {}
    assert f"range({len(keys)})" in text.sql
    plain = duckdb.connect()
    plain.register("t", pa.table({"k": rows}))
    counts = dict(plain.execute(f"SELECT {key}, count(*) FROM t GROUP BY 1").fetchall())
    assert [(key, n.value) for key, n in without_noise(ana, sql)] == [(each, counts.get(each, 0)) for each in keys]
    ana.sql(sql)
    assert owner.audit().holds


def test_keys_of_several_columns_are_all_combinations_and_no_list_of_them():
    table = {
        "id": range(4),
        "k": ["a", "b", "a", "z"],
        "year": [2024, 2025, 2024, 2024],
        "ok": [True, True, False, True],
    }
    owner, ana = opened(table, keys={"k": ["b", "a"], "ok": [True, False]}, bounds={"year": (2023, 2025)})
    sql = "SELECT k, year, ok, COUNT(*) AS n FROM t GROUP BY k, year, ok"
    text = measured(ana, sql)
    assert sorted(text.lists.values(), key=repr) == [["a", "b"], [False, True]]
    found = {row[:3]: row[3].value for row in without_noise(ana, sql)}
    assert len(found) == 2 * 3 * 2
    expected = {("a", 2024, True): 1, ("a", 2024, False): 1, ("b", 2025, True): 1}
    assert {key: n for key, n in found.items() if n} == expected
    assert [row[:3] for row in ana.sql(sql)] == sorted(found)
    assert owner.audit().holds


def thousand(count=1000, **how):
    keys = [f"key {number}" for number in range(count)]
    rows = [keys[person % count] for person in range(40)] + ["elsewhere"] * 10
    return opened({"id": range(50), "k": rows}, keys={"k": keys}, **how)


def test_the_text_of_a_statement_does_not_grow_with_its_keys():
    few, many = (measured(thousand(count)[1], COUNT) for count in (100, 5000))
    assert few.sql == many.sql
    assert [len(each) for text in (few, many) for each in text.lists.values()] == [100, 5000]


@pytest.mark.parametrize("how", [{"mode": "choose"}, {"mode": "scale", "noise": "gaussian"}])
def test_a_list_is_bound_once_however_often_it_is_read(how):
    _, ana = thousand()
    query = ana.query(COUNT, **how)
    text = engine_text(query.sealed.plan.steps[-1].statement, dialect="duckdb")
    assert list(text.lists) == ["list1"]
    assert text.sql.count("$list1") == 1


def test_the_record_of_a_charge_names_the_list_by_its_digest():
    _, ana = thousand()
    plan = ana.query(COUNT).sealed.plan
    record = plan_record(plan, dialect="duckdb")
    assert "key 7" not in record
    assert len(record) < 20_000
    (digest,) = lists_of(plan)
    assert digest in record
    assert read_plan(record, lists=lists_of(plan))[0] == plan.steps
    raised(LedgerBroken, lambda: read_plan(record), match="not declared")
    # Nothing is declared that an auditor could look up.
    _, ana = thousand()
    sql = "SELECT k, COUNT(*) AS n FROM t WHERE k IN ('key 7', 'nowhere') GROUP BY k"
    record = plan_record(ana.query(sql).sealed.plan, dialect="duckdb")
    assert ["key_list", {"values": ["key 7", "nowhere"]}] in json.loads(record)["plan"]


def audited_elsewhere(owner, change, *, declared):
    """The charge in another ledger, with its record changed on the way: it verifies, whatever the record says."""
    (charge,) = (entry.fact for entry in owner._ledger.entries() if isinstance(entry.fact, Charge))
    ledger = MemoryLedger()
    ledger.promise(epsilon=Fraction(1000), delta=Fraction(1, 10**6), delta_prime=Fraction(1, 2 * 10**6))
    ownership = ownership_of(owner.catalog)
    if declared:
        ledger.declare(ownership, Adopted(digest="declared", text=owner._ledger.adopted()))
    else:
        ledger.own(ownership)
    ledger.grant("ana", epsilon=Fraction(1000))
    ledger.charge(
        Charge(**{name: getattr(charge, name) for name in charge.__slots__} | {"record": change(charge.record)})
    )
    ledger.verify()
    (row,) = audit(ledger)
    return row


def test_an_audit_finds_the_list_in_the_declarations_also_of_an_earlier_policy():
    owner, ana = thousand()
    ana.sql(COUNT)
    (digest,) = lists_of(ana.query(COUNT).sealed.plan)
    assert audited_elsewhere(owner, lambda record: record, declared=True).agrees
    changed = audited_elsewhere(owner, lambda record: record.replace(digest, "0" * 64), declared=True)
    assert changed.problem == "a stored plan names a list of keys that is not declared"
    assert audited_elsewhere(owner, lambda record: record, declared=False).problem == changed.problem
    owner, ana = thousand(30)
    ana.sql(COUNT)
    owner.register("other", pa.table({"id": [1], "k": ["x"]}), person="id", keys={"k": ["x", "y"]}, rows_per_person=1)
    ana.sql(COUNT, epsilon=2)
    assert owner.audit().holds


def test_a_repeat_is_free_and_tells_the_same_noise():
    _, ana = thousand()
    first, spent = ana.sql(COUNT), ana.budget.spent
    again = ana.sql(COUNT)
    assert ana.budget.spent == spent
    assert [(key, n.value) for key, n in again] == [(key, n.value) for key, n in first]
    # A cell knows its row of the noise of its column: what is the same cancels, and what is not does not.
    _, ana = thousand(20)
    one, two = ana.sql(COUNT).rows[3][1], ana.sql(COUNT).rows[4][1]
    assert (one - one).margin == 0
    assert (one - ana.sql(COUNT).rows[3][1]).margin == 0
    assert one.margin < (one - two).margin < 2 * one.margin


@pytest.mark.parametrize("how", [{}, {"mode": "choose"}])
def test_neighbours_differ_by_no_more_than_was_paid(how):
    rows = [(person, f"key {number % 7}") for person in range(6) for number in range(person * 3)]

    def without(person):
        kept = [row for row in rows if row[0] != person]
        ids, keys = zip(*kept, strict=True)
        _, ana = opened({"id": ids, "k": keys}, keys={"k": [f"key {number}" for number in range(5)]}, groups=2)
        return ana.new_session()

    whole = replayed(without(None), COUNT, salt=3)
    for person in (1, 5):
        assert list(excesses(whole, replayed(without(person), COUNT, salt=3))) == []


def test_more_keys_or_numbers_than_allowed_are_refused_before_the_engine():
    _, ana = thousand(101, max_keys=100)
    raised(BadKey, lambda: ana.query(COUNT), match="101 groups")
    _, ana = thousand(10, max_keys=19)
    with pytest.raises(BadKey, match="20 groups"):
        ana.query("SELECT k, length(k) > 5 AS long, COUNT(*) AS n FROM t GROUP BY 1, 2")
    owner, ana = opened({"id": [1], "k": [1]}, bounds={"k": (1, 10**6)})
    sums = ", ".join(f"SUM(k + {number})" for number in range(3))
    with pytest.raises(BadKey, match="3000000 noisy numbers, 3 for each of 1000000 groups"):
        ana.cost(f"SELECT k, {sums} FROM t GROUP BY k")
    assert ana.query("SELECT k, COUNT(*), SUM(k) FROM t GROUP BY k").cost.epsilon == 1
    owner.close()


def test_planning_does_not_grow_with_declared_keys_and_answering_is_linear():
    analysts = {count: thousand(count)[1] for count in (500, 1000, 2000)}
    few, many = (counted_calls(lambda count=count: analysts[count].query(COUNT)) for count in (500, 2000))
    assert abs(many - few) < 50
    assert growth(lambda count: analysts[count].sql(COUNT, fresh=True), 500) < 2.1


def test_groups_that_the_query_lists_are_planned_in_linear_time():
    _, ana = thousand(10)

    def plan(count):
        listed = ", ".join(f"'key {number}'" for number in range(count))
        ana.query(f"SELECT k, COUNT(*) AS n FROM t WHERE k IN ({listed}) GROUP BY k")

    assert growth(plan, 250) < 2.1
