"""Check 4: cost and expected margin before running, without data. Judged at the command line: on the demo hospital, and
on a clinic of two copies, one of which has no rows at all."""

import re

import duckdb
import pytest

import dpsql
from dpsql.cli.main import main

QUESTION = "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"
POLICY = """
version = 1
source.url = "duckdb://clinic.duckdb"
promise = { epsilon = 5, delta = 0 }
defaults = { cost_per_query = 0.05, max_keys = 100, noise = "laplace" }
grant = [{ to = "ana", budget = 1 }]
[table.patients]
person = "id"
unique = true
columns.city = { keys = ["Basel", "Bern"] }
columns.age = { bounds = [0, 110] }
"""


def told(capsys, *words):
    code = main(list(map(str, words)))
    found = capsys.readouterr()
    assert code == 0, found.err
    return found.out


@pytest.fixture
def clinics(tmp_path):
    """The same policy over people and over nobody."""
    made = []
    for name, people in (("full", 5000), ("empty", 0)):
        folder = tmp_path / name
        folder.mkdir()
        with duckdb.connect(str(folder / "clinic.duckdb")) as database:
            database.execute("CREATE TABLE patients (id BIGINT, city VARCHAR, age INTEGER)")
            database.execute(f"INSERT INTO patients SELECT range, 'Basel', range % 90 FROM range({people})")
        (folder / "dpsql.toml").write_text(POLICY)
        made.append(folder / "dpsql.toml")
    return made


def test_price_and_margin_come_first_and_cost_nothing(capsys):
    out = told(capsys, "cost", QUESTION, "demo")
    assert re.search(r"would cost +0\.05 of 1\.00 left", out)
    assert re.search(r"margin +n ± [0-9]+", out)
    assert "nothing was spent, no data was read" in out


def test_the_option_says_the_same_as_the_command(capsys):
    assert told(capsys, "-c", QUESTION, "--dry-run", "demo") == told(capsys, "cost", QUESTION, "demo")


def test_no_row_has_a_part_in_it(clinics, capsys):
    full, empty = (told(capsys, "cost", QUESTION, clinic) for clinic in clinics)
    assert full == empty
    # Laplace noise of scale 1/0.05 stays within 20 ln 20 = 59.9 in 95 % of all cases: a whole number within 60
    assert "n ± 60" in full
    for clinic in clinics:
        with dpsql.connect(clinic) as ana:
            assert ana.budget.spent == 0


def test_what_was_promised_is_what_comes(clinics, capsys):
    clinic, _ = clinics
    told(capsys, "cost", QUESTION, clinic)
    out = told(capsys, "-c", QUESTION, clinic)
    assert out.count("± 60") == 2
    with dpsql.connect(clinic) as ana:
        assert float(ana.budget.spent) == 0.05


def test_asked_by_margin_the_price_is_told_before_too(clinics, capsys):
    # scale 120/ln 20 = 40.06 at 95 %: a price of about 0.025
    price = re.search(r"would cost +([0-9.]+)", told(capsys, "cost", QUESTION, clinics[0], "--within", "120"))
    assert 0.0245 <= float(price[1]) <= 0.0255
