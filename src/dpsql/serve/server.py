"""The server: one thread per connection, every wait bounded, and no request that ends it."""

from __future__ import annotations

import math
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Final

from dpsql import Owner
from dpsql.errors import NO_REFUSALS, BadParameter, DpsqlError, NotPermitted, OutOfTime
from dpsql.require import require_count, require_seconds
from dpsql.serve import wire
from dpsql.serve.listening import Lobby, Seats, is_gone, listening, require_mode
from dpsql.serve.methods import ANALYST, Visit, a_bug, is_question
from dpsql.serve.wire import Message
from dpsql.serve.workers import Done, Task, Workers, done_here

_TICK: Final = 0.1  # seconds: how often a wait looks whether it should stop
_SHARE: Final = 0.6  # of the patience: for requests to finish once the server is stopped; the rest is to stop them
_MOST_CONNECTIONS: Final = 1000
_MOST_REFUSALS: Final = 1_000_000
_MINUTE: Final = 60.0
_HOUR: Final = 3600.0
_NO_REFUSALS: Final = frozenset(kind.code for kind in NO_REFUSALS)


class TimeBudgets:
    """A bucket for each name. It holds `seconds`, and refills within a minute; a request is charged what it took, and
    is refused while the bucket is empty."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}
        """What was left of each, and when."""

    def require(self, name: str) -> None:
        """Raises where nothing is left."""
        with self._lock:
            left = self._now(name)
        if left > 0:
            return
        wait = 1 + int(-left * _MINUTE / self._seconds)
        raise OutOfTime(
            f"your requests have used {self._seconds:g} seconds of processor time within a minute",
            why="prices, explanations and plans cost no budget, so their time is limited; others wait for it",
            fix=f"ask again in {wait} s; the owner sets the limit: dpsql serve --planning",
        )

    def spend(self, name: str, seconds: float) -> None:
        with self._lock:
            self._left[name] = self._now(name) - seconds, self._clock()

    def _now(self, name: str) -> float:
        left, when = self._left.get(name, (self._seconds, 0.0))
        return min(self._seconds, left + (self._clock() - when) * self._seconds / _MINUTE)


class Refusals:
    """Of each holder of a token the last ones, `most` of them within an hour. One more question is then refused without
    an entry, until the first of them is an hour old: nobody may fill the disk with what costs nothing."""

    def __init__(self, most: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._lock = threading.Lock()
        self._last: dict[str, deque[float]] = {}

    def require_few(self, name: str) -> None:
        """Raises where too many questions of `name` were refused."""
        with self._lock:
            last = self._last.get(name)
            many = last is not None and len(last) == self._most and self._clock() - last[0] < _HOUR
        if many:
            raise NotPermitted(
                f"{self._most} of your questions were refused within an hour",
                why="each refusal is written down, and the ledger must not be filled by questions that cost nothing",
                fix="look at why they were refused, and ask again in an hour",
            )

    def count(self, name: str, code: str | None) -> None:
        """A question of `name` has ended in an error of this code; None: it was answered."""
        if code is None or code in _NO_REFUSALS:
            return
        with self._lock:
            self._last.setdefault(name, deque(maxlen=self._most)).append(self._clock())


class SocketServer:
    """Answers clients on a UNIX socket for the owner of data and ledger.

    mode         of the socket file: who may connect at all
    connections  how many tokens' connections at once; one more is refused, and so is one more of a token with too many
    patience     seconds in which a request must have come whole, a reply be taken, a new client say hello, and a server
                 that is stopped end
    idle         seconds after which a silent connection is closed
    refusals     how many refusals within an hour are written down for one holder of a token; then they wait
    timeout      seconds for one request of an analyst, from its last byte to its reply; None: as long as it takes
    planning     seconds of processor time within a minute for one analyst, charges aside
    workers      the processes that answer. None: this one does, for clients who are trusted with its time and memory:
                 no request can be ended, and the time of statements counts for nobody
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
        timeout: float | None = None,
        planning: float = 15.0,
        workers: Workers | None = None,
    ) -> None:
        require_count(connections=connections, at_most=_MOST_CONNECTIONS)
        require_count(refusals=refusals, at_most=_MOST_REFUSALS)
        require_mode(mode)
        require_seconds(patience=patience, idle=idle, planning=planning)
        if timeout is not None:
            require_seconds(timeout=timeout)
            if workers is None:
                raise BadParameter(
                    "timeout needs workers",
                    why="a request can be ended only with the process that answers it",
                    fix="use dpsql serve, or give workers; statements alone end by dpsql.open(…, timeout=…)",
                )
        self._owner, self._path, self._mode = owner, Path(path).absolute(), mode
        self._patience, self._idle = float(patience), float(idle)
        self._timeout = math.inf if timeout is None else float(timeout)
        self._lobby, self._seats, self._refusals = Lobby(), Seats(connections), Refusals(refusals)
        self._times, self._workers = TimeBudgets(float(planning)), workers
        self._stopped_at = math.inf
        self._lock = threading.Lock()
        self._live: dict[socket.socket, threading.Thread] = {}

    def serve(self, *, ready: Callable[[], object] | None = None) -> None:
        """Answer until `stop`; then requests that are being answered are finished, those that take too long are
        stopped, and the socket file is removed. `ready` is called once clients can connect."""
        with listening(self._path, mode=self._mode) as listener:
            listener.settimeout(_TICK)
            if ready is not None:
                ready()
            while not self._is_stopped:
                try:
                    self._welcome(listener.accept()[0])
                except TimeoutError:
                    continue  # nobody came
                except (OSError, RuntimeError):  # too many files or threads: some will end
                    time.sleep(_TICK)
            self._dismiss()

    def stop(self) -> None:
        """Let `serve` end. May be called from a signal handler or another thread."""
        self._stopped_at = time.monotonic()  # no lock: the thread that a signal stops may hold it

    @property
    def _is_stopped(self) -> bool:
        return self._stopped_at < math.inf

    def _welcome(self, connection: socket.socket) -> None:
        with self._lock:
            out = self._lobby.enter(connection)
            thread = threading.Thread(target=self._attend, args=(connection,), daemon=True)
            self._live[connection] = thread
        if out is not None:
            with suppress(OSError):
                out.shutdown(socket.SHUT_RDWR)  # its own thread closes it
        try:
            thread.start()
        except BaseException:
            self._leave(connection)
            connection.close()
            raise

    def _leave(self, connection: socket.socket) -> None:
        with self._lock:
            del self._live[connection]
            self._lobby.leave(connection)
            self._seats.leave(connection)

    def _dismiss(self) -> None:
        """No further request is read; those that were read are answered, or stopped."""
        with self._lock:
            live = dict(self._live)
        for connection in live:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        until = self._stopped_at + self._patience
        for thread in live.values():
            thread.join(max(0.0, until - time.monotonic()))

    def _attend(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(wire.Gone, wire.TooSlow):
                self._converse(connection, wire.Lines(connection, wire.LONGEST_REQUEST))
        finally:
            self._leave(connection)

    def _converse(self, connection: socket.socket, lines: wire.Lines) -> None:
        visit, token = None, ""
        while not self._is_stopped:
            try:
                first = self._patience if visit is None else self._idle
                request = wire.decoded(lines.next(first_byte_within=first, rest_within=self._patience))
                if visit is None:
                    with self._lock:
                        self._lobby.leave(connection)
                    token = _token_of(request)
                    visit = self._recognised(connection, token)
                    told: Message = {"ok": {"name": visit.name, "role": visit.role, "protocol": wire.PROTOCOL}}
                else:
                    self._require_still(visit, token)
                    self._answer(visit, request, lines)
                    continue
            except wire.TooLong:
                lines.send(wire.error_to_wire(wire.not_understood()), within=self._patience)
                return  # where the next request begins is not known
            except DpsqlError as error:
                told = wire.error_to_wire(error)
            except (wire.Gone, wire.TooSlow):
                raise
            except Exception:  # whatever it is: its words could tell about rows
                told = wire.error_to_wire(a_bug())
            lines.send(told, within=self._patience)
            if visit is None:
                return

    def _answer(self, visit: Visit, request: Message, lines: wire.Lines) -> None:
        question, analyst = is_question(request), visit.role == ANALYST
        if question:
            self._refusals.require_few(visit.name)
        require = partial(self._times.require, visit.name) if analyst else _nothing
        require()
        until = time.monotonic() + (self._timeout if analyst else math.inf)
        with self._done(visit, request, lines.connection, until, require) as done:
            if analyst:
                self._times.spend(visit.name, done.seconds)
            if question:
                self._refusals.count(visit.name, done.code)
            visit.session = done.session
            lines.send_line(done.reply, within=self._patience)

    def _done(
        self,
        visit: Visit,
        request: Message,
        connection: socket.socket,
        until: float,
        require: Callable[[], None],
    ) -> AbstractContextManager[Done]:
        if self._workers is None:
            return nullcontext(done_here(visit, request))
        task = Task(name=visit.name, role=visit.role, session=visit.session, request=request)

        def over() -> bool:
            late = time.monotonic() > min(until, self._stopped_at + _SHARE * self._patience)
            return late or is_gone(connection)

        return self._workers.answering(task, require=require, over=over, tick=_TICK)

    def _recognised(self, connection: socket.socket, token: str) -> Visit:
        user = self._owner.keeper.user_of(token)
        if user is None:
            raise _unknown_token()
        with self._lock:
            seated = self._seats.take(connection, user.name)
        if not seated:
            raise NotPermitted(
                "too many are connected, or too many of your own",
                why="each of them takes memory and time of the others, and nobody may have all of them",
                fix="close some of your own, or try again later",
            )
        return Visit(owner=self._owner, name=user.name, role=user.role.value)

    def _require_still(self, visit: Visit, token: str) -> None:
        """A token that was withdrawn counts no longer, also on a connection that is open."""
        user = self._owner.keeper.user_of(token)
        if user is None or (user.name, user.role.value) != (visit.name, visit.role):
            raise _unknown_token()


def _nothing() -> None:
    """Owners and auditors have no time budget."""


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
