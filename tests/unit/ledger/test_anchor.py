"""The file of an anchor: what it holds, how it is written, and what is not taken for one."""

import os
import stat
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from dpsql.accounting.triple import FREE, Triple
from dpsql.errors import LedgerBroken
from dpsql.ledger import chain
from dpsql.ledger.anchor import DEFAULT, PLACE_BYTES, Anchor, Anchored, Place, anchors_folder
from dpsql.ledger.ledger import Head, Unusable
from dpsql.ledger.snapshot import pin_of
from tests.kits.ledger_cases import at_once
from tests.kits.refusals import raised

KEY = bytes(range(32))
SPENT = Triple(epsilon=Fraction(3, 10), delta=Fraction(1, 10**9), rho=None)


def seen(number, spent=SPENT, **more):
    return Anchored(head=Head(number=number, hash=bytes([number % 256]) * 32, spent=spent), period=0, **more)


@pytest.fixture
def anchor(tmp_path):
    return Anchor(tmp_path / "deep" / "anchors", ledger="abc", key=KEY)


def anew(file):
    """What somebody reads there who knows nothing but the file."""
    return Anchor(file.parent, ledger=file.name, key=KEY).read()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "deep" / "anchors" / "abc"


def test_what_was_seen_is_read_again(anchor, file):
    assert anchor.read() is None
    for number in range(1, 5):
        anchor.advance(seen(number))
        assert anchor.read() == anew(file) == seen(number)
        assert (anchor.read().trail, anchor.read().copies) == (anew(file).trail, anew(file).copies)
    assert file.stat().st_size == 2 * PLACE_BYTES
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_anchor_never_goes_back(anchor):
    anchor.advance(seen(7))
    for number in (7, 6, 1):
        anchor.advance(replace(seen(number), period=9))
        assert anchor.read() == seen(7)


def test_a_mark_stays_until_somebody_who_knew_of_it_has_verified(anchor, file):
    anchor.mark()
    assert not file.exists() or anchor.read() is None  # nothing is known of a ledger this machine has not seen
    anchor.advance(seen(1))
    anchor.mark()
    anchor.advance(seen(2))
    assert anchor.read() == seen(2, broken=True)
    anchor.verified(seen(2), before=seen(2))
    assert anchor.read() == seen(2, broken=True)
    anchor.verified(seen(3), before=seen(2, broken=True))
    assert anchor.read() == seen(3)


def test_what_others_have_seen_meanwhile_stays(anchor):
    anchor.advance(seen(3))
    anchor.verified(seen(1), before=seen(1))
    assert anchor.read() == seen(3)
    anchor.settle(seen(1), before=seen(2))
    assert anchor.read() == seen(3)
    anchor.settle(seen(1), before=seen(3))  # after a restored backup
    assert anchor.read() == seen(1)


def test_places_on_the_way_are_remembered_the_nearer_the_more(anchor, file):
    for number in range(1, 400):
        anchor.advance(seen(number, spent=FREE))
        places = [place.number for place in anchor.read().places]
        assert places[:4] == [n for n in (number, number - 1, number - 2) if n > 0][:4] + places[3:4]
        assert places[-1] == 1
        assert len(places) <= 2 * number.bit_length() + 2
        for newer, older in pairwise(places):
            assert newer - older <= 1 + 2 * (number - newer)  # no part of the way is left out wholly
    assert all(place.is_of(seen(place.number).head.hash) for place in anchor.read().places)
    assert not any(place.is_of(seen(place.number + 1).head.hash) for place in anchor.read().places)


def test_the_ends_of_backups_are_remembered(anchor):
    ends = [Place(number=number, pin=pin_of(bytes([number]) * 32)) for number in range(1, 12)]
    anchor.copied(ends[0])
    assert anchor.read() is None
    anchor.advance(seen(10))
    for end in (*ends, ends[5]):
        anchor.copied(end)
    anchor.advance(seen(5000))
    assert anchor.read().copies == tuple(reversed(ends[2:10]))  # what was not seen yet is nobody's past


def test_the_longest_anchor_fits_its_place(anchor, file):
    places = tuple(Place(number=10**12 + number, pin=pin_of(bytes(32))) for number in range(48))
    whole = replace(seen(10**13), promise=places[0], trail=places, copies=places[:8])
    awkward = Fraction(10**2500 + 1, 3 * 10**2500)
    for spent in (SPENT, Triple(epsilon=awkward, delta=awkward, rho=awkward)):
        anchor.settle(replace(whole, head=replace(whole.head, spent=spent)), before=anchor.read())
        assert len(anchor.read().places) == len(anew(file).places) == 58


