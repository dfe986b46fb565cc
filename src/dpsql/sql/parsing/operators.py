"""Names, constants, operators and casts: the parser's nodes that stand for them, and what each becomes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sqlglot import exp

from dpsql.catalog.types import SqlType
from dpsql.sql.parsing import literals
from dpsql.sql.parsing.functions import NULL, part_of, unit_of
from dpsql.sql.parsing.reading import Convert, Reader, Rule, hull, own_place
from dpsql.sql.parsing.refusals import NO_RULE, Lesson, construct, misread, unsupported
from dpsql.sql.syntax import At, Call, Expression, Literal, Name

_WHOLE: Final = re.compile(r"\s*(-?)(\d+)\s*")


# ---- names and constants --------------------------------------------------------------------------------------------


def _column(reader: Reader, node: exp.Expr) -> Expression:
    parts = [node.args[key] for key in ("catalog", "db", "table", "this") if node.args.get(key) is not None]
    identifiers = tuple(reader.name(part) for part in parts)
    return Name(parts=identifiers, at=hull(*(part.at for part in identifiers)))


def _literal(reader: Reader, node: exp.Expr) -> Expression:
    if node.args["is_string"]:
        return literals.text(reader.tokens.text, own_place(node))
    return literals.number(str(node.this), at=own_place(node))


def _null(_reader: Reader, _node: exp.Expr) -> Expression:
    return NULL


def _boolean(_reader: Reader, node: exp.Expr) -> Expression:
    return Literal(value=node.this is True, type=SqlType.BOOLEAN)


def _paren(reader: Reader, node: exp.Expr) -> Expression:
    return reader.expression(node.this)


# ---- operators ------------------------------------------------------------------------------------------------------


def _operator(name: str) -> Convert:
    def convert(reader: Reader, node: exp.Expr) -> Expression:
        arguments = (reader.operand(node.this), reader.operand(node.args["expression"]))
        at = reader.around(*arguments)
        return Call(function=name, arguments=arguments, at=at)

    return convert


def _chain(name: str, kind: type[exp.Expr]) -> Convert:
    """a AND b AND c is one call: the parser nests as deeply as the chain is long."""

    def convert(reader: Reader, node: exp.Expr) -> Expression:
        links: list[exp.Expr] = []
        while type(node) is kind:
            reader.require_only(node, ("this", "expression"))
            links.append(node.args["expression"])
            node = node.this
        arguments = tuple(reader.expression(link) for link in (node, *reversed(links)))
        return Call(function=name, arguments=arguments, at=reader.around(*arguments))

    return convert


def _shift(name: str, *, negative: bool) -> Convert:
    """a + b and a - b; with an interval on one side it is a date that moves."""
    plain = _operator(name)

    def convert(reader: Reader, node: exp.Expr) -> Expression:
        left, right = unwrapped(node.this), unwrapped(node.args["expression"])
        if type(right) is exp.Interval:
            return moved(reader, node.this, right, negative=negative)
        if type(left) is exp.Interval and not negative:
            return moved(reader, node.args["expression"], left, negative=False)
        return plain(reader, node)

    return convert


def unwrapped(node: exp.Expr) -> exp.Expr:
    while type(node) is exp.Paren:
        node = node.this
    return node


def moved(reader: Reader, moment: exp.Expr, interval: exp.Expr, *, negative: bool) -> Call:
    """date_add(unit, number, moment)."""
    reader.require_only(interval, ("this", "unit"))
    at = reader.place(interval)
    unit = interval.args.get("unit")
    if type(unit) is not exp.Var:
        raise unsupported(Lesson("An interval without one unit", NO_RULE, "write it as INTERVAL 3 DAY"), at=at)
    number = _count_of(reader, interval.this, negative=negative, at=at)
    subject = reader.operand(moment)
    arguments = (unit_of(str(unit.this), at=at), number, subject)
    return Call(function="date_add", arguments=arguments, at=reader.tokens.balanced(hull(subject.at, at)))


def _count_of(reader: Reader, node: exp.Expr, *, negative: bool, at: At) -> Expression:
    """How many units: the parser keeps a constant as text."""
    if type(node) is exp.Literal:
        found = _WHOLE.fullmatch(str(node.this))
        if found is None:
            raise unsupported(
                Lesson("An interval of a broken number", NO_RULE, "use a whole number of a smaller unit"), at=at
            )
        return literals.number(found.group(2), negative=(found.group(1) == "-") != negative, at=own_place(node))
    number = reader.expression(node)
    return Call(function="neg", arguments=(number,), at=number.at) if negative else number


def _neg(reader: Reader, node: exp.Expr) -> Expression:
    inner = node.this
    if type(inner) is exp.Literal and not inner.args["is_string"]:
        return literals.number(str(inner.this), negative=True, at=own_place(inner))
    return _wrapped("neg", reader.operand(inner))


def _wrapped(name: str, argument: Expression) -> Call:
    return Call(function=name, arguments=(argument,), at=argument.at)


def _not(reader: Reader, node: exp.Expr) -> Expression:
    if type(node.this) is exp.Is and type(node.this.expression) is exp.Null:
        reader.require_only(node.this, ("this", "expression"))
        return _wrapped("is_not_null", reader.operand(node.this.this))
    return _wrapped("not", reader.expression(node.this))


def _is(reader: Reader, node: exp.Expr) -> Expression:
    asked = node.args["expression"]
    if type(asked) is exp.Null:
        return _wrapped("is_null", reader.operand(node.this))
    if type(asked) is exp.Boolean:
        return _wrapped("is_true" if asked.this is True else "is_false", reader.operand(node.this))
    raise construct(type(asked).__name__, at=reader.place(node))


def _in(reader: Reader, node: exp.Expr) -> Expression:
    values = node.args.get("expressions") or []
    if not values:
        raise misread(reader.tokens.text, reader.place(node), what="IN needs a list of values")
    arguments = (reader.operand(node.this), *(reader.expression(value) for value in values))
    return Call(function="in", arguments=arguments, at=reader.around(*arguments))


def _between(reader: Reader, node: exp.Expr) -> Expression:
    subject, low, high = (reader.operand(node.args[key]) for key in ("this", "low", "high"))
    at = reader.tokens.balanced(hull(subject.at, low.at, high.at))
    reader.copied(subject, at=at)
    ends = (
        Call(function="ge", arguments=(subject, low), at=at),
        Call(function="le", arguments=(subject, high), at=at),
    )
    return Call(function="and", arguments=ends, at=at)


def _like(name: str) -> Convert:
    def convert(reader: Reader, node: exp.Expr) -> Expression:
        call = _operator(name)(reader, node)
        return _wrapped("not", call) if node.args.get("negate") else call

    return convert


def _escape(reader: Reader, node: exp.Expr) -> Expression:
    """LIKE … ESCAPE: the character becomes a third argument of the match inside."""
    if type(node.this) not in (exp.Like, exp.ILike):
        raise construct("Escape", at=reader.place(node))
    match = reader.expression(node.this)
    escape = reader.expression(node.args["expression"])
    inner = match.arguments[0] if isinstance(match, Call) and match.function == "not" else match
    if not isinstance(inner, Call):
        raise construct("Escape", at=reader.place(node))
    at = hull(inner.at, escape.at)
    escaped = replace(inner, arguments=(*inner.arguments, escape), at=at)
    return escaped if inner is match else _wrapped("not", escaped)


def _case(reader: Reader, node: exp.Expr) -> Expression:
    subject = reader.expression(node.this) if node.args.get("this") is not None else None
    branches: list[Expression] = []
    for branch in node.args["ifs"]:
        reader.require_only(branch, ("this", "true"))
        when, then = reader.expression(branch.this), reader.expression(branch.args["true"])
        if subject is not None:
            reader.copied(subject, at=when.at)
            when = Call(function="eq", arguments=(subject, when), at=when.at)
        branches += [when, then]
    default = node.args.get("default")
    branches.append(reader.expression(default) if default is not None else NULL)
    at = reader.around(*branches, enclosing=1)
    return Call(function="case", arguments=tuple(branches), at=at)


# ---- casts and functions with words in them -------------------------------------------------------------------------

_CASTS: Final[Mapping[exp.DType, str]] = {
    exp.DType.INT: "to_integer",
    exp.DType.BIGINT: "to_integer",
    exp.DType.DOUBLE: "to_double",
    exp.DType.TEXT: "to_text",
    exp.DType.DATE: "to_date",
    exp.DType.TIMESTAMPNTZ: "to_timestamp",
    exp.DType.TIMESTAMP: "to_timestamp",
    exp.DType.BOOLEAN: "to_boolean",
}
_PLAIN: Final = {"to_date": literals.dated, "to_timestamp": literals.timed}


def _cast(reader: Reader, node: exp.Expr) -> Expression:
    to = node.args["to"]
    name = _CASTS.get(to.this) if type(to) is exp.DataType and not isinstance(to.this, str) else None
    if (
        name is None
        or any(value for key, value in to.args.items() if key not in ("this", "nested"))
        or to.args.get("nested")
    ):
        at = _cast_type(reader, reader.place(node))
        word = "" if at is None else reader.tokens.text[slice(*at)].upper()
        raise unsupported(_CAST_TYPE, at=at).instead_of(_NEAR_TYPES.get(word))
    argument = reader.expression(node.this)
    if isinstance(argument, Literal) and name in _PLAIN and (plain := _PLAIN[name](argument, at=argument.at)):
        return plain
    return Call(function=name, arguments=(argument,), at=_cast_place(reader, argument.at))


def _cast_place(reader: Reader, argument: At) -> At:
    """From CAST to its closing bracket, or from the argument to the type after ::."""
    if argument is None:
        return None
    tokens, words = reader.tokens, [token.text.upper() for token in reader.tokens.tokens]
    first, after = tokens.number(argument[0]), tokens.number(argument[1] - 1) + 1
    while after < len(words) and words[after] == ")":
        after += 1
    opening = tokens.around[first]
    while opening > 0 and words[opening - 1] == "(":
        opening = tokens.around[opening]
    if words[after : after + 1] == ["::"]:
        return tokens.balanced(tokens.at(first, min(after + 1, len(words) - 1)))
    if opening > 0 and words[opening - 1] in ("CAST", "TRY_CAST"):
        return tokens.at(opening - 1, tokens.closing[opening])
    return argument


def _cast_type(reader: Reader, argument: At) -> At:
    """The word after AS or ::, which has no place of its own in the parser's tree."""
    if argument is None:
        return None
    words = [token.text.upper() for token in reader.tokens.tokens]
    after = range(reader.tokens.number(argument[1] - 1) + 1, len(words) - 1)
    return next((reader.tokens.at(n + 1, n + 1) for n in after if words[n] in ("AS", "::")), argument)


