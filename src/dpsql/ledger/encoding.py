"""What is kept as bytes: values by their names, released steps in records whose size does not tell the numbers, and
entries: facts under a word."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring_ascii
from typing import Any, Final, NamedTuple

from dpsql.codec import REFUSED, Codec, Json, from_text, integer_from_text, integer_to_text, to_text
from dpsql.errors import InternalError, LedgerBroken
from dpsql.ledger.facts import FACTS, NAMES, Fact, Refused, Stored, of_every_kind
from dpsql.ledger.ledger import Charge, KeyValue, Question, ReleasedStep

NUMBER_BYTES: Final = 24
"""The width of every noisy integer: two's complement, so that −1 takes as much room as 10**50."""
RECORD_BYTES: Final = 4096
"""A stored step takes a multiple of this."""


def unreadable() -> LedgerBroken:
    """What is raised where stored text is not what this version would have written."""
    return LedgerBroken("the ledger holds something that cannot be read")


CODEC: Final = Codec(NAMES, often={Charge}, unreadable=unreadable)


def question_digest(question: Question) -> bytes:
    """32 bytes, equal where all parts of the question are."""
    return _digest(CODEC.to_json(question))


def charge_digest(charge: Charge) -> bytes:
    """32 bytes, equal where a receipt for one may be continued for the other: of all but the text of the question."""
    parts: Any = CODEC.to_json(charge)
    return _digest({name: part for name, part in parts.items() if name not in _NOT_SAME})


_NOT_SAME: Final = ("sql",)


def _digest(value: Json) -> bytes:
    return hashlib.sha256(to_text(value).encode("ascii")).digest()


# Released steps


def released_to_bytes(released: ReleasedStep) -> bytes:
    """Keys as tagged JSON and every noisy integer in the same width, padded: the size does not tell the numbers."""
    if len(released.keys) != len(released.values):
        raise InternalError("a step released keys and numbers that do not belong together")
    keys = (f"[{','.join(map(_key_to_text, key))}]" for key in released.keys)
    values = (f'"{_numbers_to_hex(row)}"' for row in released.values)
    body = bytearray()
    for opening, texts in ((b'{"keys":[', keys), (b'],"values":[', values)):
        body += opening
        for number, text in enumerate(texts):  # one by one: a list of a million texts takes more than the record
            body += f"{',' if number else ''}{text}".encode("ascii")
    body += b"]}"
    body += b" " * (-len(body) % RECORD_BYTES)
    return bytes(body)


def released_from_bytes(text: bytes) -> ReleasedStep:
    """What `released_to_bytes` wrote; LedgerBroken for anything else, but for blanks and capital digits."""
    try:
        value = from_text(text.decode("ascii"))  # white space at the end is padding
        if len(value) != 2:
            raise unreadable()
        released = ReleasedStep(
            keys=tuple(tuple(map(_key_from_json, key)) for key in value["keys"]),
            values=tuple(map(_numbers_from_hex, value["values"])),
        )
    except REFUSED:
        raise unreadable() from None
    padded = not len(text) % RECORD_BYTES and text[-RECORD_BYTES:] != b" " * RECORD_BYTES
    if not padded or len(released.keys) != len(released.values):
        raise unreadable()
    return released


def _numbers_to_hex(row: Sequence[int]) -> str:
    """A table may have a million rows: the numbers of each are written at once."""
    try:
        if {*map(type, row)} <= {int}:
            return b"".join([number.to_bytes(NUMBER_BYTES, "big", signed=True) for number in row]).hex()
    except OverflowError:
        pass  # refused below
    raise InternalError("a released number is not an integer of the width kept for it")


def _numbers_from_hex(text: str) -> tuple[int, ...]:
    raw = bytes.fromhex(text)
    starts = range(0, len(raw), NUMBER_BYTES)
    return tuple(int.from_bytes(raw[start : start + NUMBER_BYTES], "big", signed=True) for start in starts)


_KEY_TO_TEXT: Final[Mapping[type, Callable[[Any], str]]] = {
    bool: lambda part: '["bool",true]' if part else '["bool",false]',
    int: lambda part: f'["int","{integer_to_text(part)}"]',
    str: lambda part: f'["text",{encode_basestring_ascii(part)}]',
    type(None): lambda part: '["null",null]',
}
_KEY_FROM_JSON: Final[Mapping[str, tuple[type, Callable[[Any], KeyValue]]]] = {
    "bool": (bool, lambda part: part),
    "int": (str, integer_from_text),
    "text": (str, lambda part: part),
    "null": (type(None), lambda part: part),
}


def _key_to_text(part: KeyValue) -> str:
    """A part of a key as `to_text` would write it, with its kind. A table may have a million of them."""
    write = _KEY_TO_TEXT.get(type(part))
    if write is None:
        raise InternalError("a released key is neither a bool, an int, text nor NULL")
    return write(part)


def _key_from_json(value: list[Any]) -> KeyValue:
    tag, part = value
    kind, read = _KEY_FROM_JSON[tag]
    if type(part) is not kind:
        raise unreadable()
    return read(part)


class Keys(NamedTuple):
    """What entries are looked up by, beside their number and kind. The hash of an entry covers them."""

    analyst: str | None = None
    """Who asked: of charges and refusals."""
    question: bytes | None = None
    """Digest of the question: of charges."""
    same: bytes | None = None
    """Digest of who asked what at which price: charges of the same digest continue each other."""
    receipt: int | None = None
    """The charge a stored step belongs to."""


class Link(NamedTuple):
    """An entry in the chain, checked, with its hash."""

    number: int
    time: int
    fact: Fact
    same: bytes | None
    hash: bytes


def keys_of(fact: Fact, *, same: bytes | None) -> Keys:
    """What the entry of a fact is looked up by."""
    if isinstance(fact, Charge):
        question = question_digest(fact.question)
        return Keys(analyst=fact.analyst, question=question, same=same or charge_digest(fact))
    if isinstance(fact, Refused):
        return Keys(analyst=fact.analyst)
    return Keys(receipt=fact.receipt) if isinstance(fact, Stored) else Keys()


def word_of(kind: type) -> str:
    """The word of a kind of facts."""
    return _WORDS[kind]


_WORDS: Final = of_every_kind({kind: word for word, kind in FACTS.items()})


def fact_to_entry(fact: Fact) -> tuple[str, bytes]:
    """The word and the payload of a fact."""
    return word_of(type(fact)), _stored_bytes(fact) if isinstance(fact, Stored) else CODEC.to_bytes(fact)


def fact_from_entry(kind: str, payload: bytes) -> Fact:
    """What `fact_to_entry` wrote; LedgerBroken for anything else."""
    if kind not in FACTS:
        raise unreadable()
    fact: Fact = _stored(payload) if FACTS[kind] is Stored else CODEC.from_bytes(payload, FACTS[kind])
    return fact


def _stored_bytes(fact: Stored) -> bytes:
    """A line that says of what, then the padded record."""
    return b'{"receipt":%d,"step":%d}\n' % (fact.receipt, fact.step) + released_to_bytes(fact.released)


_LINE: Final = re.compile(rb'\{"receipt":([1-9][0-9]{0,18}),"step":(0|[1-9][0-9]{0,18})\}')
"""What `_stored_bytes` writes."""


def _stored(payload: bytes) -> Stored:
    line, _, record = payload.partition(b"\n")
    found = _LINE.fullmatch(line)
    if found is None:
        raise unreadable()
    receipt, step = map(int, found.groups())
    return Stored(receipt=receipt, step=step, released=released_from_bytes(record))
