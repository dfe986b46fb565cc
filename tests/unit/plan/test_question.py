"""Two questions are one where SQL says so, and nowhere else."""

import random
from datetime import date
from itertools import combinations, product

import duckdb
import pytest
from explain_plans import HOSPITAL, planned

from counted_calls import growth
from dpsql.catalog.check import checked
from dpsql.catalog.load import loads
from dpsql.catalog.model import EngineColumn, EngineTable, Mode
from dpsql.catalog.types import SqlType
from dpsql.plan.question import identity
from dpsql.sql.bound import Wishes, bound
from dpsql.sql.check import check
from dpsql.sql.parse import parse
from dpsql.sql.resolve import resolve
from dpsql.sql.rewrite import rewrite


def identified(sql, catalog=HOSPITAL, *, mode=None):
    resolved = resolve(
        parse(sql, dialect="duckdb"), catalog, readable=frozenset(catalog.policy.tables), today=date(2026, 1, 1)
    )
    wishes = Wishes(mode=mode, noise=None, gaussian=mode is Mode.SCALE)
    return identity(rewrite(bound(check(resolved), wishes)))


def asked(sql, catalog=HOSPITAL, *, mode=None):
    """What a stored release must agree in: the frame and its declarations, and which slots it holds."""
    known = identified(sql, catalog, mode=mode)
    return known.frame, known.policy, frozenset(known.slots)


def where(condition, table="visits"):
    return f"SELECT COUNT(*) FROM {table} WHERE {condition}"


