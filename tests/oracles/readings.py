"""A statement as nested tuples, read twice: by DuckDB's own parser, and by `dpsql.sql.parse`. Equal tuples are equal
readings.

DuckDB serialises its syntax tree; `duckdb_query` turns that into tuples without any code of `parse`. What our own
clauses add (PRIVATE, prices, margins) DuckDB cannot read: PRIVATE is dropped before, the others are not compared.
"""

import json
import re
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Final

import duckdb

from dpsql.sql.syntax import (
    NO_OPTIONS,
    Among,
    Call,
    Derived,
    From,
    Joined,
    Literal,
    Name,
    Parsed,
    PrivateValue,
    Purpose,
    Query,
    Select,
    SortKey,
    Star,
    TableName,
    UnionAll,
)

Node = dict[str, Any]
CONNECTION: Final = duckdb.connect()

# ---- DuckDB's tree --------------------------------------------------------------------------------------------------

OPERATORS: Final = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "intdiv", "%": "mod", "^": "power", "**": "power",
    "||": "concat", "~~": "like", "~~*": "ilike", "like_escape": "like", "ilike_escape": "ilike", "^@": "starts_with",
}  # fmt: skip
NEGATED: Final = {"!~~": "like", "!~~*": "ilike", "not_like_escape": "like", "not_ilike_escape": "ilike"}
COMPARISONS: Final = {
    "COMPARE_EQUAL": "eq", "COMPARE_NOTEQUAL": "ne", "COMPARE_LESSTHAN": "lt", "COMPARE_GREATERTHAN": "gt",
    "COMPARE_LESSTHANOREQUALTO": "le", "COMPARE_GREATERTHANOREQUALTO": "ge",
    "COMPARE_DISTINCT_FROM": "is_distinct", "COMPARE_NOT_DISTINCT_FROM": "is_not_distinct",
}  # fmt: skip
CASTS: Final = {
    "INTEGER": "to_integer", "BIGINT": "to_integer", "SMALLINT": "to_integer", "TINYINT": "to_integer",
    "HUGEINT": "to_integer", "DOUBLE": "to_double", "FLOAT": "to_double", "VARCHAR": "to_text", "TEXT": "to_text",
    "DATE": "to_date", "TIMESTAMP": "to_timestamp", "BOOLEAN": "to_boolean",
}  # fmt: skip
CLOCKS: Final = {("current_date",), ("current_timestamp",), ("current_time",), ("localtime",), ("localtimestamp",)}
NAMES: Final = {"stddev": "stddev_samp", "variance": "var_samp", "count_star": "count"}
INTERVALS: Final = {f"to_{unit}s": unit for unit in ("year", "month", "week", "day", "hour", "minute", "second")}


