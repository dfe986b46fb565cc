"""Twins wait for each other; whoever asks something else, or comes after one that died, does not."""

import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest

from dpsql.ledger.turns import FileTurns, Turns
from tests.kits.ledger_cases import at_once

SAME, OTHER = b"the same" * 4, b"another " * 4


def test_threads_come_one_at_a_time_and_leave_nothing_behind():
    turns, inside, seen = Turns(), [], []

    def ask():
        with turns.of(SAME):
            inside.append(1)
            seen.append(len(inside))
            time.sleep(0.001)
            inside.pop()

    at_once([ask] * 8)
    assert seen == [1] * 8
    assert turns._taken == {}


def test_another_question_does_not_wait(tmp_path):
    for turns in (Turns(), FileTurns(tmp_path / "ledger.db")):
        with turns.of(SAME), turns.of(OTHER):
            pass


def test_an_error_ends_the_turn(tmp_path):
    for turns in (Turns(), FileTurns(tmp_path / "ledger.db")):
        for _ in range(2):
            with pytest.raises(KeyError), turns.of(SAME):
                raise KeyError


HOLDER = """
import sys, time
from pathlib import Path
from dpsql.ledger.turns import FileTurns
with FileTurns(Path(sys.argv[1])).of(sys.argv[2].encode()):
    print("mine", flush=True)
    time.sleep(600)
"""


def test_a_process_waits_until_the_other_one_dies(tmp_path):
    path, passed = tmp_path / "ledger.db", threading.Event()
    turns = FileTurns(path)
    with ExitStack() as stack:
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, path, SAME.decode()], stdout=subprocess.PIPE)
        stack.enter_context(holder)
        stack.callback(holder.kill)
        assert holder.stdout.readline() == b"mine\n"

        def ask():
            with turns.of(SAME):
                passed.set()

        waiting = threading.Thread(target=ask)
        waiting.start()
        with turns.of(OTHER):
            assert not passed.wait(0.1)
        holder.kill()
        waiting.join()
    assert passed.is_set()
    (file,) = tmp_path.iterdir()
    assert (file.name, file.stat().st_size, file.stat().st_mode & 0o777) == ("ledger.db.turns", 0, 0o600)
    turns.close()


def test_where_nothing_can_be_locked_nobody_waits(tmp_path):
    turns = FileTurns(tmp_path / "no folder" / "ledger.db")
    with turns.of(SAME), turns.of(SAME):
        pass
