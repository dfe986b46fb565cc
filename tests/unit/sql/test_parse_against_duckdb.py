"""DuckDB's own parser is the oracle: what `parse` accepts, it reads as DuckDB does.

DuckDB serialises its syntax tree; a small reader below turns that into plain tuples, without any code of `parse`.
"""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpsql.errors import DpsqlError
from dpsql.sql.parse import parse
from dpsql.sql.syntax import Call, Derived, From, Joined, Literal, Name, Select, Star, TableName

CONNECTION = duckdb.connect()

# ---- DuckDB's tree --------------------------------------------------------------------------------------------------

OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "intdiv", "%": "mod", "^": "power", "**": "power"}
OPERATORS |= {
    "||": "concat",
    "~~": "like",
    "~~*": "ilike",
    "like_escape": "like",
    "ilike_escape": "ilike",
    "^@": "starts_with",
}
NEGATED = {"!~~": "like", "!~~*": "ilike", "not_like_escape": "like", "not_ilike_escape": "ilike"}
COMPARISONS = {
    "COMPARE_EQUAL": "eq",
    "COMPARE_NOTEQUAL": "ne",
    "COMPARE_LESSTHAN": "lt",
    "COMPARE_LESSTHANOREQUALTO": "le",
    "COMPARE_GREATERTHAN": "gt",
    "COMPARE_GREATERTHANOREQUALTO": "ge",
    "COMPARE_DISTINCT_FROM": "is_distinct",
    "COMPARE_NOT_DISTINCT_FROM": "is_not_distinct",
}
CASTS = {"INTEGER": "to_integer", "BIGINT": "to_integer", "DOUBLE": "to_double", "VARCHAR": "to_text"}
CASTS |= {"DATE": "to_date", "TIMESTAMP": "to_timestamp", "BOOLEAN": "to_boolean"}
CLOCKS = {("current_date",), ("current_timestamp",), ("current_time",), ("localtime",), ("localtimestamp",)}


