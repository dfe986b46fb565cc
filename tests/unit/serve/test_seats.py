"""Nobody has all of the connections: before a token is known a user of the system, afterwards its holder."""

import os
import socket

import pytest

from dpsql.serve import seats
from dpsql.serve.seats import Seats, user_of


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
    while True:
        connection = pairs()
        if not seats.take(connection):
            return found
        if not seats.belongs(connection, name):
            seats.leave(connection)
            return found
        found.append(connection)


def test_each_holder_gets_half_of_what_is_left_and_everybody_one(pairs):
    seats = Seats(16)
    assert [len(taken(seats, pairs, name)) for name in "abcdef"] == [8, 4, 2, 1, 1, 0]


def test_a_seat_that_is_left_is_free(pairs):
    seats = Seats(4)
    first = taken(seats, pairs, "a")
    assert len(first) == 2
    seats.leave(first[0])
    assert len(taken(seats, pairs, "a")) == 1


def test_one_is_enough_for_one(pairs):
    seats = Seats(1)
    assert len(taken(seats, pairs, "a")) == 1


def test_who_says_nothing_has_a_share_by_the_user_of_their_process(pairs, monkeypatch):
    seats_, users = Seats(8), iter([1000] * 5 + [1001])
    monkeypatch.setattr(seats, "user_of", lambda connection: next(users))
    assert [seats_.take(pairs()) for _ in range(6)] == [True, True, True, True, False, True]


def test_the_system_says_whose_process_it_is(pairs):
    assert user_of(pairs()) == (os.getuid() if hasattr(socket, "SO_PEERCRED") else None)


def test_where_the_system_says_nothing_all_are_one(pairs, monkeypatch):
    monkeypatch.delattr(socket, "SO_PEERCRED", raising=False)
    assert user_of(pairs()) is None
