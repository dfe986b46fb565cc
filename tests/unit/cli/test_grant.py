"""`dpsql grant` and `revoke`, held to the rules of the policy; `freeze` and `unfreeze`, logged with a reason; `user …`,
whose tokens are printed once, alone on standard output."""

from fractions import Fraction

import pytest

import dpsql
from dpsql.cli.main import main
from tests.kits.refusals import raised


def test_a_grant_is_given_and_taken_and_answers_to_others_too(run):
    code, out, err = run("grant", "bob", "--budget", "0.1", "--tables", "people", "--expires", "2099-01-01")
    assert (code, out, "bob" in err) == (0, "", True)
    assert "bob           0.1 of 0.1 left, 0 spent" in run("budget", "show")[1].splitlines()
    assert run("revoke", "bob")[0] == 0
    assert "revoke     bob" in run("ledger", "show")[1]
    assert run("revoke", "nobody")[0] == 6
    assert run("grant", "lab", "--budget", "1", "--sees-releases")[0] == 0
    assert "sees_releases=True" in run("ledger", "show")[1]
    assert (
        "grant.budget: must be above 0 and at most promise.epsilon, which is 4\n"
        in run("grant", "bob", "--budget", "4.5")[2]
    )


@pytest.mark.parametrize("words", [["--budget", "99"], ["--budget", "1", "--tables", "none"], ["--budget", "0"]])
def test_a_grant_that_the_policy_forbids_is_code_8(run, words):
    code, _, err = run("grant", "bob", *words)
    assert code == 8
    assert "DP501" in err


def test_a_budget_is_exact_and_one_below_what_was_spent_is_noticed(run, clinic):
    what = run("grant", "bob", "--budget", "0.1", "--max-per-query", ".05")[2]
    assert what == "bob may spend 0.1 in all, on every table, at most 0.05 a query\n"
    with dpsql.open_ledger(clinic) as keeper:
        said = keeper.rows()[-1].details
    assert (said["epsilon"], said["max_per_query"]) == (Fraction(1, 10), Fraction(1, 20))
    run("revoke", "ana")
    with dpsql.open_ledger(clinic) as keeper:
        assert keeper.left_of_grant("ana") > 0
    assert "note:" not in run("grant", "ana", "--budget", "2.9")[2]
    assert "note: ana has spent that much already" in run("grant", "ana", "--budget", "0.001")[2]


def test_freeze_and_unfreeze(run, clinic):
    code, out, err = run("freeze", "--reason", "DPIA review")
    assert (code, out, "unfreeze" in err) == (0, "", True)
    with dpsql.open_ledger(clinic) as keeper:
        assert keeper.frozen == "DPIA review"
    assert "every question is refused: DPIA review" in run("audit")[1]
    assert run("unfreeze", "--reason", "seen")[0] == 0
    with dpsql.open_ledger(clinic) as keeper:
        assert keeper.frozen is None
    shown = run("ledger", "show")[1]
    assert "reason=DPIA review" in shown
    assert "reason=seen" in shown


def test_a_reason_is_given_and_can_be_read(run, clinic, capsys):
    for reason in ("", "two\nlines", "x" * 500):
        assert run("freeze", "--reason", reason)[0] == 2
    raised(SystemExit, lambda: main(["freeze", "--policy", str(clinic)]))
    assert "--reason" in capsys.readouterr().err


def test_a_user_comes_gets_another_token_and_goes(run, clinic):
    code, token, err = run("user", "add", "ana", "--role", "analyst")
    assert (code, "once" in err) == (0, True)
    assert run("user", "list")[1] == "ana\tanalyst\n"
    assert run("user", "add", "ana", "--role", "owner")[0] == 6
    _, other, _ = run("user", "token", "ana")
    assert other != token
    with dpsql.open_ledger(clinic) as keeper:
        assert keeper.user_of(token.strip()) is None
        assert keeper.user_of(other.strip()).name == "ana"
    assert run("user", "remove", "ana")[0] == 0
    assert run("user", "list")[1] == ""
    assert run("user", "remove", "ana")[0] == 6


def test_a_token_names_the_grant_that_pays(run):
    assert run("user", "add", "mia", "--role", "analyst", "--grant", "lab")[0] == 0
    assert run("user", "list")[1] == "mia\tanalyst\tlab\n"
    assert run("user", "token", "mia")[0] == 0
    assert run("user", "list")[1] == "mia\tanalyst\tlab\n"
    assert run("user", "token", "mia", "--grant", "class")[0] == 0
    assert run("user", "list")[1] == "mia\tanalyst\tclass\n"
    assert "grant=class" in run("ledger", "show")[1].splitlines()[-1]
    assert run("user", "token", "mia", "--grant", "mia")[0] == 0
    assert run("user", "list")[1] == "mia\tanalyst\n"
    code, _, err = run("user", "add", "dominik", "--role", "auditor", "--grant", "lab")
    assert code == 2
    assert "a token of dominik, auditor, does not name the grant lab" in err
