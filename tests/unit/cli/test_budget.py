"""`dpsql budget …`: what is left, what was paid, a new period and the end of a promise."""

import dpsql
from asked_clinic import POLICY, asked, back
from dpsql.cli.main import main


def test_show_and_history(run):
    assert run("budget", "show") == (0, "promise       3 of 4 left, 1 spent\nana           2 of 3 left, 1 spent\n", "")
    code, out, _ = run("budget", "history", "--of", "ana")
    assert (code, len(out.splitlines())) == (0, 1)
    assert "cost=1" in out
    assert "SELECT" not in out
    assert run("budget", "history", "--of", "ana", "--since", "9000-01-01") == (0, "", "")


def test_of_a_grant_that_has_ended_nothing_is_left(run, clinic):
    back(clinic)
    gone = '[[grant]]\nto = "eve"\nbudget = 1\n'
    clinic.write_text(
        f'{POLICY}{gone}[[grant]]\nto = "old"\nbudget = 1\nexpires = 2020-01-01\n[[grant]]\nto = "lab"\nbudget = 2\n'
    )
    assert run("policy", "apply")[0] == 0
    clinic.write_text(clinic.read_text().replace(gone, ""))
    assert run("policy", "apply")[0] == 0
    assert run("revoke", "ana")[0] == run("revoke", "lab")[0] == 0
    assert run("budget", "show")[1].splitlines() == [
        "promise       3 of 4 left, 1 spent",
        "ana           revoked, 1 spent",
        "eve           revoked, 0 spent",
        "lab           revoked, 0 spent",
        "old           ended on 2020-01-01, 0 spent",
    ]


def test_of_a_grant_that_was_lowered_all_that_was_spent_is_told(run, clinic):
    back(clinic)
    clinic.write_text(POLICY.replace("budget = 3", "budget = 0.25"))
    assert run("policy", "apply")[0] == 0
    assert "ana           0 of 0.25 left, 1 spent" in run("budget", "show")[1].splitlines()
    with dpsql.open(clinic) as owner:
        ana = owner.analyst("ana")
        assert (ana.budget.spent, ana.budget.left) == (1, 0)
        explained = ana.explain("SELECT COUNT(*) FROM people WHERE id > 1")
    assert "1 of 0 left" in str(explained)
    assert {each["left"] for each in explained.as_json()["accounts"]} == {"0", "3"}


def test_the_history_of_a_grant_is_what_it_has_paid(run, clinic):
    back(clinic)
    with dpsql.open(clinic) as owner:
        owner.grant("lab", budget=1)
        for name in ("mia", "ned"):
            owner.keeper.admit(name, role="analyst", grant="lab")
        owner.analyst("mia").sql("SELECT COUNT(*) FROM people WHERE id > 1", epsilon=0.5)
    paid = run("budget", "history", "--of", "lab")
    assert paid == run("budget", "history", "--of", "mia")
    assert (paid[0], len(paid[1].splitlines()), "cost=0.5" in paid[1]) == (0, 1, True)
    assert run("budget", "history", "--of", "ned") == (0, "", "")
    code, out, err = run("budget", "history", "--of", "bob")
    assert (code, out) == (2, "")
    assert "knows nobody by the name bob" in err


def test_a_promise_for_ever_is_not_renewed_whatever_the_file_says_since(run, clinic):
    clinic.write_text(clinic.read_text().replace("delta = 0", 'delta = 0\nper = "month"'))
    code, out, err = run("budget", "renew")
    assert (code, out) == (6, "")
    assert "for ever" in err


def test_a_new_period_begins_and_says_what_it_adds_up_to(tmp_path, capsys, command):
    policy = asked(tmp_path, POLICY.replace("delta = 0", 'delta = 0\nper = "month"'))
    out = command(["budget", "renew", "--policy", str(policy)]).out
    assert "2 × (ε = 4, δ = 0), which is ε = 8, δ = 0 in all" in out
    assert "sooner than each month" in out
    assert main(["budget", "show", "--policy", str(policy)]) == 0
    assert capsys.readouterr().out == "promise       4 of 4 left, 0 spent\nana           3 of 3 left, 0 spent\n"


def test_the_promise_is_closed_and_its_sum_is_told(run, clinic):
    code, out, err = run("budget", "close", "--reason", "people are households now")
    assert (code, "--new-promise" in err) == (0, True)
    assert out == (
        "Closed: people are households now. People stay promised ε = 4, δ = 0 in all; another promise adds to it.\n"
    )
    for words in (("budget", "renew"), ("grant", "bob", "--budget", "1"), ("budget", "close", "--reason", "again")):
        code, out, err = run(*words)
        assert (code in (2, 6), out) == (True, "")
        assert "closed: people are households now" in err
    assert run("audit")[0] == 0
