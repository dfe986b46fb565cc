"""Worker processes: each answers one request at a time, so that planning uses every core and a request can be ended.

A request that takes too long is ended with its worker, which is replaced: nothing of it is left behind, whatever it was
doing. Only while a charge is written, and from the draw to the store, a worker cannot be ended (DESIGN rule 2).

The server never forks itself, because it has threads. A small process that is forked before the first thread starts
(`Nursery`) forks the workers, and ends them when the server has ended. A worker opens data and ledger on its own; the
books are kept by the ledger, which any number of processes may share.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Final, NoReturn, TypeAlias

from dpsql import Owner
from dpsql.errors import DpsqlError, EngineFailed, NoSource, OutOfTime
from dpsql.points import EVENT, Point
from dpsql.require import require_count
from dpsql.serve.methods import Visit, reply_to
from dpsql.serve.wire import Gone, Message, encoded, error_to_wire

Opened: TypeAlias = Callable[[], Owner]
_END: Final = signal.SIGUSR2
"""Ends a worker at once, by the system and without a handler; is ignored where a worker may not be ended."""
_MAY_END: Final = {
    Point.CHARGING.name: False,
    Point.CHARGED.name: True,
    Point.RUNNING.name: True,  # also after a step that failed between the two points below
    Point.READ.name: False,
    Point.STORED.name: True,
}
"""Whether a worker may be ended from this point of the pipeline on. Rule 2 of the design rests on it: no deadline falls
between draw and store, and a charge is written and reported, or neither."""
_MOST: Final = 256
_TICK: Final = 0.02  # seconds between two looks whether all workers have ended
_CLOSING: Final = 0.5  # seconds in which a worker that does nothing ends by itself
_OPENING: Final = 60.0  # seconds in which a worker must have opened data and ledger
_START: Final = 0.1  # seconds of processor time that a new worker takes
_STARTING: Final = ""  # holds the workers that have never been there; no token has this name
_RETRY: Final = 0.5  # seconds after which a worker is tried again that could not be started
_SHORT: Final = 0.02  # seconds in which most requests are answered
_CORES: Final = os.cpu_count() or 1
_PIECE: Final = 65_536  # bytes of a reply that the server holds at once
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One request of a client."""

    name: str
    role: str
    session: object
    """What the connection has SET."""
    request: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The reply to a request, and what it took."""

    reply: Iterable[bytes]
    """One line, in pieces: a worker keeps those of a long one until they are taken."""
    size: int = 0
    """Bytes of what a worker replies."""
    code: str | None
    """Of an error."""
    session: object
    seconds: float
    """Processor time up to the charge; of a request that charges nothing, all of it."""
    processor: float = 0.0
    """Processor time of the worker since it was started."""
    memory: int = 0
    """Bytes that the worker holds afterwards."""


def out_of_time() -> OutOfTime:
    """The deadline of a request, before anything was charged."""
    return OutOfTime(
        "the request was stopped at its deadline",
        why="one deadline covers planning, the statement and its answer. Nothing was spent",
        fix="ask for less at once; the owner sets the deadline: dpsql serve --timeout, or timeout in the policy",
    )


def not_finished() -> EngineFailed:
    """A request that is charged and was stopped at its deadline, or whose worker has died: the same words for every
    reason."""
    return EngineFailed(
        "the engine did not finish this statement",
        why="the reason could depend on rows, so it is the same sentence for every reason",
        fix="run the same query again: a charge that was written stands, and is not written twice",
    )


# In the worker


class _Progress:
    """Follows the points of the pipeline: what a request took up to its charge, and whether it may be ended now."""

    def __init__(self, channel: Connection) -> None:
        self._channel = channel
        self._begun = 0.0
        self.charged: float | None = 0.0
        sys.addaudithook(self._heard)

    def begin(self) -> None:
        self._begun, self.charged = time.process_time(), None

    def end(self) -> float:
        """The processor time that counts."""
        signal.signal(_END, signal.SIG_DFL)
        return time.process_time() - self._begun if self.charged is None else self.charged

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if event != EVENT:
            return
        point = str(arguments[0])
        if point == Point.CHARGED.name and self.charged is None:
            self.charged = time.process_time() - self._begun
            self._channel.send(self.charged)
        if point in _MAY_END:
            signal.signal(_END, signal.SIG_DFL if _MAY_END[point] else signal.SIG_IGN)


def work(channel: Connection, opened: Opened) -> None:
    """Answer tasks until the server closes the channel."""
    signal.signal(_END, signal.SIG_DFL)
    progress = _Progress(channel)
    try:
        owner = opened()
    except DpsqlError as error:
        channel.send(error)
        return
    with owner, suppress(EOFError, OSError):
        channel.send(hashlib.sha256(repr(owner.catalog).encode()).hexdigest())
        while True:
            line, done = _done(owner, channel.recv(), progress)
            channel.send(done)
            for start in range(0, len(line), _PIECE):
                channel.send_bytes(line, start, min(_PIECE, len(line) - start))


def _done(owner: Owner, task: Task, progress: _Progress) -> tuple[bytes, Done]:
    """The reply, and what the server has to know of it."""
    progress.begin()
    visit = Visit(owner=owner, name=task.name, role=task.role, session=task.session)
    reply = reply_to(visit, task.request)
    line = encoded(reply)
    return line, Done(
        reply=(),
        size=len(line),
        code=_code(reply),
        session=visit.session_now,
        seconds=progress.end(),
        processor=time.process_time(),
        memory=_memory(),
    )


def done_here(visit: Visit, request: Message) -> Done:
    """The same in the process of the server, where nothing but the engine can stop it."""
    begun = time.thread_time()
    reply = reply_to(visit, request)
    spent = time.thread_time() - begun
    return Done(reply=(encoded(reply),), code=_code(reply), session=visit.session_now, seconds=spent)


def _code(reply: Message) -> str | None:
    return reply["error"]["code"] if "error" in reply else None


def _memory() -> int:
    with suppress(OSError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE
    return 0


# In the process that forks


class Nursery:
    """The process that forks workers. Make it before the first thread of this process."""

    def __init__(self, opened: Opened) -> None:
        self._line, theirs = socket.socketpair()
        if not os.fork():
            self._line.close()
            _fork_workers(theirs, opened)
        theirs.close()

    def worker(self) -> tuple[Connection, int]:
        """A new worker: the channel to it, and its process. Its first message says that it is ready."""
        try:
            ours, theirs = socket.socketpair()
        except OSError:  # too many open files: some will be closed
            raise _not_started() from None
        process = 0
        with theirs, suppress(OSError):
            socket.send_fds(self._line, [b"w"], [theirs.fileno()])
            process = int(self._line.recv(32) or 0)
        if not process:
            ours.close()
            raise _not_started()
        return Connection(ours.detach()), process

    def close(self) -> None:
        """End it, and with it all workers; one that stores a drawn value ends afterwards."""
        self._line.close()


def _fork_workers(line: socket.socket, opened: Opened) -> NoReturn:
    os.setsid()  # Ctrl-C in a terminal is for the server alone
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for each in (signal.SIGTERM, signal.SIGINT, _END):
        signal.signal(each, signal.SIG_IGN)  # it ends with the server
    code = 1
    try:
        with suppress(BrokenPipeError, ConnectionResetError):
            while _forked_one(line, opened):
                pass
        code = 0
    except Exception as error:  # its words could tell about rows
        sys.stderr.write(f"a worker has ended: {type(error).__name__}\n")
    finally:
        os._exit(code)  # nothing of the process it was forked from is to be cleaned up here


def _forked_one(line: socket.socket, opened: Opened) -> bool:
    """Fork a worker when the server wants one; whether to go on."""
    word, files, _, _ = socket.recv_fds(line, 1, 1)
    if not word:
        _end_workers()
        return False
    try:
        process = os.fork()
    except OSError:  # too many processes, or too little memory: the server tries again
        os.close(files[0])
        line.sendall(b"0")
        return True
    if not process:
        line.close()
        work(Connection(files[0]), opened)
        return False
    os.close(files[0])
    line.sendall(f"{process}".encode())
    return True


def _end_workers() -> None:
    """The server has ended: so do those who wait for it, and those who still work."""
    until = time.monotonic() + _CLOSING
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG):  # raises once there is none
            time.sleep(_TICK)
            if time.monotonic() > until:
                os.killpg(0, _END)


# In the server


@dataclass(slots=True, eq=False)
class Worker:
    """The server's side of one worker process."""

    channel: Connection
    process: int
    processor: float = 0.0
    """Processor time that it had used when its last request was done."""
    charged: float | None = None
    """Processor time of this request up to its charge; None: nothing is charged."""

    @property
    def is_alive(self) -> bool:
        """Of one that waits for a task: it says nothing unless it has died."""
        return not self.channel.poll(0)

    def answer(self, task: Task, *, over: Callable[[], bool], tick: float) -> Done | float:
        """What it has done; or the processor time it took, where it was ended because the request is over, or died."""
        begun, spent = time.monotonic(), None
        self.charged = None
        with suppress(EOFError, OSError):
            self.channel.send(task)
            while not over():
                if (done := self._reply(tick)) is not None:
                    return done
            spent, wait = self._used(), 0.0
            while (done := self._reply(wait)) is None:  # what is done already is delivered
                self._end()  # a charge, or a drawn value, is stored first
                wait = tick
            return done
        return time.monotonic() - begun if spent is None else spent

    def _reply(self, within: float) -> Done | None:
        until = time.monotonic() + within
        while self.channel.poll(max(0.0, until - time.monotonic())):
            told = self.channel.recv()
            if isinstance(told, Done):
                self.processor = told.processor
                return replace(told, reply=self._pieces(told.size))
            self.charged = told
        return None

    def _pieces(self, size: int) -> Iterator[bytes]:
        try:
            while size:
                piece = self.channel.recv_bytes()
                size -= len(piece)
                yield piece
        except (EOFError, OSError):  # in the middle of a line, where nothing else can be told
            raise Gone from None

    def _end(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.process, _END)

    def _used(self) -> float | None:
        """Processor time since its last request; None where the system does not tell."""
        with suppress(OSError), open(f"/proc/{self.process}/stat", "rb") as file:
            user, system = file.read().rpartition(b")")[2].split()[11:13]
            return (int(user) + int(system)) / _TICKS - self.processor
        return None


