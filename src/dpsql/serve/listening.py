"""The socket file: made with the mode the owner chose, alone on its path, gone when the server is."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import open as open_descriptor
from pathlib import Path
from typing import Final

from dpsql.errors import BadParameter, NotPermitted
from dpsql.require import require_count

_BACKLOG: Final = 1024
_NOBODY: Final = 0o777
_OF_OWNER: Final = 0o600


@contextmanager
def listening(path: Path, *, mode: int) -> Iterator[socket.socket]:
    """A socket that accepts connections at `path`. What a server that was killed has left there is taken away.

    The lock beside the socket says whether a server lives: while this one has it, no other can have bound the path.
    """
    require_mode(mode)
    with _locked(path), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        _remove_left_over(path)
        try:
            _bind(listener, path, mode=mode)
            listener.listen(_BACKLOG)
        except OSError as error:
            raise _unusable(path, error) from None
        try:
            yield listener
        finally:
            with suppress(OSError):
                path.unlink()


def require_mode(mode: int) -> None:
    """Nine bits: who may read and write."""
    require_count(mode=mode, at_least=0, at_most=_NOBODY)


def _bind(listener: socket.socket, path: Path, *, mode: int) -> None:
    """Nobody can connect before the mode is the chosen one."""
    before = os.umask(_NOBODY)
    try:
        listener.bind(os.fspath(path))
    finally:
        os.umask(before)
    os.chmod(path, mode)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    beside = path.with_name(f"{path.name}.lock")
    try:
        descriptor = open_descriptor(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _OF_OWNER)
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise NotPermitted(
                f"a server is listening at {path} already",
                why="two servers on one path would answer each other's clients",
                fix="stop the other one, or choose another path",
            ) from None
        yield
    finally:
        os.close(descriptor)


def _remove_left_over(path: Path) -> None:
    try:
        found = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(found):
        raise BadParameter(
            f"{path} exists and is no socket",
            why="it would have to be removed, and somebody may need it",
            fix="choose a path where nothing is",
        )
    with suppress(OSError):
        path.unlink()


def _unusable(path: Path, error: OSError) -> BadParameter:
    return BadParameter(
        f"no socket can be made at {path}: {error.strerror or 'the path is too long'}",
        why="clients reach the server by this path",
        fix="choose a short path in a folder that exists and that this user may write",
    )
