"""A hostile analyst on the server: deadlines, clients that leave, SIGTERM, memory; and honest answers all the while."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from serving import hospital_with_wards, started

from dpsql.cli.serve import share_of
from dpsql.errors import BadParameter, OutOfTime, TooLarge
from tests.kits.refusals import raised

ENDLESS = (
    "SELECT COUNT(*) FROM wards a JOIN wards b ON a.k = b.k JOIN wards c ON b.k = c.k JOIN wards d ON c.k = d.k"
    " WHERE a.n + b.n + c.n + d.n = 7"
)
PAIRS = "SELECT a.n, b.n FROM wards a, wards b"
SLOW_PLAN = "SELECT " + ", ".join(f"SUM(age + {i})" for i in range(390)) + " FROM people WITHIN 100000"


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
        raised(OutOfTime, lambda: ana.sql(sql), match="stopped at its deadline")
        assert time.monotonic() - begun < 8
        assert ana.budget.spent == 0


def test_an_exact_answer_takes_no_memory_beyond_what_is_returned(hospital, server):
    with hospital.client("ana") as ana:
        raised((TooLarge, OutOfTime), lambda: ana.sql(PAIRS))
        with suppress(OutOfTime):  # on a machine with much other work
            assert len(ana.sql(f"{PAIRS} LIMIT 3")) == 3
            assert len(ana.sql(f"{PAIRS} LIMIT 20000")) == 20_000  # a reply of many pieces
    peaks = [Path(f"/proc/{each}/status").read_text().split("VmHWM:")[1].split()[0] for each in family(server)]
    assert max(map(int, peaks)) < 500_000  # KB; 4 million tuples of Python take more


def test_clients_that_say_nothing_shut_out_no_client_with_a_token(hospital, server):
    with ExitStack() as silent:
        for _ in range(200):
            connection = silent.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(str(hospital.socket))
        with hospital.client("bob") as bob:
            assert bob.budget.spent == 0


def test_idle_workers_that_are_killed_are_replaced_before_a_request_finds_out(hospital, server):
    with hospital.client("ana") as ana:
        assert ana.budget.spent == 0
        workers = {each for each in family(server) if each != server.pid and parent_of(each) != server.pid}
        for process in workers:
            os.kill(process, signal.SIGKILL)
        while any(Path(f"/proc/{each}").exists() for each in workers):  # until its last thread has ended
            time.sleep(0.05)
        answered = 0
        while answered < 3:
            with suppress(OutOfTime):  # on a machine with much other work a start takes longer than a second
                assert ana.budget.spent == 0
                answered += 1


def parent_of(process):
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_work_stops_when_its_client_has_gone_and_a_stopped_server_ends_within_its_patience(hospital, tmp_path):
    other = replace(hospital, socket=tmp_path / "door")
    with started(other, "--timeout", "3600", "--patience", "2", "--workers", "4") as server:
        for sql in (ENDLESS, SLOW_PLAN):
            asking(other, sql, after=0.5).close()
        assert is_quiet_within(20, server)
        waiting = [asking(other, sql, after=0.0) for sql in (ENDLESS, SLOW_PLAN)]
        time.sleep(0.5)
        processes = family(server)
        begun = time.monotonic()
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=30) == 0
        assert time.monotonic() - begun < 2 + 2  # and the time that an interpreter takes to end
        for client in waiting:
            client.close()
        assert all_end_within(10, processes)


def test_workers_end_with_a_server_that_is_killed(hospital, tmp_path):
    other = replace(hospital, socket=tmp_path / "door")
    with started(other, "--timeout", "3600", "--workers", "1") as server:
        waiting = asking(other, ENDLESS, after=0.3)
        processes = family(server)
        assert len(processes) >= 3
        server.kill()
        server.wait()
        assert all_end_within(10, processes)
        waiting.close()


ENDINGS = """
import json, sys, time
from pathlib import Path
import dpsql
from dpsql.points import EVENT
from dpsql.serve.workers import Task

policy, *points = sys.argv[1:]
point, reached = Path(policy + ".point"), Path(policy + ".reached")
point.touch()

def opened():
    # Called in a worker, which is at the named point when its request is over.
    def linger(event, arguments):
        if event == EVENT and arguments[0] == point.read_text():
            point.write_text("")
            reached.touch()
            time.sleep(0.3)
    owner = dpsql.open(policy, adopt=False)
    sys.addaudithook(linger)
    return owner

def asked(sql):
    with dpsql.open_ledger(policy) as keeper:
        before = len(keeper.rows())
        task = Task(name="ana", role="analyst", session=None, request={"do": "sql", "sql": sql})
        with workers.answering(task, require=lambda: None, over=reached.exists, tick=0.02) as done:
            reached.unlink(missing_ok=True)
        return [done.code, *(row.kind for row in keeper.rows()[before:])]

workers = dpsql.Workers(opened, 1, memory=10**10)
workers.start()
found = {}
for number, each in enumerate(points):
    point.write_text(each)
    found[each] = [asked(f"SELECT COUNT(*) FROM people WHERE age > {number}") for _ in range(2)]
print(json.dumps(found))
"""


POINTS = ("SEALED", "CHARGE_WRITTEN", "RUNNING", "DRAWN", "STORE_WRITTEN")


def test_a_request_is_ended_anywhere_but_in_a_charge_and_from_the_draw_to_the_store(hospital):
    told = subprocess.run(
        [sys.executable, "-c", ENDINGS, hospital.policy, *POINTS], capture_output=True, text=True, check=True
    )
    found = json.loads(told.stdout)
    assert found["SEALED"] == [["DP604"], [None, "charge", "step"]]
    assert found["RUNNING"] == [["DP601", "charge"], [None, "retry", "step"]]
    first, again = found["CHARGE_WRITTEN"]  # may be ended directly afterwards, or be faster
    assert (first[1], again[0], "charge" in again) == ("charge", None, False)
    for point in ("DRAWN", "STORE_WRITTEN"):
        first, again = found[point]
        assert (first[1:], again) == (["charge", "step"], [None])


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
        time.sleep(0.5)
        if processor_seconds(processes) - before < 0.1:
            return True
    return False


def all_end_within(seconds, processes):
    until = time.monotonic() + seconds
    while time.monotonic() < until and any(map(is_alive, processes)):
        time.sleep(0.05)
    return not any(map(is_alive, processes))


def is_alive(process):
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def test_memory_too_small_for_its_workers_is_refused():
    assert share_of(2_000_000_000, 4) == 400_000_000
    raised(BadParameter, lambda: share_of(1_000_000_000, 4), match="too few for 4 workers")
