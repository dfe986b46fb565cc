"""Twenty secret values in the data, all logs on, every error provoked: they are found nowhere.

`make test` provokes every DPSQL_CANARY_STEP-th refusal (24 unless set), `make audit` all of them.

What is searched: logs, output, errors with their arguments, notes, causes and the locals of every frame of dpsql, the
fault handler's dump, the ledger and what is beside it, exports, and the folders for temporary files, states and work.
What is not: frames of the owner's own code, which hand over the rows; and the memory of the process.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import canaries
from canaries import CANARIES, WAYS, hits
from fixtures import ALL

SCRIPT = Path(__file__).with_name("canary_run.py")


def run(folder: Path, what: str) -> int:
    """The process, with everything it writes below the folder; how it ended."""
    places = {"TMPDIR": folder / "temp", "DPSQL_STATE": folder / "state", "HOME": folder / "home"}
    work = folder / "work"
    for place in (*places.values(), work):
        place.mkdir(parents=True)
    environment = {"DPSQL_CANARY_STEP": "24", **os.environ, **{name: str(place) for name, place in places.items()}}
    with open(folder / "out.txt", "wb") as out, open(folder / "err.txt", "wb") as err:
        command = [sys.executable, str(SCRIPT), str(folder), what]
        return subprocess.run(command, cwd=work, env=environment, stdout=out, stderr=err, check=False).returncode


def test_there_are_enough_canaries_in_the_data_and_no_question_names_one():
    assert len(set(map(repr, CANARIES))) == 20
    texts = "\n".join(fixture.sql for fixture in ALL).encode()
    assert not [way for way in WAYS if way in texts]
    rows = [cell for table in canaries.with_canaries().tables.values() for row in table for cell in row]
    assert all(any(cell == canary for cell in rows) for canary in CANARIES)


def test_every_way_of_writing_a_canary_is_seen(tmp_path):
    for number, (way, canary) in enumerate(WAYS.items()):
        file = tmp_path / f"{number}"
        file.write_bytes(b"\x00some " + way + b" words\xff")
        assert (file.name, repr(canary)) in hits(tmp_path), way
        file.unlink()


def test_no_canary_leaves_the_rows(tmp_path):
    assert run(tmp_path, "all") == 0, (tmp_path / "err.txt").read_text()[-2000:]
    assert hits(tmp_path) == []
    raised = (tmp_path / "raised.txt").read_text().split()
    assert {"DP101", "DP102", "DP104", "DP401", "DP601", "DP900", "DP901", "KeyboardInterrupt"} <= set(raised)
    names = "errors.txt log.txt out.txt ledger.db export.jsonl export.csv audit.txt 0.csv"
    assert all((tmp_path / name).stat().st_size for name in names.split())


def test_no_canary_is_left_by_a_crash(tmp_path):
    assert run(tmp_path, "crash") == -signal.SIGSEGV
    assert hits(tmp_path) == []
    assert b"Segmentation fault" in (tmp_path / "err.txt").read_bytes()
    assert (tmp_path / "ledger.db-wal").stat().st_size > 0


def test_a_leak_is_seen(tmp_path):
    assert run(tmp_path, "leak") == 0
    assert {name for name, _ in hits(tmp_path)} == {"log.txt", "errors.txt", "temp/rows"}


@pytest.mark.parametrize("canary", CANARIES, ids=repr)
def test_a_canary_has_several_ways(canary):
    assert len([way for way in WAYS if WAYS[way] == canary]) >= 15
