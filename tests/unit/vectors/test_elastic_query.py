"""The reader of counting questions: what it builds, and what it refuses."""

import pytest

from dpsql.errors import DpsqlError
from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.elastic import Count, GroupedCount, elastic_sensitivity, join_count
from tests.vectors.elastic_query import read_query

TABLES = {
    "orders": {"cid": 100, "pid": 100},
    "recs": {"cid": 250},
    "products": {"pid": 1},
    "t": {},
    "edges": {"src": 65, "dst": 65},
    "partsupp": {"suppkey": 80},
    "supplier": {"suppkey": 1},
    "cities": {"cid": 7, "public": True},
}


@pytest.mark.parametrize(
    ("text", "at_0_10_25", "joins"),
    [
        ("SELECT COUNT(*) FROM t WHERE p", [1, 1, 1], 0),
        ("SELECT g,COUNT(*) FROM t GROUP BY g", [2, 2, 2], 0),
        ("SELECT COUNT(*) FROM orders JOIN recs USING(cid)", [250, 260, 275], 1),
        ("COUNT orders JOIN recs", [250, 260, 275], 1),
        ("COUNT orders JOIN recs ON cid", [250, 260, 275], 1),
        (
            "SELECT COUNT(*) FROM orders JOIN recs USING(cid) JOIN products ON orders.pid=products.pid",
            [25000, 28600, 34375],
            2,
        ),
        ("SELECT COUNT(*) FROM orders JOIN recs USING (cid) JOIN products USING (pid)", [25000, 28600, 34375], 2),
        (
            "SELECT COUNT(*) FROM products p JOIN (orders o JOIN recs AS r ON o.cid = r.cid) ON p.pid=o.pid;",
            [25000, 28600, 34375],
            2,
        ),
        ("select count(*) from orders o, recs r where r.cid=o.cid and o.pid = 3", [250, 260, 275], 1),
        ("SELECT COUNT(*) FROM orders o1 JOIN orders o2 ON o1.cid=o2.cid", [201, 221, 251], 1),
        ("edges e1 JOIN edges e2 ON e1.dst=e2.src JOIN edges e3 ON e2.dst=e3.src (a remark)", [12871, 17101, 24571], 2),
        (
            (
                "SELECT COUNT(*) FROM edges e1 JOIN edges e2 ON e1.dst = e2.src AND e1.src < e2.src "
                "JOIN edges e3 ON e2.dst = e3.src AND e3.dst = e1.src AND e2.src < e3.src"
            ),
            [12871, 17101, 24571],
            2,
        ),
        ("SELECT COUNT(*) FROM partsupp WHERE suppkey NOT IN (SELECT suppkey FROM supplier WHERE c)", [80, 90, 105], 1),
        ("SELECT COUNT(*) FROM partsupp WHERE b AND suppkey IN (SELECT suppkey FROM supplier)", [80, 90, 105], 1),
        ("SELECT COUNT(*) FROM orders JOIN cities USING(cid)", [7, 7, 7], 1),
        ("SELECT COUNT(*) FROM (SELECT cid, COUNT(*) FROM orders GROUP BY cid) x", [2, 2, 2], 0),
        ("SELECT COUNT(*) FROM orders AS o JOIN recs AS r ON (o.cid = r.cid);", [250, 260, 275], 1),
        ("SELECT COUNT(*) FROM orders JOIN recs ON ((orders.cid=recs.cid)) AND p", [250, 260, 275], 1),
        ("SELECT COUNT(*) FROM (SELECT cid FROM orders WHERE p) o JOIN recs r ON o.cid=r.cid", [250, 260, 275], 1),
        ("SELECT COUNT(*) FROM orders JOIN (SELECT * FROM recs) AS s ON orders.cid=s.cid", [250, 260, 275], 1),
        (
            "SELECT COUNT(*) FROM (SELECT * FROM orders) a JOIN (SELECT * FROM orders WHERE p) b ON a.cid=b.cid",
            [201, 221, 251],
            1,
        ),
    ],
)
def test_questions_are_read(text, at_0_10_25, joins):
    """C094, C096: values of the published tests and of the hand-derived rules."""
    query = read_query(text, TABLES)
    assert isinstance(query, GroupedCount if "GROUP BY g" in text else Count)
    found = [elastic_sensitivity(query, distance=k, neighbours=Neighbours.CHANGE_ONE) for k in (0, 10, 25)]
    assert (found, join_count(query)) == (at_0_10_25, joins)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT",
        "SELECT COUNT(*) FROM nowhere",
        "SELECT COUNT(*) FROM orders LEFT JOIN recs USING(cid)",
        "SELECT COUNT(*) FROM orders CROSS JOIN recs",
        "SELECT COUNT(*) FROM recs JOIN products",
        "SELECT COUNT(*) FROM orders JOIN recs ON orders.cid < recs.cid",
        "SELECT COUNT(*) FROM orders, recs WHERE p",
        "SELECT COUNT(*) FROM orders JOIN recs ON (orders.cid=recs.cid OR p)",
        "SELECT COUNT(*) FROM orders JOIN recs ON (orders.cid=recs.cid) OR (p=q)",
        "SELECT COUNT(*) FROM orders JOIN orders ON orders.cid=orders.cid",
        "SELECT COUNT(*) FROM orders WHERE EXISTS (SELECT cid FROM recs)",
        "SELECT COUNT(*) FROM orders WHERE a OR cid IN (SELECT cid FROM recs)",
        "SELECT COUNT(*) FROM orders UNION SELECT COUNT(*) FROM recs",
        "SELECT COUNT(*) FROM orders JOIN recs USING(nothing)",
        "(" * 5000,
    ],
)
def test_what_has_no_rule_is_refused(text):
    """C096: EXISTS, outer and cross joins, sub-queries under OR have no rule here."""
    with pytest.raises((DpsqlError, ValueError)):
        read_query(text, TABLES)