SAME = [
    ("SELECT COUNT(*), SUM(age) FROM patients", "SELECT SUM(age), COUNT(*) FROM patients"),
    ("SELECT COUNT(*) AS n FROM patients AS p", "SELECT COUNT(*) AS people FROM patients"),
    ("SELECT COUNT(*) FROM patients", "SELECT COUNT(1) FROM patients"),
    ("SELECT COUNT(*) FROM patients", "SELECT COUNT(DISTINCT patient_id) FROM patients"),
    ("SELECT COUNT(*) FROM visits", "SELECT COUNT('x') FROM visits"),
    ("SELECT COUNT(*) FILTER (WHERE age > 9) FROM patients", "SELECT COUNT(7) FILTER (WHERE age > 9) FROM patients"),
    (where("charge > 5 AND ward = 'A'"), where("ward = 'A' AND charge > 5")),
    (where("charge > 5 AND (ward = 'A' AND charge < 9)"), where("(charge < 9 AND charge > 5) AND ward = 'A'")),
    (where("charge > 5 OR ward = 'A'"), where("ward = 'A' OR charge > 5")),
    (where("charge > 5 AND charge > 5"), where("charge > 5")),
    (where("charge > 5"), where("5 < charge")),
    (
        where("patient_id IN (SELECT patient_id FROM patients WHERE age > 3) AND charge > 5"),
        where(
            "charge > 5 AND EXISTS (SELECT 1 FROM patients p WHERE 3 < age AND v.patient_id = p.patient_id)", "visits v"
        ),
    ),
    (
        where("patient_id NOT IN (SELECT patient_id FROM patients)"),
        where("NOT EXISTS (SELECT age FROM patients p WHERE p.patient_id = v.patient_id)", "visits v"),
    ),
    (
        "SELECT SUM(x) FROM (SELECT charge AS x, ward FROM visits UNION ALL SELECT age, NULL FROM patients) t",
        "SELECT SUM(y) FROM (SELECT charge AS y FROM visits UNION ALL SELECT age FROM patients) t",
    ),
    (where("charge >= 5"), where("5 <= charge")),
    (where("charge = 5"), where("5 = charge")),
    (where("charge <> 5"), where("5 <> charge")),
    (where("charge BETWEEN 5 AND 9"), where("9 >= charge AND charge >= 5")),
    (where("ward IN ('A', 'B')"), where("ward IN ('B', 'A', 'B')")),
    (where("ward IN ('A')"), where("ward = 'A'")),
    (where("charge + 1 > 5"), where("1 + charge > 5")),
    ("SELECT SUM(charge * 2) FROM visits", "SELECT SUM(2 * charge) FROM visits"),
    ("SELECT ward, COUNT(*) FROM visits GROUP BY ward", "SELECT COUNT(*), ward AS w FROM visits GROUP BY w"),
    (
        where("charge > 5"),
        "SELECT COUNT(*) FROM (SELECT charge AS c, ward FROM visits) AS s WHERE c > 5",
    ),
    (
        where("charge > 5 AND ward = 'A'"),
        "SELECT COUNT(*) FROM (SELECT ward FROM visits WHERE charge > 5) AS s WHERE ward = 'A'",
    ),
    (
        "SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = v.patient_id AND v.charge > 5",
        "SELECT COUNT(*) FROM patients p JOIN visits v ON v.patient_id = p.patient_id WHERE v.charge > 5",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_means_the_same_is_the_same_question(one, other):
    assert asked(one) == asked(other)


OF_ONE = "SELECT COUNT(*) FROM (SELECT {} AS x FROM visits{}) t WHERE x > 1"
"""How many rows a window inside one person says something of."""
SAME += [
    (OF_ONE.format("COUNT(*) OVER (PARTITION BY patient_id, ward)", ""),
     OF_ONE.format("COUNT(*) OVER (PARTITION BY ward, patient_id)", "")),
    (OF_ONE.format("RANK() OVER (PARTITION BY patient_id ORDER BY charge)", " WHERE charge > 5"),
     OF_ONE.format("RANK() OVER w", " WHERE 5 < charge WINDOW w AS (PARTITION BY patient_id ORDER BY charge)")),
    (OF_ONE.format("ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY charge)", ""),
     OF_ONE.format("ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY charge ROWS 3 PRECEDING)", "")),
]  # fmt: skip
DIFFERENT = [
    where("patient_id IN (SELECT patient_id FROM patients)"),
    where("patient_id NOT IN (SELECT patient_id FROM patients)"),
    where("patient_id IN (SELECT patient_id FROM patients WHERE age > 3)"),
    where("patient_id IN (SELECT patient_id FROM visits)"),
    where("EXISTS (SELECT 1 FROM visits o WHERE o.patient_id = v.patient_id AND o.charge > v.charge)", "visits v"),
    where("EXISTS (SELECT 1 FROM visits o WHERE o.patient_id = v.patient_id AND o.charge < v.charge)", "visits v"),
    where("charge > 5", "(SELECT charge FROM visits UNION ALL SELECT charge FROM visits) t"),
    where("charge > 5", "(SELECT charge FROM visits UNION ALL SELECT age FROM patients) t"),
    where("charge > 5", "(SELECT charge FROM visits UNION ALL SELECT 7 FROM patients) t"),
    where("charge > 5", "(SELECT charge FROM visits UNION ALL SELECT charge FROM visits WHERE charge > 1) t"),
    OF_ONE.format("COUNT(*) OVER (PARTITION BY patient_id)", ""),
    OF_ONE.format("COUNT(*) OVER (PARTITION BY patient_id)", " WHERE charge > 5"),
    OF_ONE.format("COUNT(*) OVER (PARTITION BY patient_id, ward)", ""),
    OF_ONE.format("COUNT(charge) OVER (PARTITION BY patient_id)", ""),
    OF_ONE.format("COUNT(*) OVER (PARTITION BY patient_id ORDER BY charge)", ""),
    OF_ONE.format("COUNT(*) OVER (PARTITION BY patient_id ORDER BY charge DESC)", ""),
    OF_ONE.format("COUNT(*) OVER (PARTITION BY patient_id ORDER BY charge NULLS FIRST)", ""),
    OF_ONE.format("COUNT(*) OVER (PARTITION BY patient_id ORDER BY charge ROWS 1 PRECEDING)", ""),
    OF_ONE.format("COUNT(*) OVER (PARTITION BY patient_id ORDER BY charge ROWS 2 PRECEDING)", ""),
    OF_ONE.format("RANK() OVER (PARTITION BY patient_id ORDER BY charge)", ""),
    OF_ONE.format("ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY charge)", ""),
    OF_ONE.format("ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY ward, charge)", ""),
    OF_ONE.format("LAG(charge) OVER (PARTITION BY patient_id ORDER BY charge)", ""),
    OF_ONE.format("LAG(charge, 2) OVER (PARTITION BY patient_id ORDER BY charge)", ""),
    OF_ONE.format("RANK() OVER (PARTITION BY patient_id ORDER BY charge)", "") + " AND x < 5",
    where("charge > 5"),
    where("charge >= 5"),
    where("charge < 5"),
    where("charge <= 5"),
    where("charge = 5"),
    where("charge <> 5"),
    where("charge > 6"),
    where("charge > -5"),
    where("charge > 5 AND ward = 'A'"),
    where("charge > 5 OR ward = 'A'"),
    where("NOT (charge > 5)"),
    where("charge <= 5 OR charge IS NULL"),
    where("charge IS NOT DISTINCT FROM 5"),
    where("charge IS DISTINCT FROM 5"),
    where("(charge > 5) IS TRUE"),
    where("(charge > 5) IS FALSE"),
    where("charge IS NULL"),
    where("charge IS NOT NULL"),
    where("ward IN ('A', 'B')"),
    where("ward IN ('A', 'B', NULL)"),
    where("ward IN ('A', 'C')"),
    where("ward NOT IN ('A', 'B')"),
    where("ward NOT IN ('A', 'B', NULL)"),
    where("ward = 'a'"),
    where("ward = 'A '"),
    where("ward < 'A'"),
    where("ward = '1'"),
    where("CASE WHEN charge > 5 THEN ward = 'A' WHEN charge > 4 THEN ward = 'B' END"),
    where("CASE WHEN charge > 4 THEN ward = 'B' WHEN charge > 5 THEN ward = 'A' END"),
    where("COALESCE(ward, diagnosis) = 'A'"),
    where("COALESCE(diagnosis, ward) = 'A'"),
    where("charge - 1 > 5"),
    where("1 - charge > 5"),
    where("charge / 2 > 5"),
    where("2 / charge > 5"),
    where("(charge + 0.1) + 0.2 > 5"),
    where("charge + (0.1 + 0.2) > 5"),
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(NULL) FROM visits",
    "SELECT COUNT(charge) FROM visits",
    "SELECT COUNT(DISTINCT ward) FROM visits",
    "SELECT COUNT(DISTINCT 1) FROM visits",
    "SELECT SUM(charge) FROM visits",
    "SELECT SUM(1) FROM visits",
    "SELECT SUM(charge) FILTER (WHERE ward = 'A') FROM visits",
    "SELECT SUM(CLAMP(charge, 0, 9)) FROM visits",
    "SELECT SUM(CASE WHEN ward = 'A' THEN charge ELSE 0 END) FROM visits",
    "SELECT COUNT(*) FROM patients",
    "SELECT COUNT(*) FROM prescriptions",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
    "SELECT ward, COUNT(*) FROM visits WHERE ward IN ('A', 'B') GROUP BY ward",
    "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
    "SELECT ward, diagnosis, COUNT(*) FROM visits GROUP BY ward, diagnosis",
    "SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = v.patient_id WHERE v.charge > 5",
    "SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = v.patient_id WHERE p.age > 5",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id WHERE a.charge > 5",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id WHERE b.charge > 5",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id WHERE a.charge > b.charge",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id WHERE a.charge < b.charge",
]


def test_what_differs_is_never_taken_for_the_same():
    known = {}
    for sql in DIFFERENT:
        same = known.setdefault(asked(sql), sql)
        assert same == sql


PARTS = ["COUNT(*)", "SUM(charge)", "COUNT(DISTINCT ward)", "AVG(charge)"]


@pytest.mark.parametrize("by", ["", "ward", "diagnosis", "DATE_TRUNC('month', DATE '2024-01-01')"])
@pytest.mark.parametrize("parts", [list(each) for size in (1, 2, 3) for each in combinations(PARTS, size)])
def test_a_slot_is_the_same_whatever_is_asked_beside_it(by, parts):
    group = f" GROUP BY {by}" if by else ""
    some = identified(f"SELECT {', '.join(parts)} FROM visits{group}", mode=Mode.CHOOSE)
    whole = identified(f"SELECT {', '.join(PARTS)} FROM visits{group}", mode=Mode.CHOOSE)
    assert (some.frame, some.policy) == (whole.frame, whole.policy)
    assert set(some.slots) <= set(whole.slots)


def test_groups_alone_are_part_of_any_question_about_them():
    groups = identified("SELECT diagnosis FROM visits GROUP BY diagnosis")
    assert groups.slots == ()
    for mode in (Mode.CHOOSE, Mode.SCALE):
        both = identified("SELECT diagnosis, COUNT(*), SUM(charge) FROM visits GROUP BY diagnosis", mode=mode)
        assert (groups.frame, groups.policy) == (both.frame, both.policy)


def test_scaled_together_is_another_number_than_scaled_alone():
    """In scale mode what a person adds to one slot depends on all of them."""
    alone = identified("SELECT ward, COUNT(*) FROM visits GROUP BY ward", mode=Mode.SCALE)
    both = identified("SELECT ward, COUNT(*), SUM(charge) FROM visits GROUP BY ward", mode=Mode.SCALE)
    turned = identified("SELECT ward, SUM(charge), COUNT(*) FROM visits GROUP BY ward", mode=Mode.SCALE)
    assert not set(alone.slots) & set(both.slots)
    assert set(both.slots) == set(turned.slots)


def test_the_way_of_bounding_is_part_of_a_slot():
    sql = "SELECT ward, COUNT(*), SUM(charge) FROM visits GROUP BY ward"
    assert not set(identified(sql, mode=Mode.SCALE).slots) & set(identified(sql, mode=Mode.CHOOSE).slots)


POLICY = """
version = 1
source.url = "memory:"
[promise]
epsilon = 1
delta = 1e-6
[defaults]
max_keys = 100
[table.t]
person = "p"
rows_per_person = 3
groups_per_person = 2
[table.t.columns]
a = { bounds = [0, 9] }
b = { bounds = [0, 9] }
k = { keys = ["x", "y"] }
"""


def declared(text):
    kinds = {"p": SqlType.INTEGER, "a": SqlType.INTEGER, "b": SqlType.INTEGER, "c": SqlType.TEXT, "k": SqlType.TEXT}
    columns = tuple(EngineColumn(name=name, type=kind, engine_type=kind.value) for name, kind in kinds.items())
    return checked(loads(text, name="p"), {"t": EngineTable(name="t", columns=columns)})


SUM_OF_A = "SELECT k, SUM(a), COUNT(*) FROM t GROUP BY k"


def test_declaring_what_is_not_asked_for_changes_no_question():
    before, after = declared(POLICY), declared(POLICY.replace("b = { bounds = [0, 9] }", 'c = { keys = ["x"] }'))
    assert asked(SUM_OF_A, before) == asked(SUM_OF_A, after)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a = { bounds = [0, 9] }", "a = { bounds = [0, 8] }"),
        ("a = { bounds = [0, 9] }", 'a = { bounds = [0, 9], nulls = "never" }'),
        ('keys = ["x", "y"]', 'keys = ["x", "z"]'),
        ("rows_per_person = 3", "rows_per_person = 2"),
        ("groups_per_person = 2", "groups_per_person = 1"),
        ('person = "p"\nrows_per_person = 3\ngroups_per_person = 2', 'person = "p"\nunique = true'),
        ('person = "p"', 'person = "b"'),
    ],
)
def test_declaring_otherwise_what_is_asked_for_changes_it(old, new):
    assert POLICY.count(old) == 1
    before, after = (asked(SUM_OF_A, declared(text)) for text in (POLICY, POLICY.replace(old, new)))
    assert not (before[:2] == after[:2] and before[2] <= after[2])


