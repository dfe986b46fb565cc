"""check: refuses what has no theorem. Resolved -> Checked.

Each rule is a function that looks at the resolved query and raises; `RULES` is the list. A query that passes has an
owner for every private row, pairs rows of one person only, and shows nothing but aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.errors import BadKey, BadType, Hidden, NotSupported, OnePersonsValue, RowLevel, TwoPeople
from dpsql.sql import functions
from dpsql.sql.clauses import call_text, with_argument
from dpsql.sql.instead import one_persons_value, per_person, public_groups, statistics_of_rows, with_key, without_hidden
from dpsql.sql.joins import tie_of
from dpsql.sql.notes import Role, Use
from dpsql.sql.outputs import Aggregate, require_no_group_bounds
from dpsql.sql.parsing.cursor import spelled
from dpsql.sql.relations import Column, Filter, Relation
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, columns_of, conjuncts
from dpsql.sql.scans import Kept
from dpsql.sql.words import AGGREGATES, PAIRS, PUBLIC_AGGREGATES


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A query every part of which has a rule."""

    query: Resolved


def check(query: Resolved) -> Checked:
    """The query, if it can be answered privately as it is; Refused otherwise."""
    for rule in RULES if query.private else PUBLIC_RULES:
        rule(query)
    return Checked(query=query)


def no_rows(query: Resolved) -> None:
    """Rows are about individuals."""
    if query.grouped:
        return
    person = query.catalog.policy.person.name
    shown = [use for use in query.uses if use.role is Role.OUTPUT]
    raise RowLevel(
        "row-level output is not available",
        why=f"rows are about individual {person}s; no amount of noise makes a row safe to show",
        fix="ask for a statistic: COUNT, SUM, AVG, STDDEV …, per group if you like; or look at invented rows: "
        f"SIMULATE SELECT * FROM {spelled(query.private_tables[0])} LIMIT 5",
        at=shown[0].at if shown else query.at,
    ).proposing(*statistics_of_rows(query))


_HIDDEN_USES: Final = {
    Role.FILTER: ("filtering by", "a filter on it could single out one person"),
    Role.GROUP: ("grouping by", "a list of group names would itself be the leak"),
    Role.VALUE: ("computing with", "a statistic of it says what the owner chose to hide"),
    Role.OUTPUT: ("showing", "its values identify people"),
}


def hidden_stays_hidden(query: Resolved) -> None:
    """Hidden columns may be counted, and joined on where they are the person or lead to it; nothing else."""
    for use in query.uses:
        if use.role not in _HIDDEN_USES:
            continue
        for column in use.columns:
            if column.hidden:
                raise _hidden(use, column, query)


def _hidden(use: Use, column: Column, query: Resolved) -> Hidden:
    doing, why = _HIDDEN_USES[use.role]
    if use.role is Role.GROUP and query.is_person(column):
        key = next((key for key in query.keys if key.at == use.at), None)
        return Hidden(
            f"{doing} {column.name} is not allowed",
            why=f"the owner of the data hides it: each group would be one {query.catalog.policy.person.name}",
            fix=count_people_instead(column, query),
            try_sql=None if key is None else per_person(key, query),
            at=use.at,
        )
    return Hidden(
        f"{doing} {column.name or 'a hidden column'} is not allowed",
        why=f"the owner of the data hides it: {why}",
        fix=f"use another column{_public_ones(column, query)}. It may be counted as it is, and joined on where it says "
        f"whose a row is{_ALIKE if use.role is Role.FILTER else ''}",
        at=use.at,
    ).proposing(*without_hidden(use, column, query))


_ALIKE: Final = ". Other filters are answered whomever they match: one person or thousands, the noise is the same"


def _public_ones(column: Column, query: Resolved) -> str:
    """Whose groups are public beside this one; of a column that was computed, nothing is known to stand beside it."""
    groups = public_groups(column.origin[0], query) if column.origin else []
    return f"; public groups here: {', '.join(groups[:6])}" if groups else ""


