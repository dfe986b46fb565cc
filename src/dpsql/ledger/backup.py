"""A copy of a ledger in SQLite, taken while it is in use, and put back where it was lost."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from os import open as open_descriptor
from pathlib import Path
from typing import Final

from dpsql.errors import BadParameter, LedgerBroken, NotPermitted
from dpsql.ledger import keyfile
from dpsql.ledger.sqlite import SqliteLedger

_LOGS: Final = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a file while it is open, or after a crash, and takes for that of any file of the name."""
_WAIT: Final = 30.0


def back_up(ledger: Path, copy: Path, *, with_key: bool) -> None:
    """A copy of one state of the ledger, readable by its owner only. LedgerBroken where the ledger does not verify:
    such a copy would be of no use.

    The key stays behind unless it is asked for: who has both can write another ledger that verifies.
    """
    if not ledger.is_file() or not ledger.stat().st_size:
        raise BadParameter(
            f"there is no ledger in {ledger}",
            why="opening it would begin a new one, and a copy of nothing saves nothing",
            fix="name the file of the ledger",
        )
    with closing(SqliteLedger(ledger)) as opened:
        opened.verify()
        key = keyfile.read_key(keyfile.key_path(ledger))
        with _created(copy, "the backup"):
            number, link = _copied(ledger, copy)
            if with_key and not keyfile.create_private(keyfile.key_path(copy), key):
                raise _exists(keyfile.key_path(copy))
        opened.copied(number, link)


def restore(copy: Path, ledger: Path, *, replace: bool) -> Path | None:
    """Put a copy where the ledger was, once it verifies with its key: that beside the ledger, else that beside the
    copy. What stood there is kept under another name, which is returned; without `replace` it is not touched."""
    if not copy.is_file():
        raise BadParameter(f"there is no file {copy}", why="it is to be restored", fix="name the file of a backup")
    if ledger.exists() and not replace:
        raise NotPermitted(
            f"there is a ledger in {ledger}",
            why="what was charged since the copy was made would be forgotten",
            fix="say that it is to be replaced: --replace, or replace=True; it is kept under another name",
        )
    with _folder_beside(ledger) as folder:
        near = folder / ledger.name
        keyfile.create_private(near)
        _copied(copy, near)
        key = keyfile.read_key(keyfile.key_path(ledger if keyfile.key_path(ledger).exists() else copy))
        _require_verified(near, key)
        kept = _put_aside(ledger)
        keyfile.create_private(keyfile.key_path(ledger), key)  # nothing where it is there
        os.rename(near, ledger)
        keyfile.sync_folder(ledger.parent)
    return kept


@contextmanager
def _folder_beside(ledger: Path) -> Iterator[Path]:
    """A folder of its own, on the disk of the ledger and readable by its owner only: what a restore that was killed has
    left is in nobody's way."""
    try:
        folder = tempfile.TemporaryDirectory(prefix=f"{ledger.name}.restoring-", dir=ledger.parent)
    except OSError as error:
        raise _not_written("the restored copy", ledger, error) from None
    with folder as name:
        yield Path(name)


@contextmanager
def _created(path: Path, what: str) -> Iterator[None]:
    """A new file that is there whole, or not at all."""
    try:
        if not keyfile.create_private(path):
            raise _exists(path)
    except OSError as error:
        raise _not_written(what, path, error) from None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


def _not_written(what: str, path: Path, error: OSError) -> BadParameter:
    return BadParameter(
        f"{what} cannot be written to {path}: {error.strerror}",
        why="a copy that is not there cannot be restored",
        fix="choose a path in a folder that exists and that this user may write",
    )


def _exists(path: Path) -> NotPermitted:
    return NotPermitted(
        f"{path} exists already", why="it may be the only copy of something", fix="choose a name that is not taken"
    )


def _copied(source: Path, target: Path) -> tuple[int, bytes]:
    """One state of `source`, by SQLite's own backup; the number and the hash of its last entry."""
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True, timeout=_WAIT)) as read,
            closing(sqlite3.connect(target, timeout=_WAIT)) as written,
        ):
            read.backup(written)
            written.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            (last,) = written.execute("SELECT number, hash FROM entries ORDER BY number DESC LIMIT 1").fetchall()
    except (sqlite3.Error, ValueError):  # the latter: it has no entries
        raise LedgerBroken(
            f"{source} cannot be copied",
            why="it is no ledger, or its disk cannot be read",
            fix="look at the file; take another backup",
        ) from None
    _synced(target)
    return last[0], last[1]


def _synced(path: Path) -> None:
    descriptor = open_descriptor(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _require_verified(ledger: Path, key: bytes) -> None:
    """The copy opens with the key and verifies, and is one file."""
    keyfile.create_private(keyfile.key_path(ledger), key)
    with closing(SqliteLedger(ledger, anchors=None)) as opened:  # what it lacks is said once it stands in its place
        opened.verify()
    _alone(ledger)


def _alone(ledger: Path) -> None:
    """Bring everything into the one file; refused while somebody has it open."""
    with closing(sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=rw", uri=True, timeout=1)) as database:
        try:
            database.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise NotPermitted(
                    f"{ledger} is in use",
                    why="whoever has it open would go on charging what nobody finds again",
                    fix="stop every process that uses it, then restore",
                ) from None


def _put_aside(ledger: Path) -> Path | None:
    """What stands in the place of the ledger, under a name that is not taken; None where there is nothing. The log of a
    file that is gone is put aside too: SQLite would write it into the restored one."""
    present = [end for end in ("", *_LOGS) if ledger.with_name(ledger.name + end).exists()]
    if "" in present:
        with suppress(sqlite3.DatabaseError):  # a damaged one is put aside as it is
            _alone(ledger)
    number = 1
    while any(ledger.with_name(f"{ledger.name}.replaced-{number}{end}").exists() for end in ("", *_LOGS)):
        number += 1
    kept = ledger.with_name(f"{ledger.name}.replaced-{number}")
    for end in present:
        with suppress(FileNotFoundError):  # logs end with the last connection
            os.rename(ledger.with_name(ledger.name + end), kept.with_name(kept.name + end))
    return kept if "" in present else None
