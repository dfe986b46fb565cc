"""Check 3: the error margin is shown with the result by default. Judged at the command line, on the demo hospital."""

import csv
import io
import json
import re

import pytest

QUESTION = "SELECT city, COUNT(*) AS n, AVG(age) AS age FROM patients GROUP BY city"
CITIES = {"Basel", "Bern", "Geneva", "Aarau"}


@pytest.fixture
def asked(command):
    def asked(*words):
        return command(["-c", QUESTION, "demo", *words])

    return asked


def test_every_number_on_the_screen_has_its_margin_and_the_screen_says_what_it_means(asked):
    told = asked()
    rows = [line for line in told.out.splitlines() if any(city in line for city in CITIES)]
    assert len(rows) == 4
    for row in rows:
        assert len(re.findall(r"[0-9.] ±\s+[0-9]", row)) == 2, row
    assert "± is 95 %" in told.err


def test_who_reads_with_ears_hears_it(asked):
    told = asked("--plain")
    assert told.out.count("plus or minus") == 8
    assert "plus or minus is 95 %" in told.err


def test_a_file_keeps_it_without_being_asked(asked):
    rows = list(csv.DictReader(io.StringIO(asked("--format", "csv").out)))
    assert {row["city"] for row in rows} == CITIES
    assert all(float(row["n_low"]) < float(row["n"]) < float(row["n_high"]) for row in rows)
    assert all(float(row["age_low"]) <= float(row["age"]) <= float(row["age_high"]) for row in rows)


def test_a_program_is_told_it_in_every_cell(asked):
    told = json.loads(asked("--format", "json").out)
    assert told["confidence"] == 0.95
    for row in told["rows"]:
        for cell in (row["n"], row["age"]):
            assert cell["margin"] > 0
            assert cell["low"] <= cell["value"] <= cell["high"]


def test_a_cell_that_is_only_noise_is_marked(command):
    """Nobody lives on the moon: at this confidence noise stays within its margin but once in 10⁹ times."""
    nobody = "SELECT COUNT(*) AS n FROM patients WHERE age > 200 CONFIDENCE 0.999999999"
    told = command(["-c", nobody, "demo"])
    assert "⚠" in told.out
    assert "do not use these cells" in told.err
