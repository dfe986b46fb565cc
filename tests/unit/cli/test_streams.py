"""A standard stream that is closed ends no command with a traceback, and no answer is paid for that nobody gets."""

import sys

import pytest

from asked_clinic import COUNT, declared
from dpsql import connect
from dpsql.cli.main import main


@pytest.fixture
def policy(tmp_path):
    return declared(tmp_path)


def spent(policy):
    with connect(policy) as ana:
        return ana.budget.spent


def test_without_standard_output_nothing_is_paid(policy, command, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    said = command([str(policy), "-c", COUNT], 2).err
    assert "standard output is closed" in said
    assert "Fix" in said
    assert spent(policy) == 0


def test_a_result_that_goes_to_a_file_and_freezing_need_no_standard_output(policy, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert main([str(policy), "-c", COUNT, "--format", "csv", "--output", str(tmp_path / "n.csv")]) == 0
    assert (tmp_path / "n.csv").read_text().startswith("COUNT")
    assert main(["freeze", "--reason", "a mistake", "--policy", str(policy)]) == 0


@pytest.mark.parametrize("closed", ["stdin", "stderr"])
def test_the_other_streams_are_done_without(policy, command, monkeypatch, closed):
    monkeypatch.setattr(sys, closed, None)
    assert command([str(policy), "-c", COUNT, "--format", "csv"]).out.startswith("COUNT")


def test_statements_from_a_closed_standard_input_are_none(policy, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert main([str(policy), "-f", "-"]) == 3  # DP100: there is no statement to answer
    assert spent(policy) == 0
