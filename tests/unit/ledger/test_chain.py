"""Keyed hashes, against the definition written out with the standard library."""

import hashlib
import hmac
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from dpsql.ledger import chain

KEY = bytes(range(32))


@given(st.binary(min_size=32, max_size=32), st.integers(1, 10**9))
def test_the_salt_is_63_bits_of_the_hmac_of_the_number(key, number):
    digest = hmac.new(key, b"salt:" + str(number).encode(), hashlib.sha256).digest()
    expected = int("0" + bin(int.from_bytes(digest[:8], "big"))[2:].rjust(64, "0")[1:], 2)
    assert chain.salt_of(key, number=number) == expected
    assert 0 <= expected < 2**63


def test_every_part_of_an_entry_changes_its_hash():
    right = {
        "number": 12,
        "time": 34,
        "kind": "step",
        "payload": b"abc",
        "previous": bytes(32),
        "analyst": None,
        "question": None,
        "same": None,
        "receipt": None,
    }
    changes = [
        {},
        {"number": 1},
        {"time": 3},
        {"number": 1, "time": 234},
        {"kind": "steps"},
        {"payload": b"abd"},
        {"previous": b"\x01" + bytes(31)},
        {"payload": b"abc" + bytes(1), "previous": bytes(31)},  # the border moves
        {"number": 1, "kind": "2:step"},
        {"analyst": "ana"},
        {"analyst": ""},
        {"analyst": "-"},
        {"question": bytes(32)},
        {"same": bytes(32)},
        {"question": bytes(16), "same": bytes(16)},
        {"receipt": 3},
        {"receipt": 1, "kind": "step:2"},
    ]
    assert len({chain.linked(KEY, **{**right, **change}) for change in changes}) == len(changes)
    assert chain.linked(bytes(32), **right) != chain.linked(KEY, **right)


def test_nothing_is_another_part_than_one_that_is_empty_or_0():
    texts, parts = (None, "", "-", "1:a"), (None, b"", b"-", b"1:a")
    shapes = list(product(("a", "1:a-"), texts, parts, parts, (None, 0, -1, 1)))
    hashes = {chain.linked(KEY, 12, 34, *shape, b"abc", bytes(32)) for shape in shapes}
    assert len(hashes) == len(shapes)


def test_what_the_key_seals():
    found = chain.linked(KEY, 12, 34, "charge", "ana", b"q" * 32, b"s" * 32, None, b"abc", b"p" * 32)
    message = b"entry:12:34:8:0:6:charge3:ana32:" + b"q" * 32 + b"32:" + b"s" * 32 + b"3:abc" + b"p" * 32
    assert found == hmac.new(KEY, message, hashlib.sha256).digest()
    right = {"number": 12, "last": bytes(32), "snapshot": b"{}"}
    changes = [{}, {"last": b"\x01" * 32}, {"snapshot": b"[]"}, {"number": 2}]
    assert len({chain.sealed(KEY, **{**right, **change}) for change in changes}) == len(changes)
    # A hash shown for one purpose must not serve another.
    assert chain.key_check(KEY, ledger="1") != hmac.new(KEY, b"salt:1", hashlib.sha256).digest()
    assert chain.key_check(KEY, ledger="a") != chain.key_check(KEY, ledger="b")
