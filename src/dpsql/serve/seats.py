"""Who holds how many of the connections: nobody all of them, as long as others come too.

Whoever holds k connections gets another one only while more than k are free. So one holder has about half of them,
the next about half of the rest, and somebody who has none gets one as long as one is free.
"""

from __future__ import annotations

import socket
import struct
from typing import Final, TypeAlias

Holder: TypeAlias = tuple[str, object]
_CREDENTIALS: Final = struct.Struct("3i")
"""Process, user and group of who has connected, as Linux tells them."""


class Seats:
    """One for each connection. Until a token says who it is, a connection is held by the user of its process."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken: dict[socket.socket, Holder] = {}

    def take(self, connection: socket.socket) -> bool:
        """Whether there is a seat for somebody who has just connected."""
        return self._sit(connection, ("user", user_of(connection)))

    def belongs(self, connection: socket.socket, name: str) -> bool:
        """Whether there is one for whoever has this token. Where there is none, it stays with the user."""
        before = self._taken.pop(connection)
        if self._sit(connection, ("token", name)):
            return True
        self._taken[connection] = before
        return False

    def leave(self, connection: socket.socket) -> None:
        del self._taken[connection]

    def _sit(self, connection: socket.socket, holder: Holder) -> bool:
        held = sum(other == holder for other in self._taken.values())
        if held >= self._number - len(self._taken):
            return False
        self._taken[connection] = holder
        return True


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