def count_people_instead(column: Column, query: Resolved) -> str:
    """What to ask instead of a row for each person; `column` holds the person, or a part of it."""
    person = query.catalog.policy.person.name
    parts = query.catalog.policy.tables[column.origin[0]].person if column.origin else ()
    names = ", ".join(parts) if len(parts) > 1 else column.name
    return (
        f"count {person}s with COUNT(DISTINCT {names}); for statistics of {person}s group by the {person} inside: "
        f"SELECT AVG(n) FROM (SELECT {names}, COUNT(*) AS n FROM … GROUP BY {names}) AS t"
    )


def one_person_per_row(query: Resolved) -> None:
    """Two private tables are joined on the person."""
    for meeting in query.meetings:
        if meeting.equal_owners:
            continue
        left, right = meeting.tables
        person = query.catalog.policy.person.name
        equal = meeting.tie or tie_of(query.catalog.policy.tables[left], query.catalog.policy.tables[right])
        raise TwoPeople(
            f"the join of {left} and {right} can pair one {person} with any number of others",
            why=f"removing one {person} could then change unlimited result rows",
            fix=f"join on the {person}, without a conversion: {equal}"
            if equal
            else f"no columns of the two say that both rows are of one {person}: ask about each table by itself",
            try_sql=meeting.on_person,
            at=meeting.at,
        )


def rows_protected_alone(query: Resolved) -> None:
    """Where each row is its own unit, a join must not give a row several copies."""
    tables = query.catalog.policy.tables
    for meeting in query.meetings:
        by_row = [name for name in meeting.tables if tables[name].unit_row]
        public = [name for name in meeting.tables if tables[name].public]
        if by_row:
            raise TwoPeople(
                f"a row of {by_row[0]} is protected by itself and could meet any number of rows here",
                why="it would count as often as it finds a partner",
                fix=f"join on equality with a column of {public[0]} whose values are all different; if the engine does "
                f"not enforce that, the owner says so: unique = true for the column in [table.{public[0]}.columns]; or "
                "group the public rows by what they are joined on, in a subquery"
                if public
                else "ask about the table alone, or protect it by person",
                at=meeting.at,
            )


def known_aggregates(query: Resolved) -> None:
    """Aggregates with a rule, on values they can be taken of."""
    for aggregate in query.aggregates:
        if aggregate.function not in AGGREGATES:
            raise _without_rule(aggregate, query)
        _require_countable(aggregate, query.text)


def _require_countable(aggregate: Aggregate, text: str) -> None:
    name = aggregate.function.upper()
    if aggregate.function == "count":
        parts = functions.parts_of(aggregate.arguments[0]) if aggregate.distinct and aggregate.arguments else ()
        if any(part.type is SqlType.DOUBLE for part in parts):
            raise BadKey(
                "distinct fractional numbers cannot be counted",
                why="two numbers that print alike may differ in a hidden digit",
                fix="round them, as in COUNT(DISTINCT CAST(x AS INTEGER))",
                at=aggregate.at,
            )
        return
    _require_numbers(aggregate)
    if aggregate.distinct:
        raise NotSupported(
            f"{name}(DISTINCT …) is not available",
            why="one person's value may be everybody's, so its weight in the sum has no simple limit",
            fix="SUM and AVG of all values, without DISTINCT, and COUNT(DISTINCT …) have a rule",
            at=aggregate.at,
        )
    if aggregate.function != "sum" and any(each.type is SqlType.BOOLEAN for each in aggregate.arguments):
        raise BadType(
            f"{name} of true and false",
            why="only numbers have an average",
            fix=f"{name}(CASE WHEN … THEN 1 WHEN NOT (…) THEN 0 END)",
            try_sql=_with_argument(aggregate, text, lambda x: f"CASE WHEN {x} THEN 1 WHEN NOT ({x}) THEN 0 END"),
            at=aggregate.at,
        )


