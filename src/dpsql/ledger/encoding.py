"""Values as JSON and back, exactly: no float is written, none is read.

Writing refuses what no rule names. Reading refuses whatever this module would not have written: such a ledger is
damaged, or was written by a later version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any, Final, NoReturn, TypeAlias

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.errors import BadParameter, DpsqlError, InternalError, LedgerBroken, UnsupportedEvent
from dpsql.ledger.ledger import Charge, KeyValue, Question, ReleasedStep
from dpsql.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    DiscreteGaussian,
    Event,
    GaussianThreshold,
    KeySelection,
    Pure,
)

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | bool | None"

NUMBER_BYTES: Final = 24
"""The width of every noisy integer: two's complement, so that −1 takes as much room as 10**50."""
RECORD_BYTES: Final = 4096
"""A stored step takes a multiple of this."""

_SHORT_BITS: Final = 2000  # longer integers are written in base 16: Python limits the length of decimal ones
_DEEPEST: Final = 50

EVENT_WORDS: Final[Mapping[str, type[Event]]] = {
    "approximate": Approximate,
    "bounded_range": BoundedRange,
    "composed": Composed,
    "discrete_gaussian": DiscreteGaussian,
    "gaussian_threshold": GaussianThreshold,
    "key_selection": KeySelection,
    "pure": Pure,
}
"""The priced events, by the word they have in ledgers. A word is never given another meaning."""

_WORD_OF: Final = {kind: word for word, kind in EVENT_WORDS.items()}
_FIELDS_OF: Final = {
    word: tuple((field.name, str(field.type)) for field in fields(kind)) for word, kind in EVENT_WORDS.items()
}


def unreadable() -> LedgerBroken:
    """What is raised where stored text is not what this version would have written."""
    return LedgerBroken(
        "the ledger holds something that cannot be read",
        why="what was spent is known from the ledger alone; guessing a part of it would break the promise",
        fix="open it with the version that wrote it, or restore a backup and tell the owner of the data",
    )


