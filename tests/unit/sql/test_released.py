"""Released rows inside later questions: typed before they are known, literal afterwards, no part of any verdict."""

from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

import duckdb
import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError
from dpsql.sql.apart import apart
from dpsql.sql.bound import Wishes, bound
from dpsql.sql.check import check
from dpsql.sql.emit import engine_text, statement_text
from dpsql.sql.parse import parse
from dpsql.sql.relations import AwaitedRows, inputs
from dpsql.sql.released import awaits, outcome, released_rows, with_released
from dpsql.sql.resolve import resolve
from dpsql.sql.rewrite import Measuring, Unprotected, rewrite
from dpsql.sql.scalars import Constant, walk
from tests.kits.refusals import raised

from stages import CLINIC

WISHES = Wishes(mode=None, noise=None, gaussian=False)


def drafted(sql):
    """Every question of a statement as far as `rewrite`, and what each will release."""
    parsed = parse(sql, dialect="duckdb")
    outcomes, drafts, found = {}, [], []
    for number, question in enumerate(apart(parsed)):
        resolved = resolve(
            replace(parsed, query=question.query),
            CLINIC,
            readable=frozenset(CLINIC.policy.tables),
            today=date(2026, 1, 1),
            known=question.known,
            outcomes=outcomes,
        )
        drafts.append(rewrite(bound(check(resolved), WISHES)))
        found.append(outcome(number, drafts[-1].bounded))
        outcomes[question.at] = found[-1]
    return drafts, found


def outcome_of(sql):
    return drafted(f"WITH w AS PRIVATE ({sql}) SELECT COUNT(*) FROM w")[1][0]


def leaves(relation):
    below = inputs(relation)
    return [relation] if not below else [leaf for each in below for leaf in leaves(each)]


def test_the_columns_have_the_names_and_types_of_the_question():
    found = outcome_of("SELECT Town AS Place, COUNT(*), AVG(age) AS a FROM people GROUP BY town")
    expected = [("place", SqlType.TEXT), ("count(*)", SqlType.INTEGER), ("a", SqlType.DOUBLE)]
    assert [(column.name, column.type) for column in found.columns] == expected
    assert all(column.public and column.origin is None and column.keys is None for column in found.columns)


def test_an_average_lies_inside_its_bounds_and_a_count_anywhere():
    count, average = outcome_of("SELECT COUNT(*), AVG(age) FROM people").columns
    assert (average.declared.low, average.declared.high) == (0, 110)
    assert count.declared.low is None
    assert (count.proved.low, count.proved.high) == (-(2**63), 2**63 - 1)


def test_cells_become_literals_of_their_types():
    found = outcome_of(
        "SELECT town, COUNT(*), AVG(age), SUM(price) FROM people JOIN visits USING (person) GROUP BY town"
    )
    rows = released_rows(found, (("Bern", 3, 0.1, 5.0), (None, 2**63, float("nan"), float("-inf"))))
    assert rows == (("Bern", 3, Fraction(0.1), Fraction(5)), (None, None, None, None))


def test_what_is_outside_of_its_range_is_null():
    """An average of ages is within 0 and 110: the ranges of later questions rest on it."""
    found = outcome_of("SELECT AVG(age) FROM people")
    assert released_rows(found, ((110.0,), (110.5,), (-0.5,))) == ((110,), (None,), (None,))


def test_days_and_moments_stay_what_they_are():
    found = outcome_of(
        "SELECT day, DATE_TRUNC('month', moment) AS h, day > DATE '2025-02-01' AS late FROM visits GROUP BY 1, 2, 3"
    )
    row = (date(2025, 2, 2), datetime(2025, 2, 1), True)
    assert released_rows(found, (row,)) == (row,)


SUM_OF_COUNTS = "WITH w AS PRIVATE (SELECT town, COUNT(*) AS n FROM people GROUP BY town) SELECT SUM(n) FROM w"
ABOVE = "SELECT ward, COUNT(*) FROM visits WHERE price > PRIVATE (SELECT AVG(price) FROM visits) GROUP BY ward"


