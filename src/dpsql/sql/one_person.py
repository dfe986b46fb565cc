"""Aggregates that are, or may be, the value of one person: why they are refused, and what is asked instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from operator import itemgetter
from typing import Final

from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.errors import OnePersonsValue
from dpsql.sql.call_text import call_text
from dpsql.sql.clauses import clauses_of, with_item
from dpsql.sql.injective import keys_of_people
from dpsql.sql.outputs import Aggregate
from dpsql.sql.resolve import Resolved
from dpsql.sql.scalars import Scalar
from dpsql.sql.words import RAW_AGGREGATES

_EPOCH: Final = date(1970, 1, 1)
_DAYS: Final = {SqlType.DATE: 1, SqlType.TIMESTAMP: 24 * 60 * 60 * 1_000_000}
"""How long a day is where moments are counted."""
_SORTED: Final = re.compile(r"\bWITHIN\s+GROUP\s*\(\s*ORDER\s+BY\s+((?:\w+\.)?\w+)", re.IGNORECASE)


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
        if ordered is not None:  # its argument is a share, not the value
            name, value = ordered[1], None
        bounds = None if value is None else query.findings.declared(value)
        return cls(
            aggregate=aggregate,
            query=query,
            name=name,
            type=value.type if value is not None else SqlType.DOUBLE if ordered is not None else None,
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
            return "100" if above else "10"
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
    limit, sign = subject.limit(above=above), ">" if above else "<"
    call = subject.filtered("COUNT(*)", f"{subject.shown} {sign} {limit}")
    measured = subject.type in NUMERIC or subject.type in _DAYS
    usual = f". AVG({subject.shown}) and STDDEV({subject.shown}) say what is usual" if subject.type in NUMERIC else ""
    return _Told(
        advice=f"count how many lie {'above' if above else 'below'} a limit of yours: {call}{usual}",
        calls=((call,) if measured else ()) + _averages(subject),
    )


def _average(subject: _Subject) -> _Told:
    above = f"COUNT(*) FILTER (WHERE {subject.shown} > {subject.limit(above=True)})"
    advice = f"ask for AVG({subject.shown}) and STDDEV({subject.shown}), or count how many lie above a limit: {above}"
    return _Told(advice=advice, calls=_averages(subject))


def _spread(subject: _Subject) -> _Told:
    call = subject.filtered(f"STDDEV({subject.shown})")
    return _Told(advice=f"ask for the spread by {call}", calls=(call,))


def _true(subject: _Subject) -> _Told:
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