class _Reading:
    """Whatever goes wrong while stored text is read, the ledger is what is wrong. A class, because a generator costs as
    much as what it guards."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None and isinstance(error, _UNREADABLE) and not isinstance(error, LedgerBroken):
            raise unreadable() from None


_UNREADABLE: Final = (
    *(DpsqlError, ValueError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError),
)
_READING: Final = _Reading()


_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def json_bytes(value: Json) -> bytes:
    """The one way to write this value: equal values are equal bytes."""
    return _ENCODER.encode(value).encode("ascii")


def json_value(text: bytes) -> Any:
    """What `json_bytes` wrote; LedgerBroken for anything else. White space at the end is padding."""
    with _READING:
        whole = text.decode("ascii")
        value, end = _DECODER.raw_decode(whole)
        if whole[end:] != " " * (len(whole) - end):
            raise unreadable()
        return value


def _no_float(text: str) -> NoReturn:
    raise ValueError(text)


_DECODER: Final = json.JSONDecoder(parse_float=_no_float, parse_constant=_no_float)


# Numbers


def _integer_to_text(value: int) -> str:
    return str(value) if value.bit_length() <= _SHORT_BITS else hex(value)


def _integer_from_text(text: str) -> int:
    value = int(text, 16 if "x" in text else 10)
    if _integer_to_text(value) != text:  # int() also takes "+1", " 1 " and "1_0"
        raise unreadable()
    return value


def fraction_to_text(value: Fraction) -> str:
    """`num/den` in lowest terms; integers of more than 2000 bits in base 16."""
    if type(value) is not Fraction:
        raise BadParameter(
            f"a {type(value).__name__} stands where a Fraction belongs",
            why="prices are added up exactly, over years",
            fix='write Fraction(1, 10) or Fraction("0.1")',
        )
    return f"{_integer_to_text(value.numerator)}/{_integer_to_text(value.denominator)}"


@lru_cache(maxsize=1024)
def fraction_from_text(text: str) -> Fraction:
    """What `fraction_to_text` wrote; LedgerBroken for anything else."""
    with _READING:
        numerator, denominator = map(_integer_from_text, text.split("/"))
        value = Fraction(numerator, denominator)
        if value.denominator != denominator:
            raise unreadable()
        return value


# Events


def event_to_json(event: Event, *, depth: int = 0) -> dict[str, Json]:
    """A priced event, its parts included. Others are refused: nobody could add them up again."""
    word = _WORD_OF.get(type(event))
    if word is None:
        raise UnsupportedEvent(
            f"a ledger has no word for {type(event).__name__}",
            why="an event that cannot be read again cannot be audited",
            fix="describe the release by an event that accounting/triple.py prices",
        )
    if depth > _DEEPEST:
        raise BadParameter(
            f"compositions are nested more than {_DEEPEST} deep",
            why="an auditor's tools must be able to read the event again",
            fix="compose the releases in one flat tuple",
        )
    found: dict[str, Json] = {"event": word}
    for name, kind in _FIELDS_OF[word]:
        value = getattr(event, name)
        if kind == "tuple[Event, ...]":
            found[name] = [event_to_json(part, depth=depth + 1) for part in value]
        else:
            found[name] = fraction_to_text(value) if kind == "Fraction" else value
    return found


def event_from_json(value: Mapping[str, Any]) -> Event:
    """What `event_to_json` wrote; LedgerBroken for anything else."""
    with _READING:
        parts = tuple(value.items())
        return _flat_event(parts) if all(type(part) in (str, int) for _, part in parts) else _event(value)


@lru_cache(maxsize=1024)
def _flat_event(parts: tuple[tuple[str, str | int], ...]) -> Event:
    """A ledger holds the same few events many times."""
    return _event(dict(parts))


def _event(value: Mapping[str, Any]) -> Event:
    with _READING:
        word = value["event"]
        if set(value) != {"event"} | {name for name, _ in _FIELDS_OF[word]}:
            raise unreadable()
        parts = {name: _READ_FIELD[kind](value[name]) for name, kind in _FIELDS_OF[word]}
        return EVENT_WORDS[word](**parts)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise unreadable()
    return value


_READ_FIELD: Final[Mapping[str, Callable[[Any], Any]]] = {
    "Fraction": fraction_from_text,
    "int": _whole,
    "tuple[Event, ...]": lambda parts: tuple(event_from_json(part) for part in parts),
}


# Prices and accounts


def _optional_to_text(value: Fraction | None) -> str | None:
    return None if value is None else fraction_to_text(value)


def _optional_from_text(text: str | None) -> Fraction | None:
    return None if text is None else fraction_from_text(text)


def triple_to_json(price: Triple) -> dict[str, Json]:
    """A price; infinity is null."""
    return {
        "epsilon": _optional_to_text(price.epsilon),
        "delta": fraction_to_text(price.delta),
        "rho": _optional_to_text(price.rho),
    }


def triple_from_json(value: Mapping[str, Any]) -> Triple:
    """What `triple_to_json` wrote; LedgerBroken for anything else."""
    with _READING:
        return Triple(
            epsilon=_optional_from_text(value["epsilon"]),
            delta=fraction_from_text(value["delta"]),
            rho=_optional_from_text(value["rho"]),
        )


def account_to_json(account: Account) -> dict[str, Json]:
    """An account with its limits and what was spent."""
    return {
        "epsilon": fraction_to_text(account.epsilon),
        "delta": fraction_to_text(account.delta),
        "delta_prime": fraction_to_text(account.delta_prime),
        "rho": fraction_to_text(account.rho),
        "granted_from": _optional_to_text(account.granted_from),
        "spent": triple_to_json(account.spent),
    }


def account_from_json(value: Mapping[str, Any]) -> Account:
    """What `account_to_json` wrote. A ρ* that no theorem certifies is LedgerBroken, as is anything unreadable."""
    with _READING:
        limits = _limits(*(value[name] for name in ("epsilon", "delta", "delta_prime", "rho", "granted_from")))
        return limits.having_spent(triple_from_json(value["spent"]))


@lru_cache(maxsize=256)
def _limits(epsilon: str, delta: str, delta_prime: str, rho: str, granted_from: str | None) -> Account:
    """An account of which nothing was spent. Whenever others have written, the same few are read again."""
    return Account(
        epsilon=fraction_from_text(epsilon),
        delta=fraction_from_text(delta),
        delta_prime=fraction_from_text(delta_prime),
        rho=fraction_from_text(rho),
        granted_from=_optional_from_text(granted_from),
    )


# Questions and charges


def question_to_json(question: Question) -> dict[str, Json]:
    """The three parts that decide whether two plans ask the same."""
    return {name: _text(getattr(question, name)) for name in _PARTS}


_PARTS: Final = tuple(field.name for field in fields(Question))


def question_digest(question: Question) -> bytes:
    """32 bytes, equal where all three parts are."""
    return hashlib.sha256(json_bytes(question_to_json(question))).digest()


def charge_to_json(charge: Charge) -> dict[str, Json]:
    """A request to pay, whole. What is not said is not written."""
    found: dict[str, Json] = {
        "analyst": _text(charge.analyst),
        "grant": _text(charge.grant),
        "question": question_to_json(charge.question),
        "event": event_to_json(charge.event),
        "cost": fraction_to_text(charge.cost),
        "steps": charge.steps,
        "sql": _text(charge.sql),
        "record": _text(charge.record),
    }
    return found if charge.upon is None else found | {"upon": charge.upon}


def charge_from_json(value: Mapping[str, Any]) -> Charge:
    """What `charge_to_json` wrote; LedgerBroken for anything else."""
    with _READING:
        if not _CHARGE <= value.keys() <= _CHARGE | _OPTIONAL:
            raise unreadable()
        return Charge(
            analyst=_text(value["analyst"]),
            grant=_text(value["grant"]),
            question=Question(**{name: _text(value["question"][name]) for name in _PARTS}),
            event=event_from_json(value["event"]),
            cost=fraction_from_text(value["cost"]),
            steps=_whole(value["steps"]),
            sql=_text(value["sql"]),
            record=_text(value["record"]),
            upon=None if "upon" not in value else _whole(value["upon"]),
        )


_OPTIONAL: Final = frozenset({"upon"})
_CHARGE: Final = frozenset(field.name for field in fields(Charge)) - _OPTIONAL


def charge_digest(charge: Charge) -> bytes:
    """32 bytes, equal where a receipt for one may be continued for the other: all but the text of the question."""
    asked = charge_to_json(charge)
    return hashlib.sha256(json_bytes({name: asked[name] for name in asked if name not in _NOT_SAME})).digest()


_NOT_SAME: Final = ("sql",)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise BadParameter(
            f"a {type(value).__name__} stands where text belongs",
            why="what is kept must be read again as it was written",
            fix="pass a str",
        )
    return value


# Released steps


def released_to_bytes(released: ReleasedStep) -> bytes:
    """Keys as tagged JSON and every noisy integer in the same width, padded: the size does not tell the numbers."""
    if len(released.keys) != len(released.values):
        raise InternalError(
            "a step released keys and numbers that do not belong together",
            why="every key has its own row of numbers",
            fix="report this; nothing was told",
        )
    keys = ",".join([f"[{','.join(map(_key_to_text, key))}]" for key in released.keys])
    values = ",".join([f'"{"".join(map(_number_to_hex, row))}"' for row in released.values])
    body = f'{{"keys":[{keys}],"values":[{values}]}}'.encode("ascii")
    return body.ljust(-(-len(body) // RECORD_BYTES) * RECORD_BYTES)


def released_from_bytes(text: bytes) -> ReleasedStep:
    """What `released_to_bytes` wrote; LedgerBroken for anything else."""
    with _READING:
        value = json_value(text)
        released = ReleasedStep(
            keys=tuple(tuple(map(_key_from_json, key)) for key in value["keys"]),
            values=tuple(map(_numbers_from_hex, value["values"])),
        )
        padded = not len(text) % RECORD_BYTES and text[-RECORD_BYTES:] != b" " * RECORD_BYTES
        if not padded or len(released.keys) != len(released.values):
            raise unreadable()
        return released


def _number_to_hex(value: int) -> str:
    if type(value) is int and value.bit_length() < 8 * NUMBER_BYTES:
        return value.to_bytes(NUMBER_BYTES, "big", signed=True).hex()
    raise InternalError(
        "a released number is not an integer of the width kept for it",
        why="a wider record would tell something about the number before it is stored",
        fix="report this; nothing was told",
    )


def _numbers_from_hex(text: str) -> tuple[int, ...]:
    raw = bytes.fromhex(text)
    starts = range(0, len(raw), NUMBER_BYTES)
    return tuple(int.from_bytes(raw[start : start + NUMBER_BYTES], "big", signed=True) for start in starts)


_KEY_TO_TEXT: Final[Mapping[type, Callable[[Any], str]]] = {
    bool: lambda part: '["bool",true]' if part else '["bool",false]',
    int: lambda part: f'["int","{_integer_to_text(part)}"]',
    str: lambda part: f'["text",{encode_basestring_ascii(part)}]',
    type(None): lambda part: '["null",null]',
}
_KEY_FROM_JSON: Final[Mapping[str, Callable[[Any], KeyValue]]] = {
    "bool": lambda part: bool(part),
    "int": _integer_from_text,
    "text": lambda part: str(part),
    "null": lambda part: None,
}


def _key_to_text(part: KeyValue) -> str:
    """A part of a key as `json_bytes` would write it, with its kind. A table may have a million of them."""
    write = _KEY_TO_TEXT.get(type(part))
    if write is None:
        raise InternalError(
            "a released key is neither a bool, an int, text nor NULL",
            why="a key of another type has more than one way to be written",
            fix="report this; nothing was told",
        )
    return write(part)


def _key_from_json(value: list[Any]) -> KeyValue:
    tag, part = value
    return _KEY_FROM_JSON[tag](part)
