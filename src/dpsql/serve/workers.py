"""Worker processes: each answers one request at a time, so that planning uses every core and a request can be stopped.

The server never forks itself, because it has threads. A small process that is forked before the first thread starts
(`Nursery`) forks a worker whenever one is needed. A worker opens data and ledger on its own; the books are kept by the
ledger, which any number of processes may share.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final, NoReturn, TypeAlias

from dpsql import Owner
from dpsql.errors import DpsqlError, EngineFailed, NoSource, OutOfTime
from dpsql.interruption import forget, interrupt
from dpsql.points import EVENT, Point
from dpsql.require import require_count
from dpsql.serve.methods import Visit, reply_to
from dpsql.serve.wire import Message, encoded, error_to_wire

Opened: TypeAlias = Callable[[], Owner]
_STOP: Final = signal.SIGUSR1
_GRACE: Final = 5.0  # seconds in which a worker must notice that its request has ended
_STORING, _STORED = "storing", "stored"
_MOST: Final = 256
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


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

    reply: bytes
    code: str | None
    """Of an error."""
    session: object
    seconds: float
    """Processor time up to the charge; of a request that charges nothing, all of it."""
    memory: int = 0
    """Bytes that the worker holds afterwards."""


def out_of_time() -> OutOfTime:
    """The deadline of a request, before anything was charged."""
    return OutOfTime(
        "the request was stopped at its deadline",
        why="one deadline covers planning, the statement and its answer. Nothing was spent",
        fix="ask for less at once; the owner sets the deadline: dpsql serve --timeout, or timeout in the policy",
    )


def stopped_after_charge() -> EngineFailed:
    """The deadline of a request that is charged: the same words for every reason."""
    return EngineFailed(
        "the engine did not finish this statement",
        why="the reason could depend on rows, so it is the same sentence for every reason",
        fix="run the same query again: the charge stands, and it is not charged twice",
    )


# In the worker


class _Progress:
    """How far the request is, heard from the points of the pipeline."""

    def __init__(self, channel: Connection) -> None:
        self._channel = channel
        self.running = False
        self.charged_at: float | None = None
        sys.addaudithook(self._heard)

    def begin(self) -> None:
        forget()
        self.charged_at, self.running = None, True

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if event != EVENT or not self.running:
            return
        if arguments[0] == Point.CHARGING.name and self.charged_at is None:
            self.charged_at = time.process_time()
        elif arguments[0] == Point.READ.name:
            self._channel.send(_STORING)
        elif arguments[0] == Point.STORED.name:
            self._channel.send(_STORED)

    def stop(self, *_: object) -> None:
        """The handler of the signal that ends a request."""
        if self.running:
            interrupt()


def work(channel: Connection, opened: Opened) -> None:
    """Answer tasks until the server closes the channel."""
    progress = _Progress(channel)
    signal.signal(_STOP, progress.stop)
    try:
        owner = opened()
    except DpsqlError as error:
        channel.send(error)
        return
    with owner:
        channel.send(hashlib.sha256(repr(owner.catalog).encode()).hexdigest())
        with suppress(EOFError, OSError):
            while True:
                channel.send(_done(owner, channel.recv(), progress))


def _done(owner: Owner, task: Task, progress: _Progress) -> Done:
    begun = time.process_time()
    visit = Visit(owner=owner, name=task.name, role=task.role, session=task.session)
    try:
        progress.begin()
        reply = reply_to(visit, task.request)
        line = encoded(reply)
        progress.running = False
    except KeyboardInterrupt:
        progress.running = False
        reply = error_to_wire(out_of_time() if progress.charged_at is None else stopped_after_charge())
        line = encoded(reply)
    spent = (progress.charged_at or time.process_time()) - begun
    return Done(reply=line, code=_code(reply), session=visit.session_now, seconds=spent, memory=_memory())


def done_here(visit: Visit, request: Message) -> Done:
    """The same in the process of the server, where nothing but the engine can stop it."""
    begun = time.thread_time()
    reply = reply_to(visit, request)
    spent = time.thread_time() - begun
    return Done(reply=encoded(reply), code=_code(reply), session=visit.session_now, seconds=spent)


def _code(reply: Message) -> str | None:
    return reply["error"]["code"] if "error" in reply else None


def _memory() -> int:
    with suppress(OSError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE
    return 0


# In the server


class Nursery:
    """The process that forks workers. Make it before the first thread of this process."""

    def __init__(self, opened: Opened) -> None:
        self._lock = threading.Lock()
        self._line, theirs = socket.socketpair()
        if not os.fork():
            self._line.close()
            _fork_workers(theirs, opened)
        theirs.close()

    def worker(self) -> tuple[Connection, int]:
        """A new worker: the channel to it, and its process. Its first message says that it is ready."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            socket.send_fds(self._line, [b"w"], [theirs.fileno()])
            process = int(self._line.recv(32))
        return Connection(ours.detach()), process

    def close(self) -> None:
        """End it. Workers end with their channels."""
        self._line.close()


