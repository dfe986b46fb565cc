"""Options are read strictly; what is refused is said with a code, a fix and the name of the option."""

from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.cli.main import main, parser
from dpsql.errors import BadParameter
from tests.kits.refusals import raised

SERVE = ["serve", "--socket", "door"]
GRANT = ["grant", "bob"]
NUMBERS = {
    "--budget": GRANT,
    "--max-per-query": GRANT,
    "--connections": SERVE,
    "--mode": SERVE,
    "--patience": SERVE,
    "--idle": SERVE,
    "--timeout": SERVE,
}


@pytest.mark.parametrize("option", NUMBERS)
@pytest.mark.parametrize("text", ["１", "١٦", "1_0", "7_7", " 1", "much", "", "-1", "nan", "inf", "1e999999"])
def test_what_is_no_number_is_code_2(option, text, capsys):
    assert main([*NUMBERS[option], f"{option}={text}"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"DP410  {option} cannot be ")
    assert f"Fix   write {option} " in told


@pytest.mark.parametrize("option", ["--patience", "--idle", "--timeout"])
@pytest.mark.parametrize("text", ["0", "86401", "1e50"])
def test_nobody_waits_for_nothing_or_for_ever(option, text):
    raised(BadParameter, lambda: parser().parse_args([*SERVE, option, text]), match=option)


@pytest.mark.parametrize("text", ["8", "0o600", "1777", "00600", "rw"])
def test_a_mode_is_nine_bits(text):
    raised(BadParameter, lambda: parser().parse_args([*SERVE, "--mode", text]), match="--mode")


def test_numbers_are_what_was_written():
    words = ["--mode", "0660", "--connections", "3", "--patience", "0.1", "--timeout", "86400"]
    chosen = parser().parse_args([*SERVE, *words])
    assert (chosen.socket, chosen.mode, chosen.connections) == (Path("door"), 0o660, 3)
    assert (chosen.patience, chosen.idle, chosen.timeout) == (Fraction(1, 10), 600, 86400)


@pytest.mark.parametrize("words", [["audit"], ["ledger", "show"], ["ledger", "export"], ["budget", "history"]])
@pytest.mark.parametrize("text", ["yesterday", "２０２６-10-01", "0001-01-01T00:00:00+23:00", "2026-02-30"])
def test_what_is_no_date_is_code_2(words, text, capsys):
    assert main([*words, "--since", text]) == 2
    assert capsys.readouterr().err.startswith("DP410  --since cannot be ")