def _with_argument(aggregate: Aggregate, text: str, change: Callable[[str], str]) -> str | None:
    """The query with another argument of this aggregate; of several arguments nothing is proposed."""
    if not aggregate.places or len(aggregate.arguments) != 1 or len(functions.parts_of(aggregate.arguments[0])) > 1:
        return None
    return with_argument(text, aggregate.places, change)


def _require_numbers(aggregate: Aggregate) -> None:
    """One numeric expression, or two where pairs are asked about."""
    name, wanted = aggregate.function.upper(), 2 if aggregate.function in PAIRS else 1
    fitting = all(each.type in NUMERIC | {SqlType.BOOLEAN} for each in aggregate.arguments)
    if len(aggregate.arguments) != wanted or not fitting:
        raise BadType(
            f"{name} needs {'one numeric expression' if wanted == 1 else 'two numeric expressions'}",
            why="only numbers can be added up",
            fix=f"{name}(column of numbers{'' if wanted == 1 else ', another one'})",
            at=aggregate.at,
        )


_OTHER_WORDS: Final = {
    "count_if": "COUNT(*)",
    "countif": "COUNT(*)",
    "approx_count_distinct": "COUNT(DISTINCT {})",
    "fsum": "SUM({})",
    "favg": "AVG({})",
}
"""Aggregates that say the same as one that has a rule; the condition of COUNT_IF becomes one of FILTER."""


def _in_other_words(aggregate: Aggregate) -> str:
    written = call_text(aggregate.text)
    argument = written.argument or "…"
    conditions = [argument] if aggregate.function in ("count_if", "countif") else []
    conditions += [written.filter] if aggregate.filter is not None else []
    both = " AND ".join(f"({each})" for each in conditions) if len(conditions) > 1 else "".join(conditions)
    return _OTHER_WORDS[aggregate.function].format(argument) + (f" FILTER (WHERE {both})" if both else "")


def _without_rule(aggregate: Aggregate, query: Resolved) -> NotSupported | OnePersonsValue:
    name, text = aggregate.function.upper(), query.text
    if aggregate.function in _OTHER_WORDS:
        return NotSupported(
            f"{aggregate.text or name} is not available",
            why="what it asks has a rule under another name",
            fix=f"write {_in_other_words(aggregate)}",
            try_sql=f"{text[: aggregate.at[0]]}{_in_other_words(aggregate)}{text[aggregate.at[1] :]}"
            if aggregate.at is not None and len(aggregate.places) == 1
            else None,
            at=aggregate.at,
        )
    return one_persons_value(aggregate, query)


def comparable_keys(query: Resolved) -> None:
    """Keys are compared by their bytes."""
    for key in query.keys:
        if key.expression.type is SqlType.DOUBLE:
            raise BadKey(
                f"{key.text or 'a fractional number'} cannot be a group",
                why="two numbers that print alike may differ in a hidden digit, and so name a person",
                fix="group by a whole number: CAST(x AS INTEGER) // 10 for steps of ten, or CAST(ROUND(x * 100) "
                f"AS INTEGER) for two digits{_declared_whole(key.expression, query)}",
                try_sql=with_key(key, f"CAST({key.text} AS INTEGER)", query),
                at=key.at,
            )


def _declared_whole(scalar: Scalar, query: Resolved) -> str:
    """What the owner can do about a column of whole numbers whose type allows fractions."""
    column = query.findings.columns[scalar.id] if isinstance(scalar, ColumnRef) else None
    if column is None or column.origin is None:
        return ""
    name = column.origin[1]
    return (
        f". Where {name} holds whole numbers only, the owner can say so: "
        f'register(…, types={{"{name}": "integer"}}), or, of a database, a view that casts it to BIGINT'
    )


