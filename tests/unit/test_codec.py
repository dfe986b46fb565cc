"""A codec writes the types of its table under their names, and reads nothing but what it would write."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field, make_dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql import codec
from dpsql.codec import MOST_DEEP, Codec, Only, Unreadable, fraction_from_text, fraction_to_text
from dpsql.errors import InternalError, LedgerBroken
from dpsql.privacy.exact import Exact
from tests.kits.cases import cases
from tests.kits.refusals import each_raises, raised

Value = bool | int | Fraction | str | date | datetime | None


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Shape:
    pass


@dataclass(frozen=True)
class Dot(Shape):
    at: tuple[int, int]


@dataclass(frozen=True)
class Pile(Shape):
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Picture:
    title: str
    shape: Shape
    values: tuple[Value, ...] = ()
    colour: Colour = Colour.RED
    mixed: Colour | Fraction | None = None
    frame: Dot | None = None
    digest: bytes = b""
    scratch: list[int] = field(default_factory=list, init=False, compare=False)


TABLE = {"dot": Dot, "pile": Pile, "picture": Picture, "colour": Colour}
CODEC = Codec(TABLE)
SHARED = Codec(TABLE, shared=True)
FULL = Picture(
    title="ü\n",
    shape=Pile((Dot((1, 2)), Pile())),
    values=(True, 1, Fraction(1, 3), "1/3", date(2026, 1, 31), datetime(2026, 1, 31, 12, 30), None),
    colour=Colour.BLUE,
    mixed=Fraction(2),
    frame=Dot((0, -1)),
    digest=b"\x00\xff",
)
TEXT = (
    b'{"colour":"blue","digest":"00ff","frame":{"at":[0,-1]},"mixed":{"number":"2"},'
    b'"shape":{"pile":{"shapes":[{"dot":{"at":[1,2]}},{"pile":{}}]}},"title":"\\u00fc\\n",'
    b'"values":[true,1,{"number":"1/3"},"1/3",{"date":"2026-01-31"},{"timestamp":"2026-01-31T12:30:00"},null]}'
)
BARE = Picture(title="", shape=Dot((0, 0)))


def shared_again(value, kind=Picture, **options):
    return SHARED.from_json(json.loads(json.dumps(SHARED.to_json(value, kind, **options))), kind, **options)


def test_a_value_is_written_under_the_names_of_the_table():
    assert CODEC.to_bytes(FULL) == TEXT
    assert CODEC.from_bytes(TEXT, Picture) == shared_again(FULL) == FULL


def test_what_equals_its_default_is_not_written():
    assert CODEC.to_bytes(BARE) == b'{"shape":{"dot":{"at":[0,0]}},"title":""}'
    assert CODEC.from_bytes(CODEC.to_bytes(BARE), Picture) == shared_again(BARE) == BARE


def test_a_renamed_class_leaves_what_is_stored():
    old, new = (make_dataclass(name, [("at", int)], frozen=True) for name in ("Old", "New"))
    text = Codec({"place": old}).to_bytes(old(7))
    assert Codec({"place": new}).from_bytes(text, new) == new(7)
    assert Codec({"place": new}).to_bytes(new(7)) == text


def test_a_renamed_field_keeps_its_name():
    old, new = (make_dataclass("Place", [(name, int)], frozen=True) for name in ("at", "where"))
    text = Codec({"place": old}).to_bytes(old(7))
    assert Codec({"place": Only(new, {"where": "at"})}).from_bytes(text, new) == new(7)


def test_a_field_can_be_added():
    old, new = make_dataclass("Old", [("at", int)]), make_dataclass("New", [("at", int), ("of", str, "")])
    text = Codec({"place": old}).to_bytes(old(7))
    assert Codec({"place": new}).from_bytes(text, new) == new(7)
    assert Codec({"place": new}).to_bytes(new(7)) == text
    with_it = Codec({"place": new}).to_bytes(new(7, "x"))
    raised(Unreadable, lambda: Codec({"place": old}).from_bytes(with_it, old))


def test_a_field_that_is_not_listed_is_not_written():
    told = Codec({"picture": Only(Picture, ("title",))})
    assert told.to_json(FULL) == {"title": "ü\n"}
    raised(InternalError, lambda: told.to_bytes(FULL))  # it could not be read again


class Disguised(Dot):
    pass


@pytest.mark.parametrize(
    "value",
    [
        *(
            dataclasses.replace(BARE, values=(value,))
            for value in (0.5, b"", {1}, [1], Colour.RED, Dot((0, 0)), Exact(7))
        ),
        dataclasses.replace(BARE, title=7),
        dataclasses.replace(BARE, title=Exact("x")),
        dataclasses.replace(BARE, shape=Disguised((0, 0))),
        dataclasses.replace(BARE, shape=Shape()),
        dataclasses.replace(BARE, shape=Dot((0, 0, 0))),
        dataclasses.replace(BARE, shape=Dot((0, True))),
        dataclasses.replace(BARE, shape=Dot([0, 0])),
        dataclasses.replace(BARE, frame=Pile()),
        dataclasses.replace(BARE, frame=Disguised((0, 0))),
        dataclasses.replace(BARE, colour="red"),
        dataclasses.replace(BARE, mixed=1),
        dataclasses.replace(BARE, values=False),
    ],
    ids=range(19),
)
def test_what_has_no_name_in_its_place_is_not_written(value):
    each_raises((InternalError, ValueError), lambda write: write(value, Picture), (CODEC.to_json, SHARED.to_json))


@pytest.mark.parametrize("kind", [float, set, Exact])
def test_a_type_outside_the_table_is_refused(kind):
    raised(InternalError, lambda: CODEC.kind(kind))


@cases(__file__, "old=", "new=")
def test_what_would_not_be_written_is_not_read(old, new):
    changed = TEXT.replace(old, new)
    assert changed != TEXT
    if new != b"":
        raised(Unreadable, lambda: CODEC.from_bytes(changed, Picture))


def test_what_is_read_often_is_read_as_strictly_but_for_blanks_and_order():
    often = Codec(TABLE, often={Picture})
    raised(Unreadable, lambda: often.from_bytes(TEXT.replace(b'"frame":{"at":[0,-1]}', b'"frame":null'), Picture))
    raised(Unreadable, lambda: often.from_bytes(TEXT.replace(b"[true,", b"[1.0,"), Picture))
    assert often.from_bytes(TEXT.replace(b'"title"', b' "title"'), Picture) == FULL


def test_the_ledger_says_what_is_broken():
    broken = Codec(TABLE, unreadable=lambda: LedgerBroken("no plan"))
    raised(LedgerBroken, lambda: broken.from_bytes(b"{}", Picture), match="no plan")


def nested(depth):
    value = Pile()
    for _ in range(depth - 1):
        value = Pile((value,))
    return value


def test_depth_has_a_limit():
    assert CODEC.from_bytes(CODEC.to_bytes(nested(MOST_DEEP)), Pile) == nested(MOST_DEEP)
    raised(InternalError, lambda: CODEC.to_json(nested(MOST_DEEP + 1)))
    too_deep = '{"shapes":[{"pile":' * MOST_DEEP + "{}" + "}]}" * MOST_DEEP
    raised(Unreadable, lambda: CODEC.from_bytes(too_deep.encode(), Pile))
    raised(InternalError, lambda: SHARED.to_json(nested(20_000)))
    assert shared_again(nested(150), Pile) == nested(150)


def test_size_has_a_limit(monkeypatch):
    monkeypatch.setattr(codec, "MOST_BYTES", len(TEXT))
    assert CODEC.from_bytes(CODEC.to_bytes(FULL), Picture) == FULL
    longer = dataclasses.replace(FULL, title="ü\nx")
    raised(InternalError, lambda: CODEC.to_bytes(longer))
    raised(Unreadable, lambda: CODEC.from_bytes(TEXT + b" ", Picture))


@dataclass(frozen=True)
class Rounded:
    number: int

    def __post_init__(self):
        object.__setattr__(self, "number", self.number // 2)


def test_what_is_read_as_another_value_is_not_stored():
    raised(InternalError, lambda: Codec({"rounded": Rounded}).to_bytes(Rounded(8)))


def test_floats_are_written_where_a_table_has_them():
    plain = Codec({"float": float})
    assert plain.from_json(0.1, float | int) == 0.1
    each_raises(InternalError, lambda value: plain.to_json(value, float | int), (float("nan"), float("-inf")))


# Parts that are shared


def test_what_occurs_twice_is_written_once_and_is_one_value_again():
    twice = Dot((3, 4))
    parts = SHARED.to_json(Pile((twice, twice)))
    assert parts == [["dot", {"at": [3, 4]}], ["pile", {"shapes": [{"part": 0}, {"part": 0}]}], {"part": 1}]
    one, two = SHARED.from_json(parts, Pile).shapes
    assert one is two
    one, two = shared_again(Pile((Dot((3, 4)), Dot((3, 4)))), Pile).shapes
    assert one is not two


def test_a_part_that_is_known_has_its_place_too():
    pile = Pile()
    raised(InternalError, lambda: SHARED.to_json(dataclasses.replace(BARE, shape=pile, frame=pile)))


@cases(__file__, "parts=")
def test_parts_that_would_not_be_written_are_not_read(parts):
    raised(Unreadable, lambda: SHARED.from_json(parts, Pile))


class Known:
    def name_of(self, value):
        return "home" if value == Dot((7, 7)) else None

    def value_of(self, kind, name):
        if name != "home":
            raise LedgerBroken(f"{name} is not there")
        return Dot((7, 7))


def test_what_is_kept_elsewhere_is_named():
    value = Pile((Dot((7, 7)), Dot((1, 1)), Dot((7, 7))))
    parts = SHARED.to_json(value, elsewhere=Known())
    assert parts[:2] == [["dot", "home"], ["dot", {"at": [1, 1]}]]
    assert SHARED.from_json(parts, Pile, elsewhere=Known()) == value
    raised(Unreadable, lambda: SHARED.from_json(parts, Pile))
    parts[0][1] = "away"
    raised(LedgerBroken, lambda: SHARED.from_json(parts, Pile, elsewhere=Known()), match="away")


# Numbers

fractions = st.fractions() | st.builds(
    Fraction, st.integers(-(2**9000), 2**9000), st.integers(min_value=1, max_value=2**9000)
)


@given(fractions)
def test_fractions_survive(value):
    text = fraction_to_text(value)
    assert fraction_from_text(text) == value
    assert text.isascii()


def test_a_fraction_of_very_many_digits_is_refused_before_it_is_reduced():
    """A million digits would take seconds, and a text of 256 MB never end."""
    raised(Unreadable, lambda: fraction_from_text(hex(3**600_000) + "/" + hex(2**1_000_000)))
    assert fraction_from_text(hex(3**20_000) + "/" + hex(2**20_000)) == Fraction(3, 2) ** 20_000


def test_a_fraction_is_readable():
    assert [fraction_to_text(Fraction(text)) for text in ("-3/10", "0", "20")] == ["-3/10", "0", "20"]


@pytest.mark.parametrize(
    "text",
    ["1/1", "", "1/0", "2/4", "1/-2", "-1/-2", "+1/2", " 1/2", "1/2 ", "1_0", "0x1", "1/2/3", "1/", "0.5", "½", "nan"],
)
def test_text_that_is_not_the_one_way_to_write_a_fraction_is_refused(text):
    raised((ValueError, ZeroDivisionError), lambda: fraction_from_text(text))


values = st.recursive(
    st.builds(Dot, st.tuples(st.integers(), st.integers())),
    lambda inside: st.builds(Pile, st.lists(inside, max_size=3).map(tuple)),
    max_leaves=10,
)


@given(
    st.builds(
        Picture,
        title=st.text(st.characters(codec=None)),
        shape=values,
        values=st.lists(
            st.none() | st.booleans() | st.integers() | fractions | st.text() | st.dates() | st.datetimes()
        ).map(tuple),
        colour=st.sampled_from(Colour),
        mixed=st.none() | st.sampled_from(Colour) | fractions,
        frame=st.none() | st.builds(Dot, st.tuples(st.integers(), st.integers())),
        digest=st.binary(),
    )
)
def test_every_value_is_read_again_as_what_it_was(value):
    for again in (CODEC.from_bytes(CODEC.to_bytes(value), Picture), shared_again(value)):
        assert again == value
        assert list(map(type, again.values)) == list(map(type, value.values))