def fold(name: str) -> str:
    """DuckDB finds "A" as a, but not "Ä" as ä (checked below)."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


class Unknown(Exception):
    """The oracle does not read this."""


def duckdb_tree(sql: str) -> dict[str, Any] | None:
    """The syntax tree DuckDB makes of one SELECT, or None where it is not SQL for DuckDB."""
    row = CONNECTION.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
    assert row is not None
    found = json.loads(row[0])
    return None if found["error"] else found["statements"][0]["node"]


def oracle(node: dict[str, Any]) -> Any:
    """An expression of DuckDB as nested tuples."""
    readers = {
        "COLUMN_REF": lambda: column(node),
        "CONSTANT": lambda: constant(node),
        "FUNCTION": lambda: function(node),
        "COMPARISON": lambda: comparison(node),
        "CONJUNCTION": lambda: (node["type"].removeprefix("CONJUNCTION_").lower(), *map(oracle, node["children"])),
        "OPERATOR": lambda: operator(node),
        "BETWEEN": lambda: between(node),
        "CASE": lambda: case(node),
        "CAST": lambda: cast(node),
        "WINDOW": lambda: window(node),
        "STAR": lambda: ("star", fold(node["relation_name"])),
    }
    if node["class"] not in readers:
        raise Unknown(json.dumps(node)[:300])
    return readers[node["class"]]()


def column(node: dict[str, Any]) -> Any:
    """DuckDB takes CURRENT_DATE for a column until it finds that there is none."""
    parts = tuple(fold(part) for part in node["column_names"])
    return parts if parts in CLOCKS else ("name", parts)


def cast(node: dict[str, Any]) -> Any:
    """A cast of plain text to a date is a date."""
    child, name = oracle(node["child"]), CASTS[node["type_expr"]["type_name"]]
    if name == "to_date" and child[0] == "value" and re.fullmatch(r"\d{4}-\d\d-\d\d", str(child[1])):
        return ("value", date.fromisoformat(child[1]))
    if name == "to_timestamp" and child[0] == "value" and re.match(r"\d{4}-\d\d-\d\d", str(child[1])):
        return ("value", datetime.fromisoformat(child[1]))
    return (name, child)


def constant(node: dict[str, Any]) -> Any:
    text = node["literal"].get("text", "")
    values = {"INTEGER": int, "NUMERIC": Fraction, "STRING": str, "BOOLEAN": lambda word: word == "true"}
    kind = node["literal"]["kind"]
    return ("value", None if kind == "NULL_LITERAL" else values[kind](text))


def function(node: dict[str, Any]) -> Any:
    name = node["function_name"].lower()
    arguments = tuple(oracle(argument["expression"]) for argument in node["arguments"])
    if node["filter"] or node["distinct"]:
        condition = oracle(node["filter"]) if node["filter"] else None
        return ("aggregate", name, arguments, node["distinct"], condition)
    if name in ("+", "-") and len(arguments) == 1:
        return arguments[0] if name == "+" else ("neg", *arguments)
    if name == "count_star":
        return ("count", ("star", ""))
    if name in NEGATED:
        return ("not", (NEGATED[name], *arguments))
    return (OPERATORS.get(name, name), *arguments)


def comparison(node: dict[str, Any]) -> Any:
    """x IS TRUE is a comparison with a constant."""
    name, left, right = COMPARISONS[node["type"]], oracle(node["left"]), oracle(node["right"])
    if left[0] == "to_boolean" and right in (("value", True), ("value", False)) and name.startswith("is_"):
        test = ("is_true" if right[1] else "is_false", left[1])
        return test if name == "is_not_distinct" else ("not", test)
    return (name, left, right)


def operator(node: dict[str, Any]) -> Any:
    children = tuple(map(oracle, node["children"]))
    kind = node["type"].removeprefix("OPERATOR_").removeprefix("COMPARE_").lower()
    if kind == "not_in":
        return ("not", ("in", *children))
    if kind in ("not", "is_null", "is_not_null", "in", "coalesce"):
        return (kind, *children)
    raise Unknown(node["type"])


def between(node: dict[str, Any]) -> Any:
    subject = oracle(node["input"])
    return ("and", ("ge", subject, oracle(node["lower"])), ("le", subject, oracle(node["upper"])))


def case(node: dict[str, Any]) -> Any:
    branches = [oracle(check[key]) for check in node["case_checks"] for key in ("when_expr", "then_expr")]
    return ("case", *branches, oracle(node["else_expr"]))


def window(node: dict[str, Any]) -> Any:
    arguments = tuple(oracle(argument["expression"]) for argument in node["arguments"])
    condition = oracle(node["filter_expr"]) if node["filter_expr"] else None
    frame = (window_edge(node["start"], node["start_expr"]), window_edge(node["end"], node["end_expr"]))
    kinds = {node[key].rpartition("_")[2] for key in ("start", "end")} & {"ROWS", "GROUPS"}
    over = (tuple(map(oracle, node["partitions"])), orders(node["orders"]), frame, "rows" if kinds else "range")
    return ("window", node["function_name"], arguments, node["distinct"], condition, over)


def window_edge(kind: str, expression: dict[str, Any] | None) -> Any:
    if kind.startswith("UNBOUNDED"):
        return None
    if kind.startswith("CURRENT_ROW"):
        return 0
    assert expression is not None
    count = oracle(expression)[1]
    return -count if "PRECEDING" in kind else count


def orders(found: list[dict[str, Any]]) -> Any:
    """ASC and NULLS LAST are what DuckDB does without being told."""
    return tuple(
        (oracle(one["expression"]), one["type"] == "DESCENDING", one["null_order"] == "NULLS FIRST") for one in found
    )


def oracle_query(node: dict[str, Any]) -> Any:
    """A query of DuckDB as nested tuples."""
    if node["type"] != "SELECT_NODE" or node["sample"] or node["aggregate_handling"] != "STANDARD_HANDLING":
        raise Unknown(node["type"])
    modifiers = {one["type"]: one for one in node["modifiers"]}
    limit = modifiers.get("LIMIT_MODIFIER", {})
    if limit and limit["limit_type"] != "ROW_COUNT":
        raise Unknown(limit["limit_type"])
    return (
        tuple(
            (
                fold(one["key"]),
                tuple(map(fold, one["value"]["aliases"])),
                oracle_query(one["value"]["query_node"]),
            )
            for one in node["cte_map"]["map"]
        ),
        "DISTINCT_MODIFIER" in modifiers,
        tuple((same(oracle(one)), one["alias"]) for one in node["select_list"]),
        oracle_from(node["from_table"]),
        *(same(oracle(node[key])) if node[key] else None for key in ("where_clause", "having", "qualify")),
        tuple(same(oracle(one)) for one in node["group_expressions"]),
        same(orders(modifiers.get("ORDER_MODIFIER", {}).get("orders", []))),
        oracle(limit["limit"])[1] if limit.get("limit") else None,
        oracle(limit["offset"])[1] if limit.get("offset") else 0,
    )


def oracle_from(node: dict[str, Any]) -> Any:
    if node["type"] == "EMPTY":
        return None
    if node["type"] == "BASE_TABLE":
        path = tuple(map(fold, node["qualified_name"]["path"]))
        return ("table", path, fold(node["alias"]))
    if node["type"] == "SUBQUERY":
        columns = tuple(map(fold, node["column_name_alias"]))
        return ("subquery", oracle_query(node["subquery"]["node"]), fold(node["alias"]), columns)
    if node["type"] == "JOIN" and node["ref_type"] in ("REGULAR", "CROSS"):
        kind = "cross" if node["ref_type"] == "CROSS" else node["join_type"].lower()
        condition = same(oracle(node["condition"])) if node["condition"] else None
        using = tuple(map(fold, node["using_columns"]))
        return (kind, oracle_from(node["left"]), oracle_from(node["right"]), condition, using)
    raise Unknown(node["type"])


# ---- our tree -------------------------------------------------------------------------------------------------------


def ours(expression: Any) -> Any:
    """Our expression as nested tuples."""
    match expression:
        case Name():
            return ("name", tuple(part.name for part in expression.parts))
        case Literal():
            return ("value", expression.value)
        case Star():
            return ("star", expression.table.name if expression.table else "")
        case Call():
            return ours_call(expression)
    raise AssertionError(expression)


def ours_call(call: Call) -> Any:
    arguments = tuple(map(ours, call.arguments))
    condition = ours(call.filter) if call.filter is not None else None
    if call.over is not None:
        over, frame = call.over, call.over.frame
        edges = (frame.start, frame.end) if frame else (None, 0)  # the default frame ends at the current row
        unit = frame.unit.value if frame and {frame.start, frame.end} != {None} else "range"
        window = (tuple(map(ours, over.partition_by)), ours_orders(over.order_by), edges, unit)
        return ("window", call.function, arguments, call.distinct, condition, window)
    if call.distinct or condition is not None:
        return ("aggregate", call.function, arguments, call.distinct, condition)
    return (call.function, *arguments)


def ours_orders(keys: Any) -> Any:
    return tuple((ours(key.expression), key.descending, key.nulls_first) for key in keys)


def ours_query(query: Select) -> Any:
    return (
        tuple(
            (one.name.name, tuple(column.name for column in one.columns), ours_query(one.query)) for one in query.with_
        ),
        query.distinct,
        tuple((same(ours(item.expression)), item.alias.written if item.alias else "") for item in query.items),
        ours_from(query.from_),
        *(same(ours(one)) if one is not None else None for one in (query.where, query.having, query.qualify)),
        tuple(same(ours(key)) for key in query.group_by),
        same(ours_orders(query.order_by)),
        query.limit,
        query.offset,
    )


def ours_from(source: From | None) -> Any:
    match source:
        case None:
            return None
        case TableName():
            return ("table", tuple(part.name for part in source.name), source.alias.name if source.alias else "")
        case Derived():
            columns = tuple(column.name for column in source.columns)
            return ("subquery", ours_query(source.query), source.alias.name if source.alias else "", columns)
        case Joined():
            condition = same(ours(source.on)) if source.on is not None else None
            using = tuple(column.name for column in source.using)
            return (source.kind.value, ours_from(source.left), ours_from(source.right), condition, using)


def same(tree: Any) -> Any:
    """Up to what both sides may write differently: nested chains of one connective, a minus before a number."""
    if not isinstance(tree, tuple) or not tree or tree[0] in ("name", "value", "star"):
        return tree
    name, arguments = (
        tree[0] if isinstance(tree[0], str) else None,
        [*map(same, tree if isinstance(tree[0], tuple) else tree[1:])],
    )
    if name is None:
        return tuple(arguments)
    if name == "neg" and arguments[0][0] == "value" and type(arguments[0][1]) in (int, Fraction):
        return ("value", -arguments[0][1])
    if name == "not" and arguments[0][0] == "is_null":
        return ("is_not_null", *arguments[0][1:])
    if name in ("and", "or"):
        flat = [part for one in arguments for part in (one[1:] if one[0] == name else (one,))]
        return (name, *flat)
    return (name, *arguments)


# ---- expressions ----------------------------------------------------------------------------------------------------

OPERANDS = ["a", "b", "t.c", "1", "2.5", "'x'", "NULL", "f(a)", "(a)", "CASE WHEN a THEN b END", "TRUE"]
BETWEEN_OPERANDS = ["+", "-", "*", "/", "//", "%", "**", "^", "||", "=", "<>", "<", "<=", ">", ">=", "AND", "OR"]
BETWEEN_OPERANDS += ["LIKE", "NOT LIKE", "ILIKE", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "!=", "=="]
BEFORE = ["", "", "", "-", "NOT ", "+ ", "- - "]
AFTER = ["", "", "", "", " IS NULL", " IS NOT NULL", "::INT", " IN (1, 2)", " NOT IN (a)", " BETWEEN a AND b"]
AFTER += [" NOT BETWEEN 1 AND 2", " LIKE 'x' ESCAPE '!'"]

terms = st.tuples(st.sampled_from(BEFORE), st.sampled_from(OPERANDS), st.sampled_from(AFTER)).map("".join)
texts = st.tuples(terms, st.lists(st.tuples(st.sampled_from(BETWEEN_OPERANDS), terms), max_size=5)).map(
    lambda drawn: " ".join([drawn[0], *(f"{operator} {term}" for operator, term in drawn[1])])
)


def disagreement(text: str) -> tuple[Any, Any] | None:
    """Our tree and DuckDB's, where both read the text and they differ."""
    sql = f"SELECT {text} FROM t"
    try:
        mine = same(ours(parse(sql, dialect="duckdb").query.items[0].expression))
    except DpsqlError:
        return None
    node = duckdb_tree(sql)
    if node is None:
        return ("not SQL for DuckDB", mine)
    theirs = same(oracle(node["select_list"][0]))
    return None if mine == theirs else (mine, theirs)


