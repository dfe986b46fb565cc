"""Numbers keep their digits: decimals are summed on their last one, whole numbers beyond 53 bits are whole."""

from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest

import dpsql
from dpsql.errors import BadPolicy
from tests.kits.cases import cases
from tests.kits.noiseless import exact_steps, without_noise
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

MADE = """
CREATE TABLE t AS SELECT range AS id,
    CAST((range * 7 % 1999) / 100.0 AS DECIMAL(18,2)) AS price,
    CAST((range * 13 % 997) / 1000.0 - 0.5 AS DECIMAL(9,3)) AS rate,
    CAST(range * 3 AS DECIMAL(18,0)) AS whole,
    CAST(9007199254740993 + range AS UBIGINT) AS big,
    CAST(9007199254740993 + range AS HUGEINT) AS huge
FROM range(1000)
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The analyst of a database file, and a plain connection to the same rows."""
    folder = tmp_path_factory.mktemp("types")
    with duckdb.connect(str(folder / "t.duckdb")) as made:
        made.execute(MADE)
    (folder / "dpsql.toml").write_text(
        """
        version = 1
        source.url = "duckdb://t.duckdb"
        promise = { epsilon = 1000, delta = 0 }
        defaults = { cost_per_query = 1, max_keys = 10 }
        [table.t]
        person = "id"
        rows_per_person = 1
        groups_per_person = 1
        [table.t.columns]
        price = { bounds = [0, 20] }
        rate = { bounds = [-1, 1] }
        whole = { bounds = [0, 5000], keys = [0, 3, 6] }
        big = { bounds = [0, 1000000000000000000] }
        huge = { bounds = [0, 1000000000000000000] }
        """
    )
    plain = duckdb.connect()
    plain.execute(MADE)
    with dpsql.open(folder / "dpsql.toml", threads=1) as owner:
        yield owner.grant("ana", budget=1000), plain
    plain.close()


def summed(analyst, sql):
    """What the engine added up, in the units of the column, before any noise."""
    sealed = analyst.query(sql).sealed
    (step,) = exact_steps(sealed, analyst.place.engine, salt=1)
    (noise,) = sealed.plan.noises
    return Fraction(step.rows[0][0]) * noise.carried.grain


@pytest.mark.parametrize("column", ["price", "rate", "whole", "big", "huge"])
def test_sums_are_exact_to_the_last_digit(both, column):
    analyst, plain = both
    ((truth,),) = plain.execute(f"SELECT SUM({column}) FROM t").fetchall()
    assert summed(analyst, f"SELECT SUM({column}) FROM t") == Fraction(truth)


def test_one_row_is_exact_too(both):
    analyst, plain = both
    for number in range(0, 1000, 37):
        ((truth,),) = plain.execute(f"SELECT price FROM t WHERE id = {number}").fetchall()
        assert isinstance(truth, Decimal)
        assert summed(analyst, f"SELECT SUM(price) FROM t WHERE id = {number}") == Fraction(truth)


@pytest.mark.parametrize("aggregate", ["AVG(price)", "VAR_POP(price)", "STDDEV(rate)"])
def test_means_and_variances_are_those_of_plain_sql(both, aggregate):
    analyst, plain = both
    ((truth,),) = plain.execute(f"SELECT {aggregate} FROM t").fetchall()
    ((cell,),) = without_noise(analyst, f"SELECT {aggregate} FROM t").rows
    assert float(cell.value) == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("where", ["big = 9007199254740993", "huge > 9007199254740993", "whole = 27", "price = 0.07"])
def test_comparisons_see_every_digit(both, where):
    analyst, plain = both
    ((truth,),) = plain.execute(f"SELECT COUNT(*) FROM t WHERE {where}").fetchall()
    ((cell,),) = without_noise(analyst, f"SELECT COUNT(*) FROM t WHERE {where}").rows
    assert cell.value == truth


def test_decimals_without_a_fraction_are_keys(both):
    analyst, _ = both
    rows = without_noise(analyst, "SELECT whole, COUNT(*) FROM t GROUP BY whole").rows
    assert [(row[0], row[1].value) for row in rows] == [(0, 1), (3, 1), (6, 1)]


@cases(__file__, "kind", "words=", "told")
def test_what_is_not_read_is_refused_with_words(kind, words, told):
    with duckdb.connect() as plain, dpsql.open(":memory:") as owner:
        plain.execute(f"CREATE TABLE t (id BIGINT, x {kind})")
        error = raised(BadPolicy, lambda: owner.register("t", plain, **words))
        assert told in error.what
        assert error.fix


def test_categories_and_uuids_are_text_and_may_be_keys():
    plain = duckdb.sql("SELECT range AS id, 'a'::ENUM('a', 'b') AS x, uuid() AS u FROM range(9)")
    words = {"person": "id", "unique": True, "keys": {"x": ["a", "b"]}, "columns": ["u"]}
    with owner_of(plain, "t", **words, epsilon=9, cost_per_query=1, max_keys=9) as owner:
        rows = without_noise(owner.grant("ana", budget=9), "SELECT x, COUNT(*) FROM t GROUP BY x").rows
    assert [(row[0], row[1].value) for row in rows] == [("a", 9), ("b", 0)]


@pytest.mark.parametrize(("rows", "room"), [(2**24, True), (2**24 + 1, False)])
def test_squares_of_the_widest_decimals_have_room_up_to_their_cap(rows, room):
    """Distances r = 2^31 - 1 in last digits: r^2 of 2^40 rows, times the cap, stays below 2^126."""
    plain = duckdb.connect()
    plain.execute("CREATE TABLE t (id BIGINT, amount DECIMAL(18, 2))")
    plain.execute("INSERT INTO t SELECT range % 3, (range % 2 * 2 - 1) * 21474836.47 FROM range(3000)")
    bounds = {"amount": (-21474836.47, 21474836.47)}
    owner = owner_of(
        plain, "t", person="id", rows_per_person=rows, bounds=bounds, epsilon=1000, cost_per_query=1, max_keys=10
    )
    analyst = owner.grant("ana", budget=1000)
    if not room:
        raised(dpsql.DpsqlError, lambda: analyst.query("SELECT VAR_POP(amount) FROM t"), match="128 bits")
        return
    (step,) = exact_steps(analyst.query("SELECT VAR_POP(amount) FROM t").sealed, analyst.place.engine, salt=1)
    assert [int(cell) for cell in step.rows[0]] == [3000, 0, 3000 * (2**31 - 1) ** 2]
