"""A hospital behind a socket: the server is a process of its own, and may run as another user."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

import dpsql

POLICY = """
version = 1
[source]
url = "duckdb://clinic.duckdb"
[person]
name = "patient"
[promise]
epsilon = 20
delta = 0
[defaults]
cost_per_query = 1
max_keys = 100
noise = "laplace"
[table.people]
person = "id"
unique = true
columns = { age = { bounds = [0, 110] }, city = { keys = ["Basel", "Bern"] }, id = { hidden = true } }
[[grant]]
to = "ana"
budget = 8
[[grant]]
to = "bob"
budget = 8
"""
COUNT = "SELECT COUNT(*) AS n FROM people"
ROLES = {"ana": "analyst", "bob": "analyst", "olga": "owner", "dominik": "auditor"}

AS_ANOTHER_USER = """
import os, sys, tempfile, threading
import dpsql, dpsql.cli.main, pandas
with dpsql.open(":memory:") as owner, tempfile.TemporaryDirectory() as folder:
    # A whole conversation first: the other user may not be able to read the files of Python, so all are read by now.
    owner.register("t", pandas.DataFrame({"id": [1, 2]}), person="id", unique=True)
    owner.promise(epsilon=1)
    owner.defaults(cost_per_query=1, noise="laplace")
    owner.grant("a", budget=1)
    token, ready = owner.keeper.admit("b", role="auditor"), threading.Event()
    server = dpsql.SocketServer(owner, folder + "/door")
    serving = threading.Thread(target=server.serve, kwargs={"ready": ready.set})
    serving.start()
    ready.wait()
    with dpsql.connect(socket=folder + "/door", token=token) as client:
        client.verify()
    server.stop()
    serving.join()
    owner.grant("a", budget=1).sql("SELECT COUNT(*) FROM t")
with dpsql.open(sys.argv[sys.argv.index("--policy") + 1]) as owner:
    owner.analyst("bob").cost("SELECT COUNT(*) FROM people")
dpsql.exposed_files(sys.argv[sys.argv.index("--policy") + 1])
for path, folders, files in os.walk(os.environ["DPSQL_STATE"]):
    for name in (".", *files):
        os.chown(os.path.join(path, name), int(sys.argv[1]), int(sys.argv[1]))
os.setgroups([]); os.setgid(int(sys.argv[1])); os.setuid(int(sys.argv[1]))
sys.exit(dpsql.cli.main.main(sys.argv[2:]))
"""


@dataclass(frozen=True)
class Clinic:
    """Data, policy, ledger and tokens in a folder; the socket in another."""

    folder: Path
    socket: Path
    tokens: dict[str, str]

    @property
    def policy(self) -> Path:
        return self.folder / "dpsql.toml"

    @property
    def secrets(self) -> list[Path]:
        """What no client may open."""
        return [self.folder / name for name in ("clinic.duckdb", "clinic.duckdb.ledger", "clinic.duckdb.ledger.key")]

    def client(self, name: str, **options: object) -> dpsql.Client:
        return dpsql.connect(socket=self.socket, token=self.tokens[name], timeout=60, **options)


def made(folder: Path, socket: Path) -> Clinic:
    """A clinic that nobody serves yet."""
    folder.mkdir(mode=0o700)
    with duckdb.connect(str(folder / "clinic.duckdb")) as database:
        cities = "CASE WHEN range % 2 = 0 THEN 'Basel' ELSE 'Bern' END"
        database.execute(f"CREATE TABLE people AS SELECT range AS id, 40 AS age, {cities} AS city FROM range(5000)")
    (folder / "dpsql.toml").write_text(POLICY)
    with dpsql.open(folder / "dpsql.toml") as owner:
        tokens = {name: owner.keeper.admit(name, role=role) for name, role in ROLES.items()}
    return Clinic(folder=folder, socket=socket, tokens=tokens)


def hospital_with_wards(folder: Path, socket: Path, *, epsilon: int = 20) -> Clinic:
    """The same with a public table of 2 000 rows, and with more to spend where a test asks for it."""
    folder.mkdir(mode=0o700)
    with duckdb.connect(str(folder / "clinic.duckdb")) as database:
        database.execute("CREATE TABLE people AS SELECT range AS id, 40 AS age, 'Bern' AS city FROM range(5000)")
        database.execute("CREATE TABLE wards AS SELECT range AS n, 0 AS k FROM range(2000)")
    policy = POLICY.replace("epsilon = 20", f"epsilon = {epsilon}").replace(
        "budget = 8", f"budget = {epsilon * 2 // 5}"
    )
    (folder / "dpsql.toml").write_text(policy.replace("[[grant]]", "[table.wards]\npublic = true\n[[grant]]", 1))
    with dpsql.open(folder / "dpsql.toml") as owner:
        tokens = {name: owner.keeper.admit(name, role=role) for name, role in ROLES.items()}
    return Clinic(folder=folder, socket=socket, tokens=tokens)


@contextmanager
def started(clinic: Clinic, *options: str, uid: int | None = None):
    """The server as a process, once it listens. Killed at the end, if it still runs."""
    start = ["-m", "dpsql.cli.main"] if uid is None else ["-c", AS_ANOTHER_USER, str(uid)]
    arguments = ["serve", "--socket", str(clinic.socket), "--policy", str(clinic.policy), *options]
    state = {"DPSQL_STATE": str(clinic.folder / "state")}  # another user has another folder for anchors
    server = subprocess.Popen(
        [sys.executable, *start, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        cwd=os.sep,
        env=os.environ | (state if uid is not None else {}),
    )
    try:
        line = server.stderr.readline()
        assert line.startswith("listening"), line + server.stderr.read()
        yield server
    finally:
        server.kill()
        server.wait()
        server.stderr.close()


@contextmanager
def served(clinic: Clinic, *options: str, uid: int | None = None, ended_by: signal.Signals = signal.SIGTERM):
    """The same, ended by a signal: then it must end well."""
    with started(clinic, *options, uid=uid) as server:
        yield server
        server.send_signal(ended_by)
        _, said = server.communicate(timeout=60)
        assert (server.returncode, said) == (0, ""), said
        assert not clinic.socket.exists()
