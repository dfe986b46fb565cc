"""The processes that answer requests: when one may be ended; what keeps one from starting is over some time later."""

import errno
import os
import socket
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

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


def test_of_requests_that_have_just_begun_only_as_many_are_answered_as_there_are_cores(monkeypatch):
    """More would only take turns; one that takes longer keeps nobody waiting."""
    now = [0.0]
    monkeypatch.setattr(workers, "Nursery", lambda opened: Line())
    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(workers, "_CORES", 2)
    pool = workers.Workers(lambda: None, 9, memory=1)
    pool._idle, pool._held = [workers.Worker(channel=Silent(), process=each) for each in range(9)], Counter()

    def taken():
        tries = iter(range(3))
        return pool._taken("ana", lambda: next(tries, None) is None, 0.001)

    first, second = taken(), taken()
    assert taken() is None
    pool._returned(second, "ana", keep=True)
    assert taken() is second  # the last that has answered: its caches are the warmest
    assert taken() is None
    now[0] = workers._SHORT
    assert {taken().process, taken().process}.isdisjoint({first.process, second.process})
    assert taken() is None


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
