"""Every wait is bounded, one connection cannot hurt another, and a server ends when it is told to."""

import threading
from contextlib import ExitStack
from fractions import Fraction

import pytest

import dpsql
from dpsql.errors import BadParameter, BudgetExhausted, InternalError, NoSource, NotPermitted, OutOfTime, RowLevel
from dpsql.serve import methods, wire
from dpsql.serve.listening import LOBBY
from in_this_process import raw, serving
from tests.kits.cases import cases
from tests.kits.refusals import each_raises, raised


def test_so_many_are_served_at_once_and_one_more_is_told_so(clinic, token, door):
    other = clinic.keeper.admit("olga", role="owner")
    with serving(clinic, door, connections=2):
        held = [dpsql.connect(socket=door, token=each) for each in (token, other)]
        with pytest.raises(NotPermitted, match="too many are connected"):
            dpsql.connect(socket=door, token=token)
        assert held[0].verify() > 0
        for client in held:
            client.close()
        with connected(door, token) as client:
            assert client.verify() > 0


def connected(path, token):
    """A connection, once there is room: one that was closed is noticed by its own thread, in its own time."""
    while True:
        try:
            return dpsql.connect(socket=path, token=token)
        except NotPermitted:
            continue


def test_one_holder_cannot_have_all_connections(clinic, token, door):
    other = clinic.keeper.admit("olga", role="owner")
    with serving(clinic, door, connections=4):
        held = [dpsql.connect(socket=door, token=token) for _ in range(2)]
        raised(NotPermitted, lambda: dpsql.connect(socket=door, token=token), match="too many of your own")
        with connected(door, other) as olga:
            assert olga.verify() > 0
        held.pop().close()
        held.append(connected(door, token))
        for client in held:
            client.close()


def test_silent_clients_of_the_same_user_cannot_shut_a_token_out(clinic, token, door):
    with serving(clinic, door, connections=4), ExitStack() as silent:
        lines = [silent.enter_context(raw(door))[1] for _ in range(LOBBY + 10)]
        with dpsql.connect(socket=door, token=token, timeout=10) as client:
            assert client.verify() > 0
        assert lines[0].readline() == b""  # silent for longest


def test_nobody_fills_the_ledger_with_refusals(clinic, admitted, door):
    with serving(clinic, door, refusals=3), dpsql.connect(socket=door, token=admitted("ana")) as ana:
        each_raises(RowLevel, lambda _: ana.sql("SELECT * FROM people"), range(3))
        for sql in ("SELECT * FROM people", "SELECT COUNT(*) FROM people"):
            with pytest.raises(NotPermitted, match="3 of your questions were refused within an hour"):
                ana.sql(sql)
        assert ana.budget.spent == 0  # what is no question goes on
    assert [row.kind for row in clinic.keeper.rows()].count("refuse") == 3


def flood(client):
    for number in range(1000):
        client.cost(f"SELECT COUNT(*) FROM people WHERE id < {number}")


def test_a_flood_of_prices_ends_with_the_time_budget_of_its_token(clinic, admitted, door):
    tokens = {name: admitted(name) for name in ("ana", "bob")}
    with (
        serving(clinic, door, planning=0.05),
        dpsql.connect(socket=door, token=tokens["ana"]) as ana,
        dpsql.connect(socket=door, token=tokens["ana"]) as again,
        dpsql.connect(socket=door, token=tokens["bob"]) as bob,
    ):
        raised(OutOfTime, lambda: flood(ana), match="processor time")
        with pytest.raises(OutOfTime):
            again.explain("SELECT COUNT(*) FROM people")  # the same token
        assert bob.cost("SELECT COUNT(*) FROM people") == 1
    assert [row.kind for row in clinic.keeper.rows()].count("refuse") == 0


def test_tokens_of_one_grant_have_their_own_time_and_their_own_entries(clinic, door):
    clinic.grant("lab", budget=5)
    tokens = {name: clinic.keeper.admit(name, role="analyst", grant="lab") for name in ("ana", "bob")}
    with (
        serving(clinic, door, planning=0.05),
        dpsql.connect(socket=door, token=tokens["ana"]) as ana,
        dpsql.connect(socket=door, token=tokens["bob"]) as bob,
    ):
        raised(OutOfTime, lambda: flood(ana))
        assert bob.sql("SELECT COUNT(*) FROM people").rows
        assert [row["kind"] for row in bob.ledger()] == ["charge"]
        assert clinic.keeper.rows_about("ana") == ()
        assert clinic.analyst("ana").budget.spent == 1
        clinic.keeper.dismiss("bob")
        raised(NotPermitted, lambda: bob.sql("SELECT COUNT(*) FROM people"), match="nobody is known by this token")


