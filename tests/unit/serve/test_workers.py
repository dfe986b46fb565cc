"""The processes that answer requests: when one may be ended; what keeps one from starting is over some time later."""

import errno
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from types import SimpleNamespace

import pytest

from dpsql.errors import NoSource
from dpsql.serve import workers
from tests.kits.refusals import raised


class Line:
    """Stands for the line to the process that forks."""

    def close(self):
        pass


def test_a_worker_that_gets_no_socket_can_be_tried_again(monkeypatch):
    """The thread that replaces workers goes on after this error, and after no other."""
    nursery = object.__new__(workers.Nursery)
    nursery._line = Line()

    def full():
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(socket, "socketpair", full)
    raised(NoSource, lambda: nursery.worker(), match="no worker process can be started")


class Silent:
    """The channel to a worker that waits for a request."""

    def poll(self, seconds):
        return False

    def close(self):
        pass


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def pool_of(monkeypatch, count, *, cores):
    monkeypatch.setattr(workers, "Nursery", lambda opened: Line())
    monkeypatch.setattr(workers, "_CORES", cores)
    pool = workers.Workers(lambda: None, count, memory=1)
    pool._idle = [workers.Worker(channel=Silent(), process=7) for _ in range(count)]  # ids are used again
    pool._held, pool._lost = Counter(), []
    return pool


def taken(pool, name="ana"):
    """A worker, or None where the rules give none yet."""
    tries = iter(range(3))
    return pool._taken(name, lambda: next(tries, None) is None, 0.001)


def test_of_requests_that_have_just_begun_only_as_many_are_answered_as_there_are_cores(monkeypatch, clock):
    """More would only take turns; one that takes longer keeps nobody waiting."""
    pool = pool_of(monkeypatch, 9, cores=2)
    first, second = taken(pool), taken(pool)
    assert taken(pool) is None
    pool._returned(second, "ana", keep=True)
    assert taken(pool) is second  # the last that has answered: its caches are the warmest
    assert taken(pool) is None
    clock[0] = workers._SHORT
    assert not {taken(pool), taken(pool)} & {first, second, None}
    assert taken(pool) is None


def test_whoever_was_given_a_worker_the_longest_ago_goes_first(monkeypatch, clock):
    """Else a name with many short requests would go as often before another one as it has threads that wait."""
    pool = pool_of(monkeypatch, 2, cores=1)
    for name in ("bob", "ana"):
        clock[0] += 1
        pool._returned(taken(pool, name), name, keep=True)
    pool._waiting += ["ana", "bob"]
    assert (pool._may_have("ana"), pool._may_have("bob")) == (False, True)
    assert pool._may_have("eve")  # has never been given one


def test_who_waits_for_a_short_request_is_woken_when_it_is_none_any_more(monkeypatch):
    pool = pool_of(monkeypatch, 2, cores=1)
    begun = time.monotonic()
    assert None not in {pool._taken(name, lambda: False, 60) for name in ("ana", "bob")}
    assert time.monotonic() - begun < 30


def test_a_worker_that_cannot_be_replaced_keeps_from_answering_whoever_can_have_no_other(monkeypatch):
    """They are told why, at once; those that are there answer everybody else."""
    pool = pool_of(monkeypatch, 1, cores=1)
    pool._lost, pool._held["ana"] = ["ana"], 1
    assert taken(pool) is None  # it may be replaced yet
    pool._failure = NoSource("no worker process can be started", why="", fix="")
    raised(NoSource, lambda: taken(pool))
    (worker,) = pool._idle
    assert taken(pool, "bob") is worker
    assert taken(pool, "eve") is None  # bob's will be free again
    pool._returned(worker, "bob", keep=False)
    raised(NoSource, lambda: taken(pool, "eve"))


def test_whoever_holds_the_fewest_goes_first_and_takes_no_more_than_is_left(monkeypatch, clock):
    pool = pool_of(monkeypatch, 4, cores=9)
    assert None not in {taken(pool), taken(pool)}
    assert taken(pool) is None  # two are held, and two are free
    pool._waiting.append("bob")
    pool._given["bob"] = 1.0
    pool._held["ana"] = 1
    assert (pool._may_have("ana"), pool._may_have("bob")) == (False, True)


ANSWERING = """
import signal, sys
import dpsql
from dpsql.points import EVENT
from dpsql.serve import workers

class Channel:
    def send(self, told):
        pass

def heard(event, told):
    if event == EVENT:
        print(told[0], signal.getsignal(workers._END) is signal.SIG_DFL)

analyst = dpsql.demo()
progress = workers._Progress(Channel())
sys.addaudithook(heard)
progress.begin()
analyst.sql("SELECT COUNT(*) FROM visits")
progress.end()
assert signal.getsignal(workers._END) is signal.SIG_DFL
"""
PROTECTED = {"CHARGING", "CHARGE_BEGUN", "CHARGE_WRITTEN", "READ", "DRAWN", "STORE_BEGUN", "STORE_WRITTEN"}


def test_a_worker_is_not_ended_while_a_charge_is_written_or_between_draw_and_store():
    done = subprocess.run([sys.executable, "-c", ANSWERING], check=True, capture_output=True, text=True)
    may_end = dict(line.split() for line in done.stdout.splitlines())
    may_end.pop("COMMITTED", None)  # of a ledger in a file, both in a charge and in a step
    assert {point for point, may in may_end.items() if may == "False"} == PROTECTED
    assert {"PARSED", "CHARGED", "RUNNING", "STORED", "TOLD"} <= may_end.keys()