def _fork_workers(line: socket.socket, opened: Opened) -> NoReturn:
    os.setsid()  # Ctrl-C in a terminal is for the server alone
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)  # it ends with the server
    code = 1
    try:
        while True:
            word, files, _, _ = socket.recv_fds(line, 1, 1)
            if not word:
                break
            process = os.fork()
            if not process:
                line.close()
                work(Connection(files[0]), opened)
                break
            os.close(files[0])
            line.sendall(f"{process}".encode())
        code = 0
    except (BrokenPipeError, ConnectionResetError):
        code = 0  # the server has ended
    except Exception as error:  # its words could tell about rows
        sys.stderr.write(f"a worker has ended: {type(error).__name__}\n")
    finally:
        os._exit(code)  # nothing of the process it was forked from is to be cleaned up here


@dataclass(slots=True, eq=False)
class Worker:
    """The server's side of one worker process."""

    channel: Connection
    process: int
    storing: bool = False

    def end(self, *, kill: bool = False) -> None:
        if kill:
            with suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)
        self.channel.close()

    def signal(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.process, _STOP)

    def reply(self, within: float) -> Done | None:
        """What it has done; None where it is not done yet. EOFError where it has died."""
        until = time.monotonic() + within
        while self.channel.poll(max(0.0, until - time.monotonic())):
            told = self.channel.recv()
            if isinstance(told, Done):
                return told
            self.storing = told == _STORING
        return None


