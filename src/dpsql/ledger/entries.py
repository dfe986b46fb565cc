"""Entries: facts as bytes under a word, and back."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from dpsql.ledger.encoding import (
    CODEC,
    charge_digest,
    question_digest,
    released_from_bytes,
    released_to_bytes,
    unreadable,
)
from dpsql.ledger.facts import FACTS, Fact, Refused, Stored, of_every_kind
from dpsql.ledger.ledger import Charge


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
