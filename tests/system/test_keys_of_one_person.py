"""A key whose every value belongs to one person by declaration is refused as a group, before anything is paid."""

import duckdb
import pytest

import dpsql
from dpsql.errors import BadKey

POLICY = """version = 1
[source]
url = "duckdb://shop.duckdb"
[person]
name = "customer"
[promise]
epsilon = 10
delta = 1e-6
[defaults]
cost_per_query = 1
selection_share = 0.25
delta_per_query = 1e-9
max_keys = 100
[table.orders]
person = "customer_id"
rows_per_person = 5
groups_per_person = 2
columns.id = { keys = "private" }
columns.ticket = { keys = "private" }
columns.city = { keys = "private" }
[table.items]
person_via = "order_id -> orders.id"
rows_per_person = 9
groups_per_person = 2
columns.order_id = { keys = "private" }
columns.product = { keys = "private" }
[[grant]]
to = "ana"
budget = 5
"""


@pytest.fixture
def analyst(tmp_path):
    with duckdb.connect(tmp_path / "shop.duckdb") as data:
        data.execute(
            "CREATE TABLE orders (id BIGINT PRIMARY KEY, ticket VARCHAR UNIQUE, customer_id INTEGER, city VARCHAR)"
        )
        data.execute("INSERT INTO orders SELECT i, 't' || i, i // 2, 'c' || (i % 3) FROM range(200) r(i)")
        data.execute("CREATE TABLE items AS SELECT i AS order_id, 'p' || (i % 3) AS product FROM range(200) r(i)")
    (tmp_path / "dpsql.toml").write_text(POLICY)
    with dpsql.open(tmp_path / "dpsql.toml") as owner:
        yield owner.analyst("ana")


@pytest.mark.parametrize("use", ["cost", "sql"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT order_id, COUNT(*) FROM items GROUP BY order_id",
        "SELECT order_id, product, COUNT(*) FROM items GROUP BY order_id, product",
        "SELECT id, COUNT(*) FROM orders GROUP BY id",
        "SELECT ticket, COUNT(*) FROM orders GROUP BY ticket",
        "SELECT o.id, COUNT(*) FROM items i JOIN orders o ON i.order_id = o.id GROUP BY o.id",
    ],
)
def test_a_key_of_one_person_is_refused_before_it_is_paid(analyst, sql, use):
    with pytest.raises(BadKey, match="would belong to one customer") as caught:
        getattr(analyst, use)(sql)
    assert caught.value.try_sql is None
    assert analyst.budget.spent == 0


@pytest.mark.parametrize("key", ["product FROM items", "city FROM orders"])
def test_a_key_that_people_share_is_answered(analyst, key):
    column = key.partition(" ")[0]
    assert len(analyst.sql(f"SELECT COUNT(*), {key} GROUP BY {column}").rows) == 3