def public_aggregates(query: Resolved) -> None:
    """What can be asked about public tables."""
    for aggregate in query.aggregates:
        require_no_group_bounds(aggregate)
        spread = aggregate.distinct and aggregate.function not in ("count", "sum", "avg")
        several = len(aggregate.arguments) > (2 if aggregate.function in PAIRS else 1)
        if aggregate.function not in PUBLIC_AGGREGATES or several or spread:
            raise NotSupported(
                f"{aggregate.text or aggregate.function} is not available",
                why="no rule names it",
                fix=f"use one of {', '.join(sorted(PUBLIC_AGGREGATES))}",
                at=aggregate.at,
            )
        if aggregate.function in PAIRS:
            _require_numbers(aggregate)
        numbers = all(each.type in NUMERIC for each in aggregate.arguments)
        if aggregate.function not in ("count", "min", "max") and not numbers:
            raise BadType(
                f"{aggregate.function.upper()} needs numbers",
                why="only numbers can be added up",
                fix="count them instead",
                at=aggregate.at,
            )


# Public rows that an outer join keeps without anybody: they are groups, and a noisy 0 stands in those of nobody.
#
# The query is answered by its inner join, whose rows all have an owner, with the kept rows as the list of groups. That
# is what it asks wherever a row without anybody adds nothing to any aggregate; everything else is refused here.


def public_rows_only_as_groups(query: Resolved) -> None:
    """Public rows that are kept without anybody: grouped by, and not counted."""
    if query.kept is None:
        return
    missing = query.kept.missing
    for key in query.keys:
        if columns_of(key.expression) & missing:
            raise NotSupported(
                f"GROUP BY {key.text} is not a group of the public rows that the outer join keeps",
                why="it has no value where nobody is, and whether that group is there would tell about people",
                fix="group by columns of the public table, or use JOIN, which needs no row without anybody",
                at=key.at,
            )
    for condition in where_conditions(query.relation):
        if columns_of(condition) & missing and not never_true(condition, missing):
            raise NotSupported(
                "WHERE keeps public rows that nobody is in",
                why="such a row has no owner, and which of them are left would tell about people",
                fix="say which rows of people count in ON, or leave the condition out",
                at=query.kept.at,
            )
    for aggregate in query.aggregates:
        if not _of_people(aggregate, missing):
            raise _counts_nobody(aggregate, query, query.kept)


def _of_people(aggregate: Aggregate, missing: frozenset[int]) -> bool:
    """Rows that nobody is in add nothing to it."""
    if aggregate.filter is not None and never_true(aggregate.filter, missing):
        return True
    values = [when_missing(part, missing) for each in aggregate.arguments for part in functions.parts_of(each)]
    if aggregate.distinct and len(values) > 1:
        return False
    nothing = any(value is not None and value.value is None for value in values)
    return nothing or (aggregate.function == "sum" and any(value is not None and value.value == 0 for value in values))


def _counts_nobody(aggregate: Aggregate, query: Resolved, kept: Kept) -> NotSupported:
    name = aggregate.text or aggregate.function.upper()
    column = kept.counted
    rewrite = None
    if column is not None and aggregate.function == "count" and not aggregate.distinct and aggregate.filter is None:
        rewrite = query.text
        for begin, end in sorted(aggregate.places, reverse=True):
            rewrite = f"{rewrite[:begin]}COUNT({column}){rewrite[end:]}"
    return NotSupported(
        f"{name} also counts public rows that nobody is in",
        why="the outer join keeps them, and they have no owner: their number would tell where nobody is",
        fix=f"count a column of the rows of people, as in COUNT({column or 'column'})",
        try_sql=rewrite,
        at=aggregate.at,
    )


def where_conditions(relation: Relation) -> Iterator[Scalar]:
    """Those of filters that stand above every join."""
    while isinstance(relation, Filter):
        yield from conjuncts(relation.condition)
        relation = relation.input


