"""A result is written whole or not at all, and what is answered is not lost to a later refusal."""

import os
import stat
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


def test_a_refusal_keeps_what_was_answered_before_it_and_the_old_file_before_that(tmp_path):
    path = tmp_path / "answer"
    path.write_text("old\n")
    with pytest.raises(RuntimeError), Output(path):
        raise RuntimeError
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]
    path = tmp_path / "answer"
    with suppress(RuntimeError), Output(path) as output:
        output.write("first\n")
        raise RuntimeError
    assert path.read_text() == "first\n"


def test_a_device_is_written_to_and_not_replaced():
    with pytest.raises(BadParameter, match="/dev/full cannot be written: No space"), Output(FULL) as output:
        output.write("answer\n")
    assert not FULL.is_file()


def test_a_link_to_a_pipe_is_written_to():
    """As /dev/stdout is one."""
    read, write = os.pipe()
    try:
        with Output(Path(f"/dev/fd/{write}")) as output:
            output.write("answer\n")
        assert os.read(read, 100) == b"answer\n"
    finally:
        os.close(read)
        os.close(write)


def test_a_terminal_that_is_named_is_steered_by_nothing():
    ours, theirs = os.openpty()
    try:
        with Output(Path(os.ttyname(theirs))) as output:
            output.write("a\x1b[31mb\n")
        assert os.read(ours, 100) == b"a\\x1b[31mb\r\n"
    finally:
        os.close(ours)
        os.close(theirs)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_who_could_not_read_the_old_file_cannot_read_the_new_one_which_else_the_mask_decides(tmp_path):
    path = tmp_path / "answer"
    path.write_text("old\n")
    path.chmod(0o600)
    with Output(path) as output:
        output.write("new\n")
    assert (path.read_text(), mode(path)) == ("new\n", 0o600)
    before = os.umask(0o027)
    try:
        with Output(tmp_path / "another") as output:
            output.write("new\n")
    finally:
        os.umask(before)
    assert mode(tmp_path / "another") == 0o640


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_written_through(tmp_path, there):
    (tmp_path / "far").mkdir()
    path, link = tmp_path / "far" / "answer", tmp_path / "link"
    if there:
        path.write_text("old\n")
    link.symlink_to(path)
    with Output(link) as output:
        output.write("new\n")
    assert link.is_symlink()
    assert path.read_text() == "new\n"
    assert [each.name for each in path.parent.iterdir()] == ["answer"]


def test_a_folder_that_is_not_there_and_what_an_earlier_run_left(tmp_path):
    path = tmp_path / "answer"
    (tmp_path / f".answer.{os.getpid()}").write_text("left\n")
    with Output(path) as output:
        output.write("new\n")
    assert path.read_text() == "new\n"
    with pytest.raises(BadParameter, match=r"--output .*none/answer cannot be written: No such file"):
        Output(tmp_path / "none" / "answer")
