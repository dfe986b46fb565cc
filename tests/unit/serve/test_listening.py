"""The socket file has the mode that was chosen, is alone on its path, and is gone when the server is."""

import os
import socket
import stat
import subprocess
import sys

import pytest

from dpsql.errors import BadParameter, NotPermitted
from dpsql.serve.listening import listening


@pytest.mark.parametrize("mode", [0o600, 0o660, 0o666])
def test_the_mode_is_the_chosen_one_whatever_the_umask_says(tmp_path, mode):
    path = tmp_path / "door"
    before = os.umask(0o077)
    try:
        with listening(path, mode=mode):
            assert stat.S_ISSOCK(path.stat().st_mode)
            assert stat.S_IMODE(path.stat().st_mode) == mode
        assert os.umask(0o077) == 0o077
    finally:
        os.umask(before)
    assert not path.exists()


def test_what_a_killed_server_left_is_taken_away(tmp_path):
    path = tmp_path / "door"
    code = (
        "import os, sys; from pathlib import Path; from dpsql.serve.listening import listening\n"
        "with listening(Path(sys.argv[1]), mode=0o600): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert stat.S_ISSOCK(path.stat().st_mode)
    with listening(path, mode=0o600), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def test_a_living_server_is_not_replaced(tmp_path):
    path = tmp_path / "door"
    with listening(path, mode=0o600):
        with pytest.raises(NotPermitted, match="already"), listening(path, mode=0o600):
            pass
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def test_a_file_that_is_no_socket_is_not_removed(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(BadParameter, match="no socket"), listening(path, mode=0o600):
        pass
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["nowhere/door", "x" * 200])
def test_a_path_that_cannot_be_used_is_named(tmp_path, name):
    with pytest.raises(BadParameter, match="no socket can be made"), listening(tmp_path / name, mode=0o600):
        pass


@pytest.mark.parametrize("mode", [-1, 0o1000, "600", True])
def test_a_mode_is_nine_bits(tmp_path, mode):
    with pytest.raises(BadParameter), listening(tmp_path / "door", mode=mode):
        pass
