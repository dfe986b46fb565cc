"""The key of a ledger, in a file of its own that only its owner can read."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import open as open_descriptor
from pathlib import Path
from typing import Final

from dpsql.errors import LedgerBroken
from dpsql.ledger.chain import KEY_BYTES

PRIVATE: Final = 0o600
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL
_POSIX: Final = os.name == "posix"
_WHY: Final = "the key shows that no entry was changed, and decides which groups of a person are kept"


def key_path(ledger: Path) -> Path:
    """`<ledger>.key`, beside the ledger."""
    return ledger.with_name(ledger.name + ".key")


def create_private(path: Path, content: bytes = b"") -> bool:
    """Write a new file that only its owner can read, durably. False where one exists: nothing is overwritten. It gets
    its name once it is whole: no other process reads half of it, and one that is killed leaves no half."""
    if not content:
        return _written(path, content)
    if path.exists():
        return False
    unnamed = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    _written(unnamed, content)
    try:
        return _named(unnamed, path)
    finally:
        unnamed.unlink(missing_ok=True)


def _written(path: Path, content: bytes) -> bool:
    try:
        descriptor = open_descriptor(path, _NEW, PRIVATE)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)
    return True


def _named(file: Path, name: Path) -> bool:
    """Give a file its name, durably; False where the name is taken, or the file is gone."""
    try:
        os.link(file, name)
    except (FileExistsError, FileNotFoundError):
        return False
    except OSError:  # a disk without hard links
        if not _renamed(file, name):
            return False
    file.unlink(missing_ok=True)
    sync_folder(name.parent)
    return True


def _renamed(file: Path, name: Path) -> bool:
    """Rename a file unless the name is taken, or the file is gone. On POSIX a rename replaces what has the name, so
    processes look and rename one at a time; the lock ends with a process that is killed."""
    with _folder(name.parent) as folder:
        if folder is not None:
            lock(folder)
        if name.exists():
            return False
        try:
            file.rename(name)
        except (FileExistsError, FileNotFoundError):
            return False
        return True


def sync_folder(folder: Path) -> None:
    """The name of a new file is durable once its folder is."""
    with _folder(folder) as descriptor:
        if descriptor is not None:
            os.fsync(descriptor)


@contextmanager
def _folder(path: Path) -> Iterator[int | None]:
    """The folder, opened; None on systems that open files only."""
    if not _POSIX:
        yield None
        return
    descriptor = open_descriptor(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> None:
    """Wait until no other process holds the file or folder; closing it ends the lock."""
    if _POSIX:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def create_key(path: Path, *, ledger: str) -> bytes:
    """A new random key, which gets its name from `name_key` once its ledger is kept: a process that is killed before
    leaves no key that looks like that of a ledger. LedgerBroken where a key is left of a ledger that is gone."""
    if path.exists():
        raise LedgerBroken(
            "there is a key and no ledger: the ledger file was removed or emptied",
            why="what was spent stood in it; a new one in its place would promise people less than they were promised",
            fix="restore the ledger; only if nothing was ever answered from it, remove the key file as well",
        )
    key = secrets.token_bytes(KEY_BYTES)
    _written(_unnamed(path, ledger), key)
    return key


def name_key(path: Path, *, ledger: str) -> None:
    """Give the key of a ledger that is kept its name; the process that created it may have been killed before."""
    if not path.exists():
        _named(_unnamed(path, ledger), path)


def remove_key(path: Path, *, ledger: str) -> None:
    """The ledger of a new key was not kept."""
    _unnamed(path, ledger).unlink(missing_ok=True)


def _unnamed(path: Path, ledger: str) -> Path:
    return path.with_name(f".{path.name}.{ledger}")


def read_key(path: Path) -> bytes:
    """The key of a ledger; LedgerBroken where it is missing, damaged or open to others."""
    try:
        with open(path, "rb") as file:
            mode, key = os.fstat(file.fileno()).st_mode, file.read(KEY_BYTES + 1)
    except OSError:
        raise LedgerBroken(
            "the key of the ledger cannot be read", why=_WHY, fix="restore the key that was created with the ledger"
        ) from None
    if _POSIX and stat.S_IMODE(mode) & 0o077:
        raise LedgerBroken(
            "the key of the ledger can be read by others",
            why="whoever has the key can write a ledger that verifies",
            fix="make its file readable by its owner only: chmod 600",
        )
    if len(key) != KEY_BYTES:
        raise wrong_key()
    return key


def wrong_key() -> LedgerBroken:
    """What is raised where a key is not the key of its ledger."""
    return LedgerBroken(
        "the key of the ledger is not its key", why=_WHY, fix="restore the key that was created with the ledger"
    )
