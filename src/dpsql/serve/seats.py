"""Who holds how many of the connections, and who waits to say hello.

A holder of k connections gets another one only while more than k are free. So one token has about half of them, the
next about half of the rest, and a token that has none gets one as long as one is free. Only a token takes a seat:
before its hello a connection stands in the lobby, where it can shut out nobody, because the lobby makes room by ending
the connection that has been silent there for longest.
"""

from __future__ import annotations

import select
import socket
import struct
from collections import Counter
from typing import Final

_CREDENTIALS: Final = struct.Struct("3i")
"""Process, user and group of who has connected, as Linux tells them."""
LOBBY: Final = 64


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
