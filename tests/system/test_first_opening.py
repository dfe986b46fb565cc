"""The first opening of a policy is one piece: who comes in the middle of it waits, and is not refused; where its
process is killed, the next opening completes it."""

import signal
import subprocess
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

import dpsql
from dpsql.ledger.book import Ledger

from crashing import PROCESSES, open_until, opened, written

ASK = """
import sys, dpsql
from dpsql.session import opening
print("ready", flush=True)
dpsql.open(sys.argv[1], adopt=False, threads=1).close()
"""


def test_who_opens_while_the_first_is_opening_waits(tmp_path, monkeypatch):
    """The ledger is there, and nothing of the policy is applied yet."""
    folder, others = written(tmp_path / "source"), []
    apply = Ledger.apply

    def slowly(*given, **words):
        arguments = [sys.executable, "-c", ASK, str(folder / "dpsql.toml")]
        others.append(subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        assert others[0].stdout.readline() == "ready\n"
        with suppress(subprocess.TimeoutExpired):
            others[0].wait(timeout=3)  # it comes as far as it can
        return apply(*given, **words)

    monkeypatch.setattr(Ledger, "apply", slowly)
    opened(folder).close()
    (other,) = others
    _, error = other.communicate(timeout=60)
    assert (other.returncode, error) == (0, "")


@pytest.mark.parametrize("which", [1, 2])
def test_who_finds_a_ledger_that_was_not_there_a_moment_ago_opens_it(tmp_path, monkeypatch, which):
    """Another process makes the ledger, and its mark beside the data, while this one looks whether there is one."""
    folder = written(tmp_path / "source")
    exists, looks = Path.exists, count(1)

    def just_before(path, **words):
        found = exists(path, **words)
        if path.name == "people.duckdb.ledger" and next(looks) == which:
            opened(folder).close()
        return found

    monkeypatch.setattr(Path, "exists", just_before)
    opened(folder).close()
    assert next(looks) > 1


@pytest.mark.parametrize(("store", "places"), [("sqlite", 19), ("postgres", 15)])
def test_what_is_left_of_a_first_opening_that_was_killed_is_completed_by_the_next(
    tmp_path, monkeypatch, request, store, places
):
    """Killed before every single change that it makes to a folder or a file of its own, and after every commit."""
    killed = []
    for last in range(1, places + 2):
        policy = written(tmp_path / str(last)) / "dpsql.toml"
        if store == "postgres":
            shared = f'source.ledger_url = "{request.getfixturevalue("postgres").room()}"\nsource.ledger_key = "key"\n'
            policy.write_text(policy.read_text().replace("promise =", f"{shared}promise ="))
        state = str(policy.parent / "state")
        killed.append((PROCESSES.Process(target=open_until, args=(state, str(policy), last)), policy, state))
        killed[-1][0].start()
    for process, policy, state in killed:
        process.join()
        monkeypatch.setenv("DPSQL_STATE", state)
        with dpsql.open(policy, adopt=False, threads=1) as owner:
            assert owner.analysts == ("ana",)
            assert owner.keeper.verify() == 5  # opened, promised, owned, declared, granted: each once
        assert process.exitcode != 0 or not list(policy.parent.glob(".*"))
    assert [process.exitcode for process, _, _ in killed] == [-signal.SIGKILL] * places + [0]
