"""Entries: facts as bytes under a word, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date
from typing import Any, Final, NamedTuple, TypeVar

from dpsql.ledger import encoding
from dpsql.ledger.facts import (
    Adopted,
    Closed,
    Fact,
    Frozen,
    Granted,
    Issued,
    Opened,
    Promised,
    Refused,
    Renewed,
    Retried,
    Revoked,
    Stored,
    Unfrozen,
    Versioned,
    Withdrawn,
    WrittenOff,
)
from dpsql.ledger.ledger import Charge, Conditions, GrantedBy, Ownership, Role, User
from dpsql.privacy.window import Window

F = TypeVar("F", bound=Fact)

WORDING: Final = 1
"""The version of words and payloads, which the first entry says. That of the tables is in schema.py."""


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


def fact_to_entry(fact: Fact) -> tuple[str, bytes]:
    """The word and the payload of a fact."""
    word, write = _WRITE[type(fact)]
    return word, write(fact)


def keys_of(fact: Fact, *, same: bytes | None) -> Keys:
    """What the entry of a fact is looked up by."""
    if isinstance(fact, Charge):
        question = encoding.question_digest(fact.question)
        return Keys(analyst=fact.analyst, question=question, same=same or encoding.charge_digest(fact))
    if isinstance(fact, Refused):
        return Keys(analyst=fact.analyst)
    return Keys(receipt=fact.receipt) if isinstance(fact, Stored) else Keys()


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
        # there are many charges and steps, and their readers are strict
        same = isinstance(fact, (Charge, Stored)) or fact_to_entry(fact) == (kind, payload)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise encoding.unreadable() from None
    if not same:
        raise encoding.unreadable()
    return fact


def _plain_bytes(fact: Fact) -> bytes:
    """A fact of texts and whole numbers."""
    return encoding.json_bytes({field.name: getattr(fact, field.name) for field in fields(fact)})


def _plain(kind: type[F]) -> Callable[[bytes], F]:
    """The reader of what `_plain_bytes` wrote."""
    types = {field.name: field.type for field in fields(kind)}

    def read(payload: bytes) -> F:
        value = encoding.json_value(payload)
        if {name: type(part).__name__ for name, part in value.items()} != types:
            raise encoding.unreadable()
        return kind(**value)

    return read


def _opened(payload: bytes) -> Opened:
    return Opened(id=encoding.json_value(payload)["id"])


def _promised_bytes(fact: Promised) -> bytes:
    return encoding.json_bytes({**encoding.account_to_json(fact.account), "per": fact.per.value})


def _promised(payload: bytes) -> Promised:
    value = encoding.json_value(payload)
    return Promised(account=encoding.account_from_json(value), per=Window(value["per"]))


def _ownership(payload: bytes) -> Ownership:
    value = encoding.json_value(payload)
    return Ownership(relation=value["relation"], tables=tuple(map(_pair, value["tables"])))


def _pair(said: list[str]) -> tuple[str, str]:
    table, way = said
    return table, way


def _granted_bytes(fact: Granted) -> bytes:
    """What is not said is not written."""
    conditions = fact.conditions
    cap, expires = conditions.max_per_query, conditions.expires
    said: dict[str, encoding.Json] = {
        "max_per_query": None if cap is None else encoding.fraction_to_text(cap),
        "tables": None if conditions.tables is None else list(conditions.tables),
        "expires": None if expires is None else expires.isoformat(),
        "sees_releases": conditions.sees_releases or None,
        "by": None if fact.by is GrantedBy.CALL else fact.by.value,
    }
    found: dict[str, encoding.Json] = {"analyst": fact.analyst, "epsilon": encoding.fraction_to_text(fact.epsilon)}
    return encoding.json_bytes(found | {name: value for name, value in said.items() if value is not None})


def _granted(payload: bytes) -> Granted:
    value = encoding.json_value(payload)
    cap, tables, expires = (value.get(name) for name in ("max_per_query", "tables", "expires"))
    return Granted(
        analyst=value["analyst"],
        epsilon=encoding.fraction_from_text(value["epsilon"]),
        conditions=Conditions(
            max_per_query=None if cap is None else encoding.fraction_from_text(cap),
            tables=None if tables is None else tuple(tables),
            expires=None if expires is None else date.fromisoformat(expires),
            sees_releases=value.get("sees_releases", False),
        ),
        by=GrantedBy(value.get("by", GrantedBy.CALL)),
    )


def _revoked_bytes(fact: Revoked) -> bytes:
    return encoding.json_bytes({"analyst": fact.analyst, **({"by_file": True} if fact.by_file else {})})


def _revoked(payload: bytes) -> Revoked:
    value = encoding.json_value(payload)
    return Revoked(analyst=value["analyst"], by_file=value.get("by_file", False))


def _stop_bytes(fact: Frozen | Unfrozen) -> bytes:
    return encoding.json_bytes({"reason": fact.reason, **({} if fact.by is None else {"by": fact.by})})


def _stop(kind: Callable[..., F]) -> Callable[[bytes], F]:
    """The reader of what `_stop_bytes` wrote."""

    def read(payload: bytes) -> F:
        value = encoding.json_value(payload)
        if any(type(part) is not str for part in value.values()):
            raise encoding.unreadable()
        return kind(reason=value["reason"], by=value.get("by"))

    return read


def _issued_bytes(fact: Issued) -> bytes:
    user = fact.user
    grant: dict[str, encoding.Json] = {} if user.grant is None else {"grant": user.grant}
    return encoding.json_bytes({"name": user.name, "role": user.role.value, "digest": fact.digest.hex(), **grant})


def _issued(payload: bytes) -> Issued:
    value = encoding.json_value(payload)
    user = User(name=value["name"], role=Role(value["role"]), grant=value.get("grant"))
    return Issued(user=user, digest=bytes.fromhex(value["digest"]))


def _written_off_bytes(fact: WrittenOff) -> bytes:
    periods: dict[str, encoding.Json] = {"periods": fact.periods} if fact.periods else {}
    return encoding.json_bytes({"number": fact.number, "spent": encoding.triple_to_json(fact.spent), **periods})


def _written_off(payload: bytes) -> WrittenOff:
    value = encoding.json_value(payload)
    spent = encoding.triple_from_json(value["spent"])
    return WrittenOff(number=value["number"], spent=spent, periods=value.get("periods", 0))


def _charged(payload: bytes) -> Charge:
    return encoding.charge_from_json(encoding.json_value(payload))


def _stored(payload: bytes) -> Stored:
    """A line that says of what, then the padded record."""
    line, _, record = payload.partition(b"\n")
    found = _LINE.fullmatch(line)
    if found is None:
        raise encoding.unreadable()
    receipt, step = map(int, found.groups())
    return Stored(receipt=receipt, step=step, released=encoding.released_from_bytes(record))


_LINE: Final = re.compile(rb'\{"receipt":([1-9][0-9]{0,18}),"step":(0|[1-9][0-9]{0,18})\}')
"""What `_line` writes."""


def _line(receipt: int, step: int) -> bytes:
    return b'{"receipt":%d,"step":%d}' % (receipt, step)


def _stored_bytes(fact: Stored) -> bytes:
    return _line(fact.receipt, fact.step) + b"\n" + encoding.released_to_bytes(fact.released)


def _ownership_bytes(fact: Ownership) -> bytes:
    return encoding.json_bytes({"relation": fact.relation, "tables": [list(said) for said in fact.tables]})


_PLAIN: Final[Mapping[str, type]] = {
    "version": Versioned,
    "renew": Renewed,
    "close": Closed,
    "policy": Adopted,
    "refuse": Refused,
    "withdraw": Withdrawn,
    "retry": Retried,
}
_WRITE: Final[Mapping[type, tuple[str, Callable[[Any], bytes]]]] = {
    Opened: ("opened", lambda fact: encoding.json_bytes({"id": fact.id, "schema": WORDING})),
    Promised: ("promise", _promised_bytes),
    Ownership: ("owners", _ownership_bytes),
    Granted: ("grant", _granted_bytes),
    Revoked: ("revoke", _revoked_bytes),
    Frozen: ("freeze", _stop_bytes),
    Unfrozen: ("unfreeze", _stop_bytes),
    Issued: ("issue", _issued_bytes),
    WrittenOff: ("write_off", _written_off_bytes),
    Charge: ("charge", lambda fact: encoding.json_bytes(encoding.charge_to_json(fact))),
    Stored: ("step", _stored_bytes),
    **{kind: (word, _plain_bytes) for word, kind in _PLAIN.items()},
}
_READ: Final[Mapping[str, Callable[[bytes], Fact]]] = {
    "opened": _opened,
    "promise": _promised,
    "owners": _ownership,
    "grant": _granted,
    "revoke": _revoked,
    "freeze": _stop(Frozen),
    "unfreeze": _stop(Unfrozen),
    "issue": _issued,
    "write_off": _written_off,
    "charge": _charged,
    "step": _stored,
    **{word: _plain(kind) for word, kind in _PLAIN.items()},
}
