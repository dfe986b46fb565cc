"""Keyed hashes: of entries in a chain, of the rows added up from them, of its head, of salts.

Each use has a prefix no other use has.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

KEY_BYTES: Final = 32
START: Final = bytes(32)
"""What stands before the first entry."""

_LARGEST_SALT: Final = 2**63 - 1
MODULUS: Final = 2**256
"""Sums over rows are kept modulo this."""


@lru_cache(maxsize=8)
def _begun(key: bytes, algorithm: str) -> tuple[hashlib._Hash, hashlib._Hash]:
    """The inner and the outer hash of HMAC (RFC 2104) once both have read the key, which is no longer than a block:
    most of what a short message costs."""
    block = key.ljust(hashlib.new(algorithm).block_size, b"\0")
    inner, outer = (hashlib.new(algorithm, bytes(byte ^ pad for byte in block)) for pad in (0x36, 0x5C))
    return inner, outer


def _hmac(key: bytes, message: bytes, algorithm: str) -> bytes:
    begun_inner, begun_outer = _begun(key, algorithm)
    inner, outer = begun_inner.copy(), begun_outer.copy()
    inner.update(message)
    outer.update(inner.digest())
    return outer.digest()


def _mac(key: bytes, message: bytes) -> bytes:
    return _hmac(key, message, "sha256")


def linked(key: bytes, *, number: int, time: int | None, kind: str, payload: bytes, previous: bytes) -> bytes:
    """The hash of an entry: of its number, time, word and payload, and of the hash before it.

    Entries of schema 1 have no time, and a hash without one.
    """
    head = b"entry:%d" % number if time is None else b"timed:%d:%d" % (number, time)
    # lengths, so that no two entries read the same
    return _mac(key, b"%s:%s:%d:" % (head, kind.encode(), len(payload)) + payload + previous)


def covered(key: bytes, table: str, row: Iterable[int | str | bytes | None]) -> tuple[bytes, int]:
    """What stands in a row to show that it was written, and its secret part in the sum over all rows that exist."""
    parts = [b"row:" + table.encode()]
    for value in row:
        part = _bytes_of(value)
        parts.append(b"%d:" % len(part) + part)
    digest = _hmac(key, b"".join(parts), "sha512")
    return digest[:32], int.from_bytes(digest[32:], "big")


def _bytes_of(value: int | str | bytes | None) -> bytes:
    """Each value its own bytes, of whatever type it is."""
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    return b"n" if value is None else b"i%d" % value


def summed(key: bytes, total: int, *, number: int) -> bytes:
    """The sum over all rows, hidden: who knew its parts could look for other rows of the same sum."""
    return ((total + _mask(key, number)) % MODULUS).to_bytes(32, "big")


def sum_of(key: bytes, hidden: bytes, *, number: int) -> int:
    """What `summed` hid."""
    return (int.from_bytes(hidden, "big") - _mask(key, number)) % MODULUS


def _mask(key: bytes, number: int) -> int:
    return int.from_bytes(_mac(key, b"mask:%d" % number), "big")


def sealed(key: bytes, *, number: int, last: bytes, rows: bytes, source: bytes) -> bytes:
    """The seal of the head: an older entry cannot be passed off as the last one, nor older rows as those of now."""
    return _mac(key, b"sealed:%d:" % number + last + rows + source)


def sealed_1(key: bytes, *, number: int, last: bytes, totals: bytes) -> bytes:
    """The seal of the head in schema 1: of the last entry and the account of the source."""
    return _mac(key, b"head:%d:" % number + last + totals)


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
