"""Lists of public keys: each sorted once, and found again by its digest.

A policy may list a hundred thousand keys. Everything that handles them, from the policy to the record of a charge,
holds one shared `KeyList`; an engine gets it as one bound array.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Final

from dpsql.catalog.model import KeyList, PublicKeys, Value
from dpsql.catalog.types import SqlType
from dpsql.privacy.order import in_delivery_order


def declared_list(keys: PublicKeys, type_: SqlType) -> KeyList:
    """The keys as those of a column of this type: each once, in order of delivery, and always the same value."""
    moments = type_ is SqlType.TIMESTAMP
    if moments not in keys.known_lists:
        values = map(_moment, keys.values) if moments else keys.values
        keys.known_lists[moments] = KeyList(values=in_delivery_order(set(values)))
    return keys.known_lists[moments]


def _moment(value: Value) -> Value:
    """A date among timestamps is the midnight it begins with."""
    return datetime(value.year, value.month, value.day) if type(value) is date else value


def named_lists(declared: Iterable[PublicKeys]) -> dict[str, KeyList]:
    """The lists that a record may name, by their digests: the declared ones, as columns of any type have them."""
    return {list_digest(each): each for keys in declared for each in _forms(keys)}


def _forms(keys: PublicKeys) -> Iterator[KeyList]:
    yield declared_list(keys, SqlType.DATE)
    if date in map(type, keys.values):
        yield declared_list(keys, SqlType.TIMESTAMP)


def list_digest(keys: KeyList) -> str:
    """SHA-256 of a list of keys; computed once."""
    if not keys.known_digest:
        text = json.dumps(key_texts(keys.values), separators=(",", ":"), ensure_ascii=True)
        keys.known_digest.append(hashlib.sha256(text.encode("ascii")).hexdigest())
    return keys.known_digest[0]


def key_texts(values: Iterable[Value]) -> list[str | None]:
    """The texts of keys, in an order that does not depend on how they are listed."""
    return sorted(map(value_text, values), key=str)


def value_text(value: Value) -> str | None:
    """A value with its kind, so that 1, "1" and true stay apart; 2000 and 2000.0 do not."""
    if type(value) is str:
        return f"text {value}"
    if type(value) is int:
        return f"number {value}/1"
    if value is None:
        return None
    if isinstance(value, bool):
        return f"boolean {value}"
    if isinstance(value, (int, Fraction)):
        exact = Fraction(value)
        return f"number {exact.numerator}/{exact.denominator}"
    if isinstance(value, datetime):
        return f"timestamp {value.isoformat()}"
    return f"date {value.isoformat()}" if isinstance(value, date) else f"text {value}"


def value_of_text(text: str | None) -> Value:
    """What `value_text` wrote; LookupError or ValueError for anything else."""
    if text is None:
        return None
    kind, _, rest = text.partition(" ")
    return _OF_TEXT[kind](rest)


def _number(text: str) -> Value:
    exact = Fraction(text)
    return exact.numerator if exact.denominator == 1 else exact


_OF_TEXT: Final[Mapping[str, Callable[[str], Value]]] = {
    "text": str,
    "number": _number,
    "boolean": {"True": True, "False": False}.__getitem__,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}
