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


FIELDS = """
apply: arguments function type
approximate: delta epsilon
bounded_range: epsilon
column: declared='…' hidden=False id kept='…' keys=None name not_null=False origin=None proved='…' public=False type
composed: events
constant: type value
discrete_gaussian: dimensions=1 l2_squared sigma_squared
engine_column: engine_type='' high=None instead='' low=None name not_null=False scale=None type wide=False
engine_table: columns name unique=()
exists: among condition input negated
filter: columns condition input
gaussian: sigma_squared
gaussian_threshold: delta keys sigma_squared
grain: lower size upper
group: by columns input totals
interval: high low
join: condition left outer=False right
key_list: values
key_range: count first microseconds=0 months=0
key_selection: delta epsilon keys
laplace: scale
listed: columns from_step=None rows
listed_keys: columns keys
measurement: event noises statement
noise: above=None grain law rounded=False
optimal: delta epsilon keys_per_unit neighbours
path_step: columns table to_columns
placed_slot: column slot
project: columns expressions input
public_keys: values
pure: epsilon
rank: column input order partition
ref: id type
scan: columns owner=() private raw=() source sources table
selection: counts mechanism statement
slot: argument cap grain=None high kind low middle=0 partner=None size
slot_noise: carried placed
sorted: by descending=False nulls_first=False
statement: keys relation values
table: engine name path person public source unit_row
threshold: delta keys_per_unit neighbours sigma_squared
total: argument=None filter=None function
union: branches columns
window: added calls input
windowed: arguments frame function order_by partition_by type
"""


def test_the_names_and_defaults_of_what_is_stored_do_not_change():
    """Plans are read years later: `codec.Only` gives a renamed field its old name; defaults stay."""
    found = []
    for name, kind in sorted(CLASSES.items()):
        fields_ = sorted(PLANS._classes[kind].fields, key=lambda each: each[1])
        found.append(" ".join([f"{name}:", *(f"{each[1]}{default_of(each[2])}" for each in fields_)]))
    assert found == FIELDS.split("\n")[1:-1]


def default_of(default):
    if default is MISSING:
        return ""
    return f"={'…' if default == EVERYTHING else default!r}".replace(" ", "")


def test_every_word_of_a_list_of_words_is_read_again():
    for kind in NAMES.values():
        if issubclass(kind, Enum):
            assert [PLANS.from_json(PLANS.to_json(word), kind) for word in kind] == list(kind)
