"""The client says what went wrong on its side, and believes no answer that is none."""

import socket
import threading
from contextlib import contextmanager
from fractions import Fraction

import pytest
from in_this_process import serving

import dpsql
from dpsql.errors import BadName, NoSource


@contextmanager
def impostor(path, *replies):
    """Something that answers each line with the next of these bytes, and then falls silent."""

    def answer():
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            for reply in replies:
                lines.readline()
                connection.sendall(reply)
            lines.read()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=answer)
        thread.start()
        yield
        thread.join()


HELLO = b'{"ok": {"name": "ana", "role": "analyst"}}\n'


def test_nobody_listens(tmp_path):
    for path in (tmp_path / "none", "x" * 300):
        with pytest.raises(NoSource, match="no server can be reached"):
            dpsql.connect(socket=path, token="t")


@pytest.mark.parametrize(
    "reply", [b"HTTP/1.1 400 Bad Request\n", b"{}\n", b"[]\n", b'{"ok": 7}\n', b'{"error": {}}\n', b'{"ok": {}}\n']
)
def test_what_is_no_server_is_not_believed(tmp_path, reply):
    with impostor(tmp_path / "door", reply), pytest.raises(NoSource):
        dpsql.connect(socket=tmp_path / "door", token="t")


def test_a_server_that_does_not_answer_in_time(tmp_path):
    with impostor(tmp_path / "door", HELLO), dpsql.connect(socket=tmp_path / "door", token="t", timeout=0.2) as client:
        with pytest.raises(NoSource, match="in time"):
            client.sql("SELECT 1")
        with pytest.raises(NoSource, match="closed"):
            client.sql("SELECT 1")  # the late answer would be taken for this one's


def test_an_answer_is_read_by_column(clinic, tmp_path):
    clinic.grant("ana", budget=5)
    token = clinic.keeper.admit("ana", role="analyst")
    with serving(clinic, tmp_path / "door"), dpsql.connect(socket=tmp_path / "door", token=token) as ana:
        answer = ana.sql("SELECT COUNT(*) AS n, COUNT(*) AS n, 1 AS one FROM people", epsilon=Fraction(1, 2))
        assert (answer.columns, len(answer), answer.epsilon, answer.delta) == (("n", "n", "one"), 1, Fraction(1, 2), 0)
        ((first, _, one),) = answer
        assert (answer["n"], answer["one"], one) == ([first], [1], 1)
        with pytest.raises(BadName, match="choose one of: n, n, one"):
            answer["m"]
        assert answer.head == str(clinic._ledger.head())
        assert repr(ana) == "Client('ana', role='analyst')"
        assert ana.budget.left == Fraction(9, 2)
        assert ana.query("SELECT COUNT(*) AS n FROM people").margins["n"] > 0
