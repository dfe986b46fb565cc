"""Entries: facts as bytes under a word, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dpsql.ledger import encoding
from dpsql.ledger.facts import Fact, Granted, Opened, Promised, Retried, Stored, Versioned
from dpsql.ledger.ledger import Charge, Ownership

SCHEMA: Final = 1
"""The version of words, payloads and tables. A ledger with a higher one was written by a later dpsql."""


def fact_to_entry(fact: Fact) -> tuple[str, bytes]:
    """The word and the payload of a fact."""
    word, write = _WRITE[type(fact)]
    return word, write(fact)


def word_of(kind: type) -> str:
    """The word of a kind of facts."""
    return _WRITE[kind][0]


def fact_from_entry(kind: str, payload: bytes) -> Fact:
    """What `fact_to_entry` wrote; LedgerBroken for anything else."""
    read = _READ.get(kind)
    if read is None:
        raise encoding.unreadable()
    try:
        fact = read(payload)
        same = isinstance(fact, Stored) or fact_to_entry(fact) == (kind, payload)  # steps are compared by their reader
    except (ValueError, LookupError, TypeError):
        raise encoding.unreadable() from None
    if not same:
        raise encoding.unreadable()
    return fact


def _opened(payload: bytes) -> Opened:
    return Opened(id=encoding.json_value(payload)["id"])


def _promised(payload: bytes) -> Promised:
    return Promised(account=encoding.account_from_json(encoding.json_value(payload)))


def _ownership(payload: bytes) -> Ownership:
    value = encoding.json_value(payload)
    return Ownership(relation=value["relation"], tables=tuple(map(_pair, value["tables"])))


def _pair(said: list[str]) -> tuple[str, str]:
    table, way = said
    return table, way


def _versioned(payload: bytes) -> Versioned:
    return Versioned(label=encoding.json_value(payload)["label"])


def _granted(payload: bytes) -> Granted:
    value = encoding.json_value(payload)
    return Granted(analyst=value["analyst"], epsilon=encoding.fraction_from_text(value["epsilon"]))


def _charged(payload: bytes) -> Charge:
    return encoding.charge_from_json(encoding.json_value(payload))


def _retried(payload: bytes) -> Retried:
    return Retried(receipt=encoding.json_value(payload)["receipt"])


def _stored(payload: bytes) -> Stored:
    """A line that says of what, then the padded record."""
    line, _, record = payload.partition(b"\n")
    value = encoding.json_value(line)
    receipt, step = value["receipt"], value["step"]
    if line != _line(receipt, step):
        raise encoding.unreadable()
    return Stored(receipt=receipt, step=step, released=encoding.released_from_bytes(record))


def _line(receipt: int, step: int) -> bytes:
    return encoding.json_bytes({"receipt": receipt, "step": step})


def _stored_bytes(fact: Stored) -> bytes:
    return _line(fact.receipt, fact.step) + b"\n" + encoding.released_to_bytes(fact.released)


_WRITE: Final[Mapping[type, tuple[str, Callable[[Any], bytes]]]] = {
    Opened: ("opened", lambda fact: encoding.json_bytes({"id": fact.id, "schema": SCHEMA})),
    Promised: ("promise", lambda fact: encoding.json_bytes(encoding.account_to_json(fact.account))),
    Ownership: (
        "owners",
        lambda fact: encoding.json_bytes({"relation": fact.relation, "tables": [list(said) for said in fact.tables]}),
    ),
    Versioned: ("version", lambda fact: encoding.json_bytes({"label": fact.label})),
    Granted: (
        "grant",
        lambda fact: encoding.json_bytes({"analyst": fact.analyst, "epsilon": encoding.fraction_to_text(fact.epsilon)}),
    ),
    Charge: ("charge", lambda fact: encoding.json_bytes(encoding.charge_to_json(fact))),
    Retried: ("retry", lambda fact: encoding.json_bytes({"receipt": fact.receipt})),
    Stored: ("step", _stored_bytes),
}
_READ: Final[Mapping[str, Callable[[bytes], Fact]]] = {
    "opened": _opened,
    "promise": _promised,
    "owners": _ownership,
    "version": _versioned,
    "grant": _granted,
    "charge": _charged,
    "retry": _retried,
    "step": _stored,
}
