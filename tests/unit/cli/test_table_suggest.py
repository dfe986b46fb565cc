"""`dpsql table suggest …`: the line on standard output, everything else on standard error."""

import duckdb
import pytest

from asked_clinic import POLICY, declared
from dpsql.cli.main import main

WORDS = POLICY.replace("cost_per_query = 1", "cost_per_query = 1\nmax_keys = 100")


@pytest.fixture
def suggest(tmp_path, capsys):
    policy = declared(tmp_path, WORDS)
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as database:
        database.execute("INSERT INTO people SELECT range + 50 FROM range(2000)")

    def suggest(*words):
        return (main(["table", "suggest", *words, "--policy", str(policy)]), *capsys.readouterr())

    return suggest


def test_a_line_for_the_policy_and_what_it_means(suggest):
    code, out, err = suggest("people.id", "--spend", "2")
    assert code == 0
    assert out.startswith("bounds = [0, ")
    assert "spent 2, ledger #" in out
    assert len(out.splitlines()) == 1
    assert "2.00 of 4.00" in err
    assert "spent 0, ledger #" in suggest("people.id", "--spend", "2")[1]


def test_rows_per_person(suggest):
    assert suggest("people", "--what", "rows-per-person", "--spend", "3", "--share", "0.5")[1].startswith(
        "rows_per_person = 1  # private estimate: about 50 % of the patients seen have no more rows; up to "
    )


def test_a_price_has_no_default_and_is_a_number(suggest, capsys):
    with pytest.raises(SystemExit):
        suggest("people.id")
    assert "--spend" in capsys.readouterr().err
    for words in (("--spend", "nan"), ("--spend", "1", "--share", "much"), ("--spend", "0")):
        code, out, err = suggest("people.id", *words)
        assert (code, out) == (2, "")
        assert "DP410" in err


def test_exit_codes_tell_a_wrong_name_from_a_budget_that_is_too_small(suggest):
    assert suggest("people.nope", "--spend", "1")[0] == 3
    assert suggest("people.id", "--spend", "5")[0] == 5
