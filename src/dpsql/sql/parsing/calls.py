"""Calls of functions and aggregates, with DISTINCT, FILTER and OVER."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from sqlglot import exp

from dpsql.errors import BadName, NotSupported
from dpsql.sql.parsing import literals
from dpsql.sql.parsing.functions import called
from dpsql.sql.parsing.google_sql import bounded_call, of_each_person
from dpsql.sql.parsing.operators import moved, unwrapped
from dpsql.sql.parsing.reading import Reader, Rule, hull, own_place
from dpsql.sql.parsing.refusals import CLAUSES, NO_RULE, Lesson, construct, unsupported
from dpsql.sql.syntax import At, Call, Expression, Frame, FrameUnit, Identifier, Over, SortKey, Star


def star(reader: Reader, node: exp.Expr) -> Star | None:
    """* or t.*, where the node is one."""
    if type(node) is exp.Star:
        reader.require_only(node, ())
        return Star(at=own_place(node))
    if type(node) is exp.Column and type(node.this) is exp.Star:
        reader.require_only(node, ("this", "table"))
        reader.require_only(node.this, ())
        table = reader.name(node.args["table"])
        return Star(table=table, at=hull(table.at, own_place(node.this)))
    return None


def _call(reader: Reader, node: exp.Expr) -> Expression:
    """A function by the name that stands in the text."""
    name = literals.identifier(reader.tokens.text, own_place(node))
    at = reader.tokens.called(name.at[0]) if name.at is not None else None
    if name.quoted:
        raise unsupported(Lesson("A function in quotes", NO_RULE, "write its name without quotes"), at=at)
    bounds = reader.tokens.contributions.get(name.at[0]) if name.at is not None else None
    of_people = name.at is not None and name.at[0] in reader.tokens.of_people
    found = _named_call(reader, node, name, at)
    if bounds is not None and name.at is not None:
        reader.bounded.add(name.at[0])
        found = bounded_call(found, bounds)
    return of_each_person(found) if of_people else found


def _named_call(reader: Reader, node: exp.Expr, name: Identifier, at: At) -> Expression:
    given = list(node.expressions)
    if name.name == "date_add" and len(given) == 2 and type(unwrapped(given[1])) is exp.Interval:
        return replace(moved(reader, given[0], unwrapped(given[1]), negative=False), at=at)
    distinct = len(given) == 1 and type(given[0]) is exp.Distinct
    if distinct:
        reader.require_only(given[0], ("expressions",))
        given = list(given[0].expressions)
    if distinct and name.name == "count" and len(given) == 1 and type(given[0]) is exp.Tuple:
        return Call(function="count", arguments=(_together(reader, given[0]),), distinct=True, at=at)
    if len(given) == 1 and not distinct and name.name == "count" and (all_ := star(reader, given[0])):
        if all_.table is not None:
            raise construct("Star", at=all_.at)
        return Call(function="count", arguments=(all_,), at=at)
    if len(given) == 1 and type(given[0]) is exp.Star and name.at and get_close_matches(name.name, ["count"]):
        raise _miscounted(reader.tokens.text, name, name.at, at)
    return called(name.name, tuple(reader.expression(one) for one in given), distinct=distinct, at=at)


def _together(reader: Reader, node: exp.Expr) -> Call:
    """(a, b) inside COUNT(DISTINCT …): one value that is made of several."""
    reader.require_only(node, ("expressions",))
    parts = tuple(reader.expression(part) for part in node.expressions)
    return Call(function="together", arguments=parts, at=reader.tokens.balanced(hull(*(part.at for part in parts))))


def _miscounted(text: str, name: Identifier, place: tuple[int, int], at: At) -> BadName:
    return BadName(
        f"there is no function {name.name!r} here. Did you mean COUNT?",
        why="only COUNT is of whole rows",
        fix="write COUNT(*)",
        try_sql=f"{text[: place[0]]}COUNT{text[place[1] :]}",
        at=at,
    )


def _filter(reader: Reader, node: exp.Expr) -> Expression:
    call = _aggregate(reader, node.this)
    where = node.args["expression"]
    reader.require_only(where, ("this",))
    condition = reader.expression(where.this)
    return replace(call, filter=condition, at=reader.tokens.balanced(hull(call.at, condition.at)))


def _aggregate(reader: Reader, node: exp.Expr) -> Call:
    """The call that FILTER or OVER belongs to."""
    call = reader.expression(node)
    if type(node) not in (exp.Anonymous, exp.Filter, exp.WithinGroup) or not isinstance(call, Call):
        raise unsupported(Lesson("FILTER or OVER after something that is no aggregate"), at=call.at)
    return call


_ORDERED_SETS: Final = {"percentile_cont": "quantile_cont", "percentile_disc": "quantile_disc"}


def _within_group(reader: Reader, node: exp.Expr) -> Expression:
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x) is QUANTILE_CONT(x, q)."""
    call, order = reader.expression(node.this), node.args["expression"]
    reader.require_only(order, ("expressions",))
    keys = sort_keys(reader, order)
    if not isinstance(call, Call) or call.function not in _ORDERED_SETS or len(keys) != 1 or keys[0].descending:
        raise unsupported(
            Lesson(
                "WITHIN GROUP here",
                "it would list or choose values of people one by one",
                "count each value: SELECT x, COUNT(*) … GROUP BY x; of numbers ask for AVG(x) and STDDEV(x)",
            ),
            at=reader.place(node),
        )
    arguments = (keys[0].expression, *call.arguments)
    at = reader.tokens.balanced(hull(call.at, keys[0].expression.at))
    return Call(function=_ORDERED_SETS[call.function], arguments=arguments, at=at)