def test_a_declaration_of_one_slot_leaves_the_others_alone():
    before, after = (
        identified(SUM_OF_A, declared(POLICY)),
        identified(SUM_OF_A, declared(POLICY.replace("a = { bounds = [0, 9] }", "a = { bounds = [0, 8] }"))),
    )
    assert (before.frame, before.policy) == (after.frame, after.policy)
    assert before.declarations != after.declarations
    assert [one == other for one, other in zip(before.slots, after.slots, strict=True)] == [False, True]


def test_price_and_confidence_are_no_part_of_the_question():
    sql = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
    assert planned(sql).recalled.identity == planned(sql, cost=planned(sql).terms.cost * 2).recalled.identity


# Conditions at random: those of equal digest must hold for the same rows on a real engine, NULLs included.

ROWS = list(product([None, 0, 1, 2, 3], [None, 0, 1, 2], [None, "x", "y", "z"]))


TEXTS = ["NULL", "'x'", "'y'"]


def condition(chance, depth):
    number, text = chance.choice(["a", "b", "a + b", "b + a", "a * b"]), chance.choice(["k", "'x'"])
    if depth == 0 or chance.random() < 0.2:
        return chance.choice(
            [
                f"{number} {chance.choice(['<', '>', '<=', '>=', '=', '<>'])} {chance.choice(['1', '2', 'a', 'b'])}",
                f"{chance.choice(['1', '2', 'a'])} {chance.choice(['<', '>', '<=', '>=', '=', '<>'])} {number}",
                f"{text} IN ({', '.join(chance.choices(TEXTS, k=2))})",
                f"{chance.choice(['a', 'b'])} IS {chance.choice(['', 'NOT '])}NULL",
                f"a IS {chance.choice(['', 'NOT '])}DISTINCT FROM b",
            ]
        )
    one, other = condition(chance, depth - 1), condition(chance, depth - 1)
    return chance.choice(
        [
            f"({one} AND {other})",
            f"({one} OR {other})",
            f"(NOT {one})",
            f"(CASE WHEN {one} THEN {other} ELSE {one} END)",
            f"(({one}) IS TRUE)",
        ]
    )


def test_conditions_of_equal_digest_hold_for_the_same_rows():
    chance, catalog = random.Random(20), declared(POLICY)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (p INTEGER, a INTEGER, b INTEGER, k TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(place, *row) for place, row in enumerate(ROWS)])
    found = {}
    for _ in range(1500):
        text = condition(chance, chance.choice([0, 1, 1, 2]))
        found.setdefault(asked(where(text, "t"), catalog), set()).add(text)
    alike = [texts for texts in found.values() if len(texts) > 1]
    assert len(alike) > 50
    for texts in alike:
        kept = {tuple(connection.execute(f"SELECT p FROM t WHERE {text} ORDER BY p").fetchall()) for text in texts}
        assert len(kept) == 1, texts


def test_the_work_grows_in_proportion_to_the_aggregates():
    def asking(number):
        sums = ", ".join(f"SUM(CASE WHEN charge > {low} THEN charge ELSE 0 END) AS s{low}" for low in range(number))
        return planned(f"SELECT {sums} FROM visits")

    assert growth(asking, 10) < 2.2


def test_the_work_grows_in_proportion_to_a_list():
    assert growth(lambda number: planned(where(f"charge IN ({', '.join(map(str, range(number)))})")), 100) < 2.2
