"""What to ask instead: rewrites of questions that are refused, in the words of whoever asked.

They are made of the text, the resolved names and the policy; whether one has a plan is seen before it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from operator import itemgetter
from typing import Final

from dpsql.catalog.model import ColumnPolicy, PublicKeys
from dpsql.catalog.names import folded
from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.errors import OnePersonsValue
from dpsql.sql.clauses import call_text, clauses_of, with_item
from dpsql.sql.injective import keys_of_people
from dpsql.sql.notes import Role, Use
from dpsql.sql.outputs import Aggregate, GroupKey
from dpsql.sql.parsing.cursor import spelled
from dpsql.sql.relations import Column, ref
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Scalar
from dpsql.sql.words import RAW_AGGREGATES

_OVER: Final = re.compile(r"\bOVER\b", re.IGNORECASE)
_NAME: Final = re.compile(r"(?:\w+\.)?(\w+)", re.ASCII)
EXAMPLES: Final[Mapping[SqlType, str]] = {
    SqlType.BOOLEAN: "IN (TRUE, FALSE)",
    SqlType.INTEGER: "BETWEEN 0 AND 99",
    SqlType.DOUBLE: "BETWEEN 0 AND 99",
    SqlType.TEXT: "IN ('a', 'b')",
    SqlType.DATE: "BETWEEN '2024-01-01' AND '2024-12-31'",
    SqlType.TIMESTAMP: "BETWEEN '2024-01-01' AND '2024-12-31'",
}
"""Groups that somebody might want; whoever asks puts in their own."""


def statistics_of_rows(query: Resolved) -> Iterator[str]:
    """Statistics of the rows that would be shown: numbers averaged, by the columns whose groups are declared, or rows
    counted. Of a window over them no statistic is near."""
    shown = [use for use in query.uses if use.role is Role.OUTPUT]
    listed = [column for use in shown for column in use.columns if isinstance(column.keys, PublicKeys)]
    written = clauses_of(query.text, query.at)
    if written is None or written.having or _OVER.search(written.items):
        return
    keys, numbers = _written_columns(shown, query)
    keys = keys or ([spelled(listed[0].name)] if listed and not numbers else [])
    asked = [f"AVG({name})" for name in numbers] or ["COUNT(*)"]
    yield written.asking(", ".join([*keys, *asked]), group_by=", ".join(keys))
    yield written.asking("COUNT(*)")


def _written_columns(shown: Sequence[Use], query: Resolved) -> tuple[list[str], list[str]]:
    """Of the columns that are named one by one: those with declared groups, and the other numbers that have bounds."""
    keys, numbers = [], []
    for use in shown:
        name = query.text[slice(*use.at)] if use.at else ""
        found = _NAME.fullmatch(name)
        if found is None or len(use.columns) != 1 or folded(found[1]) != use.columns[0].name or use.columns[0].hidden:
            continue
        column = use.columns[0]
        if column.keys is not None:
            keys.append(name)
        elif column.type in NUMERIC and column.declared.bounded:
            numbers.append(name)
    return list(dict.fromkeys(keys)), list(dict.fromkeys(numbers))


def public_groups(table: str, query: Resolved) -> list[str]:
    """The columns of a table whose groups everybody may know, each with how many there are."""
    columns = query.catalog.policy.tables[table].columns
    return [
        f"{name} ({len(policy.keys.values)})"
        for name, policy in columns.items()
        if isinstance(policy.keys, PublicKeys) and not policy.hidden
    ]


def without_hidden(use: Use, column: Column, query: Resolved) -> Iterator[str]:
    """Groups that the owner has published, for rows that a hidden column would group or show. What filters by it, or
    computes with it, is another question without it."""
    table = column.origin[0] if column.origin else query.private_tables[0]
    policies = query.catalog.policy.tables[table].columns
    key = next((spelled(name) for name, policy in policies.items() if _is_listed(policy)), None)
    written = clauses_of(query.text, query.at)
    if key is None or written is None or written.having:
        return
    if use.role is Role.OUTPUT and not query.grouped:
        yield written.asking(f"{key}, COUNT(*)", group_by=key)
    if use.role is Role.GROUP and len(query.keys) == 1 and _NAME.fullmatch(query.keys[0].text):
        hidden = query.keys[0].text
        before, point, _ = hidden.rpartition(".")
        name = re.compile(rf'(?<![\w.]){re.escape(hidden)}(?![\w.(])(?:\s+AS\s+(?:\w+|"[^"]+"))?', re.IGNORECASE)
        yield written.with_groups(name, f"{before}{point}{key}").text


def _is_listed(column: ColumnPolicy) -> bool:
    return isinstance(column.keys, PublicKeys) and not column.hidden


def of_listed_groups(key: GroupKey, query: Resolved) -> str | None:
    """The same question about some groups that are named in it."""
    written = clauses_of(query.text, query.at)
    name = key.text
    if written is None or not name:
        return None
    return written.also_where(f"{name} {EXAMPLES[key.expression.type]}").text


def with_key(key: GroupKey, written: str, query: Resolved) -> str | None:
    """The same question with a group written in another way."""
    clauses = clauses_of(query.text, query.at)
    if clauses is None or not key.text:
        return None
    name = re.compile(rf"(?<![\w.\"'(]){re.escape(key.text)}(?![\w.(\"'])", re.IGNORECASE)
    return clauses.with_groups(name, written).text


def per_person(key: GroupKey, query: Resolved) -> str | None:
    """For a row per person: the average over all of them, or their number. HAVING says which people are counted."""
    written = clauses_of(query.text, query.at)
    if written is None or not key.text or len(query.keys) != 1:
        return None
    alone = replace(written, before="", order="", tail="", after="")
    if written.having:
        people = replace(alone, items=key.text).text
        return replace(written, source=f"({people}) AS t", where="").asking("COUNT(*)")
    one_row = len(query.tables) == 1 and query.catalog.policy.tables[query.tables[0]].unique
    if not query.aggregates or (one_row and all(not each.arguments for each in query.aggregates)):
        return written.asking(f"COUNT(DISTINCT {key.text})")
    first = query.aggregates[0]
    names = {column.expression: column.name for column in query.finish.outputs}
    name = names.get(ref(first.column), "")
    name = name if name.isidentifier() else "n"
    inner = alone.asking(f"{key.text}, {first.text} AS {name}", group_by=key.text)
    return replace(written, source=f"({inner}) AS t", where="").asking(f"AVG({name})")


_EPOCH: Final = date(1970, 1, 1)
_DAYS: Final = {SqlType.DATE: 1, SqlType.TIMESTAMP: 24 * 60 * 60 * 1_000_000}
"""How long a day is where moments are counted."""
_SORTED: Final = re.compile(r"\bWITHIN\s+GROUP\s*\(\s*ORDER\s+BY\s+((?:\w+\.)?\w+(?=\s*\)))?", re.IGNORECASE)
"""The value, where it is one name."""


def one_persons_value(aggregate: Aggregate, query: Resolved) -> OnePersonsValue:
    """The refusal of such an aggregate, with the nearest statistic of many people."""
    subject = _Subject.of(aggregate, query)
    told = _told(subject)
    return OnePersonsValue(
        f"{aggregate.text or aggregate.function.upper()} cannot be released as it is",
        why=_WHY.get(aggregate.function, "it is, or may be, the value of one person"),
        fix=told.advice,
        at=aggregate.at,
    ).proposing(*(subject.replaced(call) for call in told.calls), subject.grouped() if not told.calls else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """What the aggregate is taken of."""

    aggregate: Aggregate
    query: Resolved
    name: str
    """As it was written; "" where it is not one plain value."""
    type: SqlType | None
    filter: str
    low: Fraction | None
    high: Fraction | None

    @classmethod
    def of(cls, aggregate: Aggregate, query: Resolved) -> _Subject:
        written = call_text(aggregate.text)
        by = aggregate.function in ("arg_max", "arg_min", "max_by", "min_by")
        name, value = _value(written.argument, aggregate.arguments, by=by)
        ordered = _SORTED.search(aggregate.text)
        if ordered is not None:  # in parentheses stands a share, not the value
            name, value = ordered[1] or "", aggregate.arguments[0]
        bounds = None if value is None else query.findings.declared(value)
        return cls(
            aggregate=aggregate,
            query=query,
            name=name,
            type=None if value is None else value.type,
            filter=written.filter if aggregate.filter is not None else "",
            low=None if bounds is None else bounds.low,
            high=None if bounds is None else bounds.high,
        )

    @property
    def shown(self) -> str:
        return self.name or "x"

    def filtered(self, call: str, *conditions: str) -> str:
        """A call with its conditions, and those of the aggregate it stands for."""
        every = [each for each in (*conditions, self.filter) if each]
        if not every:
            return call
        both = every[0] if len(every) == 1 else " AND ".join(f"({each})" for each in every)
        return f"{call} FILTER (WHERE {both})"

    def replaced(self, call: str) -> str | None:
        """The question with another aggregate in its place, and in that of others like it. Only where each is an item
        of the SELECT list: compared or computed with, another statistic would make another question."""
        places = dict.fromkeys(self.aggregate.places, call)
        if not self.name:
            return None
        for other in self.query.aggregates:
            if other.function in RAW_AGGREGATES and other != self.aggregate:
                calls = _told(_Subject.of(other, self.query)).calls
                if not calls:
                    return None
                places |= dict.fromkeys(other.places, calls[0])
        text: str | None = self.query.text
        for place, written in sorted(places.items(), key=itemgetter(0), reverse=True):
            text = None if text is None else with_item(text, self.query.at, place, written)
        return text

    def grouped(self) -> str | None:
        """How many rows have each value, as groups of the question."""
        written = clauses_of(self.query.text, self.query.at)
        keys = [key.text for key in self.query.keys]
        if written is None or not self.name or self.filter or not all(keys) or len(self.query.aggregates) > 1:
            return None
        by = ", ".join([*keys, self.name])
        return written.asking(f"{by}, COUNT(*)", group_by=by)

    def limit(self, *, above: bool) -> str:
        """A limit that somebody might ask about: a tenth of the declared range from its end."""
        if self.low is None or self.high is None:
            return "'2000-01-01'" if self.type in _DAYS else "100" if above else "10"
        tenth = (self.high - self.low) / 10
        value = self.high - tenth if above else self.low + tenth
        if self.type in _DAYS:
            return f"'{_EPOCH + timedelta(days=int(value / _DAYS[self.type]))}'"
        return str(round(value)) if self.type is SqlType.INTEGER or value >= 10 else f"{float(value):.3g}"


def _value(argument: str, arguments: tuple[Scalar, ...], *, by: bool) -> tuple[str, Scalar | None]:
    """The value and its text; of ARG_MAX(x, y) that is y. A text with inner commas is not taken apart."""
    place = 1 if by else 0
    texts = [each.strip() for each in argument.split(",")] if "(" not in argument else [argument]
    if place >= len(arguments) or place >= len(texts) or (len(texts) == 1 and len(arguments) > 1):
        return "", None
    return re.sub(r"^distinct\b\s*", "", texts[place], flags=re.IGNORECASE), arguments[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What to do in words, and the calls that do it, the nearest first."""

    advice: str
    calls: tuple[str, ...]
    """Aggregates of many people that may be shown in its place."""