@settings(max_examples=400, deadline=None)
@given(texts)
@example("NOT a = b")
@example("-a ** 2")
@example("2 ** 3 ** 2")
@example("a || b + c")
@example("-a::INT")
@example("a BETWEEN 1 AND 2 AND b")
@example("a = b IS NULL")
@example("NOT a IS NULL || b")
@example("a // b * c % d")
@example("a LIKE 'x' ESCAPE '!' || b")
def test_operators_bind_as_in_duckdb(text: str) -> None:
    """Where both read an expression they read the same one; DuckDB may refuse more."""
    found = disagreement(text)
    assert found is None or found[0] == "not SQL for DuckDB", found


def test_the_oracle_can_disagree() -> None:
    """Without this the test above might compare nothing."""
    node = duckdb_tree("SELECT a - (b - c)")
    assert node is not None
    mine = ours(parse("SELECT a - b - c", dialect="duckdb").query.items[0].expression)
    assert same(oracle(node["select_list"][0])) != same(mine)


def test_names_are_compared_as_duckdb_compares_them() -> None:
    for asked, there, known in (("A", "a", True), ("a", "A", True), ("Ä", "ä", False), ("ſ", "s", False)):
        try:
            CONNECTION.execute(f'SELECT "{asked}" FROM (SELECT 1 AS "{there}")')
            found = True
        except duckdb.BinderException:
            found = False
        items = parse(f'SELECT "{asked}", "{there}"', dialect="duckdb").query.items
        assert (found, ours(items[0].expression) == ours(items[1].expression)) == (known, known)


