"""The client says what went wrong on its side, and believes no answer that is none."""

import copy
import json
import socket
import threading
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import dpsql
from dpsql.errors import BadName, BadParameter, NoSource, NotPermitted, OverLimit
from dpsql.serve.client import Client
from dpsql.serve.wire import PROTOCOL, Lines
from in_this_process import serving
from tests.kits.refusals import raised


@contextmanager
def impostor(path, *replies):
    """Something that answers each line with the next of these bytes, and then falls silent."""

    sent = []

    def answer():
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines, suppress(ConnectionError):  # who asks may have left
            for reply in replies:
                sent.append(lines.readline())
                connection.sendall(reply)
            sent.extend(lines.readlines())

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=answer)
        thread.start()
        yield sent
        thread.join()


@contextmanager
def taken_in(path, *replies, timeout=30):
    """A client that an impostor has greeted and then answers with these bytes."""
    with impostor(path, HELLO, *replies), dpsql.connect(socket=path, token="t", timeout=timeout) as client:
        yield client


HELLO = b'{"ok": {"name": "ana", "role": "analyst", "protocol": 1}}\n'


def unreached(path):
    error = raised(NoSource, lambda: dpsql.connect(socket=path, token="t"), match="no server can be reached")
    assert str(path) in error.what
    return error


def test_a_path_that_leads_to_no_server_says_what_is_there(tmp_path, door):
    assert "no such file" in unreached(tmp_path / "none").what
    (tmp_path / "notes.txt").write_text("mine")
    assert "nobody listens there, or it is no socket" in unreached(tmp_path / "notes.txt").what
    assert "the path is too long" in unreached("x" * 300).what
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(door))
    assert "dpsql serve --socket" in unreached(door).fix


def test_a_socket_of_others(monkeypatch, door):
    """What root is not refused is refused here by hand."""

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    class Closed(socket.socket):
        connect = refused

    monkeypatch.setattr(socket, "socket", Closed)
    assert "--mode" in unreached(door).fix


@pytest.mark.parametrize("wrong", [{"socket": 7}, {"socket": "a\0b"}])
def test_what_is_no_path(wrong):
    raised(BadParameter, lambda: dpsql.connect(token="t", **wrong), match="is no path")


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e12, "1", True])
def test_a_timeout_is_a_number_of_seconds(tmp_path, timeout):
    raised(BadParameter, lambda: dpsql.connect(socket=tmp_path / "none", token="t", timeout=timeout), match="timeout")


@pytest.mark.parametrize("told", [b"", b', "protocol": 2', b', "protocol": 0', b', "protocol": "1"'])
def test_a_server_of_another_version_is_not_asked(told, door):
    """Nothing but who asks is sent, so that nothing can be charged for an answer that would not be understood."""
    hello = b'{"ok": {"name": "ana", "role": "analyst"' + told + b"}}\n"
    with impostor(door, hello) as sent, pytest.raises(NoSource, match="speaks protocol") as refused:
        dpsql.connect(socket=door, token="t")
    assert "version" in refused.value.why
    assert [json.loads(line) for line in sent] == [{"do": "hello", "token": "t"}]


def test_the_guide_says_which_protocol_it_is():
    page = Path(__file__).parents[3] / "docs" / "guide" / "serve.md"
    assert f"the number of this protocol: {PROTOCOL}." in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "reply", [b"HTTP/1.1 400 Bad Request\n", b"{}\n", b"[]\n", b'{"ok": 7}\n', b'{"error": {}}\n', b'{"ok": {}}\n']
)
def test_what_is_no_server_is_not_believed(reply, door):
    with impostor(door, reply), pytest.raises(NoSource):
        dpsql.connect(socket=door, token="t")


def test_a_server_that_does_not_answer_in_time(door):
    with taken_in(door, timeout=0.2) as client:
        raised(NoSource, lambda: client.sql("SELECT 1"), match="in time")
        with pytest.raises(NoSource, match="closed"):
            client.sql("SELECT 1")  # the late answer would be taken for this one's


WRONG = [b'{"ok": {}}\n', b'{"ok": {"margins": 7, "rows": [[{"noisy": []}]], "total": "1/0", "entries": "x"}}\n']


@pytest.mark.parametrize("reply", WRONG)
@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.sql("SELECT 1"),
        lambda client: client.cost("SELECT 1"),
        lambda client: client.explain("SELECT 1"),
        lambda client: client.budget,
        lambda client: client.verify(),
        lambda client: client.audit(),
    ],
)
def test_an_answer_that_lacks_something_is_not_believed(reply, ask, door):
    with taken_in(door, reply) as client, pytest.raises(NoSource, match="no server of dpsql"):
        ask(client)