_NEAR_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("TINYINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT", "UHUGEINT"), "BIGINT"),
    **dict.fromkeys(("UUID", "JSON", "BLOB", "BIT"), "VARCHAR"),
}
_CAST_TYPE: Final = Lesson(
    "A cast to this type",
    "numbers of other widths round and overflow differently on each engine",
    "cast to BIGINT, DOUBLE, VARCHAR, DATE, TIMESTAMP or BOOLEAN; ROUND(x, 2) keeps two decimals",
)


def _extract(reader: Reader, node: exp.Expr) -> Expression:
    part = node.this
    if type(part) not in (exp.Var, exp.Literal):
        raise construct("Extract", at=reader.place(node))
    moment = reader.expression(node.args["expression"])
    return part_of(str(part.this), moment, at=reader.tokens.balanced(moment.at, enclosing=2))


def _words(name: str, *keys: str) -> Convert:
    """A function whose arguments may be separated by words; a missing one ends the list."""

    def convert(reader: Reader, node: exp.Expr) -> Expression:
        given = [node.args.get(key) for key in keys]
        while given and given[-1] is None:
            given.pop()
        arguments = tuple(reader.expression(argument) for argument in given)
        at = reader.around(*arguments, enclosing=2)
        return Call(function=name, arguments=arguments, at=at)

    return convert