def test_a_request_that_is_too_long_ends_its_connection_alone(clinic, token, monkeypatch, door):
    monkeypatch.setattr(wire, "LONGEST_REQUEST", 1000)
    with serving(clinic, door), dpsql.connect(socket=door, token=token) as other:
        with raw(door) as (_, lines, say):
            assert "ok" in say({"do": "hello", "token": token})
            assert say(b" " * 1001)["error"]["code"] == "DP100"
            assert lines.readline() == b""
        assert other.verify() > 0


@pytest.mark.parametrize("wrong", [{"role": "owner"}, {"do": "verify"}, {"token": 7}])
def test_who_comes_says_hello_with_a_token_and_nothing_else(clinic, token, wrong, door):
    with serving(clinic, door), raw(door) as (_, lines, say):
        assert say({"do": "hello", "token": token, **wrong})["error"]["code"] == "DP402"
        assert lines.readline() == b""


@pytest.mark.parametrize("begun", [b"", b'{"do": "hello",'])
def test_who_does_not_speak_is_not_waited_for(clinic, token, begun, door):
    with (
        serving(clinic, door, patience=0.2),
        dpsql.connect(socket=door, token=token) as other,
        raw(door) as (connection, lines, _),
    ):
        connection.sendall(begun)
        assert lines.readline() == b""
        assert other.verify() > 0  # who has said hello may be silent for longer


def test_a_silent_connection_is_closed_after_a_while(clinic, token, door):
    with serving(clinic, door, idle=0.1), raw(door) as (_, lines, say):
        assert "ok" in say({"do": "hello", "token": token})
        assert lines.readline() == b""


def test_an_error_nobody_expected_tells_nothing_and_ends_nothing(monkeypatch, client):
    def fail(visit, request):
        raise ValueError("the secret of row 17")

    with monkeypatch.context() as patched:
        patched.setattr(methods, "answered", fail)
        error = raised(InternalError, lambda: client.verify())
    assert "17" not in str(error)
    assert client.verify() > 0


def test_a_request_that_is_being_answered_is_finished(clinic, token, monkeypatch, door):
    inside, go_on = threading.Event(), threading.Event()

    def slow(visit, request):
        inside.set()
        go_on.wait()
        return {"entries": 7}

    monkeypatch.setattr(methods, "answered", slow)
    told = []
    with serving(clinic, door) as server:
        client = dpsql.connect(socket=door, token=token)
        asking = threading.Thread(target=lambda: told.append(client.verify()))
        asking.start()
        inside.wait()
        server.stop()
        go_on.set()
        asking.join()
    client.close()
    assert told == [7]
    assert not (door).exists()


def test_threads_that_cannot_be_started_end_nothing(clinic, token, monkeypatch, door):
    with serving(clinic, door):
        with monkeypatch.context() as patched:

            def fail(self):
                raise RuntimeError("can't start new thread")

            patched.setattr(threading.Thread, "start", fail)
            raised(NoSource, lambda: dpsql.connect(socket=door, token=token))
        with dpsql.connect(socket=door, token=token) as client:
            assert client.verify() > 0


def test_clients_at_once_spend_one_budget_exactly(clinic, admitted, door):
    token = admitted("ana", budget=2)
    told, refused = [], []

    def ask(first):
        with dpsql.connect(socket=door, token=token) as ana:
            for age in range(first, first + 8):
                try:
                    told.append(ana.sql(f"SELECT COUNT(*) FROM people WHERE id < {age}", epsilon=Fraction(1, 10)))
                except BudgetExhausted as error:
                    refused.append(error)

    with serving(clinic, door):
        clients = [threading.Thread(target=ask, args=(100 * number,)) for number in range(4)]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
    assert (len(told), len(refused)) == (20, 12)  # ten tenths are one
    assert sum(answer.epsilon for answer in told) == clinic.analyst("ana").budget.spent == 2


@cases(__file__, "options=")
def test_limits_are_limits(clinic, options, door):
    raised(BadParameter, lambda: dpsql.SocketServer(clinic, door, **options))