@pytest.mark.parametrize("kept", [0, 1, 100, PLACE_BYTES // 2, PLACE_BYTES - 1])
def test_a_write_that_is_cut_short_leaves_the_older_one(anchor, file, kept):
    for number in (1, 2, 3):
        anchor.advance(seen(number))
        before, start = file.read_bytes(), (number + 1) % 2 * PLACE_BYTES
        anchor.advance(seen(number + 1))
        after = file.read_bytes()[start : start + PLACE_BYTES]
        torn = after[:kept] + before[start + kept : start + PLACE_BYTES]
        file.write_bytes(before[:start].ljust(start, b"\0") + torn + before[start + PLACE_BYTES :])
        assert anchor.read() == seen(number)


def test_every_byte_of_a_place_is_covered(anchor, file):
    anchor.advance(seen(1))
    anchor.advance(seen(2))
    whole = file.read_bytes()
    for place in range(0, 2 * PLACE_BYTES, 97):
        changed = bytearray(whole)
        changed[place] ^= 4
        file.write_bytes(changed)
        assert anchor.read() == seen(2 if place >= PLACE_BYTES else 1)  # the second stands in the first place


def test_an_anchor_that_is_no_anchor_is_refused(anchor, file, tmp_path):
    anchor.advance(seen(1))
    other = Anchor(tmp_path / "deep" / "anchors", ledger="abc", key=bytes(32))
    for content in (b"x", b"x" * PLACE_BYTES, bytes(2 * PLACE_BYTES)):
        file.write_bytes(content)
        for use in (anchor.read, lambda: anchor.advance(seen(2)), anchor.mark, other.read):
            with pytest.raises(LedgerBroken, match="anchor"):
                use()


def test_an_anchor_in_other_words_is_no_damage_of_the_ledger(anchor, file):
    """Written whole, by another version: the refusal names the file of the anchor, and the ledger is not marked."""
    anchor.advance(seen(1))
    content = b"\0" * 7 + b'\2{"turn":2}'.ljust(PLACE_BYTES - 39)
    file.write_bytes(content + chain.anchored(KEY, content) + bytes(PLACE_BYTES))
    raised(Unusable, lambda: anew(file), match="anchor of the ledger cannot be read")


def test_a_spending_too_long_for_its_place_is_kept_rounded_up(anchor, file):
    awkward = Fraction(10**2500 + 1, 3 * 10**2500)
    long = Triple(epsilon=awkward, delta=awkward / 10, rho=awkward * 7)
    anchor.advance(seen(1, spent=long))
    kept = anchor.read().head.spent
    assert anew(file).head.spent == kept
    for name in ("epsilon", "delta", "rho"):
        exact, found = getattr(long, name), getattr(kept, name)
        assert exact <= found < exact + Fraction(1, 10**29)


def test_threads_leave_the_latest(anchor):
    at_once([lambda number=number: anchor.advance(seen(number, spent=FREE)) for number in range(1, 20)])
    assert anchor.read() == seen(19, spent=FREE)


def test_anchors_are_kept_where_it_is_said(tmp_path, monkeypatch):
    assert anchors_folder(None) is None
    assert anchors_folder(tmp_path / "here") == tmp_path / "here"
    monkeypatch.setenv("DPSQL_STATE", str(tmp_path / "state"))
    assert anchors_folder(DEFAULT) == tmp_path / "state" / "anchors"
    monkeypatch.delenv("DPSQL_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert anchors_folder(DEFAULT) == tmp_path / "xdg" / "dpsql" / "anchors"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert anchors_folder(DEFAULT) == tmp_path / "home" / ".local" / "state" / "dpsql" / "anchors"


def test_an_anchor_that_was_removed_meanwhile_begins_at_what_was_verified(anchor):
    anchor.verified(seen(2), before=seen(1))
    assert anchor.read() == seen(2)


def test_a_place_that_is_written_in_part_is_a_failure_and_leaves_the_older_one(anchor, monkeypatch):
    anchor.advance(seen(1))
    write = os.write
    with monkeypatch.context() as full_disk:
        full_disk.setattr(os, "write", lambda file, content: write(file, content[:100]))
        with pytest.raises(OSError, match="in part"):
            anchor.advance(seen(2))
    assert anchor.read() == seen(1)
