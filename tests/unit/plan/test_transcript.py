"""Everything a stored plan may hold has a name, and the names do not change."""

import typing
from dataclasses import MISSING, fields
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from types import NoneType, UnionType

import pytest

from dpsql.plan.record import NAMES, PLANS
from dpsql.sql.intervals import EVERYTHING
from tests.kits.rows import read_texts

CLASSES = {name: kind for name, kind in NAMES.items() if not issubclass(kind, Enum)}
PLAIN = (bool, int, str, NoneType, Fraction, date, datetime)


def kinds(annotation):
    """The classes a field may hold, through unions, tuples, aliases and type variables."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, UnionType, tuple):
        return {kind for inside in typing.get_args(annotation) for kind in kinds(inside)}
    if isinstance(annotation, typing.TypeVar) or annotation in (Ellipsis, object, typing.Any):
        return set()
    return {origin or annotation}


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_every_field_holds_something_that_has_a_name(kind):
    hints = typing.get_type_hints(kind)
    for each in fields(kind):
        if each.init:
            unknown = {
                inside.__name__
                for inside in kinds(hints[each.name])
                if inside not in PLAIN and inside not in NAMES.values()
            }
            assert unknown <= NUMBERS | NEVER_WRITTEN, (kind.__name__, each.name)


NUMBERS = {"float", "Fraction", "Decimal"}
"""Scales and prices may be given in any kind of number; plans make them Fractions."""
NEVER_WRITTEN = {"Windowed", "Event", "AwaitedRows", "AwaitedValue"}
"""No statement of an engine holds a window; an event is one of the kinds that have a word; what still awaits a release
of another question is never charged."""


def test_the_names_and_defaults_of_what_is_stored_do_not_change():
    """Plans are read years later: `codec.Only` gives a renamed field its old name; defaults stay."""
    found = []
    for name, kind in sorted(CLASSES.items()):
        fields_ = sorted(PLANS._classes[kind].fields, key=lambda each: each[1])
        found.append(" ".join([f"{name}:", *(f"{each[1]}{default_of(each[2])}" for each in fields_)]))
    assert found == read_texts(__file__, "fields")


def default_of(default):
    if default is MISSING:
        return ""
    return f"={'…' if default == EVERYTHING else default!r}".replace(" ", "")


def test_every_word_of_a_list_of_words_is_read_again():
    for kind in NAMES.values():
        if issubclass(kind, Enum):
            assert [PLANS.from_json(PLANS.to_json(word), kind) for word in kind] == list(kind)
