"""Keyed hashes: of entries in a chain, of its head, of salts. Each use has a prefix no other use has."""

from __future__ import annotations

import hmac
from typing import Final

KEY_BYTES: Final = 32
START: Final = bytes(32)
"""What stands before the first entry."""

_LARGEST_SALT: Final = 2**63 - 1


def _mac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def linked(key: bytes, *, number: int, kind: str, payload: bytes, previous: bytes) -> bytes:
    """The hash of an entry: of its number, word and payload, and of the hash before it."""
    head = b"entry:%d:%s:%d:" % (number, kind.encode(), len(payload))  # lengths, so that no two entries read the same
    return _mac(key, head + payload + previous)


def sealed(key: bytes, *, number: int, last: bytes, totals: bytes) -> bytes:
    """The seal of the head: an older entry cannot be passed off as the last one, nor older totals as the source's."""
    return _mac(key, b"head:%d:" % number + last + totals)


def key_check(key: bytes, *, ledger: str) -> bytes:
    """Stands in the ledger and tells whether a key is its key, without telling the key."""
    return _mac(key, b"check:" + ledger.encode())


def salt_of(key: bytes, *, number: int) -> int:
    """63 bits that decide which groups a person keeps: unknown outside, the same whenever the receipt is run again."""
    return int.from_bytes(_mac(key, b"salt:%d" % number)[:8], "big") & _LARGEST_SALT


def equal(first: bytes, second: bytes) -> bool:
    """Comparison that takes as long for a near miss as for a wide one."""
    return hmac.compare_digest(first, second)