def fold(name: str) -> str:
    """DuckDB finds "A" as a, but not "Ä" as ä."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


class Unknown(Exception):
    """The oracle does not read this."""


def duckdb_tree(sql: str) -> Node | None:
    """The syntax tree DuckDB makes of one SELECT, or None where it is not SQL for DuckDB."""
    row = CONNECTION.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
    assert row is not None
    found: Node = json.loads(row[0])
    if found["error"]:
        return None
    tree: Node = found["statements"][0]["node"]
    return tree


def duckdb_expression(node: Node) -> Any:
    readers = {
        "COLUMN_REF": _column,
        "CONSTANT": _constant,
        "FUNCTION": _function,
        "COMPARISON": _comparison,
        "CONJUNCTION": lambda one: (one["type"].removeprefix("CONJUNCTION_").lower(), *_each(one["children"])),
        "OPERATOR": _operator,
        "BETWEEN": _between,
        "CASE": _case,
        "CAST": _cast,
        "WINDOW": _window,
        "STAR": _star,
        "SUBQUERY": _subquery,
    }
    if node["class"] not in readers:
        raise Unknown(json.dumps(node)[:300])
    return readers[node["class"]](node)


def _each(nodes: list[Node]) -> tuple[Any, ...]:
    return tuple(map(duckdb_expression, nodes))


def _column(node: Node) -> Any:
    """DuckDB takes CURRENT_DATE for a column until it finds that there is none."""
    parts = tuple(fold(part) for part in node["column_names"])
    return parts if parts in CLOCKS else ("name", parts)


def _star(node: Node) -> Any:
    if node.get("columns") or node.get("exclude_list") or node.get("replace_list"):
        raise Unknown("COLUMNS, EXCLUDE, REPLACE")
    return ("star", fold(node["relation_name"]))


def _cast(node: Node) -> Any:
    """A cast of plain text to a date is a date."""
    written = node["type_expr"]["type_name"]
    if written not in CASTS:
        raise Unknown(written)
    child, name = duckdb_expression(node["child"]), CASTS[written]
    text = child[1] if child[0] == "value" and isinstance(child[1], str) else ""
    if name == "to_date" and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return ("value", date.fromisoformat(text))
    if name == "to_timestamp" and re.match(r"\d{4}-\d\d-\d\d", text):
        return ("value", datetime.fromisoformat(text))
    return (name, child)


def _constant(node: Node) -> Any:
    text = node["literal"].get("text", "")
    match node["literal"]["kind"]:
        case "NULL_LITERAL":
            return ("value", None)
        case "INTEGER":
            return ("value", int(text))
        case "NUMERIC":
            return ("value", Fraction(text))
        case "BOOLEAN":
            return ("value", text == "true")
        case "STRING":
            return ("value", text)
    raise Unknown(text)


def _arguments(node: Node) -> tuple[Any, ...]:
    """Named ones, which only GoogleSQL's bounds are, as pairs; WITHIN GROUP puts the value before the share."""
    found = []
    for argument in node["arguments"]:
        value = duckdb_expression(argument["expression"])
        found.append((argument["name"].lower(), value[1:]) if argument["name"] else value)
    ordered = node.get("order_bys", {}).get("orders", []) if node["class"] == "FUNCTION" else []
    return (*(duckdb_expression(one["expression"]) for one in ordered), *found)


def _function(node: Node) -> Any:
    name, arguments = node["function_name"].lower(), _arguments(node)
    if name in ("count", "count_star") and not arguments:
        arguments = (("star", ""),)
    name = NAMES.get(name, name)
    if node["filter"] or node["distinct"]:
        condition = duckdb_expression(node["filter"]) if node["filter"] else None
        return ("aggregate", name, arguments, node["distinct"], condition)
    if name in ("+", "-") and len(arguments) == 1:
        return arguments[0] if name == "+" else ("neg", *arguments)
    if name in ("+", "-") and arguments[1][0] in INTERVALS:
        return _moved(arguments[0], arguments[1], -1 if name == "-" else 1)
    if name == "date_part" and arguments[0][0] == "value":
        return (arguments[0][1].lower(), arguments[1])
    if name in ("date_trunc", "date_diff", "date_add") and arguments[0][0] == "value":
        arguments = (("value", str(arguments[0][1]).lower()), *arguments[1:])
    if name in NEGATED:
        return ("not", (NEGATED[name], *arguments))
    return (OPERATORS.get(name, name), *arguments)


def _moved(start: Any, interval: Any, sign: int) -> Any:
    """INTERVAL 3 DAY is to_days of a number in casts."""
    number = interval[1]
    while number[0] in ("to_integer", "trunc", "to_double"):
        number = number[1]
    if number[0] != "value":
        raise Unknown("an interval of something else than a number")
    return ("date_add", ("value", INTERVALS[interval[0]]), ("value", sign * int(number[1])), start)


def _comparison(node: Node) -> Any:
    """x IS TRUE is a comparison with a constant."""
    left, right = duckdb_expression(node["left"]), duckdb_expression(node["right"])
    name = COMPARISONS[node["type"]]
    if left[0] == "to_boolean" and right in (("value", True), ("value", False)) and name.startswith("is_"):
        test = ("is_true" if right[1] else "is_false", left[1])
        return test if name == "is_not_distinct" else ("not", test)
    return (name, left, right)


def _operator(node: Node) -> Any:
    children = _each(node["children"])
    kind = node["type"].removeprefix("OPERATOR_").removeprefix("COMPARE_").lower()
    if kind == "not_in":
        return ("not", ("in", *children))
    if kind in ("not", "is_null", "is_not_null", "in", "coalesce"):
        return (kind, *children)
    raise Unknown(node["type"])


def _between(node: Node) -> Any:
    subject = duckdb_expression(node["input"])
    lower, upper = duckdb_expression(node["lower"]), duckdb_expression(node["upper"])
    return ("and", ("ge", subject, lower), ("le", subject, upper))


