"""No holder of a token has all of the connections, and no silent client keeps a token out."""

import os
import socket

import pytest

from dpsql.serve import listening
from dpsql.serve.listening import Lobby, Seats, is_silent, user_of


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
    monkeypatch.setattr(listening, "user_of", lambda connection: next(users))
    first, spoken, silent, *_ = made = [pairs() for _ in range(4)]
    assert [lobby.enter(each) for each in made] == [None] * 4
    monkeypatch.setattr(listening, "is_silent", lambda connection: connection is not spoken)
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
