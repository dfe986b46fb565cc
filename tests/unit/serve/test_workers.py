"""The processes that answer requests: what keeps one from starting is over some time later."""

import errno
import os
import socket

import pytest

from dpsql.errors import NoSource
from dpsql.serve import workers


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
    with pytest.raises(NoSource, match="no worker process can be started"):
        nursery.worker()
