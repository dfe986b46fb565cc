"""A key whose every value belongs to one person by declaration is refused as a group, before anything is paid."""

import duckdb
import pytest

import dpsql
from dpsql.errors import BadKey, DpsqlError
from tests.kits.cases import cases
from tests.kits.refusals import raised

POLICY = """version = 1
source.url = "duckdb://shop.duckdb"
person.name = "customer"
promise = { epsilon = 10, delta = 1e-6 }
defaults = { cost_per_query = 1, selection_share = 0.25, delta_per_query = 1e-9, max_keys = 100 }
grant = [{ to = "ana", budget = 5 }]
[table.orders]
person = "customer_id"
rows_per_person = 5
groups_per_person = 2
columns.id = { keys = "private" }
columns.ticket = { keys = "private" }
columns.city = { keys = "private" }
columns.customer_id = { keys = "private" }
columns.store = { keys = "private" }
columns.receipt = { keys = "private" }
columns.small = { bounds = [0, 999999], keys = "private" }
[table.items]
person_via = "order_id -> orders.id"
rows_per_person = 9
groups_per_person = 2
columns.order_id = { keys = "private" }
columns.product = { keys = "private" }
"""


@pytest.fixture(scope="module")
def analyst(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("shop")
    with duckdb.connect(tmp_path / "shop.duckdb") as data:
        data.execute(
            "CREATE TABLE orders (id BIGINT PRIMARY KEY, ticket VARCHAR UNIQUE, customer_id INTEGER, city VARCHAR, "
            "store INTEGER, receipt INTEGER, small INTEGER UNIQUE, UNIQUE (store, receipt))"
        )
        data.execute(
            "INSERT INTO orders SELECT i, 't' || i, i // 2, 'c' || (i % 3), i % 2, i // 2, i FROM range(200) r(i)"
        )
        data.execute("CREATE TABLE items AS SELECT i AS order_id, 'p' || (i % 3) AS product FROM range(200) r(i)")
    (tmp_path / "dpsql.toml").write_text(POLICY)
    with dpsql.open(tmp_path / "dpsql.toml") as owner:
        yield owner.analyst("ana")


@pytest.mark.parametrize("use", ["cost", "sql"])
@cases(__file__, "sql")
def test_a_key_of_one_person_is_refused_before_it_is_paid(analyst, sql, use):
    assert raised(BadKey, lambda: getattr(analyst, use)(sql), match="would belong to one customer").try_sql is None
    assert analyst.budget.spent == 0


ONE_TO_ONE = (
    "id + 0", "-id", "CAST(id AS VARCHAR)", "CAST(CAST(id AS VARCHAR) AS BIGINT)", "'no. ' || ticket",
    "CONCAT('a', ticket, 'b')", "ticket || city", "COALESCE(ticket, '?')", "NULLIF(id, 3)", "id // 1",
    "CAST(2 * id AS INTEGER)", "CAST(-3 * CAST(id AS DOUBLE) AS INTEGER)", "'' || (id + 1)",
)  # fmt: skip


@pytest.mark.parametrize("key", ONE_TO_ONE)
def test_an_expression_that_tells_one_person_from_another_is_refused_too(analyst, key):
    with pytest.raises(BadKey, match="would belong to one customer") as caught:
        analyst.cost(f"SELECT {key} AS k, COUNT(*) FROM orders GROUP BY {key}")
    assert caught.value.try_sql is None


@pytest.mark.parametrize("key", ["small % 1000000", "CAST(small % 1000000 AS VARCHAR)"])
def test_a_remainder_that_the_owners_bounds_leave_as_it_is_tells_them_apart(analyst, key):
    with pytest.raises(BadKey, match="would belong to one customer"):
        analyst.cost(f"SELECT {key} AS k, COUNT(*) FROM orders GROUP BY {key}")


@pytest.mark.parametrize("key", ["customer_id", "customer_id + 1", "CAST(customer_id AS VARCHAR)"])
def test_the_person_is_refused_whatever_is_declared_of_it(analyst, key):
    with pytest.raises(BadKey, match="would be one customer"):
        analyst.cost(f"SELECT {key} AS k, COUNT(*) FROM orders GROUP BY {key}")


@pytest.mark.parametrize("key", ["2 * id", "CAST(id AS DOUBLE)", "id - 7", "1 + id"])
def test_no_key_of_one_person_is_proposed(analyst, key):
    """They may leave 64 bits, and fractions are no groups: as whole numbers they would be the key again."""
    error = raised(BadKey, lambda: analyst.cost(f"SELECT {key} AS k, COUNT(*) FROM orders GROUP BY {key}"))
    assert error.try_sql is None


@pytest.mark.parametrize("sql", ["SELECT ticket, COUNT(*) FROM orders", "SELECT STRING_AGG(ticket) FROM orders"])
def test_words_do_not_propose_it_either(analyst, sql):
    error = raised(DpsqlError, lambda: analyst.cost(sql))
    assert "GROUP BY" not in error.fix
    assert "COUNT(DISTINCT" in error.fix


COARSER = (
    "id % 10", "id // 10", "SUBSTR(ticket, 1, 2)", "CASE WHEN id > 100 THEN 1 ELSE 0 END", "id > 5", "LOWER(city)",
    "customer_id % 7", "store", "receipt", "CAST(id * 0.01 AS INTEGER)", "small // 500", "CLAMP(id, 0, 3)",
)  # fmt: skip


@pytest.mark.parametrize("key", COARSER)
def test_an_expression_that_several_people_share_has_a_price(analyst, key):
    assert analyst.cost(f"SELECT {key} AS k, COUNT(*) FROM orders GROUP BY {key}") == 1


@pytest.mark.parametrize("key", ["product FROM items", "city FROM orders"])
def test_a_key_that_people_share_is_answered(analyst, key):
    column = key.partition(" ")[0]
    assert len(analyst.sql(f"SELECT COUNT(*), {key} GROUP BY {column}").rows) == 3
