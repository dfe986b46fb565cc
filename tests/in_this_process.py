"""A server in a thread, and a connection of somebody who writes their own bytes."""

import json
import socket
import threading
from contextlib import contextmanager

import dpsql


@contextmanager
def serving(owner, path, **options):
    """A server in a thread, once it listens; stopped at the end."""
    server, ready = dpsql.SocketServer(owner, path, **options), threading.Event()
    thread = threading.Thread(target=server.serve, kwargs={"ready": ready.set})
    thread.start()
    try:
        ready.wait()
        yield server
    finally:
        server.stop()
        thread.join()


@contextmanager
def raw(path):
    """A connection of somebody who writes their own bytes, and a function that sends a line and reads one."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(path))
        with connection.makefile("rb") as lines:

            def say(request):
                connection.sendall((request if isinstance(request, bytes) else json.dumps(request).encode()) + b"\n")
                return json.loads(lines.readline())

            yield connection, lines, say
