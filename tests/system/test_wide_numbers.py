"""Numbers beyond 64 bits: exact where nobody is in them, and whatever noise and caps make of them elsewhere."""

import duckdb
import pytest

import dpsql
from dpsql.session.noisy import Noisy

LARGEST = 2**63 - 1


@pytest.fixture(scope="module")
def analyst():
    plain = duckdb.connect()
    plain.execute("CREATE TABLE states (id BIGINT, people BIGINT, area DOUBLE)")
    plain.execute(f"INSERT INTO states VALUES (1, {LARGEST}, 1e308), (2, {LARGEST}, 1e308), (3, NULL, NULL)")
    plain.execute("CREATE TABLE visits AS SELECT range AS person, range AS units FROM range(5)")
    owner = dpsql.open(":memory:")
    owner.register("states", plain, public=True, columns="all")
    owner.register(
        "visits", plain, person="person", rows_per_person=10**6, bounds={"units": (0, 2**61)}, columns=["person"]
    )
    owner.promise(epsilon=1000, delta=1e-6)
    owner.defaults(cost_per_query=1, max_keys=100, selection_share=0.25, delta_per_query=1e-9)
    return owner.grant("ana", budget=1000)


def test_a_public_sum_is_exact_beyond_64_bits_and_null_where_no_double_holds_it(analyst):
    assert analyst.sql("SELECT SUM(people), COUNT(*) FROM states").rows == ((2 * LARGEST, 3),)
    assert analyst.sql("SELECT id, SUM(people) FROM states GROUP BY id").rows[0] == (1, LARGEST)
    assert analyst.sql("SELECT SUM(area), AVG(area), MAX(area) FROM states").rows == ((None, None, 1e308),)


TEXTS = ["SUBSTRING('abc', {})", "SUBSTRING('abc', 1, {})", "LEFT('abc', {})", "RIGHT('abc', {})"]
NUMBERS = ["{} // 3", "{} % 7", "-{}", "ABS({})", "SIGN({})", "{} + 1", "GREATEST({}, 1)", "CLAMP({}, 0, 9)"]


@pytest.mark.parametrize("form", [*TEXTS, *NUMBERS, "DATE '2020-01-01' + {}", "CAST({} AS VARCHAR)", "{} > 3"])
@pytest.mark.parametrize("of", ["SUM(units)", "CASE WHEN TRUE THEN SUM(units) END", "SUM(units) // 1"])
def test_every_function_of_a_wide_released_sum_has_an_answer(analyst, form, of):
    """The noise of this sum is of the size 10^24, so that nearly every draw needs more than 64 bits."""
    wide = analyst.sql("SELECT SUM(units) FROM visits").rows[0][0]
    assert isinstance(wide, Noisy)
    assert abs(wide.value) > 2**64
    ((value,),) = analyst.sql(f"SELECT {form.format(of)} FROM visits").rows
    assert form not in TEXTS or value in (None, "", "a", "abc")
