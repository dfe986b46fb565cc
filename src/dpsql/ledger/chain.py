"""Keyed hashes: of entries in a chain, of the rows added up from them, of its head, of salts.

Each use has a prefix no other use has.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

KEY_BYTES: Final = 32
START: Final = bytes(32)
"""What stands before the first entry."""

_LARGEST_SALT: Final = 2**63 - 1
MODULUS: Final = 2**256
"""Sums over rows are kept modulo this."""


@lru_cache(maxsize=8)
def _hmac(key: bytes, algorithm: str) -> Callable[[bytes], bytes]:
    """HMAC (RFC 2104) under a key no longer than a block, which both hashes have read already: most of what a short
    message costs."""
    block = key.ljust(hashlib.new(algorithm).block_size, b"\0")
    inner_begun, outer_begun = (hashlib.new(algorithm, bytes(byte ^ pad for byte in block)) for pad in (0x36, 0x5C))

    def mac(message: bytes) -> bytes:
        inner, outer = inner_begun.copy(), outer_begun.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()

    return mac


def _mac(key: bytes, message: bytes) -> bytes:
    return _hmac(key, "sha256")(message)


def linked(key: bytes, *, number: int, time: int | None, kind: str, payload: bytes, previous: bytes) -> bytes:
    """The hash of an entry: of its number, time, word and payload, and of the hash before it.

    Entries of schema 1 have no time, and a hash without one.
    """
    head = b"entry:%d" % number if time is None else b"timed:%d:%d" % (number, time)
    # lengths, so that no two entries read the same
    return _mac(key, b"%b:%b:%d:%b%b" % (head, kind.encode(), len(payload), payload, previous))


def covered(key: bytes, table: str, row: Iterable[Any]) -> tuple[bytes, int]:
    """What stands in a row to show that it was written, and its secret part in the sum over all rows that exist."""
    parts = [b"row:" + table.encode()]
    for value in row:  # each value its own bytes, of whatever type it is; written out, since a ledger has millions
        kind = type(value)
        if kind is int:
            part = b"i%d" % value
        elif kind is bytes:
            part = b"b%b" % value
        else:
            part = b"n" if value is None else b"s" + value.encode("utf-8", "surrogatepass")
        parts.append(b"%d:%b" % (len(part), part))
    digest = _hmac(key, "sha512")(b"".join(parts))
    return digest[:32], int.from_bytes(digest[32:], "big")


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
