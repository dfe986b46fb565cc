"""`dpsql table suggest …`: the line on standard output, everything else on standard error."""

import argparse

import pytest

from asked_clinic import POLICY, declared
from dpsql.cli.table_suggest import add_to
from dpsql.errors import BadParameter

WORDS = POLICY.replace("cost_per_query = 1", "cost_per_query = 1\nmax_keys = 100")


@pytest.fixture
def suggest(tmp_path, capsys):
    policy = declared(tmp_path, WORDS)

    def suggest(*words):
        parser = argparse.ArgumentParser()
        add_to(parser.add_subparsers())
        chosen = parser.parse_args(["suggest", *words, "--policy", str(policy)])
        return (chosen.run(chosen), *capsys.readouterr())

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
        "rows_per_person = 1  # private estimate: 50 % of patients have no more rows"
    )


def test_a_price_has_no_default_and_is_a_number(suggest, capsys):
    with pytest.raises(SystemExit):
        suggest("people.id")
    assert "--spend" in capsys.readouterr().err
    with pytest.raises(BadParameter):
        suggest("people.id", "--spend", "nan")
    with pytest.raises(BadParameter):
        suggest("people.id", "--spend", "1", "--share", "much")
