"""Check 18: a policy is suggested from the catalogue without reading rows.

Judged on a database whose rows nobody can read any more, and on two that differ in nothing but their rows.
"""

import duckdb
import pytest

import dpsql
from dpsql.cli.main import main

TABLES = """
CREATE TYPE sex AS ENUM ('f', 'm', 'x');
CREATE TABLE wards (ward_id INTEGER PRIMARY KEY, ward VARCHAR);
CREATE TABLE patients (
    patient_id BIGINT PRIMARY KEY, name VARCHAR, age INTEGER CHECK (age BETWEEN 0 AND 120), city VARCHAR, sex sex
);
CREATE TABLE visits (
    visit_id BIGINT PRIMARY KEY, patient_id BIGINT REFERENCES patients (patient_id),
    ward_id INTEGER REFERENCES wards (ward_id), day DATE, charge INTEGER
);
COMMENT ON COLUMN visits.charge IS 'in francs';
"""
FIRST_BLOCK = 3 * 4096
"""A DuckDB file begins with three headers of one page each; its blocks follow."""


def made(path, rows):
    with duckdb.connect(str(path)) as database:
        database.execute(TABLES)
        database.execute("INSERT INTO wards SELECT range, 'w' || range FROM range(3)")
        database.execute(
            f"INSERT INTO patients SELECT range, md5('n' || range || {rows}), (range * 7 + {rows}) % 110, "
            f"md5('c' || (range + {rows})), 'f' FROM range({rows})"
        )
        day = f"DATE '2024-01-01' + CAST(range % {rows % 97 + 2} AS INTEGER)"
        charge = f"hash(range + {rows}) % 100000"
        database.execute(f"INSERT INTO visits SELECT range, range, range % 3, {day}, {charge} FROM range({rows})")
    return path


def without_rows(path):
    """The same file with every block of column data overwritten: the catalogue is all that is left of it."""
    with duckdb.connect(str(path)) as database:
        ((size,),) = database.execute("SELECT block_size FROM pragma_database_size()").fetchall()
        blocks = {
            block
            for table in ("patients", "visits", "wards")
            for (block,) in database.execute(f"SELECT block_id FROM pragma_storage_info('{table}')").fetchall()
            if block is not None and block >= 0
        }
    assert blocks
    with open(path, "r+b") as file:
        for block in blocks:
            file.seek(FIRST_BLOCK + block * size)
            file.write(b"\xff" * size)
    return path


def suggested(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["init", "duckdb://clinic.duckdb"]) == 0
    return capsys.readouterr().out, (folder / "dpsql.toml").read_text()


def test_it_works_where_no_row_can_be_read(tmp_path, monkeypatch, capsys):
    path = without_rows(made(tmp_path / "clinic.duckdb", 4_000))
    with duckdb.connect(str(path), read_only=True) as database, pytest.raises(duckdb.Error):
        database.execute("SELECT SUM(charge), MAX(day) FROM visits").fetchall()
    told, text = suggested(tmp_path, monkeypatch, capsys)
    assert "No rows, no statistics and no row counts were read." in told
    for proposed in (
        'person = "patient_id"  # CONFIRM from PRIMARY KEY(patient_id)',
        'person = "patient_id"  # CONFIRM from FOREIGN KEY to patients',
        "age = { bounds = [0, 120] }",
        'sex = { keys = ["f", "m", "x"] }',
        "name = { hidden = true }",
        "public = true  # CONFIRM",
    ):
        assert proposed in text, proposed
    assert main(["check"]) == 8
    assert "visits.charge" in capsys.readouterr().out


def test_it_says_the_same_whatever_the_rows_are(tmp_path, monkeypatch, capsys):
    found = []
    for rows in (3, 4_000):
        folder = tmp_path / str(rows)
        folder.mkdir()
        made(folder / "clinic.duckdb", rows)
        found.append(suggested(folder, monkeypatch, capsys))
    assert found[0] == found[1]
    assert "4000" not in found[1][0] + found[1][1]


def test_nothing_can_be_asked_before_it_is_confirmed(tmp_path, monkeypatch, capsys):
    made(tmp_path / "clinic.duckdb", 100)
    suggested(tmp_path, monkeypatch, capsys)
    for door in (dpsql.open, dpsql.Planner, dpsql.open_ledger, dpsql.connect):
        with pytest.raises(dpsql.DpsqlError, match="not confirmed yet"):
            door("dpsql.toml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clinic.duckdb", "dpsql.toml"]
    assert main(["table", "confirm", "--all", "patients", "visits", "promise", "defaults"]) == 0
    assert main(["check"]) == 0
    assert "one patient, with all their rows" in capsys.readouterr().out
    with dpsql.open("dpsql.toml") as owner:
        ana = owner.grant("ana", budget=1)
        assert len(ana.sql("SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex")["n"]) == 3