def test_released_rows_are_public_and_what_reads_only_them_is_not_protected():
    (inner, outer), _ = drafted(SUM_OF_COUNTS)
    assert isinstance(inner, Measuring)
    assert isinstance(outer, Unprotected)
    assert [type(leaf) for leaf in leaves(outer.statement.relation)] == [AwaitedRows]
    assert (awaits(inner), awaits(outer)) == (frozenset(), {0})


def computed(statement):
    text = engine_text(statement, dialect="duckdb")
    return duckdb.execute(text.sql, text.parameters()).fetchall()


def test_filled_statements_wait_for_nothing_and_are_what_duckdb_computes():
    (_, outer), (found, _) = drafted(SUM_OF_COUNTS)
    filled = with_released(outer, {0: released_rows(found, (("Bern", 3), ("Biel", -1)))})
    assert awaits(filled) == frozenset()
    assert computed(filled.statement) == [(2,)]


def test_no_released_row_at_all():
    (_, outer), _ = drafted(SUM_OF_COUNTS)
    filled = with_released(outer, {0: ()})
    assert computed(filled.statement) == [(None,)]


def test_what_still_waits_is_no_statement_of_an_engine():
    (_, outer), _ = drafted(SUM_OF_COUNTS)
    raised(duckdb.Error, lambda: duckdb.sql(statement_text(outer.statement, dialect="duckdb")))
    (_, measured), _ = drafted(ABOVE)
    raised(duckdb.Error, lambda: duckdb.sql(statement_text(measured.measurement, dialect="duckdb")))


def test_a_released_number_is_a_constant_everywhere():
    drafts, outcomes = drafted(
        "SELECT SUM(CASE WHEN points > PRIVATE (SELECT AVG(points) FROM visits) THEN 1 ELSE 0 END), "
        "COUNT(*) - PRIVATE (SELECT COUNT(*) FROM people) FROM visits "
        "WHERE price < PRIVATE (SELECT AVG(price) FROM visits)"
    )
    values = {0: ((Fraction(1, 2),),), 1: ((40,),), 2: ((Fraction(99),),)}
    assert [len(each.columns) for each in outcomes] == [1, 1, 1, 2]
    filled = with_released(drafts[-1], values)
    assert awaits(drafts[-1]) == {0, 1, 2}
    assert awaits(filled) == frozenset()
    assert Constant(40, SqlType.INTEGER) in walk(filled.bounded.finish.outputs[1].expression)
    text = statement_text(filled.measurement, dialect="duckdb")
    assert "0.5e0" in text
    assert "99.0e0" in text


def test_what_is_known_in_part_is_filled_in_part():
    drafts, _ = drafted(
        "SELECT COUNT(*) FROM visits WHERE price > PRIVATE (SELECT AVG(price) FROM visits) "
        "AND points > PRIVATE (SELECT AVG(points) FROM visits)"
    )
    assert awaits(with_released(drafts[-1], {1: ((Fraction(1),),)})) == {0}


def test_what_is_read_twice_stays_one_relation():
    drafts, _ = drafted(
        "SELECT illness, AVG(price), COUNT(DISTINCT points) FROM visits "
        "WHERE price > PRIVATE (SELECT AVG(price) FROM visits) AND illness IN ('a', 'b') GROUP BY illness"
    )
    before = drafts[-1].measurement
    after = with_released(drafts[-1], {0: ((Fraction(1),),)}).measurement
    assert statement_text(after, dialect="duckdb") == statement_text(before, dialect="duckdb").replace(
        ":released0", "1.0e0"
    )


def test_a_private_question_is_never_resolved_before_it_is_asked():
    with pytest.raises(InternalError, match="not asked before"):
        resolve(
            parse("SELECT COUNT(*) FROM PRIVATE (SELECT 1 FROM wards) w", dialect="duckdb"),
            CLINIC,
            readable=frozenset(CLINIC.policy.tables),
            today=date(2026, 1, 1),
        )
