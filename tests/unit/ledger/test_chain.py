"""Keyed hashes, against the definition written out with the standard library."""

import hashlib
import hmac

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


@given(st.binary(max_size=64), st.lists(st.one_of(st.integers(), st.text(), st.binary(), st.none())))
def test_a_row_is_covered_by_the_hmac_of_its_values(key, row):
    said = {int: lambda value: b"i%d" % value, bytes: lambda value: b"b" + value, type(None): lambda value: b"n"}
    said[str] = lambda value: b"s" + value.encode()
    values = [said[type(value)](value) for value in row]
    message = b"row:steps" + b"".join(b"%d:%s" % (len(value), value) for value in values)
    digest = hmac.new(key, message, hashlib.sha512).digest()
    assert chain.covered(key, "steps", row) == (digest[:32], int.from_bytes(digest[32:], "big"))


def test_every_part_of_an_entry_changes_its_hash():
    right = {"number": 12, "time": 34, "kind": "step", "payload": b"abc", "previous": bytes(32)}
    changes = [
        {},
        {"number": 1},
        {"time": 3},
        {"time": None},
        {"number": 1234, "time": None},
        {"number": 1, "time": 234},
        {"kind": "steps"},
        {"payload": b"abd"},
        {"previous": b"\x01" + bytes(31)},
        {"payload": b"abc" + bytes(1), "previous": bytes(31)},  # the border moves
        {"number": 1, "kind": "2:step"},
    ]
    assert len({chain.linked(KEY, **{**right, **change}) for change in changes}) == len(changes)
    assert chain.linked(bytes(32), **right) != chain.linked(KEY, **right)


def test_a_seal_covers_number_entry_and_rows():
    right = {"number": 12, "last": bytes(32), "rows": bytes(32), "source": bytes(32)}
    changes = [{}, *({part: b"\x01" * 32} for part in ("last", "rows", "source")), {"number": 2}]
    assert len({chain.sealed(KEY, **{**right, **change}) for change in changes}) == len(changes)


def test_every_part_of_a_row_changes_what_covers_it():
    rows = [
        ("steps", (1, 2, 3)),
        ("steps", (1, 23)),
        ("steps", (12, 3)),
        ("steps", (1, 2, "3")),
        ("steps", (1, 2, b"3")),
        ("steps", (1, 2, None)),
        ("steps", (1, 2, "n")),
        ("steps", (1, 2, "")),
        ("payments", (1, 2, 3)),
    ]
    covers = [chain.covered(KEY, *row) for row in rows]
    assert len({mac for mac, _ in covers}) == len({part for _, part in covers}) == len(rows)
    assert chain.covered(bytes(32), *rows[0])[0] != covers[0][0]


@given(st.integers(0, 2**256 - 1), st.integers(1, 10**9))
def test_a_hidden_sum_is_found_again(total, number):
    hidden = chain.summed(KEY, total, number=number)
    assert chain.sum_of(KEY, hidden, number=number) == total
    assert hidden != chain.summed(KEY, total, number=number + 1)  # otherwise two heads would tell what was added


def test_uses_of_the_key_do_not_meet():
    """A hash shown for one purpose must not serve another."""
    assert chain.key_check(KEY, ledger="1") != hmac.new(KEY, b"salt:1", hashlib.sha256).digest()
    assert chain.key_check(KEY, ledger="a") != chain.key_check(KEY, ledger="b")
