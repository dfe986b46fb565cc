"""Two questions are one where SQL says so, and nowhere else."""

import random
from itertools import combinations, product

import duckdb
import pytest
from explain_plans import HOSPITAL, planned

from counted_calls import growth
from dpsql.catalog.model import Mode
from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.plan import question
from dpsql.plan.question import identity
from dpsql.sql.scalars import Windowed
from tests.kits.cases import cases
from tests.kits.planning import declared, rewritten
from tests.kits.refusals import raised
from tests.kits.rows import read_texts


def identified(sql, catalog=HOSPITAL, *, mode=None):
    return identity(rewritten(sql, catalog, mode=mode, gaussian=mode is Mode.SCALE))


def asked(sql, catalog=HOSPITAL, *, mode=None):
    """What a stored release must agree in: the frame and its declarations, and which slots it holds."""
    known = identified(sql, catalog, mode=mode)
    return known.frame, known.policy, frozenset(known.slots)


def where(condition, table="visits"):
    return f"SELECT COUNT(*) FROM {table} WHERE {condition}"


@cases(__file__, "one", "other")
def test_what_means_the_same_is_the_same_question(one, other):
    assert asked(one) == asked(other)


def test_what_differs_is_never_taken_for_the_same():
    known = {}
    for sql in read_texts(__file__, "different"):
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


def catalog_of(policy):
    return declared(policy, {"t": "p integer, a integer, b integer, c text, k text"})


SUM_OF_A = "SELECT k, SUM(a), COUNT(*) FROM t GROUP BY k"


def test_declaring_what_is_not_asked_for_changes_no_question():
    before, after = catalog_of(POLICY), catalog_of(POLICY.replace("b = { bounds = [0, 9] }", 'c = { keys = ["x"] }'))
    assert asked(SUM_OF_A, before) == asked(SUM_OF_A, after)


@cases(__file__, "old", "new")
def test_declaring_otherwise_what_is_asked_for_changes_it(old, new):
    assert POLICY.count(old) == 1
    before, after = (asked(SUM_OF_A, catalog_of(text)) for text in (POLICY, POLICY.replace(old, new)))
    assert not (before[:2] == after[:2] and before[2] <= after[2])


def test_a_declaration_of_one_slot_leaves_the_others_alone():
    before, after = (
        identified(SUM_OF_A, catalog_of(POLICY)),
        identified(SUM_OF_A, catalog_of(POLICY.replace("a = { bounds = [0, 9] }", "a = { bounds = [0, 8] }"))),
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
    chance, catalog = random.Random(20), catalog_of(POLICY)
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


def test_a_window_is_no_part_of_what_an_engine_is_asked():
    window = Windowed(function="rank", arguments=(), partition_by=(), order_by=(), frame="", type=SqlType.INTEGER)
    raised(InternalError, lambda: question._scalar(window, str), match="window")