def _case(node: Node) -> Any:
    branches = [duckdb_expression(check[key]) for check in node["case_checks"] for key in ("when_expr", "then_expr")]
    return ("case", *branches, duckdb_expression(node["else_expr"]))


def _subquery(node: Node) -> Any:
    query, kind = duckdb_query(node["subquery"]["node"]), node["subquery_type"]
    if kind == "SCALAR":
        return ("scalar", query)
    if kind == "EXISTS":
        return ("among", (), query)
    if kind == "NOT_EXISTS":
        return ("not", ("among", (), query))
    if kind == "ANY" and node["comparison_type"] == "COMPARE_EQUAL":
        child = duckdb_expression(node["child"])
        return ("among", child[1:] if child[0] == "row" else (child,), query)
    raise Unknown(kind)


def _window(node: Node) -> Any:
    arguments, name = _arguments(node), node["function_name"].lower()
    if name in ("count", "count_star") and not arguments:
        arguments = (("star", ""),)
    condition = duckdb_expression(node["filter_expr"]) if node["filter_expr"] else None
    frame = (_window_edge(node["start"], node["start_expr"]), _window_edge(node["end"], node["end_expr"]))
    kinds = {node[key].rpartition("_")[2] for key in ("start", "end")} & {"ROWS", "GROUPS"}
    over = (_each(node["partitions"]), _orders(node["orders"]), frame, "rows" if kinds else "range")
    return ("window", NAMES.get(name, name), arguments, node["distinct"], condition, over)


def _window_edge(kind: str, expression: Node | None) -> Any:
    if kind.startswith("UNBOUNDED"):
        return None
    if kind.startswith("CURRENT_ROW"):
        return 0
    assert expression is not None
    count = duckdb_expression(expression)[1]
    return -count if "PRECEDING" in kind else count


def _orders(found: list[Node]) -> Any:
    """ASC and NULLS LAST are what DuckDB does without being told."""
    return tuple(
        (duckdb_expression(one["expression"]), one["type"] == "DESCENDING", one["null_order"] == "NULLS FIRST")
        for one in found
    )


def duckdb_query(node: Node) -> Any:
    modifiers = {one["type"]: one for one in node["modifiers"]}
    limit = modifiers.get("LIMIT_MODIFIER", {})
    if limit and limit["limit_type"] != "ROW_COUNT":
        raise Unknown(limit["limit_type"])
    with_ = tuple(
        (fold(one["key"]), tuple(map(fold, one["value"]["aliases"])), duckdb_query(one["value"]["query_node"]))
        for one in node["cte_map"]["map"]
    )
    end = (
        same(_orders(modifiers.get("ORDER_MODIFIER", {}).get("orders", []))),
        duckdb_expression(limit["limit"])[1] if limit.get("limit") else None,
        duckdb_expression(limit["offset"])[1] if limit.get("offset") else 0,
    )
    if node["type"] == "SET_OPERATION_NODE":
        if node["setop_type"] != "UNION" or not node["setop_all"] or "DISTINCT_MODIFIER" in modifiers:
            raise Unknown(node["setop_type"])
        return ("union all", with_, _branches([duckdb_query(one) for one in node["children"]]), *end)
    if node["type"] != "SELECT_NODE" or node["sample"] or node["aggregate_handling"] != "STANDARD_HANDLING":
        raise Unknown(node["type"])
    return (
        "select",
        with_,
        "DISTINCT_MODIFIER" in modifiers,
        tuple((same(duckdb_expression(one)), one["alias"]) for one in node["select_list"]),
        _duckdb_from(node["from_table"]),
        *(same(duckdb_expression(node[key])) if node[key] else None for key in ("where_clause", "having", "qualify")),
        tuple(same(duckdb_expression(one)) for one in node["group_expressions"]),  # each once
        *end,
    )


def _branches(queries: list[Any]) -> tuple[Any, ...]:
    """(a UNION ALL b) UNION ALL c is a UNION ALL b UNION ALL c where the first has nothing of its own."""
    found: list[Any] = []
    for query in queries:
        plain = query[0] == "union all" and (query[1], *query[3:]) == ((), (), None, 0)
        found.extend(query[2] if plain else (query,))
    return tuple(found)


