"""A program in a terminal that is not there: a pseudo-terminal, and pyte as its screen. What is typed is typed, what is
shown is read from the screen as a person reads it."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from contextlib import suppress

import pyte

PATIENCE = 60
"""Seconds until what should appear counts as missing: far more than any of it takes."""


class Terminal:
    """One program and its screen."""

    def __init__(self, command, *, columns=80, lines=24, environment=None):
        self.screen = pyte.HistoryScreen(columns, lines, history=5000)
        self._stream = pyte.ByteStream(self.screen)
        self.seen = b""
        """Everything that came, for what must never appear."""
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:
            try:
                os.execvpe(command[0], command, environment or dict(os.environ))
            finally:
                os._exit(127)
        self._resize(columns, lines)

    def _resize(self, columns, lines):
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns, lines):
        self._resize(columns, lines)
        self.screen.resize(lines, columns)
        os.kill(self.pid, signal.SIGWINCH)

    def type(self, text):
        os.write(self._descriptor, text.encode())

    def enter(self, text):
        self.type(f"{text}\r")

    def text(self):
        """What stands on the screen, without the blanks behind it."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def whole(self):
        """What stood on the screen before, and what stands there now."""
        before = ["".join(line[place].data for place in range(self.screen.columns)) for line in self.screen.history.top]
        return "\n".join([*(line.rstrip() for line in before), self.text()])

    def until(self, found, within=PATIENCE):
        """Read until a text, or a condition, is on the screen; what is there then."""
        holds = found if callable(found) else lambda text: found in text
        limit = time.monotonic() + within
        while not holds(self.text()):
            assert time.monotonic() < limit, f"{found!r} did not appear on:\n{self.text()}"
            self._read(0.2)
        return self.text()

    def _read(self, seconds):
        """Whether anything came."""
        if not select.select([self._descriptor], [], [], seconds)[0]:
            return False
        try:
            came = os.read(self._descriptor, 65536)
        except OSError:  # the program has ended
            return False
        self.seen += came
        self._stream.feed(came)
        if b"\x1b[6n" in came:  # the program asks where the cursor is
            self.type(f"\x1b[{self.screen.cursor.y + 1};{self.screen.cursor.x + 1}R")
        return bool(came)

    def ended(self):
        """The exit code of the program, once it has ended."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = None
                return os.waitstatus_to_exitcode(status)
        raise AssertionError(f"it has not ended:\n{self.text()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        os.close(self._descriptor)
