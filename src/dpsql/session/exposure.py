"""Which files behind a policy other users of the machine can read or write: ledger, key, anchors, data and the folders
on the way to them. Modes of POSIX systems are looked at; nothing is opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final

from dpsql.catalog.load import load
from dpsql.catalog.model import Policy
from dpsql.engines.registry import file_of, located
from dpsql.ledger.anchor import DEFAULT, anchors_folder
from dpsql.ledger.keyfile import key_path
from dpsql.session.opening import ledger_place

_READ: Final = stat.S_IROTH
_WRITE: Final = stat.S_IWOTH
_PASS: Final = stat.S_IXOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """A file or a folder that is open to more people than its owner."""

    what: str
    """As in "the ledger"."""
    path: Path
    group: str | None
    """Whom it is open to; None: every user of the machine."""
    readable: bool
    writable: bool

    def __str__(self) -> str:
        done = " and ".join(word for word, can in (("read", self.readable), ("written", self.writable)) if can)
        bits = ("r" if self.readable else "") + ("w" if self.writable else "")
        whom = "every user of this machine" if self.group is None else f"the group {self.group}"
        change = f"chmod {'o' if self.group is None else 'g'}-{bits} {quote(str(self.path))}"
        return f"{self.what} {self.path} can be {done} by {whom}: {change}"


def exposed_files(policy: str | os.PathLike[str]) -> tuple[Exposure, ...]:
    """What is open to others of a policy file: see `exposures`."""
    path = Path(policy)
    return exposures(load(path), path)


def exposures(policy: Policy, path: Path) -> tuple[Exposure, ...]:
    """What others can read or write of the ledger, its key, the anchors of this machine and the data, and the folders
    in which they can put something else in the place of these. What lies behind a folder that others cannot enter is
    not open to them; nor is a group of the same name as its only user, nor the files of others in a sticky folder."""
    if os.name != "posix":
        return ()
    files = dict(_files(policy, path))
    found = [each for file, what in files.items() for each in _of_file(file, what)]
    folders = dict.fromkeys(folder for file in files for way in (file, file.resolve()) for folder in way.parents)
    return (*found, *(each for folder in folders for each in _of_folder(folder)))


def _files(policy: Policy, path: Path) -> Iterator[tuple[Path, str]]:
    data = file_of(located(policy.source, folder=path.parent))
    ledger = ledger_place(policy, path, None if data is None else data.resolve())
    if isinstance(ledger, Path):
        yield ledger.absolute(), "the ledger"
    yield (key_path(ledger) if isinstance(ledger, Path) else ledger.key).absolute(), "the key of the ledger"
    anchors = anchors_folder(DEFAULT)
    if anchors is not None:
        yield anchors, "the folder of anchors"
    if data is not None:
        yield data.absolute(), "the data file"


def _of_file(path: Path, what: str) -> Iterator[Exposure]:
    with suppress(OSError):
        file = path.resolve(strict=True)
        mode = file.stat()
        for group, number in _audiences(mode):
            bits = _bits(mode, number) & (_READ | _WRITE)
            if bits and _is_reached(file, number):
                yield Exposure(
                    what=what, path=path, group=group, readable=bool(bits & _READ), writable=bool(bits & _WRITE)
                )


def _of_folder(path: Path) -> Iterator[Exposure]:
    with suppress(OSError):
        mode = path.stat()
        for group, number in () if mode.st_mode & stat.S_ISVTX else _audiences(mode):
            both = _WRITE | _PASS
            if _bits(mode, number) & both == both and _is_reached(path.resolve(), number):
                yield Exposure(what="the folder", path=path, group=group, readable=False, writable=True)


def _audiences(mode: os.stat_result) -> Iterator[tuple[str | None, int | None]]:
    """Everybody else, and the group unless it is that of its owner alone."""
    import grp
    import pwd

    yield None, None
    try:
        group = grp.getgrgid(mode.st_gid).gr_name
    except KeyError:
        group = str(mode.st_gid)
    try:
        owner = pwd.getpwuid(mode.st_uid).pw_name
    except KeyError:
        owner = str(mode.st_uid)
    if group != owner and _bits(mode, mode.st_gid) & ~_bits(mode, None):
        yield group, mode.st_gid  # where everybody else may do the same it is not named twice


def _bits(mode: os.stat_result, group: int | None) -> int:
    """What somebody of this group, or of none, may do who is not the owner."""
    return (mode.st_mode >> 3 if group is not None and group == mode.st_gid else mode.st_mode) & 7


def _is_reached(path: Path, group: int | None) -> bool:
    """Whether they may pass every folder on the way."""
    return all(_bits(folder.stat(), group) & _PASS for folder in path.parents)
