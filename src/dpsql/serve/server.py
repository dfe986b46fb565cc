"""The server: one thread per connection, every wait bounded, and no request that ends it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Final

from dpsql import Owner
from dpsql.errors import DpsqlError, InternalError, NotPermitted
from dpsql.require import require_count, require_seconds
from dpsql.serve.listening import listening, require_mode
from dpsql.serve.methods import Visit, answered
from dpsql.serve.refusals import Refusals
from dpsql.serve.seats import Seats
from dpsql.serve.wire import (
    LONGEST_REQUEST,
    PROTOCOL,
    Gone,
    Lines,
    Message,
    TooLong,
    TooSlow,
    decoded,
    error_to_wire,
    not_understood,
)

_TICK: Final = 0.2  # seconds: how often a listener looks whether it should stop
_REFUSING: Final = 1.0  # seconds to tell somebody that there is no room
_MOST_CONNECTIONS: Final = 1000
_MOST_REFUSALS: Final = 1_000_000


class SocketServer:
    """Answers clients on a UNIX socket for the owner of data and ledger.

    mode         of the socket file: who may connect at all
    connections  how many at once; one more is told to come again, and so is whoever has too many of them
    patience     seconds in which a request must have come whole, a reply be taken, and a new client say hello
    idle         seconds after which a silent connection is closed
    refusals     how many refusals within an hour are written down for one holder of a token; then they wait
    """

    def __init__(
        self,
        owner: Owner,
        path: str | PathLike[str],
        *,
        mode: int = 0o600,
        connections: int = 16,
        patience: float = 10.0,
        idle: float = 600.0,
        refusals: int = 300,
    ) -> None:
        require_count(connections=connections, at_most=_MOST_CONNECTIONS)
        require_count(refusals=refusals, at_most=_MOST_REFUSALS)
        require_mode(mode)
        require_seconds(patience=patience, idle=idle)
        self._owner, self._path, self._mode = owner, Path(path).absolute(), mode
        self._patience, self._idle = float(patience), float(idle)
        self._seats, self._refusals = Seats(connections), Refusals(refusals)
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._live: dict[socket.socket, threading.Thread] = {}

    def serve(self, *, ready: Callable[[], object] | None = None) -> None:
        """Answer until `stop`; then requests that are being answered are finished, and the socket file is removed.
        `ready` is called once clients can connect."""
        with listening(self._path, mode=self._mode) as listener:
            listener.settimeout(_TICK)
            if ready is not None:
                ready()
            while not self._stopping.is_set():
                try:
                    self._welcome(listener.accept()[0])
                except TimeoutError:
                    continue  # nobody came
                except (OSError, RuntimeError):  # too many files or threads: some will end
                    self._stopping.wait(_TICK)
            self._dismiss()

    def stop(self) -> None:
        """Let `serve` end. May be called from a signal handler or another thread."""
        self._stopping.set()

    def _welcome(self, connection: socket.socket) -> None:
        with self._lock:
            full = not self._seats.take(connection)
            if not full:
                thread = threading.Thread(target=self._attend, args=(connection,), daemon=True)
                self._live[connection] = thread
        if not full:
            self._begin(thread, connection)
            return
        with connection, suppress(Gone, TooSlow):
            Lines(connection, LONGEST_REQUEST).send(error_to_wire(_no_room()), within=_REFUSING)

    def _begin(self, thread: threading.Thread, connection: socket.socket) -> None:
        try:
            thread.start()
        except BaseException:
            self._leave(connection)
            connection.close()
            raise

    def _leave(self, connection: socket.socket) -> None:
        with self._lock:
            del self._live[connection]
            self._seats.leave(connection)

    def _dismiss(self) -> None:
        """Nobody is heard any more; who was heard is answered."""
        with self._lock:
            live = dict(self._live)
        for connection in live:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        until = time.monotonic() + self._patience
        for thread in live.values():
            thread.join(max(0.0, until - time.monotonic()))

    def _attend(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(Gone, TooSlow):
                self._converse(connection, Lines(connection, LONGEST_REQUEST))
        finally:
            self._leave(connection)

    def _converse(self, connection: socket.socket, lines: Lines) -> None:
        visit, token = None, ""
        while not self._stopping.is_set():
            try:
                first = self._patience if visit is None else self._idle
                request = decoded(lines.next(first_byte_within=first, rest_within=self._patience))
                if visit is None:
                    token = _token_of(request)
                    visit = self._recognised(connection, token)
                    reply: Message = {"ok": {"name": visit.name, "role": visit.role, "protocol": PROTOCOL}}
                else:
                    self._require_still(visit, token)
                    reply = {"ok": answered(visit, request)}
            except TooLong:
                lines.send(error_to_wire(not_understood()), within=self._patience)
                return  # where the next request begins is not known
            except DpsqlError as error:
                reply = error_to_wire(error)
            except (Gone, TooSlow):
                raise
            except Exception:  # whatever it is: its words could tell about rows
                reply = error_to_wire(_a_bug())
            lines.send(reply, within=self._patience)
            if visit is None:
                return

    def _recognised(self, connection: socket.socket, token: str) -> Visit:
        user = self._owner.keeper.user_of(token)
        if user is None:
            raise _unknown_token()
        with self._lock:
            seated = self._seats.belongs(connection, user.name)
        if not seated:
            raise _no_room()
        return Visit(owner=self._owner, name=user.name, role=user.role.value, refusals=self._refusals)

    def _require_still(self, visit: Visit, token: str) -> None:
        """A token that was withdrawn counts no longer, also on a connection that is open."""
        user = self._owner.keeper.user_of(token)
        if user is None or (user.name, user.role.value) != (visit.name, visit.role):
            raise _unknown_token()


def _token_of(request: Message) -> str:
    token = request.get("token")
    if set(request) != {"do", "token"} or request["do"] != "hello" or not isinstance(token, str):
        raise _nobody('say {"do": "hello", "token": "…"} first; the owner makes a token with `dpsql user token NAME`')
    return token


def _unknown_token() -> NotPermitted:
    return _nobody("it is unknown or was withdrawn: ask the owner for a new one (`dpsql user token NAME`)")


def _nobody(fix: str) -> NotPermitted:
    return NotPermitted(
        "nobody is known by this token", why="who asks decides what may be asked, and whose budget pays", fix=fix
    )


def _no_room() -> NotPermitted:
    return NotPermitted(
        "too many are connected, or too many of your own",
        why="each of them takes memory and time of the others, and nobody may have all of them",
        fix="close some of your own, or try again later",
    )


def _a_bug() -> InternalError:
    return InternalError(
        "the server could not answer",
        why="details could tell about rows, so they are not told",
        fix="report the request to the owner of the data; what was charged stays charged",
    )