# ---- whole queries --------------------------------------------------------------------------------------------------

QUERIES = [
    "SELECT 1",
    "SELECT DISTINCT a, b AS \"B c\", t.* FROM t",
    "SELECT a AS x, b FROM t, u JOIN v ON a = b LEFT JOIN w USING (id) CROSS JOIN z",
    "SELECT a FROM t, u RIGHT JOIN v ON u.x = v.x, w FULL OUTER JOIN k USING (p, q)",
    "SELECT a FROM (t JOIN u ON x) JOIN v ON y",
    "SELECT a FROM t INNER JOIN (u LEFT JOIN v USING (i)) ON t.a = u.b",
    "SELECT city, COUNT(*) AS n FROM p WHERE age >= 18 AND NOT flu GROUP BY city HAVING COUNT(*) > 5 ORDER BY n, 1",
    "SELECT a FROM t ORDER BY a, b DESC, c NULLS FIRST, d DESC NULLS LAST, e ASC",
    "WITH w(p) AS (SELECT 1), v AS (SELECT p FROM w) SELECT p FROM v JOIN w USING (p)",
    "SELECT x FROM (SELECT a AS x FROM t WHERE b IN (1, 2, 3)) AS s(x), main.u AS k",
    "SELECT x FROM ((SELECT a FROM t)) AS s",
    "SELECT COUNT(DISTINCT a), SUM(b) FILTER (WHERE c > 1), SUM(DISTINCT d) FROM t",
    "SELECT SUM(a) OVER (PARTITION BY c, d ORDER BY e DESC ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM t",
    "SELECT SUM(a) OVER (ORDER BY e RANGE BETWEEN UNBOUNDED PRECEDING AND 3 FOLLOWING), LAG(a, 2) OVER () FROM t",
    "SELECT SUM(a) FILTER (WHERE b) OVER (ORDER BY e ROWS 3 PRECEDING), ROW_NUMBER() OVER () FROM t",
    "SELECT SUM(a) OVER (ROWS BETWEEN 5 PRECEDING AND 2 PRECEDING) FROM t",
    "SELECT CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END, CASE WHEN a THEN 'x' END FROM t",
    "SELECT CAST(a AS INTEGER), TRY_CAST(b AS VARCHAR), c::DOUBLE, d::BIGINT, e::BOOLEAN, f::DATE, g::TIMESTAMP FROM t",
    "SELECT DATE '2020-02-29', TIMESTAMP '2020-01-01 10:20:30.5', '1999-12-31'::DATE, CAST('2020-01-01' AS TIMESTAMP)",
    "SELECT a IS NULL, a IS NOT NULL, a ISNULL, a NOTNULL, a IS TRUE, a IS NOT TRUE, a IS FALSE, a IS UNKNOWN FROM t",
    "SELECT a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b, a IN (1), a NOT IN (b, c), a BETWEEN 1 AND 2 FROM t",
    "SELECT a LIKE 'x%', a NOT LIKE 'x', a ILIKE 'x', a NOT ILIKE 'x', a LIKE 'x' ESCAPE '!' FROM t",
    "SELECT a NOT LIKE 'x' ESCAPE '!', a NOT ILIKE 'x' ESCAPE '!' FROM t LIMIT 10 OFFSET 2",
    "SELECT 1, 1_000, 2.50, .5, 5., 1e5, 1.5E-3, 'it''s', 'a\\b', '', '--', '/*', NULL, TRUE, FALSE, -5, - 2.5",
    "SELECT a ^@ b, a == b, a != b, +a, a // b, a % b, a ^ b, a ** b FROM t",
    "SELECT a FROM t LIMIT 5",
    "SELECT a FROM t OFFSET 5",
    "SELECT a FROM t FETCH FIRST 5 ROWS ONLY",
    "SELECT a, FROM t",
    "SELECT a FROM t WINDOW w AS (ORDER BY b) QUALIFY ROW_NUMBER() OVER w = 1 AND a > 2 ORDER BY a",
    "SELECT a QUALIFY RANK() OVER (ORDER BY a) = 1",
    "SELECT ALL a FROM t",
    "SELECT \"a\"\"b\", \"Ä\", ä, a$b FROM \"T t\" AS \"x\"",
    "(SELECT a FROM t)",
]  # fmt: skip


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_is_read_as_duckdb_reads_it(sql: str) -> None:
    node = duckdb_tree(sql)
    assert node is not None
    assert ours_query(parse(sql, dialect="duckdb").query) == oracle_query(node)