_TRIMS: Final = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def _trim(reader: Reader, node: exp.Expr) -> Expression:
    return _words(_TRIMS.get(str(node.args.get("position")).upper(), "trim"), "this", "expression")(reader, node)


def _clock(name: str) -> Rule:
    return Rule(lambda reader, _node: Call(function=name, arguments=(), at=reader.tokens.word(name)), ())


_TWO: Final = ("this", "expression")
OPERATORS: Final[Mapping[type[exp.Expr], Rule]] = {
    exp.Column: Rule(_column, ("this", "table", "db", "catalog")),
    exp.Literal: Rule(_literal, ("this", "is_string")),
    exp.Null: Rule(_null, ()),
    exp.Boolean: Rule(_boolean, ("this",)),
    exp.Paren: Rule(_paren, ("this",)),
    exp.Add: Rule(_shift("add", negative=False)),
    exp.Sub: Rule(_shift("sub", negative=True)),
    exp.Mul: Rule(_operator("mul")),
    exp.Div: Rule(_operator("div")),
    exp.IntDiv: Rule(_operator("intdiv")),
    exp.Mod: Rule(_operator("mod")),
    exp.Pow: Rule(_operator("power")),
    exp.DPipe: Rule(_operator("concat"), _TWO, {"safe": (True,)}),
    exp.Neg: Rule(_neg, ("this",)),
    exp.EQ: Rule(_operator("eq")),
    exp.NEQ: Rule(_operator("ne")),
    exp.LT: Rule(_operator("lt")),
    exp.LTE: Rule(_operator("le")),
    exp.GT: Rule(_operator("gt")),
    exp.GTE: Rule(_operator("ge")),
    exp.NullSafeEQ: Rule(_operator("is_not_distinct")),
    exp.NullSafeNEQ: Rule(_operator("is_distinct")),
    exp.And: Rule(_chain("and", exp.And)),
    exp.Or: Rule(_chain("or", exp.Or)),
    exp.Not: Rule(_not, ("this",)),
    exp.Is: Rule(_is),
    exp.In: Rule(_in, ("this", "expressions")),
    exp.Between: Rule(_between, ("this", "low", "high")),
    exp.Like: Rule(_like("like"), (*_TWO, "negate")),
    exp.ILike: Rule(_like("ilike"), (*_TWO, "negate")),
    exp.Escape: Rule(_escape),
    exp.StartsWith: Rule(_operator("starts_with")),
    exp.Case: Rule(_case, ("this", "ifs", "default")),
    exp.Cast: Rule(_cast, ("this", "to")),
    exp.TryCast: Rule(_cast, ("this", "to"), {"safe": (True,)}),
    exp.Extract: Rule(_extract),
    exp.Trim: Rule(_trim, _TWO, {"position": ("LEADING", "TRAILING", "BOTH")}),
    exp.Substring: Rule(_words("substring", "this", "start", "length"), ("this", "start", "length")),
    exp.CurrentDate: _clock("current_date"),
    exp.CurrentTimestamp: _clock("current_timestamp"),
    exp.CurrentTime: _clock("current_time"),
    exp.Localtime: _clock("localtime"),
    exp.Localtimestamp: _clock("localtimestamp"),
}