def test_who_is_turned_away_hears_why(door):
    """The server has said no and closed before it was greeted."""
    full = b'{"error": {"code": "DP402", "title": "full", "where": null, "why": "w", "fix": "f", "try": null}}\n'
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(door))
        listener.listen()

        def refuse():
            connection, _ = listener.accept()
            connection.sendall(full)
            connection.close()
            refused.set()

        refused = threading.Event()
        thread = threading.Thread(target=refuse)
        thread.start()
        with closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.connect(str(door))
            assert refused.wait(30)
            raised(NotPermitted, lambda: Client(connection, timeout=30).greet("t"), match="full")
        thread.join()


def test_a_question_that_was_interrupted_ends_the_connection(monkeypatch, door):
    """Its answer would be taken for that of the next one."""
    late = b'{"ok": {"text": "of the first"}}\n'
    with taken_in(door, late) as client:

        def pressed(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as keys:
            keys.setattr(Lines, "next", pressed)
            raised(KeyboardInterrupt, lambda: client.explain("SELECT 1"))
        raised(NoSource, lambda: client.explain("SELECT 2"), match="closed")


@pytest.mark.parametrize("words", [{"epsilon": 10**5000}, {"mode": object()}, {"sql": object()}])
def test_what_cannot_be_sent_is_not_sent(words, client):
    raised(BadParameter, lambda: client.sql(**{"sql": "SELECT 1", **words}), match="cannot be sent")
    assert client.verify() > 0  # and the connection goes on


NO_NUMBERS = [float("nan"), float("-inf"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")]


def test_numbers_that_are_none_are_refused_in_the_words_of_an_analyst(clinic, ana):
    for name, number in product(("epsilon", "confidence", "max_cost"), NO_NUMBERS):
        words = []
        for asking in (clinic.analyst("ana"), ana):
            with pytest.raises(BadParameter) as refused:
                asking.sql("SELECT COUNT(*) FROM people", **{name: number})
            words.append((refused.value.what, refused.value.why, refused.value.fix))
        assert words[0] == words[1]
    assert ana.budget.spent == 0  # and the connection goes on


def test_a_price_and_an_explanation_take_the_options_of_a_question(clinic, ana):
    here, sql = clinic.analyst("ana"), "SELECT COUNT(*) AS n FROM people"
    options = {"epsilon": Fraction(1, 4), "confidence": 0.5, "noise": "laplace"}
    here.sql(sql, epsilon=0.5)
    assert ana.cost(sql, **options) == here.cost(sql, **options) == 0  # a finer one is stored
    assert ana.cost(sql, fresh=True, **options) == here.cost(sql, fresh=True, **options) == Fraction(1, 4)
    told = ana.explain(sql, fresh=True, **options)
    assert told == here.explain(sql, fresh=True, **options).text()
    assert "EXPECTED ERROR (50 %)" in told
    assert "ε = 0.25" in told
    raised(BadParameter, lambda: ana.explain(sql, mode="neither"), match="mode")


def test_a_wrong_token_is_explained_to_whoever_has_it(clinic, token, door):
    with serving(clinic, door):
        with pytest.raises(NotPermitted) as wrong:
            dpsql.connect(socket=door, token=token[:-1])
        with dpsql.connect(socket=door, token=token) as client:
            clinic.keeper.dismiss("dominik")
            with pytest.raises(NotPermitted) as withdrawn:
                client.verify()
    for refused in (wrong, withdrawn):
        assert "dpsql user token NAME" in refused.value.fix
        assert "hello" not in refused.value.fix


def test_a_moment_without_a_zone_is_utc(client):
    assert client.ledger(since=datetime(2020, 1, 1)) == client.ledger()
    assert client.ledger(since=datetime(9000, 1, 1)) == []
    raised(BadParameter, lambda: client.audit(since="2020-01-01"), match="since")


def test_an_answer_is_read_by_column(clinic, ana):
    answer = ana.sql("SELECT COUNT(*) AS n, COUNT(*) AS n, 1 AS one FROM people", epsilon=Fraction(1, 2))
    assert (answer.columns, len(answer), answer.epsilon, answer.delta) == (("n", "n", "one"), 1, Fraction(1, 2), 0)
    ((first, _, one),) = answer
    assert (answer["n"], answer["one"], one) == ([first], [1], 1)
    raised(BadName, lambda: answer["m"], match="choose one of: n, n_2, one")
    frames = (answer.df(), answer.pl(), answer.arrow().to_pandas())
    assert [list(frame["n"]) for frame in frames] == [[first.value]] * 3
    expected = ["n", "n_low", "n_high", "n_2", "n_2_low", "n_2_high", "one"]
    assert list(answer.df(intervals="columns").columns) == expected
    assert answer.dicts() == [{"n": first, "n_2": answer["n_2"][0], "one": 1}]
    assert answer.head == str(clinic._ledger.head())
    assert repr(ana) == "Client('ana', role='analyst')"
    assert "4.50 of 5.00" in repr(ana.budget)
    assert (ana.budget.left, ana.budget.short) == (Fraction(9, 2), "")
    asked = "SELECT COUNT(*) AS n, COUNT(*) AS n, 1 AS one FROM people"
    assert ana.query(asked, epsilon=Fraction(1, 2)).cost.epsilon == 0
    assert ana.query(asked, epsilon=Fraction(1, 2), fresh=True).cost.epsilon == Fraction(1, 2)
    whole = clinic.budget.left
    clinic.grant("bob", budget=whole).sql("SELECT COUNT(*) FROM people", epsilon=whole - 1)
    assert (ana.budget.left, ana.budget.total - ana.budget.spent) == (1, Fraction(9, 2))
    assert ana.budget.short == "the promise to everybody has 1.00 left; your grant 4.50"
    assert ana.query("SELECT COUNT(*) AS n FROM people").margins["n"] > 0


def test_a_better_answer_is_asked_for_over_the_socket(ana):
    coarse = ana.sql("SELECT COUNT(*) AS n FROM people COST 0.1", confidence=0.9)
    half = coarse["n"][0].margin / 2
    finer = coarse.better(within=half, max_cost=2)
    assert finer["n"][0].margin <= half
    assert (finer.confidence, finer.epsilon > 0) == (coarse.confidence, True)
    assert finer.better(within=half).epsilon == 0
    raised(BadParameter, lambda: coarse.better(), match="by its margin or by its price")
    for away in (copy.deepcopy(coarse), ana.sql("EXPLAIN PRIVACY SELECT COUNT(*) FROM people")):
        with pytest.raises(BadParameter, match="asked for again"):
            away.better(within=1)


def test_a_question_is_priced_first_and_run_as_beside_the_data(clinic, ana):
    sql = "SELECT COUNT(*) AS n FROM people"
    here, there = clinic.analyst("ana").query(sql, epsilon=0.5), ana.query(sql, epsilon=0.5)
    assert (there.cost, there.margins) == (here.cost, here.margins)
    assert (str(there.cost), repr(there)) == ("0.50", f"ServedQuery('{sql}', cost=0.50)")
    assert there.explain() == here.explain().text()
    assert there.run(epsilon=0.25).epsilon == Fraction(1, 4)
    answer = there.run()
    assert there.run().rows == answer.rows
    wanted = answer["n"][0].margin / 2
    assert there.run(within=wanted)["n"][0].margin <= wanted
    raised(OverLimit, lambda: ana.query(f"{sql} WHERE id > 3").run(max_cost=0.01))


def test_another_thread_can_end_a_question_that_waits(door):
    with taken_in(door) as client:
        stopping = threading.Timer(0.05, client.interrupt)
        stopping.start()
        error = raised(NoSource, lambda: client.sql("SELECT 1"), match="has closed the connection")
        assert "told for nothing" in error.fix
        client.close()
        client.interrupt()  # says nothing where there is nothing left to end
        stopping.join()


def test_every_format_is_the_same_here_and_over_the_socket(clinic, ana):
    """Parquet tells who wrote it and Arrow pads: their tables are compared, not their bytes."""
    question = "SELECT COUNT(*) AS n, COUNT(*) < 0 AS wrong, DATE '2024-01-02' AS day FROM people"
    assert dpsql.summary(ana.sql(question))[1].startswith("cost 1.00 · budget ")
    for form in ("table", "csv", "json", "jsonl", "markdown"):
        here, there = clinic.analyst("ana").sql(question), ana.sql(question)
        assert dpsql.formatted(here, form) == dpsql.formatted(there, form)
        assert dpsql.summary(here) == dpsql.summary(there)
    lines = dpsql.formatted(ana.sql(f"EXPLAIN PRIVACY {question}"), "table")
    assert lines.startswith("PROMISE")
