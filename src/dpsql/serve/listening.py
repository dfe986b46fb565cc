"""Who can connect: the socket file, the lobby before the hello, and the seats behind it.

The file is made with the mode the owner chose, is alone on its path, and is gone when the server is.

A holder of k connections gets another one only while more than k are free. So one token has about half of them, the
next about half of the rest, and a token that has none gets one as long as one is free. Only a token takes a seat:
before its hello a connection stands in the lobby, where it can shut out nobody, because the lobby makes room by ending
the connection that has been silent there for longest.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import stat
import struct
from collections import Counter
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
_CREDENTIALS: Final = struct.Struct("3i")
"""Process, user and group of who has connected, as Linux tells them."""
LOBBY: Final = 64


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


class Seats:
    """One for each connection whose token is known."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken: dict[socket.socket, str] = {}

    def take(self, connection: socket.socket, name: str) -> bool:
        """Whether there is one for the holder of this token."""
        held = sum(other == name for other in self._taken.values())
        if held >= self._number - len(self._taken):
            return False
        self._taken[connection] = name
        return True

    def leave(self, connection: socket.socket) -> None:
        """Give the seat of a connection back, if it has one."""
        self._taken.pop(connection, None)


class Lobby:
    """Connections that have not said hello, the oldest first, with the OS user of each."""

    def __init__(self, number: int = LOBBY) -> None:
        self._number = number
        self._waiting: dict[socket.socket, int | None] = {}

    def enter(self, connection: socket.socket) -> socket.socket | None:
        """Let a connection in. Where the lobby is full, the one that has to leave: of the user with the most there, the
        one that has been silent for longest."""
        out = self._longest_silent() if len(self._waiting) >= self._number else None
        if out is not None:
            del self._waiting[out]
        self._waiting[connection] = user_of(connection)
        return out

    def leave(self, connection: socket.socket) -> None:
        """A connection has said hello, or has gone."""
        self._waiting.pop(connection, None)

    def _longest_silent(self) -> socket.socket:
        users = Counter(self._waiting.values())
        crowd = [each for each, user in self._waiting.items() if users[user] == max(users.values())]
        return next((each for each in crowd if is_silent(each)), crowd[0])


def is_silent(connection: socket.socket) -> bool:
    """Whether nothing of it is waiting to be read."""
    return not is_ready(connection, select.POLLIN)


def is_gone(connection: socket.socket) -> bool:
    """Whether the peer has closed the connection. A peer that only sends no more still reads."""
    return is_ready(connection, 0)  # hang-ups are reported for any mask


def is_ready(connection: socket.socket, events: int) -> bool:
    poll = select.poll()
    poll.register(connection, events)
    return bool(poll.poll(0))


def user_of(connection: socket.socket) -> int | None:
    """The user of the process at the other end; None where the system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    try:
        told = connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    except OSError:
        return None
    user: int = _CREDENTIALS.unpack(told)[1]
    return user