WORDS = [
    "SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "AS", "ON", "JOIN", "LEFT", "USING", "IN", "IS", "NULL", "LIKE",
    "BETWEEN", "CASE", "WHEN", "THEN", "END", "GROUP", "BY", "ORDER", "HAVING", "LIMIT", "5", ",", "(", ")", ".", "*",
    "+", "-", "=", "<", "a", "b", "t", "'x'", "1", "DESC", "DISTINCT", "OVER", "FILTER", "WITH", "CAST", "ALL",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(QUERIES),
    st.lists(st.tuples(st.integers(0, 80), st.sampled_from(["", *WORDS])), min_size=1, max_size=3),
)
def test_a_mistyped_query_is_refused_or_read_as_duckdb_reads_it(sql: str, mistakes: list[tuple[int, str]]) -> None:
    """Words lost, changed or added: a text that both accept means the same to both."""
    words = sql.split(" ")
    for place, word in mistakes:
        words[place % len(words)] = word
    text = " ".join(words)
    try:
        mine = ours_query(parse(text, dialect="duckdb").query)
    except DpsqlError:
        return
    node = duckdb_tree(text)
    if node is not None:
        assert mine == oracle_query(node)


DANGLING = [
    "SELECT",
    "SELECT FROM t",
    "SELECT a AS FROM t",
    "SELECT , a FROM t",
    "SELECT a,, b FROM t",
    "SELECT a FROM",
    "SELECT a FROM t WHERE",
    "SELECT a FROM t WHERE x BETWEEN 1",
    "SELECT a FROM t WHERE x BETWEEN 1 A",
    "SELECT a FROM t WHERE x IS",
    "SELECT a FROM t WHERE x IS NOT",
    "SELECT a FROM t WHERE x IN",
    "SELECT a FROM t WHERE x LIKE",
    "SELECT a FROM t WHERE x, y",
    "SELECT a FROM t WHERE x WHERE y",
    "SELECT a FROM t GROUP BY",
    "SELECT a FROM t GROUP BY ORDER BY b",
    "SELECT a FROM t ORDER BY a WHERE b",
    "SELECT a FROM t LIMIT 5 WHERE b",
    "SELECT a FROM t LIMIT",
    "SELECT a FROM t JOIN u ON",
    "SELECT a FROM t JOIN u ON WHERE b",
    "SELECT a FROM t JOIN u USING",
    "SELECT a FROM t JOIN u USING id",
    "SELECT a FROM t CROSS JOIN u ON a = b",
    "SELECT a FROM t LEFT JOIN u",
    "SELECT a FROM t u v",
    "SELECT a b c FROM t",
    "SELECT SUM(a) FILTER FROM t",
    "SELECT SUM(a) FILTER (a > 1) FROM t",
    "SELECT SUM(a) OVER FROM t",
    "SELECT SUM(a) OVER (ORDER BY) FROM t",
    "SELECT SUM(a,) FROM t",
    "SELECT SUM(DISTINCT) FROM t",
    "SELECT CASE END FROM t",
    "SELECT CASE WHEN a THEN END FROM t",
    "SELECT CASE WHEN a ELSE b END FROM t",
    "SELECT CAST(a INT) FROM t",
    "SELECT CAST(a AS) FROM t",
    "SELECT a:: FROM t",
    "SELECT a + FROM t",
    "SELECT a AND FROM t",
    "SELECT NOT FROM t",
    "SELECT (a FROM t",
    "SELECT a) FROM t",
    "SELECT () FROM t",
    "SELECT . 5",
    "SELECT 1 . 5",
    "SELECT left FROM t",
    "SELECT 1abc",
    "SELECT 'a' 'b'",
    "WITH w (SELECT 1) SELECT 2",
    "WITH w AS SELECT 1 SELECT 2",
    "WITH w AS (SELECT 1)",
    "WITH SELECT 1",
    "SELECT a FROM t LIMIT 3, 5",
    "SELECT a FROM t FETCH FIRST 5 ROWS",
    "SELECT a FROM t ORDER BY a NULLS",
    "SELECT EXTRACT(year x) FROM t",
]


@pytest.mark.parametrize("text", DANGLING)
def test_what_is_left_unfinished_is_refused(text: str) -> None:
    """A lenient parser would pass over the loose end and answer another question."""
    with pytest.raises(DpsqlError) as caught:
        parse(text, dialect="duckdb")
    assert caught.value.code in ("DP100", "DP104")