def _duckdb_from(node: Node) -> Any:
    if node["type"] == "EMPTY":
        return None
    if node["type"] == "BASE_TABLE":
        return ("table", tuple(map(fold, node["qualified_name"]["path"])), fold(node["alias"]))
    if node["type"] == "SUBQUERY":
        columns = tuple(map(fold, node["column_name_alias"]))
        return ("subquery", duckdb_query(node["subquery"]["node"]), fold(node["alias"]), columns)
    if node["type"] == "JOIN" and node["ref_type"] in ("REGULAR", "CROSS"):
        kind = "cross" if node["ref_type"] == "CROSS" else node["join_type"].lower()
        condition = same(duckdb_expression(node["condition"])) if node["condition"] else None
        using = tuple(map(fold, node["using_columns"]))
        return (kind, _duckdb_from(node["left"]), _duckdb_from(node["right"]), condition, using)
    raise Unknown(node["type"])


# ---- our tree -------------------------------------------------------------------------------------------------------


def plain_sql(parsed: Parsed) -> bool:
    """Without clauses of our own, which DuckDB cannot read."""
    return parsed.purpose is Purpose.ANSWER and parsed.options == NO_OPTIONS


def our_expression(expression: Any) -> Any:
    match expression:
        case Name():
            return ("name", tuple(part.name for part in expression.parts))
        case Literal():
            return ("value", expression.value)
        case Star():
            return ("star", expression.table.name if expression.table else "")
        case Among():
            return ("among", tuple(map(our_expression, expression.operands)), our_query(expression.query))
        case PrivateValue():
            return ("scalar", our_query(expression.query))
        case Call():
            return _our_call(expression)
    raise AssertionError(expression)


def _our_call(call: Call) -> Any:
    arguments = tuple(map(our_expression, call.arguments))
    if call.function == "count" and not arguments:
        arguments = (("star", ""),)
    if call.function == "together":
        return ("row", *arguments)
    if call.per_group is not None:
        name = "contribution_bounds_per_" + ("group" if call.per_group.per_group else "row")
        arguments += ((name, (our_expression(call.per_group.low), our_expression(call.per_group.high))),)
    condition = our_expression(call.filter) if call.filter is not None else None
    if call.over is not None:
        over, frame = call.over, call.over.frame
        edges = (frame.start, frame.end) if frame else (None, 0)  # the default frame ends at the current row
        unit = frame.unit.value if frame and {frame.start, frame.end} != {None} else "range"
        window = (tuple(map(our_expression, over.partition_by)), _our_orders(over.order_by), edges, unit)
        return ("window", call.function, arguments, call.distinct, condition, window)
    if call.distinct or condition is not None:
        return ("aggregate", call.function, arguments, call.distinct, condition)
    return (call.function, *arguments)


def _our_orders(keys: tuple[SortKey, ...]) -> Any:
    return tuple((our_expression(key.expression), key.descending, key.nulls_first) for key in keys)


def our_query(query: Query) -> Any:
    with_ = tuple(
        (one.name.name, tuple(column.name for column in one.columns), our_query(one.query)) for one in query.with_
    )
    end = (same(_our_orders(query.order_by)), query.limit, query.offset)
    if isinstance(query, UnionAll):
        return ("union all", with_, _branches([our_query(one) for one in query.branches]), *end)
    return _our_select(query, with_, end)


def _our_select(query: Select, with_: Any, end: Any) -> Any:
    return (
        "select",
        with_,
        query.distinct,
        tuple(
            (same(our_expression(item.expression)), item.alias.written if item.alias else "") for item in query.items
        ),
        _our_from(query.from_),
        *(same(our_expression(one)) if one is not None else None for one in (query.where, query.having, query.qualify)),
        tuple(dict.fromkeys(same(our_expression(key)) for key in query.group_by)),
        *end,
    )


def _our_from(source: From | None) -> Any:
    match source:
        case None:
            return None
        case TableName():
            return ("table", tuple(part.name for part in source.name), source.alias.name if source.alias else "")
        case Derived():
            columns = tuple(column.name for column in source.columns)
            return ("subquery", our_query(source.query), source.alias.name if source.alias else "", columns)
        case Joined():
            condition = same(our_expression(source.on)) if source.on is not None else None
            using = tuple(column.name for column in source.using)
            return (source.kind.value, _our_from(source.left), _our_from(source.right), condition, using)


# ---- both -----------------------------------------------------------------------------------------------------------


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