class Workers:
    """`most` processes. Whoever holds k of them gets another one only while more than k are free; among those who wait,
    whoever holds the fewest goes first, and of these whoever was given one the longest ago. Whoever has lost a worker
    holds it until it is replaced.

    Of requests that have just begun, only as many are answered at a time as there are cores: most take milliseconds,
    and more at a time would only take turns, each with caches that the others have filled. One that takes longer keeps
    nobody waiting.
    """

    def __init__(self, opened: Opened, most: int, *, memory: int) -> None:
        """`opened` is called in each worker; make this before the first thread of the process. A worker that holds more
        than `memory` bytes after a request is replaced."""
        require_count(workers=most, at_most=_MOST)
        self._nursery, self._memory = Nursery(opened), memory
        self._lock = threading.Lock()
        self._freed = threading.Condition(self._lock)
        """For those who wait for a worker."""
        self._missing = threading.Condition(self._lock)
        """For the thread that replaces workers."""
        self._idle: list[Worker] = []
        self._begun: dict[Worker, float] = {}
        """When each of those that work was given its request."""
        self._given: dict[str, float] = {}
        """When each name was given a worker last."""
        self._held: Counter[str] = Counter({_STARTING: most})
        self._lost = [_STARTING] * most
        """Who holds each of the workers that are not there."""
        self._waiting: list[str] = []
        self._failure: DpsqlError | None = None
        """Why the last worker could not be started."""
        self._catalog: str | None = None
        """A digest of what the first worker was opened with: all of them answer under one policy."""
        self._closed = False

    def start(self) -> None:
        """Start one worker, and the others while it works; an error that keeps all from starting is raised here."""
        self._replace()
        threading.Thread(target=self._replace_all, daemon=True).start()

    def close(self) -> None:
        """End all workers; one that stores a drawn value ends afterwards."""
        self._nursery.close()
        with self._lock:
            self._closed = True
            self._freed.notify_all()
            self._missing.notify_all()
            for worker in self._idle:
                worker.channel.close()

    @contextmanager
    def answering(
        self, task: Task, *, require: Callable[[], None], over: Callable[[], bool], tick: float
    ) -> Iterator[Done]:
        """The reply to a task; its worker is held until it is taken. `require` raises where it may not begin, once a
        worker is free; `over`: its deadline has passed, or its client is gone."""
        worker = self._taken(task.name, over, tick)
        if worker is None:
            yield _not_answered(task, out_of_time(), seconds=0.0)
            return
        keep = True
        try:
            require()
            keep = False
            done = worker.answer(task, over=over, tick=tick)
            if isinstance(done, Done) and done.code == EngineFailed.code and worker.charged is None and over():
                done = done.seconds  # its engine has a limit of its own, and was a moment faster than the deadline
            elif isinstance(done, Done):
                try:
                    yield done
                finally:
                    deque(done.reply, maxlen=0)  # what was not taken
                    keep = done.memory <= self._memory
                return
        finally:
            self._returned(worker, task.name, keep=keep)
        if worker.charged is None and over():
            yield _not_answered(task, out_of_time(), seconds=done + _START)
        else:
            used = done + _START if worker.charged is None else worker.charged
            yield _not_answered(task, not_finished(), seconds=used)

    def _taken(self, name: str, give_up: Callable[[], bool], tick: float) -> Worker | None:
        """A worker for a request of `name`; None where `give_up` says so before one is free."""
        with self._lock:
            self._waiting.append(name)
            try:
                while not give_up():
                    if self._failure is not None and self._lost.count(name) >= self._living:
                        raise self._failure.with_traceback(None)  # none would be theirs, if all of these were idle
                    full = self._full_for()
                    if full or not self._may_have(name):
                        self._freed.wait(min(full or tick, tick))
                        continue
                    worker = self._idle.pop()
                    self._held[name] += 1
                    if worker.is_alive:
                        self._begun[worker] = self._given[name] = time.monotonic()
                        return worker
                    self._lose(worker, name)
                return None
            finally:
                self._waiting.remove(name)
                self._freed.notify_all()

    def _may_have(self, name: str) -> bool:
        turn = self._turn_of(name)
        return self._held[name] < len(self._idle) and all(turn <= self._turn_of(other) for other in self._waiting)

    @property
    def _living(self) -> int:
        return len(self._idle) + self._held.total() - len(self._lost)

    def _turn_of(self, name: str) -> tuple[int, float]:
        return self._held[name], self._given.get(name, 0.0)

    def _full_for(self) -> float:
        """Seconds until one more request may begin beside those that have just begun."""
        now = time.monotonic()
        new = [begun for begun in self._begun.values() if now - begun < _SHORT]
        return 0.0 if len(new) < _CORES else min(new) + _SHORT - now

    def _returned(self, worker: Worker, name: str, *, keep: bool) -> None:
        with self._lock:
            del self._begun[worker]
            if keep:
                self._idle.append(worker)
                self._held[name] -= 1
            else:
                self._lose(worker, name)
            self._freed.notify_all()

    def _lose(self, worker: Worker, name: str) -> None:
        worker.channel.close()  # it ends when it finds that
        self._lost.append(name)
        self._missing.notify()
        self._freed.notify_all()  # whoever has lost one goes later

    def _replace_all(self) -> None:
        """Start a worker for each that is lost, for as long as the server lives."""
        failed = 0
        while True:
            with self._lock:
                self._missing.wait_for(lambda: self._lost or self._closed)
                if self._closed:
                    return
            try:
                self._replace()
                failed = 0
            except DpsqlError as error:
                failed += 1
                if failed > 1:  # else it may have been ended from outside
                    with self._lock:
                        self._failure = error
                        self._freed.notify_all()
                time.sleep(_RETRY)

    def _replace(self) -> None:
        worker = self._new()
        with self._lock:
            self._held[self._lost.pop(0)] -= 1
            self._idle.insert(0, worker)  # those that have answered before are faster
            self._failure = None
            self._freed.notify_all()

    def _new(self) -> Worker:
        channel, process = self._nursery.worker()
        worker = Worker(channel=channel, process=process)
        told: object = None
        with suppress(EOFError, OSError):
            if channel.poll(_OPENING):
                told = channel.recv()
        if isinstance(told, str):
            self._catalog = self._catalog or told
            if told == self._catalog:
                return worker
        channel.close()
        if isinstance(told, DpsqlError):
            raise told
        raise _not_started() if told is None else _changed()


def _not_started() -> NoSource:
    return NoSource(
        "no worker process can be started", why="a worker answers each request", fix="look at the server's log"
    )


def _changed() -> NoSource:
    return NoSource(
        "the policy, the schema or the data version has changed under the server",
        why="all requests are answered under the policy that the server was started with",
        fix="have the owner start the server again",
    )


def _not_answered(task: Task, error: DpsqlError, *, seconds: float) -> Done:
    return Done(reply=(encoded(error_to_wire(error)),), code=error.code, session=task.session, seconds=seconds)
