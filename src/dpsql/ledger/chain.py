"""Keyed hashes: of entries in a chain, of its head with the snapshot, of anchors and salts.

Each use has a prefix no other use has.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from functools import lru_cache
from typing import Final

KEY_BYTES: Final = 32
START: Final = bytes(32)
"""What stands before the first entry."""

_LARGEST_SALT: Final = 2**63 - 1


@lru_cache(maxsize=8)
def _hmac(key: bytes) -> Callable[[bytes], bytes]:
    """HMAC-SHA256 (RFC 2104) under a key no longer than a block, which both hashes have read already: most of what a
    short message costs."""
    block = key.ljust(hashlib.sha256().block_size, b"\0")
    inner_begun, outer_begun = (hashlib.sha256(bytes(byte ^ pad for byte in block)) for pad in (0x36, 0x5C))

    def mac(message: bytes) -> bytes:
        inner, outer = inner_begun.copy(), outer_begun.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()

    return mac


def _mac(key: bytes, message: bytes) -> bytes:
    return _hmac(key)(message)


def linked(
    key: bytes,
    number: int,
    time: int,
    kind: str,
    analyst: str | None,
    question: bytes | None,
    same: bytes | None,
    receipt: int | None,
    payload: bytes,
    previous: bytes,
) -> bytes:
    """The hash of an entry: of all its columns, and of the hash before it."""
    word, who = kind.encode(), b"" if analyst is None else analyst.encode("utf-8", "surrogatepass")
    asked, equal_ones = question or b"", same or b""
    missing = (analyst is None) + 2 * (question is None) + 4 * (same is None) + 8 * (receipt is None)
    # which columns are NULL, and lengths, so that no two entries read the same
    content = b"entry:%d:%d:%d:%d:%d:%b%d:%b%d:%b%d:%b%d:%b%b" % (
        number, time, missing, receipt or 0, len(word), word, len(who), who, len(asked), asked,
        len(equal_ones), equal_ones, len(payload), payload, previous,
    )  # fmt: skip
    return _mac(key, content)


def sealed(key: bytes, *, number: int, last: bytes, snapshot: bytes) -> bytes:
    """The seal of the head: an older entry cannot be passed off as the last one, nor an older snapshot as that of
    now."""
    return _mac(key, b"sealed:%d:" % number + last + snapshot)


def key_check(key: bytes, *, ledger: str) -> bytes:
    """Stands in the ledger and tells whether a key is its key, without telling the key."""
    return _mac(key, b"check:" + ledger.encode())


def anchored(key: bytes, content: bytes) -> bytes:
    """Shows that an anchor was written by whoever has the key."""
    return _mac(key, b"anchor:" + content)


def salt_of(key: bytes, *, number: int) -> int:
    """63 bits that decide which groups a person keeps: unknown outside, the same whenever the receipt is run again."""
    return int.from_bytes(_mac(key, b"salt:%d" % number)[:8], "big") & _LARGEST_SALT


def equal(first: bytes, second: bytes) -> bool:
    """Comparison that takes as long for a near miss as for a wide one."""
    return hmac.compare_digest(first, second)
