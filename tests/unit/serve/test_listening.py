"""The socket file has the mode that was chosen, is alone on its path, and is gone when the server is. No holder of a
token has all of the connections, and no silent client keeps a token out."""

import os
import socket
import stat
import subprocess
import sys

import pytest

from dpsql.errors import BadParameter, NotPermitted
from dpsql.serve.listening import Lobby, Seats, is_silent, listening, user_of


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


@pytest.fixture
def pairs():
    made = []

    def new():
        made.append(socket.socketpair())
        return made[-1][0]

    yield new
    for pair in made:
        for end in pair:
            end.close()


def taken(seats, pairs, name):
    """The connections that this holder gets before one is refused."""
    found = []
    while seats.take(connection := pairs(), name):
        found.append(connection)
    return found


def test_each_holder_gets_half_of_what_is_left_every_holder_one_and_what_was_left_is_free(pairs):
    seats = Seats(16)
    assert [len(taken(seats, pairs, name)) for name in "abcdef"] == [8, 4, 2, 1, 1, 0]
    seats = Seats(4)
    first = taken(seats, pairs, "a")
    assert len(first) == 2
    seats.leave(first[0])
    assert len(taken(seats, pairs, "a")) == 1
    seats = Seats(1)
    assert len(taken(seats, pairs, "a")) == 1


def test_a_full_lobby_ends_the_connection_of_the_largest_user_that_was_silent_for_longest(pairs, monkeypatch):
    lobby, users = Lobby(4), iter([7, 1000, 1000, 1000, 1000, 8])
    monkeypatch.setattr("dpsql.serve.listening.user_of", lambda connection: next(users))
    first, spoken, silent, *_ = made = [pairs() for _ in range(4)]
    assert [lobby.enter(each) for each in made] == [None] * 4
    monkeypatch.setattr("dpsql.serve.listening.is_silent", lambda connection: connection is not spoken)
    assert lobby.enter(pairs()) is silent
    lobby.leave(first)
    assert lobby.enter(pairs()) is None


def test_a_connection_is_silent_until_bytes_wait_to_be_read():
    one, other = socket.socketpair()
    with one, other:
        assert is_silent(one)
        other.sendall(b"{")
        assert not is_silent(one)


def test_the_system_says_whose_process_it_is_or_all_are_one(pairs, monkeypatch):
    assert user_of(pairs()) == (os.getuid() if hasattr(socket, "SO_PEERCRED") else None)
    monkeypatch.delattr(socket, "SO_PEERCRED", raising=False)
    assert user_of(pairs()) is None