def sort_keys(reader: Reader, order: exp.Expr | None) -> tuple[SortKey, ...]:
    """ORDER BY: NULLs last unless told otherwise."""
    keys = []
    for key in order.expressions if order is not None else ():
        if type(key) is not exp.Ordered:
            raise construct(type(key).__name__, at=reader.place(key))
        reader.require_only(key, ("this", "desc", "nulls_first"))
        descending, nulls_first = (bool(key.args.get(name)) for name in ("desc", "nulls_first"))
        keys.append(SortKey(expression=reader.expression(key.this), descending=descending, nulls_first=nulls_first))
    return tuple(keys)


def _window(reader: Reader, node: exp.Expr) -> Expression:
    call = _aggregate(reader, node.this)
    at = reader.place(node)
    defined: exp.Expr = node
    if node.args.get("alias") is not None:
        if any(node.args.get(key) for key in ("partition_by", "order", "spec")):
            raise unsupported(CLAUSES["Window", "alias"], at=at)
        name = reader.name(node.args["alias"])
        if name.name not in reader.windows:
            raise BadName(
                f"there is no window {name.written[:40]!r}",
                why="a window is used by the name the WINDOW clause gives it",
                fix="define it: WINDOW w AS (PARTITION BY …)",
                at=name.at,
            )
        defined = reader.windows[name.name]
    return replace(call, over=_over(reader, defined), at=at)


def _over(reader: Reader, node: exp.Expr) -> Over:
    partition = tuple(reader.expression(key) for key in node.args.get("partition_by") or ())
    order = node.args.get("order")
    if order is not None:
        reader.require_only(order, ("expressions",))
    spec = node.args.get("spec")
    return Over(
        partition_by=partition,
        order_by=sort_keys(reader, order),
        frame=_frame(reader, spec, at=reader.place(node)) if spec is not None else None,
    )


_KINDS: Final = {"ROWS": FrameUnit.ROWS, "RANGE": FrameUnit.RANGE}


def _frame(reader: Reader, spec: exp.Expr, *, at: At) -> Frame:
    reader.require_only(spec, ("kind", "start", "start_side", "end", "end_side"))
    unit = _KINDS.get(_upper(spec.args.get("kind")))
    if unit is None:
        raise unsupported(CLAUSES["WindowSpec", "kind"], at=at)
    start = _edge(spec.args.get("start"), _upper(spec.args.get("start_side")), "PRECEDING", at)
    end = _edge(spec.args.get("end") or "CURRENT ROW", _upper(spec.args.get("end_side")), "FOLLOWING", at)
    if start is not None and end is not None and start > end:
        raise _no_frame(at)
    return Frame(unit=unit, start=start, end=end)


def _upper(word: object) -> str:
    """The parser keeps some words as they were written."""
    return word.upper() if isinstance(word, str) else ""


def _edge(value: object, side: str, outward: str, at: At) -> int | None:
    """None for UNBOUNDED in its own direction, 0 for CURRENT ROW, else rows after (before: negative)."""
    if _upper(value) == "CURRENT ROW":
        return 0
    if _upper(value) == "UNBOUNDED" and side == outward:
        return None
    if type(value) is exp.Literal and not value.args["is_string"] and side in ("PRECEDING", "FOLLOWING"):
        count = literals.number(str(value.this), at=at).value
        if isinstance(count, int):
            return -count if side == "PRECEDING" else count
    raise _no_frame(at)


def _no_frame(at: At) -> NotSupported:
    return unsupported(
        Lesson("This frame of a window", NO_RULE, "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, with whole numbers"),
        at=at,
    )


CALLS: Final[Mapping[type[exp.Expr], Rule]] = {
    exp.Anonymous: Rule(_call, ("this", "expressions")),
    exp.Filter: Rule(_filter),
    exp.WithinGroup: Rule(_within_group),
    exp.Window: Rule(_window, ("this", "partition_by", "order", "spec", "alias"), {"over": ("OVER",)}),
}
