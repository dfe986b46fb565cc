"""Everything a stored plan may hold, written and read again: each class, each field, each word."""

import json
import typing
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from types import NoneType, UnionType

import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError, LedgerBroken
from dpsql.plan.transcript import PARTS, WORDS, read, written

PLAIN = (bool, int, str, NoneType, Fraction, date, datetime)


def again(value):
    return read(json.loads(json.dumps(written(value))))


def kinds(annotation):
    """The classes a field may hold, through unions, tuples, aliases and type variables."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, UnionType, tuple):
        return {kind for inside in typing.get_args(annotation) for kind in kinds(inside)}
    if isinstance(annotation, typing.TypeVar) or annotation in (Ellipsis, object, typing.Any):
        return set()
    return {origin or annotation}


@pytest.mark.parametrize("kind", PARTS.values(), ids=PARTS)
def test_every_field_holds_something_that_has_a_word(kind):
    hints = typing.get_type_hints(kind)
    for each in fields(kind):
        if each.init:
            unknown = {
                inside.__name__
                for inside in kinds(hints[each.name])
                if inside not in PLAIN and PARTS.get(inside.__name__) is not inside and inside not in WORDS.values()
            }
            assert unknown <= NUMBERS | NEVER_WRITTEN, (kind.__name__, each.name)


NUMBERS = {"float", "Fraction", "Decimal"}
"""Scales and prices may be given in any kind of number; plans make them Fractions."""
NEVER_WRITTEN = {"Windowed", "Event", "AwaitedRows", "AwaitedValue"}
"""No statement of an engine holds a window; an event is one of the kinds that have a word; what still awaits a release
of another question is never charged."""


@pytest.mark.parametrize("word", [member for kind in WORDS.values() for member in kind], ids=str)
def test_every_word_is_read_again(word):
    assert again(word) is word


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -(2**70), "", "ü'\"", Fraction(-7, 3), date(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)],
    ids=str,
)
def test_every_value_is_read_again_as_what_it_was(value):
    (found, inside) = again((value, (value,)))
    assert (found, inside) == (value, (value,))
    assert type(found) is type(value)


def sample(kind):
    """An object of a class, with a different value in each field that is a text or a number."""
    given = {}
    for number, each in enumerate(fields(kind)):
        if each.init:
            hints = kinds(typing.get_type_hints(kind)[each.name])
            given[each.name] = _sample_value(each, hints, number)
    return kind(**given)


def _sample_value(each, hints, number):
    if bool in hints:
        return True
    for kind in sorted((kind for kind in hints if isinstance(kind, type)), key=lambda kind: kind.__name__):
        if issubclass(kind, Enum):
            return next(iter(kind))
    if str in hints:
        return f"text {number}"
    if int in hints or Fraction in hints:
        return number + 2
    return None if each.default is MISSING else each.default


@pytest.mark.parametrize("name", ["Column", "Scan", "EngineColumn", "PathStep", "ReadTable", "ColumnRef", "Constant"])
def test_no_field_of_a_declaration_is_lost(name):
    value = sample(PARTS[name])
    assert is_dataclass(value)
    assert again(value) == value
    assert again((value, value))[0] is not value


def test_what_is_read_twice_is_written_once():
    value = sample(PARTS["Column"])
    one, two = again((value, value))
    assert one is two
    assert [name for name, _ in written((value, value))[:-1]].count("Column") == 1


def test_what_has_no_word_is_not_written():
    with pytest.raises(InternalError, match="no word for set"):
        written({1})
    with pytest.raises(InternalError, match="no word for float"):
        written((SqlType.DOUBLE, 0.5))


@pytest.mark.parametrize("change", ["added", "lost"])
def test_a_field_more_or_less_is_not_read(change):
    told = written(sample(PARTS["Column"]))
    (given,) = (given for name, given in told[:-1] if name == "Column")
    given.update(other=1) if change == "added" else given.pop("name")
    with pytest.raises(LedgerBroken):
        read(told)
