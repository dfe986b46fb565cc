"""One source, one ledger: what is written beside the data, and what happens where nothing can be."""

import os
import stat

import pytest

from dpsql.errors import NotPermitted
from dpsql.session import opening
from dpsql.session.opening import bound_ledger, ledger_beside, mark_beside
from tests.kits.refusals import raised


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data" / "clinic.duckdb"
    path.parent.mkdir()
    path.touch()
    return path


def opened(place, *, named=None, source=None):
    ledger = bound_ledger(place, named=named, source=source)
    ledger.close()
    return ledger.id


def test_the_mark_says_which_ledger_and_where(source, tmp_path):
    ledger = opened(tmp_path / "l.db", source=source)
    before = os.umask(0)
    try:
        assert opened(tmp_path / "l.db", source=source) == ledger
        (mark := mark_beside(source)).unlink()
        opened(tmp_path / "l.db", source=source)
    finally:
        os.umask(before)
    assert stat.S_IMODE(mark.stat().st_mode) == 0o600  # for its owner only
    assert mark.read_text().splitlines() == [ledger, str(tmp_path / "l.db")]
    assert (ledger_beside(source).name, ledger_beside(source).parent) == ("clinic.duckdb.ledger", source.parent)


def test_a_ledger_that_moved_is_still_the_same(source, tmp_path):
    ledger = opened(tmp_path / "l.db", source=source)
    for name in ("l.db", "l.db.key"):
        (tmp_path / name).rename(tmp_path / "data" / name)
    assert opened(tmp_path / "data" / "l.db", source=source) == ledger


def test_two_that_come_at_once_agree_on_one(source, tmp_path, monkeypatch):
    """The other one writes its mark after this one has looked, and before it writes."""
    first = []
    right = opening._mark

    def slow(*place):
        monkeypatch.setattr(opening, "_mark", right)
        first.append(opened(tmp_path / "first.db", source=source))
        right(*place)

    monkeypatch.setattr(opening, "_mark", slow)
    error = raised(NotPermitted, lambda: opened(tmp_path / "second.db", source=source))
    assert first[0] in error.what


def test_where_nothing_can_be_written_the_policy_alone_can_tell(source, tmp_path, monkeypatch):
    def refused(*_, **__):
        raise PermissionError

    monkeypatch.setattr(opening, "create_private", refused)
    ledger = opened(tmp_path / "l.db", source=source)
    assert not mark_beside(source).exists()
    raised(NotPermitted, lambda: opened(tmp_path / "m.db", named=ledger, source=source), match=ledger)
    assert opened(tmp_path / "l.db", named=ledger, source=source) == ledger


def test_a_source_that_is_no_file_has_no_mark(tmp_path):
    ledger = opened(tmp_path / "l.db")
    assert sorted(os.listdir(tmp_path)) == ["l.db", "l.db.key"]
    raised(NotPermitted, lambda: opened(tmp_path / "l.db", named="another"), match="names the ledger")
    assert opened(tmp_path / "l.db", named=ledger) == ledger