def never_true(condition: Scalar, columns: frozenset[int]) -> bool:
    """No row without a partner satisfies it; whether it is false there or NULL makes no difference to a condition."""
    match condition:
        case Apply("and", parts):
            return any(never_true(part, columns) for part in parts)
        case Apply("or", parts):
            return all(never_true(part, columns) for part in parts)
        case _:
            value = when_missing(condition, columns)
            return value is not None and value.value is not True


STRICT: Final = frozenset(
    {
        "abs", "add", "ceil", "clamp", "concat", "date_diff", "date_trunc", "day", "div", "dow", "doy", "eq", "exp",
        "floor", "ge", "gt", "hour", "intdiv", "isodow", "le", "left", "length", "like", "ln", "log10", "log2", "lower",
        "lt", "minute", "mod", "month", "mul", "ne", "neg", "not", "quarter", "right", "round", "second", "sign",
        "sqrt", "starts_with", "sub", "to_boolean", "to_date", "to_double", "to_integer", "to_text", "to_timestamp",
        "upper", "week", "year",
    }
)  # fmt: skip
"""Functions that are NULL where one of their arguments is."""

_NOTHING: Final = Constant(None, SqlType.TEXT)
_TRUE, _FALSE = Constant(True, SqlType.BOOLEAN), Constant(False, SqlType.BOOLEAN)


def when_missing(scalar: Scalar, columns: frozenset[int]) -> Constant | None:
    """The value where all of `columns` are NULL; None where it depends on more than that.

    Wherever this is not sure the answer is None, and nothing rests on it.
    """
    match scalar:
        case Constant():
            return scalar
        case ColumnRef():
            return _NOTHING if scalar.id in columns else None
        case Apply("case", arguments):
            return _case(arguments, columns)
        case Apply():
            parts = [when_missing(argument, columns) for argument in scalar.arguments]
            if scalar.function in STRICT:
                return _NOTHING if any(map(_is_null, parts)) else None
            rule = _RULES.get(scalar.function)
            return None if rule is None else rule(parts)
        case _:
            return None


def _case(arguments: tuple[Scalar, ...], columns: frozenset[int]) -> Constant | None:
    *branches, otherwise = arguments
    for condition, result in zip(branches[0::2], branches[1::2], strict=True):
        if never_true(condition, columns):
            continue
        return when_missing(result, columns) if when_missing(condition, columns) == _TRUE else None
    return when_missing(otherwise, columns)


def _is_null(part: Constant | None) -> bool:
    return part is not None and part.value is None


_Parts = list[Constant | None]


def _connected(decides: Constant, otherwise: Constant) -> Callable[[_Parts], Constant | None]:
    """AND, OR: one value decides whatever the others are, and without it NULL outweighs the other value."""

    def rule(parts: _Parts) -> Constant | None:
        if decides in parts:
            return decides
        if None in parts:
            return None
        return _NOTHING if any(map(_is_null, parts)) else otherwise

    return rule


def _coalesce(parts: _Parts) -> Constant | None:
    for part in parts:
        if not _is_null(part):
            return part
    return _NOTHING


_RULES: Final[Mapping[str, Callable[[_Parts], Constant | None]]] = {
    "and": _connected(_FALSE, _TRUE),
    "or": _connected(_TRUE, _FALSE),
    "coalesce": _coalesce,
    "in": lambda parts: _NOTHING if _is_null(parts[0]) else None,
    "is_null": lambda parts: None if parts[0] is None else Constant(parts[0].value is None, SqlType.BOOLEAN),
    "is_not_null": lambda parts: None if parts[0] is None else Constant(parts[0].value is not None, SqlType.BOOLEAN),
}
Rule = Callable[[Resolved], None]
RULES: Final[tuple[Rule, ...]] = (
    rows_protected_alone,
    one_person_per_row,
    no_rows,
    public_rows_only_as_groups,
    hidden_stays_hidden,
    known_aggregates,
    comparable_keys,
)
PUBLIC_RULES: Final[tuple[Rule, ...]] = (hidden_stays_hidden, public_aggregates)
