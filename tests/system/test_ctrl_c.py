"""A question that takes long: its stages on the terminal, and Ctrl-C that stops the engine."""

import os
import signal
import subprocess
import sys
import time

import duckdb

import dpsql

POLICY = """
version = 1
source.url = "duckdb://slow.duckdb"
promise = { epsilon = 5, delta = 0 }
defaults = { cost_per_query = 0.5, noise = "laplace" }
grant = [{ to = "ana", budget = 3 }]
[table.visits]
person = "patient"
unique = true
columns.ward = {}
[table.wards]
public = true
columns.ward = {}
columns.beds = {}
"""
FOR_EVER = "SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward WHERE w.beds % 7 <> 3 LIMIT 1 PER PERSON"
"""Four times ten to the ten pairs of rows."""


def test_ctrl_c_stops_the_engine_and_says_what_stays_charged(tmp_path):
    with duckdb.connect(str(tmp_path / "slow.duckdb")) as database:
        database.execute("CREATE TABLE visits AS SELECT range AS patient, 1 AS ward FROM range(200000)")
        database.execute("CREATE TABLE wards AS SELECT 1 AS ward, range AS beds FROM range(200000)")
    (tmp_path / "dpsql.toml").write_text(POLICY)
    here, there = os.openpty()
    command = [sys.executable, "-m", "dpsql.cli.main", "-c", FOR_EVER, "--yes", "--format", "csv"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=there,
        stderr=there,
        stdout=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in a background job of a shell
    ) as run:
        os.close(there)
        seen = b""
        while b"[3/3]" not in seen:
            seen += os.read(here, 4096)
        time.sleep(0.5)  # by then the engine works, as a rule; if not, the end must be the same
        run.send_signal(signal.SIGINT)
        while b"stays charged; asked again" not in seen:
            seen += os.read(here, 4096)
        out = run.stdout.read()
    os.close(here)
    assert (run.returncode, out) == (130, b"")
    assert seen.index(b"[1/3]") < seen.index(b"[2/3]") < seen.index(b"[3/3]")
    assert b"DP601" not in seen
    with dpsql.connect(tmp_path / "dpsql.toml") as ana:
        assert float(ana.budget.spent) == 0.5