def _told(subject: _Subject) -> _Told:
    return _WAYS.get(subject.aggregate.function, _average)(subject)


def _averages(subject: _Subject) -> tuple[str, ...]:
    """Only numbers have an average."""
    return (subject.filtered(f"AVG({subject.shown})"),) if subject.type in NUMERIC else ()


def _beyond(subject: _Subject, *, above: bool) -> _Told:
    if subject.type is SqlType.TEXT or subject.type is SqlType.BOOLEAN:
        return _values(subject)
    limit, sign = subject.limit(above=above), ">" if above else "<"
    call = subject.filtered("COUNT(*)", f"{subject.shown} {sign} {limit}")
    usual = f". AVG({subject.shown}) and STDDEV({subject.shown}) say what is usual" if subject.type in NUMERIC else ""
    return _Told(
        advice=f"count how many lie {'above' if above else 'below'} a limit of yours: {call}{usual}",
        calls=((call,) if subject.type is not None else ()) + _averages(subject),
    )


def _average(subject: _Subject) -> _Told:
    if subject.type is not None and subject.type not in NUMERIC:
        return _beyond(subject, above=True)
    above = f"COUNT(*) FILTER (WHERE {subject.shown} > {subject.limit(above=True)})"
    advice = f"ask for AVG({subject.shown}) and STDDEV({subject.shown}), or count how many lie above a limit: {above}"
    return _Told(advice=advice, calls=_averages(subject))


