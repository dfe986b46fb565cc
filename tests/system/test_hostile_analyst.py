"""A hostile analyst on the server: deadlines, clients that leave, SIGTERM, memory; and honest answers all the while."""

import os
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from serving import hospital_with_wards, started

from dpsql.errors import EngineFailed, OutOfTime, TooLarge

ENDLESS = (
    "SELECT COUNT(*) FROM wards a JOIN wards b ON a.k = b.k JOIN wards c ON b.k = c.k JOIN wards d ON c.k = d.k"
    " WHERE a.n + b.n + c.n + d.n = 7"
)
PAIRS = "SELECT a.n, b.n FROM wards a, wards b"
SLOW_PLAN = "SELECT " + ", ".join(f"SUM(age + {i})" for i in range(390)) + " FROM people"


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    return hospital_with_wards(tmp_path_factory.mktemp("data") / "clinic", tmp_path_factory.mktemp("run") / "door")


def family(server):
    """The server and all processes below it."""
    lines = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.split("\n")
    parents = dict(map(int, line.split()) for line in lines if line)
    found = {server.pid}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def processor_seconds(processes):
    total = 0.0
    for process in processes:
        with suppress(OSError):  # it has ended since
            fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


@pytest.fixture(scope="module")
def server(hospital):
    with started(hospital, "--timeout", "1", "--workers", "2", "--planning", "3600") as running:
        yield running


@pytest.mark.parametrize("sql", [ENDLESS, SLOW_PLAN], ids=["statement", "plan"])
def test_one_deadline_covers_planning_and_the_statement(hospital, server, sql):
    with hospital.client("ana") as ana:
        begun = time.monotonic()
        with pytest.raises(OutOfTime, match="stopped at its deadline"):
            ana.sql(sql)
        assert time.monotonic() - begun < 8
        assert ana.budget.spent == 0


def test_an_exact_answer_takes_no_memory_beyond_what_is_returned(hospital, server):
    with hospital.client("ana") as ana:
        with pytest.raises((TooLarge, OutOfTime)):
            ana.sql(PAIRS)
        with suppress(OutOfTime):  # on a machine with much other work
            assert len(ana.sql(f"{PAIRS} LIMIT 3")) == 3
    peaks = [Path(f"/proc/{each}/status").read_text().split("VmHWM:")[1].split()[0] for each in family(server)]
    assert max(map(int, peaks)) < 500_000  # KB; 4 million tuples of Python take more


def test_clients_that_say_nothing_shut_out_no_client_with_a_token(hospital, server):
    with ExitStack() as silent:
        for _ in range(200):
            connection = silent.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(str(hospital.socket))
        with hospital.client("bob") as bob:
            assert bob.budget.spent == 0


def test_a_worker_that_is_killed_is_replaced(hospital, server):
    with hospital.client("ana") as ana:
        assert ana.budget.spent == 0
        for process in family(server) - {server.pid}:
            if parent_of(process) != server.pid:  # not the process that forks workers
                os.kill(process, signal.SIGKILL)
        failed = 0
        for _ in range(3):
            try:
                assert ana.budget.spent == 0
            except EngineFailed:
                failed += 1
        assert 1 <= failed <= 2  # once for each worker that was idle, at most


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_work_stops_when_its_client_has_gone_and_a_stopped_server_ends_within_its_patience(hospital, tmp_path):
    other = replace(hospital, socket=tmp_path / "door")
    with started(other, "--timeout", "3600", "--patience", "4", "--workers", "4") as server:
        for sql in (ENDLESS, SLOW_PLAN):
            asking(other, sql, after=0.5).close()
        assert is_quiet_within(20, server)
        waiting = [asking(other, sql, after=0.0) for sql in (ENDLESS, SLOW_PLAN)]
        time.sleep(1)
        processes = family(server)
        begun = time.monotonic()
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=30) == 0
        assert time.monotonic() - begun < 4 + 2  # and the time that an interpreter takes to end
        for client in waiting:
            client.close()
        until = time.monotonic() + 10
        while time.monotonic() < until and any(map(is_alive, processes)):
            time.sleep(0.1)
        assert not [each for each in processes if is_alive(each)]


def asking(clinic, sql, *, after):
    """A client that has sent a question and does not wait for its answer."""
    client = clinic.client("ana")
    client._lines.connection.sendall(b'{"do": "sql", "sql": "%s"}\n' % sql.encode())
    time.sleep(after)
    return client


def is_quiet_within(seconds, server):
    """Whether the server stops using processor time: its statements alone would go on for hours."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        before = processor_seconds(processes := family(server))
        time.sleep(1)
        if processor_seconds(processes) - before < 0.2:
            return True
    return False


def is_alive(process):
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def test_memory_too_small_for_its_workers_is_refused(hospital):
    with pytest.raises(AssertionError, match="too few for 4 workers"):
        started(hospital, "--memory-limit", "1GB", "--workers", "4").__enter__()
