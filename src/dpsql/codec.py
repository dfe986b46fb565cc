"""Values as JSON and back, exactly, under names of their own.

A codec is made from a table of names and types, which stands with the types: this file knows none of them, and a class
can be renamed without a change to what is stored. What is not in the table is refused, and so is a value whose type is
not that of its field. A field that equals its default is not written: a field can be added, and what was stored before
stays valid; its default cannot be changed. What is read is written again and compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import repeat
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Final, Protocol, TypeAlias, Union, get_args, get_origin, get_type_hints

from dpsql.errors import DpsqlError, InternalError, LedgerBroken

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

MOST_DEEP: Final = 50
MOST_PARTS_DEEP: Final = 1000
MOST_BYTES: Final = 2**28
MOST_DIGITS: Final = 400_000
"""Of a fraction: lowest terms take time that grows with the square of the digits. No price is nearly as long."""
_SHORT_BITS: Final = 2000  # longer integers are written in base 16: Python limits the length of decimal ones


class Unreadable(ValueError):
    """This text, or this JSON, was not written by the codec that reads it."""


REFUSED: Final = (DpsqlError, ValueError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError)
"""What reading stored text may raise, whatever stands there."""


@dataclass(frozen=True, slots=True)
class Only:
    """A class of which only these fields are written, each under its own name or, in a mapping, under another one."""

    kind: type[Any]
    fields: tuple[str, ...] | Mapping[str, str]


class Elsewhere(Protocol):
    """Values that are kept elsewhere: the text that names one (None: it is written in full), and the one it names."""

    def name_of(self, value: object) -> str | None: ...

    def value_of(self, kind: type, name: str) -> object: ...


@dataclass(slots=True)
class _Call:
    """One value that is being written or read."""

    elsewhere: Elsewhere | None
    depth: int = 0
    parts: list[Any] = field(default_factory=list)
    """Where parts are shared: the JSON of each when writing, its value when reading."""
    known: dict[object, tuple[int, object]] = field(default_factory=dict)
    """The number of each part by identity, with the part itself, so that no other can take its place in memory."""


_Way: TypeAlias = Callable[[Any, _Call], Any]
_Kind: TypeAlias = tuple[_Way, _Way]
"""How the values of one annotation are written and read."""


class Codec:
    """The values of some types as JSON, and back.

    One that is `shared` writes a list of parts, each a name and its fields, which refer to earlier ones by number: what
    occurs twice is written once, and reading needs no recursion. One of `whole` values writes defaults too. What is
    read `often` is not written again, which halves the time; its readers are as strict, but for blanks, order, and
    other ways to write a date or bytes.
    """

    def __init__(
        self,
        table: Mapping[str, type[Any] | Only],
        *,
        shared: bool = False,
        whole: bool = False,
        often: Collection[type] = (),
        unreadable: Callable[[], Exception] = Unreadable,
    ) -> None:
        self.shared, self.whole, self._often, self._unreadable = shared, whole, often, unreadable
        self.deepest = MOST_PARTS_DEEP if shared else MOST_DEEP
        self._kinds: dict[Any, _Kind] = {kind: (same, same) for kind, same in _PLAIN.items() if kind is not float}
        self._texts = {kind: name for kind, (name, _) in _TEXTS.items()}
        self._classes: dict[type, _Class] = {}
        self._kinds |= {kind: ways for kind, (_, ways) in _TEXTS.items()}
        for name, each in table.items():
            kind = each.kind if isinstance(each, Only) else each
            if kind is float:
                self._kinds[float] = _PLAIN[float], _PLAIN[float]
            elif issubclass(kind, Enum):
                self._texts[kind], self._kinds[kind] = name, _text(kind, _word, kind)
            else:
                one = self._classes[kind] = _Class(self, name, kind, each.fields if isinstance(each, Only) else None)
                self._kinds[kind] = one.write, one.read
        self._named = {each.name: each for each in self._classes.values()}

    def to_json(self, value: Any, kind: Any = None, *, elsewhere: Elsewhere | None = None) -> Any:
        """A value as JSON; `kind` is its annotation, where that is another one than its class."""
        call = _Call(elsewhere)
        try:
            written = self.kind(type(value) if kind is None else kind)[0](value, call)
        except RecursionError:
            raise InternalError("a value is nested too deeply to be written") from None
        return [*call.parts, written] if self.shared else written

    def from_json(self, value: Any, kind: Any, *, elsewhere: Elsewhere | None = None) -> Any:
        """What `to_json` wrote under this annotation; refused as unreadable for anything else."""
        return self._read(value, kind, elsewhere, partial(to_text, value))

    def to_bytes(self, value: Any) -> bytes:
        """A value as text: equal values are equal bytes. It is read again and compared before it is returned."""
        text = to_text(self.to_json(value)).encode("ascii")
        with suppress(Unreadable, DpsqlError):
            if self.from_bytes(text, type(value)) == value:
                return text
        raise InternalError(f"a {type(value).__name__} cannot be read as it would be written")

    def from_bytes(self, text: bytes, kind: Any) -> Any:
        """What `to_bytes` wrote; refused as unreadable for anything else."""
        try:
            if len(text) > MOST_BYTES:
                raise Unreadable
            whole = text.decode("ascii")
            value = from_text(whole)
        except (ValueError, RecursionError):
            raise self._unreadable() from None
        return self._read(value, kind, None, lambda: whole)

    def _read(self, value: Any, kind: Any, elsewhere: Elsewhere | None, text: Callable[[], str]) -> Any:
        call = _Call(elsewhere)
        try:
            if self.shared:
                *parts, value = value
                for name, content in parts:
                    call.parts.append(self._named[name].made_of(content, call))
            found = self.kind(kind)[1](value, call)
            if kind in self._often or to_text(self.to_json(found, kind, elsewhere=elsewhere)) == text():
                return found
        except REFUSED as error:
            if isinstance(error, LedgerBroken):  # what is kept elsewhere is not there
                raise
        raise self._unreadable()

    def kind(self, annotation: Any) -> _Kind:
        """How the values of an annotation are written and read."""
        if annotation not in self._kinds:
            self._kinds[annotation] = self._kind_of(annotation)
        return self._kinds[annotation]

    def _kind_of(self, annotation: Any) -> _Kind:
        origin, inside = get_origin(annotation), get_args(annotation)
        if origin is Mapping:
            write, read = self.kind(inside[1])
            return (
                lambda value, call: {_PLAIN[str](name, call): write(part, call) for name, part in value.items()},
                lambda value, call: {name: read(part, call) for name, part in value.items()},
            )
        if origin is not tuple:
            return self._one_of(inside if origin in (Union, UnionType) else (annotation,))
        if ... in inside:
            write, read = self.kind(inside[0])
            return (
                _checked(tuple, lambda value, call: list(map(write, value, repeat(call)))),
                _checked(list, lambda value, call: tuple(map(read, value, repeat(call)))),
            )
        writers, readers = zip(*map(self.kind, inside), strict=True)
        return (
            _checked(tuple, lambda value, call: [way(part, call) for way, part in zip(writers, value, strict=True)]),
            _checked(
                list, lambda value, call: tuple(way(part, call) for way, part in zip(readers, value, strict=True))
            ),
        )

    def _one_of(self, members: Sequence[Any]) -> _Kind:
        """One of several types; a class that is not in the table itself stands for those that inherit from it. Those
        that are written as objects have their name as the only key, unless there is but one of them, and None."""
        found: dict[Any, str | None] = {}
        for each in members:
            kind = get_origin(each) or each
            if kind is tuple or kind in _PLAIN:
                found |= {each: None} if kind is not float or float in self._kinds else {}
            elif kind in self._texts:
                found[kind] = self._texts[kind]
            else:
                found |= {below: one.name for below, one in self._classes.items() if issubclass(below, kind)}
        if not found.keys() - {NoneType}:
            raise InternalError(f"none of {members} has a name in this table")
        if len(found) == 2 and NoneType in found:
            (other,) = found.keys() - {NoneType}
            write, read = self.kind(other)
            return (
                lambda value, call: None if value is None else write(value, call),
                lambda value, call: None if value is None else read(value, call),
            )
        writers: dict[type, _Way] = {}
        plain: dict[type, _Way] = {}
        named: dict[str, _Way] = {}
        for each, name in found.items():
            outer = get_origin(each) or each
            writers[outer], read = self.kind(each)
            if name is None:
                plain[list if outer is tuple else outer] = read
            elif self.shared and each in self._classes:
                named["part"] = partial(_part, kinds=found.keys())
            else:
                writers[outer], named[name] = _under(name, writers[outer]), read
        return _either(writers, plain, named)


class _Class:
    """A class of a table. Its fields are looked at when it is first used: a start of dpsql uses few of them."""

    def __init__(self, codec: Codec, name: str, kind: type[Any], only: Collection[str] | None) -> None:
        self.name, self.kind, self._codec, self._only = name, kind, codec, only

    @cached_property
    def fields(self) -> list[tuple[str, str, object, _Kind]]:
        """Of each field its attribute, its name, its default and how it is written and read."""
        given = [each for each in fields(self.kind) if each.init]
        only: Any = [each.name for each in given] if self._only is None else self._only
        names = only if isinstance(only, Mapping) else dict(zip(only, only, strict=True))
        hints = get_type_hints(self.kind)
        found = []
        for each in given:
            if each.name in names:
                default = each.default if each.default_factory is MISSING else each.default_factory()
                ways = self._codec.kind(hints[each.name])
                found.append((each.name, names[each.name], MISSING if self._codec.whole else default, ways))
        return found

    @cached_property
    def readers(self) -> dict[str, tuple[str, object, _Way]]:
        """By the name of each field its attribute, its default and how it is read."""
        return {name: (attribute, default, ways[1]) for attribute, name, default, ways in self.fields}

    def write(self, value: Any, call: _Call) -> Any:
        if type(value) is not self.kind:
            raise _misplaced(value)
        written: Any = None if call.elsewhere is None else call.elsewhere.name_of(value)
        place = id(value) if written is None else (self.name, written)
        if place in call.known:
            return {"part": call.known[place][0]}
        if written is None:
            call.depth += 1
            if call.depth > self._codec.deepest:
                raise InternalError(f"a value is nested more than {self._codec.deepest} deep")
            written = {}
            for attribute, name, default, ways in self.fields:
                part = getattr(value, attribute)
                if not (part is default or (type(part) is type(default) and part == default)):
                    written[name] = ways[0](part, call)
            call.depth -= 1
        if not self._codec.shared:
            return written
        call.parts.append([self.name, written])
        call.known[place] = len(call.parts) - 1, value
        return {"part": len(call.parts) - 1}

    def read(self, value: Any, call: _Call) -> Any:
        """An instance from its fields; in a codec that shares, the part that has been read already."""
        if not self._codec.shared:
            return self.made_of(value, call)
        ((_, number),) = value.items()  # under any other word it would not be written again
        return _part(number, call, {self.kind})

    def made_of(self, value: Any, call: _Call) -> Any:
        """An instance from its fields, or from the name of a value that is kept elsewhere."""
        if type(value) is str and call.elsewhere is not None:
            return call.elsewhere.value_of(self.kind, value)
        call.depth += 1
        if call.depth > self._codec.deepest:
            raise Unreadable
        readers, given = self.readers, {}
        for name, part in value.items():
            attribute, default, read = readers[name]
            given[attribute] = found = read(part, call)
            if type(found) is type(default) and found == default:  # it would not be written
                raise Unreadable
        if self._codec.whole and len(given) != len(readers):
            raise Unreadable
        call.depth -= 1
        return self.kind(**given)


def _part(number: Any, call: _Call, kinds: Collection[type]) -> Any:
    """A part that was read before this one. A number that is written otherwise would not be written again."""
    if type(call.parts[number]) not in kinds:
        raise Unreadable
    return call.parts[number]


def _either(writers: Mapping[type, _Way], plain: Mapping[type, _Way], named: Mapping[str, _Way]) -> _Kind:
    def write(value: Any, call: _Call) -> Any:
        if type(value) not in writers:
            raise _misplaced(value)
        return writers[type(value)](value, call)

    def read(value: Any, call: _Call) -> Any:
        if type(value) is not dict:
            return plain[type(value)](value, call)
        ((name, inside),) = value.items()
        if type(inside) is dict and {*map(type, inside.values())} == {str}:
            return flat(name, tuple(inside.items()))
        return named[name](inside, call)

    @lru_cache(maxsize=1024)
    def flat(name: str, parts: tuple[tuple[str, str], ...]) -> Any:
        """A ledger holds the same few events many times."""
        return named[name](dict(parts), _Call(None))

    return write, read


def _under(name: str, write: _Way) -> _Way:
    return lambda value, call: {name: write(value, call)}


def _misplaced(value: object) -> InternalError:
    """What is raised where a value is written that the table, or its field, has no place for."""
    return InternalError(f"a {type(value).__name__} stands where it has no name to be written under")


def _checked(kind: type, way: _Way) -> _Way:
    """For values of this very type."""

    def checked(value: Any, call: _Call) -> Any:
        if type(value) is not kind:
            raise _misplaced(value)
        return way(value, call)

    return checked


def _plain(kind: type[Any]) -> _Way:
    """Values that are JSON themselves."""

    def same(value: Any, call: _Call) -> Any:
        if type(value) is not kind or (kind is float and not isfinite(value)):
            raise _misplaced(value)
        return value

    return same


def _text(kind: type, write: Callable[[Any], str], read: Callable[[Any], Any]) -> _Kind:
    """Values that are written as texts."""
    return _checked(kind, lambda value, call: write(value)), lambda text, call: read(text)


def _word(value: Enum) -> str:
    word: str = value.value
    return word


# Texts


_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def to_text(value: Json) -> str:
    """The one way to write this JSON: equal values are equal texts."""
    return _ENCODER.encode(value)


def from_text(text: str) -> Any:
    """The JSON of a text whose numbers are whole; ValueError or RecursionError for anything else. Blanks at the end are
    padding."""
    value, end = _DECODER.raw_decode(text)
    if text[end:] != " " * (len(text) - end):
        raise Unreadable
    return value


def _no_float(text: str) -> object:
    raise ValueError(text)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Two readers could disagree about a name that stands in it twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


_DECODER: Final = json.JSONDecoder(parse_float=_no_float, parse_constant=_no_float, object_pairs_hook=once)


def integer_to_text(value: int) -> str:
    """An integer of any size."""
    return str(value) if value.bit_length() <= _SHORT_BITS else hex(value)


def integer_from_text(text: str) -> int:
    """What `integer_to_text` wrote; Unreadable for anything else."""
    value = int(text, 16 if "x" in text else 10)
    if integer_to_text(value) != text:  # int() also takes "+1", " 1 " and "1_0"
        raise Unreadable
    return value


def fraction_to_text(value: Fraction) -> str:
    """A fraction in lowest terms as 1/3, and a whole number as 2; integers of more than 2000 bits in base 16."""
    over = integer_to_text(value.numerator)
    return over if value.denominator == 1 else f"{over}/{integer_to_text(value.denominator)}"


@lru_cache(maxsize=1024)
def fraction_from_text(text: str) -> Fraction:
    """What `fraction_to_text` wrote; Unreadable, or another ValueError, for anything else."""
    if len(text) > MOST_DIGITS:
        raise Unreadable
    over, line, under = text.partition("/")
    value = Fraction(integer_from_text(over), integer_from_text(under) if line else 1)
    if fraction_to_text(value) != text:
        raise Unreadable
    return value


_PLAIN: Final[Mapping[type, _Way]] = {kind: _plain(kind) for kind in (NoneType, bool, int, str, float)}
_TEXTS: Final[Mapping[type, tuple[str, _Kind]]] = {
    Fraction: ("number", _text(Fraction, fraction_to_text, fraction_from_text)),
    datetime: ("timestamp", _text(datetime, datetime.isoformat, datetime.fromisoformat)),
    date: ("date", _text(date, date.isoformat, date.fromisoformat)),
    bytes: ("hex", _text(bytes, bytes.hex, bytes.fromhex)),
}
