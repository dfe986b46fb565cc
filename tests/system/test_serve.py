"""The door over a UNIX socket: real processes, hostile clients, and another user who owns data and ledger."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
from serving import COUNT, made, served, started

import dpsql
from dpsql.errors import DpsqlError, FrozenLedger, NoSource, NotPermitted, NotUnderstood, RowLevel
from dpsql.serve.methods import METHODS
from tests.kits.refusals import raised

REASON = {"reason": "a look"}
WORDS = {"freeze": REASON, "unfreeze": REASON, **{method: {"sql": COUNT} for method in ("sql", "cost", "explain")}}
MAY = {
    "analyst": {"sql", "cost", "explain", "budget", "ledger"},
    "auditor": {"audit", "verify", "budget", "ledger", "freeze"},
    "owner": {"audit", "verify", "budget", "ledger", "freeze", "unfreeze"},
}
"""Who may do what, as the guide says."""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    found = made(tmp_path_factory.mktemp("data") / "clinic", tmp_path_factory.mktemp("run") / "door")
    with served(found):
        yield found


@contextmanager
def raw(clinic):
    """A connection of somebody who writes their own bytes."""
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(30)
        connection.connect(str(clinic.socket))
        with connection.makefile("rb") as lines:
            yield connection, lines


def said(connection, lines, request):
    connection.sendall((request if isinstance(request, bytes) else json.dumps(request).encode()) + b"\n")
    return json.loads(lines.readline())


def test_a_question_is_answered_with_plain_values(clinic):
    with clinic.client("ana") as ana:
        assert (ana.name, ana.role) == ("ana", "analyst")
        price = ana.query(COUNT)
        assert (price.cost.epsilon, ana.cost(COUNT)) == (1, 1)
        assert "PROMISE" in ana.explain(COUNT)
        before = ana.budget
        answer = ana.sql(COUNT, epsilon=0.1, max_cost=Fraction(1, 10))
        assert (answer.epsilon, ana.budget.spent - before.spent) == (Fraction(1, 10), Fraction(1, 10))
        (number,) = answer["n"]
        # Laplace noise of scale 10 is beyond 400 with probability e^-40.
        assert abs(number.value - 5000) < 400
        assert number.low <= number.value <= number.high
        again = ana.sql(COUNT, epsilon=0.1)
        assert (again.rows, again.epsilon, again.release) == (answer.rows, 0, answer.release)
        assert str(number.value)[:1] in repr(again)


def test_invented_rows_come_with_their_label_and_for_nothing(clinic):
    with clinic.client("ana") as ana:
        before = ana.budget.spent, len(ana.ledger())
        told = ana.sql(f"SIMULATE {COUNT} ROWS 50")
        assert told["invented"] == [True]
        assert repr(told).startswith("INVENTED ROWS")
        assert told["n"][0].value < 1000  # noise of scale 1 around 50
        rows = ana.sample("people", rows=2)
        assert (len(rows), set(rows["id"]), rows["invented"]) == (2, {"(hidden)"}, [True, True])
        assert (ana.budget.spent, len(ana.ledger())) == before


def test_what_is_set_holds_for_one_connection(clinic):
    with clinic.client("ana") as first, clinic.client("ana") as second:
        first.sql("SET dp.epsilon = 0.25")
        expected = (Fraction(1, 4), 1)
        assert (first.cost("SELECT AVG(age) FROM people"), second.cost("SELECT AVG(age) FROM people")) == expected


def test_an_error_is_the_error_of_the_session(clinic):
    with clinic.client("ana") as ana:
        assert "^^^" in str(raised(RowLevel, lambda: ana.sql("SELECT age FROM people")))
        for wrong in (float("nan"), -1, "a lot", True, Fraction(0)):
            with pytest.raises(DpsqlError):
                ana.sql(COUNT, epsilon=wrong)
        raised(NotUnderstood, lambda: ana.sql("SELECT '\ud800' FROM people"))


@pytest.mark.parametrize("role", MAY)
def test_every_role_may_do_what_it_may_and_no_more(clinic, role):
    name = {"analyst": "bob", "auditor": "dominik", "owner": "olga"}[role]
    with raw(clinic) as (connection, lines):
        assert said(connection, lines, {"do": "hello", "token": clinic.tokens[name]})["ok"]["role"] == role
        done = set()
        for method in [*METHODS, "grant", "query", "__class__", "hello"]:
            reply = said(connection, lines, {"do": method, **WORDS.get(method, {})})
            if "ok" in reply:
                done.add(method)
            elif method in METHODS:
                assert reply["error"]["code"] == "DP402"
                assert role in reply["error"]["title"]
            else:
                assert reply["error"]["code"] == "DP100"
            if method == "freeze" and "ok" in reply:
                thaw(clinic)
    assert done == MAY[role]


def thaw(clinic):
    with clinic.client("olga") as olga:
        olga.unfreeze("seen")


def test_texts_are_seen_by_their_author_and_the_owner(clinic):
    mine = "SELECT COUNT(*) AS ofana FROM people WHERE age > 41"  # no letter that a report escapes
    refused = "SELECT age AS notforothers FROM people"
    with clinic.client("ana") as ana, clinic.client("bob") as bob:
        ana.sql(mine)
        raised(RowLevel, lambda: ana.sql(refused))
        bob.sql(COUNT)
        own, others = json.dumps(ana.ledger()), json.dumps(bob.ledger())
    with clinic.client("olga") as olga, clinic.client("dominik") as dominik:
        of_owner, report = json.dumps(olga.ledger()), olga.audit().markdown
        of_auditor = json.dumps(dominik.ledger()) + repr(dominik.audit()) + dominik.audit().markdown
    for text in ("ofana", "notforothers"):
        assert text in own
        assert text in of_owner
        assert text not in others
        assert text not in of_auditor
    assert "ofana" in report
    assert "ana" not in others
    assert "DP101" in of_auditor
    assert all(token not in of_owner + of_auditor for token in clinic.tokens.values())


def test_an_auditor_verifies_and_freezes_and_only_the_owner_lets_go_on(clinic):
    with clinic.client("ana") as ana, clinic.client("dominik") as dominik:
        ana.sql(COUNT)
        assert dominik.verify() > 5
        found = dominik.audit()
        assert found.holds
        assert "patient" in repr(found)
        dominik.freeze("a look")
        with pytest.raises(FrozenLedger, match="dominik has frozen this source: a look"):
            ana.sql(COUNT)  # a repeat, and free otherwise
        raised(NotPermitted, lambda: dominik.unfreeze("seen"))
        thaw(clinic)
        assert ana.sql(COUNT).epsilon == 0


HOSTILE = [
    b"",
    b"\x00" * 100,
    b"\xff" * 100,
    b"{" * 100_000,
    b'{"do": "sql"}',
    b'{"do": "sql", "sql": 7}',
    b'{"do": "sql", "sql": null}',
    b'{"do": "sql", "sql": "SELECT 1", "now": true}',
    b'{"do": ["sql"]}',
    b'{"do": {"a": 1}}',
    b'{"do": "ledger", "since": 7}',
    b'{"do": "sql", "sql": "SELECT 1", "do": "freeze"}',
    b'{"do": "sql", "sql": "x", "epsilon": NaN}',
    b'{"do": "sql", "sql": "x", "epsilon": ' + b"9" * 5000 + b"}",
    b"GET / HTTP/1.1",
]


def test_no_request_ends_the_server(clinic):
    with clinic.client("ana") as ana, raw(clinic) as (connection, lines):
        assert "ok" in said(connection, lines, {"do": "hello", "token": clinic.tokens["ana"]})
        assert {said(connection, lines, each)["error"]["title"] for each in HOSTILE} == {"this is not a request"}
        for value in ("9" * 5000, [1], {"a": 1}, "nan", "1/0", -1, 0, True, "١"):
            reply = said(connection, lines, {"do": "sql", "sql": COUNT, "epsilon": value})
            assert reply["error"]["code"] == "DP410"
        assert said(connection, lines, b'{"do":"sql","sql":"SELECT 1","epsilon":1e999}')["error"]["code"] == "DP410"
        for moment in ("soon", "0001-01-01T00:00:00+23:00", "٢٠٢٦-10-01"):
            assert said(connection, lines, {"do": "ledger", "since": moment})["error"]["code"] == "DP410"
        assert "ok" in said(connection, lines, {"do": "budget"})
        assert ana.budget.total == 8


def test_who_says_no_hello_is_told_nothing(clinic):
    known = {"do": "hello", "token": clinic.tokens["ana"]}
    for request in (
        {"do": "budget"},
        {"do": "hello"},
        {"do": "hello", "token": "dpsql_wrong"},
        {"do": "hello", "token": 7},
        {"do": "hello", "token": clinic.tokens["ana"][:-1]},
        {**known, "role": "owner"},
    ):
        with raw(clinic) as (connection, lines):
            reply = said(connection, lines, request)
            assert reply["error"]["title"] == "nobody is known by this token"
            is_hello = set(request) == set(known) and isinstance(request["token"], str)
            assert ("hello" in reply["error"]["fix"]) is not is_hello  # who spoke the protocol is not taught it
            assert lines.readline() == b""  # and the door is closed


def test_a_token_that_was_withdrawn_counts_no_longer_on_an_open_connection(clinic):
    with dpsql.open_ledger(clinic.policy) as keeper:
        token = keeper.admit("eve", role="auditor")
    with dpsql.connect(socket=clinic.socket, token=token, timeout=60) as eve:
        assert eve.verify() > 0
        with dpsql.open_ledger(clinic.policy) as keeper:
            keeper.dismiss("eve")
        raised(NotPermitted, lambda: eve.verify(), match="nobody is known")
    raised(NotPermitted, lambda: dpsql.connect(socket=clinic.socket, token=token, timeout=60), match="nobody is known")


CLIENT = """
import os, sys, dpsql
with dpsql.connect(socket=sys.argv[1], token=sys.argv[2], timeout=60) as client:
    client.sql(sys.argv[3])
    for number in os.listdir("/proc/self/fd"):
        try:
            print("fd", os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            pass
    print(*(f"module {name}" for name in sys.modules), sep="\\n")
"""


def test_a_client_holds_no_handle_to_data_or_ledger(clinic):
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, clinic.socket, clinic.tokens["ana"], COUNT],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert any(line.startswith("fd socket:") for line in lines)
    assert not [line for line in lines if line.startswith("fd") and str(clinic.folder) in line]
    assert not {"module duckdb", "module sqlite3", "module dpsql.session.owner", "module dpsql.ledger.sqlite"} & set(
        lines
    )


def test_a_server_that_was_killed_is_followed_by_another(tmp_path):
    clinic = made(tmp_path / "clinic", tmp_path / "door")
    with started(clinic) as server, clinic.client("ana") as ana:
        first = ana.sql(COUNT)
        server.kill()
        server.wait()
        raised(NoSource, lambda: ana.sql(COUNT))
    assert clinic.socket.exists()
    raised(NoSource, lambda: clinic.client("ana"), match="no server")
    with served(clinic, ended_by=signal.SIGINT), clinic.client("ana") as ana:
        again = ana.sql(COUNT)
        assert (again.rows, again.epsilon) == (first.rows, 0)
        assert ana.budget.spent == 1


STRANGER = """
import json, os, sys
import dpsql, dpsql.serve.client
from dpsql.serve.wire import decoded, encoded
decoded(encoded({})[:-1])  # whatever that needs of Python is read by now
if os.getuid() == 0:
    os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
refused = []
for path in sys.argv[5:]:
    try:
        open(path, "rb").close()
    except PermissionError:
        refused.append(path)
with dpsql.connect(socket=sys.argv[2], token=sys.argv[3], timeout=60) as client:
    (row,) = client.sql(sys.argv[4])
print(json.dumps({"uid": os.getuid(), "refused": refused, "value": row[0].value}))
"""
SERVER, CLIENT_USER = 61_234, 61_235


def asked_by_a_stranger(clinic):
    """What a process of another user gets: answers, and none of the files."""
    words = [str(CLIENT_USER), clinic.socket, clinic.tokens["ana"], COUNT, *clinic.secrets]
    done = subprocess.run(
        [sys.executable, "-c", STRANGER, *map(str, words)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_the_boundary_is_another_user_of_the_operating_system():
    """Run by root: server and client are processes of two other users. Run by anybody else: the modes of the files
    are what keeps others out."""
    root = os.getuid() == 0
    folder = Path(tempfile.mkdtemp())  # that of pytest is closed to other users
    try:
        folder.chmod(0o755)
        clinic = made(folder / "clinic", folder / "run" / "door")
        clinic.socket.parent.mkdir(mode=0o755)
        if root:
            for path in (clinic.socket.parent, clinic.folder, *clinic.folder.iterdir()):
                os.chown(path, SERVER, SERVER)
        with served(clinic, "--mode", "0666", uid=SERVER if root else None):
            found = asked_by_a_stranger(clinic)
            assert stat.S_IMODE(clinic.socket.stat().st_mode) == 0o666
            assert stat.S_IMODE(clinic.folder.stat().st_mode) == 0o700
            assert {stat.S_IMODE(path.stat().st_mode) for path in clinic.secrets[1:]} == {0o600}
        # Laplace noise of scale 1 is beyond 40 with probability e^-40.
        assert abs(found["value"] - 5000) < 40
        assert found["uid"] == (CLIENT_USER if root else os.getuid())
        assert found["refused"] == ([str(path) for path in clinic.secrets] if root else [])
    finally:
        shutil.rmtree(folder)
