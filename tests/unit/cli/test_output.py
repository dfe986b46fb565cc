"""A result is written whole or not at all, and what is answered is not lost to a later refusal."""

from contextlib import suppress
from pathlib import Path

import pytest

from dpsql import BadParameter
from dpsql.cli.output import Output

FULL = Path("/dev/full")


def test_a_file_appears_when_all_of_it_is_written(tmp_path):
    path = tmp_path / "answer"
    with Output(path) as output:
        output.write("Zürich\n")
        output.write(b"\x00")
        assert not path.exists()
        assert not output.is_terminal
    assert path.read_bytes() == "Zürich\n".encode() + b"\x00"
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_answered_before_a_refusal_is_kept(tmp_path):
    path = tmp_path / "answer"
    with suppress(RuntimeError), Output(path) as output:
        output.write("first\n")
        raise RuntimeError
    assert path.read_text() == "first\n"


def test_a_refusal_before_the_first_answer_leaves_the_old_file(tmp_path):
    path = tmp_path / "answer"
    path.write_text("old\n")
    with pytest.raises(RuntimeError), Output(path):
        raise RuntimeError
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_is_written_to_and_not_replaced():
    with pytest.raises(BadParameter, match="/dev/full cannot be written: No space"), Output(FULL) as output:
        output.write("answer\n")
    assert not FULL.is_file()