def _spread(subject: _Subject) -> _Told:
    if subject.type is not None and subject.type not in NUMERIC:
        return _values(subject)
    call = subject.filtered(f"STDDEV({subject.shown})")
    return _Told(advice=f"ask for the spread by {call}", calls=(call,))


def _true(subject: _Subject) -> _Told:
    if subject.type is not None and subject.type is not SqlType.BOOLEAN:
        return _values(subject)
    call = subject.filtered("COUNT(*)", subject.shown)
    return _Told(advice=f"count for how many it is true: {call}", calls=(call,))


def _values(subject: _Subject) -> _Told:
    name, query = subject.shown, subject.query
    if any(keys_of_people(subject.aggregate.arguments, query.findings, query.catalog)):
        return _Told(advice=f"count how many there are: COUNT(DISTINCT {name})", calls=())
    words = f"count each value: SELECT {name}, COUNT(*) … GROUP BY {name}"
    words += f"; of numbers ask for AVG({name}) and STDDEV({name})" if subject.type in NUMERIC else ""
    return _Told(advice=words, calls=())


def _some_value(subject: _Subject) -> _Told:
    return replace(_values(subject), calls=_averages(subject))


_WAYS: Final[Mapping[str, Callable[[_Subject], _Told]]] = {
    **dict.fromkeys(("max", "max_by", "arg_max"), lambda subject: _beyond(subject, above=True)),
    **dict.fromkeys(("min", "min_by", "arg_min"), lambda subject: _beyond(subject, above=False)),
    **dict.fromkeys(("bool_or", "bool_and", "logical_or", "logical_and"), _true),
    **dict.fromkeys(("entropy", "kurtosis", "mad", "sem", "skewness"), _spread),
    **dict.fromkeys(
        ("array_agg", "group_concat", "histogram", "list", "listagg", "mode", "string_agg"), _values
    ),
    **dict.fromkeys(("any_value", "arbitrary", "first", "last"), _some_value),
}  # fmt: skip
"""How it is asked instead; what is not here, as an average."""
_WHY: Final[Mapping[str, str]] = {
    "max": "the largest value is one person's value",
    "min": "the smallest value is one person's value",
    **dict.fromkeys(
        ("array_agg", "group_concat", "histogram", "list", "listagg", "string_agg"),
        "it would list the values of people one by one",
    ),
    **dict.fromkeys(
        ("bool_and", "bool_or", "logical_and", "logical_or"), "a single person can turn it from true to false"
    ),
}