class Workers:
    """At most `most` processes. Whoever holds k of them gets another one only while more than k are free; among those
    who wait, whoever holds the fewest goes first."""

    def __init__(self, opened: Opened, most: int, *, memory: int) -> None:
        """`opened` is called in each worker; make this before the first thread of the process. A worker that holds more
        than `memory` bytes after a request is replaced."""
        require_count(workers=most, at_most=_MOST)
        self._nursery, self._most, self._memory = Nursery(opened), most, memory
        self._changed = threading.Condition()
        self._idle: list[Worker] = []
        self._lent: set[Worker] = set()
        self._held: dict[str, int] = {}
        self._waiting: list[str] = []
        self._catalog: str | None = None
        """A digest of what the first worker was opened with: all of them answer under one policy."""

    def start(self) -> None:
        """Start one worker, and the others while it works; an error that keeps all from starting is raised here."""
        self._returned(self._new())
        threading.Thread(target=self._start_others, daemon=True).start()

    def _start_others(self) -> None:
        with suppress(DpsqlError, OSError, EOFError):  # a request that needs a worker tries again, and reports it
            while len(self._idle) + sum(self._held.values()) < self._most:
                self._returned(self._new())

    def _returned(self, worker: Worker) -> None:
        """Keep a worker for the next request, unless there are enough."""
        with self._changed:
            if len(self._idle) + sum(self._held.values()) < self._most:
                self._idle.append(worker)
                return
        worker.end()

    def close(self) -> None:
        """End all workers; one that stores a drawn value ends by itself afterwards."""
        for worker in (*self._idle, *self._lent):
            worker.end(kill=not worker.storing)
        self._nursery.close()

    @contextmanager
    def borrowed(self, name: str, *, give_up: Callable[[], bool], tick: float) -> Iterator[Worker | None]:
        """A worker for a request of `name`; None where `give_up` says so before one is free."""
        if not self._taken(name, give_up, tick):
            yield None
            return
        worker = None
        try:
            worker = self._idle_one() or self._new()
            self._lent.add(worker)
            yield worker
        except BaseException:
            if worker is not None:
                worker.end(kill=not worker.storing)
            raise
        finally:
            with self._changed:
                self._held[name] -= 1
                self._lent.discard(worker)
            if worker is not None and not worker.channel.closed:
                self._returned(worker)
            with self._changed:
                self._changed.notify_all()

    def _idle_one(self) -> Worker | None:
        with self._changed:
            return self._idle.pop() if self._idle else None

    def _taken(self, name: str, give_up: Callable[[], bool], tick: float) -> bool:
        with self._changed:
            self._waiting.append(name)
            try:
                while not self._may_have(name):
                    if give_up():
                        return False
                    self._changed.wait(tick)
                self._held[name] = self._held.get(name, 0) + 1
                return True
            finally:
                self._waiting.remove(name)
                self._changed.notify_all()

    def _may_have(self, name: str) -> bool:
        held = self._held.get(name, 0)
        free = self._most - sum(self._held.values())
        return held < free and all(held <= self._held.get(other, 0) for other in self._waiting)

    def _new(self) -> Worker:
        channel, process = self._nursery.worker()
        try:
            told = channel.recv()
        except (EOFError, OSError):
            channel.close()
            raise NoSource(
                "no worker process can be started", why="a worker answers each request", fix="look at the server's log"
            ) from None
        if isinstance(told, DpsqlError):
            channel.close()
            raise told
        self._catalog = self._catalog or told
        if told != self._catalog:
            channel.close()
            raise _changed()
        return Worker(channel=channel, process=process)

    def answer(self, task: Task, *, require: Callable[[], None], over: Callable[[], bool], tick: float) -> Done:
        """The reply to a task. `require` raises where it may not begin, once a worker is free; `over`: its deadline has
        passed, or its client is gone."""
        begun = time.monotonic()
        with self.borrowed(task.name, give_up=over, tick=tick) as worker:
            if worker is None:
                return _not_answered(task, out_of_time(), seconds=0.0)
            try:
                require()
                worker.channel.send(task)
                done = self._awaited(worker, over, tick)
            except DpsqlError as error:
                return _not_answered(task, error, seconds=0.0)
            except (EOFError, OSError):
                done = None
            if done is None or done.memory > self._memory:
                worker.end(kill=done is None)
        return done or _not_answered(task, stopped_after_charge(), seconds=time.monotonic() - begun)

    def _awaited(self, worker: Worker, over: Callable[[], bool], tick: float) -> Done | None:
        """What the worker has done. None: it did not notice that the request is over."""
        while not over():
            done = worker.reply(tick)
            if done is not None:
                return done
        worker.signal()
        until = time.monotonic() + _GRACE
        while worker.storing or time.monotonic() < until:  # a drawn value is stored, whatever the clock says
            done = worker.reply(tick)
            if done is not None:
                return done
        return None


def _changed() -> NoSource:
    return NoSource(
        "the policy, the schema or the data version has changed under the server",
        why="all requests are answered under the policy that the server was started with",
        fix="have the owner start the server again",
    )


def _not_answered(task: Task, error: DpsqlError, *, seconds: float) -> Done:
    return Done(reply=encoded(error_to_wire(error)), code=error.code, session=task.session, seconds=seconds)
