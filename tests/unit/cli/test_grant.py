"""`dpsql grant` and `dpsql revoke`: held to the rules of the policy, kept in the ledger."""

from fractions import Fraction

import pytest

import dpsql


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
