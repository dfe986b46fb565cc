"""What is kept and told nobody: encrypted under the ledger's key, bound to the entry it belongs to.

A stream of SHAKE256 over a key and a random nonce, then a tag over everything (encrypt, then MAC), each under a key of
its own. The tag is over the hash of the entry that tells the step as well: numbers come again in a history that goes
another way after a restore, hashes do not. It is made while no other process can write, so it has to be fast.

What is kept here is worth money and proves nothing: where it was changed or lost it is as if it had never been kept.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

_NONCE: Final = 24
_TAG: Final = 32


def hidden(key: bytes, plain: bytes, *, receipt: int, step: int, entry: bytes) -> bytes:
    """The bytes as they are kept: longer by 56, whatever they say. `entry`: the hash of the one that tells the step."""
    nonce = secrets.token_bytes(_NONCE)
    sealed = nonce + _streamed(key, nonce, plain)
    return sealed + _tag(key, sealed, receipt=receipt, step=step, entry=entry)


def revealed(
    key: bytes, kept: bytes, *, receipt: int, step: int, entry: bytes, first: int | None = None
) -> bytes | None:
    """What `hidden` hid for this receipt, step and entry; None for anything else. `first`: so many bytes are enough."""
    sealed, tag = kept[:-_TAG], kept[-_TAG:]
    expected = _tag(key, sealed, receipt=receipt, step=step, entry=entry)
    if len(kept) < _NONCE + _TAG or not hmac.compare_digest(tag, expected):
        return None
    whole = sealed[_NONCE:]
    return _streamed(key, sealed[:_NONCE], whole if first is None else whole[:first])


def _streamed(key: bytes, nonce: bytes, text: bytes) -> bytes:
    own = hmac.digest(key, b"hiding:stream", "sha256")
    stream = hashlib.shake_256(own + nonce).digest(len(text))
    mixed = int.from_bytes(stream, "big") ^ int.from_bytes(text, "big")
    return mixed.to_bytes(len(text), "big")


def _tag(key: bytes, sealed: bytes, *, receipt: int, step: int, entry: bytes) -> bytes:
    own = hmac.digest(key, b"hiding:tag", "sha256")
    return hmac.digest(own, b"%d:%d:%d:" % (receipt, step, len(entry)) + entry + sealed, "sha256")
