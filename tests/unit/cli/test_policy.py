"""`dpsql policy apply`: a ledger is made, and says to people what the file promises."""

import math

import pytest

import dpsql
from asked_clinic import COUNT, POLICY, back, declared, edited
from dpsql.cli.main import main
from dpsql.errors import NotPermitted


def guess(epsilon):
    """The odds of somebody who thought it even, rounded up to a hundredth of a percent."""
    return f"at most {math.ceil(10_000 / (1 + math.exp(-epsilon))) / 100} %"


def test_a_ledger_is_made_and_nothing_is_asked(tmp_path, command):
    policy = declared(tmp_path)
    assert "dpsql policy apply" in command(["ledger", "verify", "--policy", str(policy)], 7).err
    told = command(["policy", "apply", "--policy", str(policy)])
    assert guess(4) in told.out
    assert "patient" in told.out
    with dpsql.open_ledger(policy) as keeper:
        kinds = [row.kind for row in keeper.rows()]
        assert told.err == f"ledger {keeper.id}, {len(kinds)} entries\n"
    assert {"promise", "owners", "grant"} <= set(kinds)
    assert not {"charge", "refuse"} & set(kinds)
    assert main(["policy", "apply", "--policy", str(policy)]) == 0
    assert main(["user", "add", "ana", "--role", "analyst", "--policy", str(policy)]) == 0


def test_the_ledger_may_be_elsewhere_and_the_policy_in_this_folder(tmp_path, monkeypatch, capsys):
    declared(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["policy", "apply", "--ledger", "books.db"]) == 0
    assert (tmp_path / "books.db").exists()
    assert not (tmp_path / "clinic.duckdb.ledger").exists()


def test_what_cannot_be_opened_makes_no_ledger(tmp_path):
    assert main(["policy", "apply", "--policy", str(tmp_path / "none.toml")]) == 8
    (tmp_path / "dpsql.toml").write_text(POLICY)
    assert main(["policy", "apply", "--policy", str(tmp_path / "dpsql.toml")]) == 7
    assert [path.name for path in tmp_path.iterdir()] == ["dpsql.toml"]


def test_a_policy_that_does_not_fit_the_data_makes_no_ledger(tmp_path):
    policy = declared(tmp_path, POLICY.replace('person = "id"', 'person = "none"'))
    before = {path.name for path in tmp_path.iterdir()}
    assert main(["policy", "apply", "--policy", str(policy)]) == 8
    assert {path.name for path in tmp_path.iterdir()} == before


def test_what_the_file_changes_in_the_grants_is_told(run, clinic):
    def told():
        code, out, _ = run("policy", "apply")
        assert code == 0
        return [line for line in out.splitlines() if line.split(":")[0] in ("ana", "bob", "eve")]

    back(clinic)
    assert told() == []
    more = '[[grant]]\nto = "{}"\nbudget = 1\n'
    clinic.write_text(POLICY + more.format("bob") + more.format("eve"))
    assert told() == ["bob: granted 1", "eve: granted 1"]
    clinic.write_text(POLICY.replace("budget = 3", "budget = 2") + more.format("bob") + "max_per_query = 0.5\n")
    assert told() == ["ana: changed to 2, was 3", "bob: changed, still 1", "eve: revoked"]
    assert told() == []


def test_another_promise_is_not_written_over_the_first(run, clinic):
    back(clinic)
    edited(clinic, "epsilon = 4", "epsilon = 5")
    code, out, err = run("policy", "apply")
    assert (code, out) == (2, "")
    assert "already holds another promise: epsilon was 4 and is now 5\n" in err
    edited(clinic, "epsilon = 5", "epsilon = 4.0000000001")
    assert "epsilon was 4 and is now 40000000001/10000000000\n" in run("policy", "apply")[2]
    edited(clinic, "epsilon = 4.0000000001\ndelta = 0", 'epsilon = 4\ndelta = 0.001\nper = "year"')
    err = run("policy", "apply")[2]
    assert "epsilon" not in err
    assert (
        'delta was 0 and is now 0.001; delta_prime was 0 and is now 0.0005; per was "forever" and is now "year"' in err
    )


def test_a_new_version_of_the_data(run, clinic):
    back(clinic)
    assert run("policy", "apply", "--new-version", "two\nlines")[:2] == (2, "")
    assert run("policy", "apply", "--new-version", "2026-11")[0] == 0
    with dpsql.open(clinic) as owner:
        answer = owner.analyst("ana").sql(COUNT)
        assert (answer.cost.epsilon, owner.budget.spent) == (1, 2)  # asked again, paid again, from the same budget
    assert run("policy", "apply", "--new-version", "2026-11")[0] == 0  # it is that one
    code, out, err = run("policy", "apply", "--new-version", "1")
    assert (code, out) == (6, "")
    assert "data version 1 was before" in err
    edited(clinic, "[person]", 'data_version = "2026-12"\n[person]')
    code, out, err = run("policy", "apply", "--new-version", "2027-01")
    assert (code, out) == (6, "")
    assert "the policy file says the data version" in err


def test_after_its_end_a_promise_is_made_again_by_saying_so(run, clinic):
    back(clinic)
    assert run("policy", "apply", "--new-promise")[0] == 6  # it holds
    assert run("budget", "close", "--reason", "people are households now")[0] == 0
    code, out, err = run("policy", "apply")
    assert (code, out) == (6, "")
    assert "closed: people are households now" in err
    assert "dpsql policy apply --new-promise" in err
    with dpsql.open(clinic) as owner, pytest.raises(NotPermitted, match="closed"):
        owner.analyst("ana")
    code, out, _ = run("policy", "apply", "--new-promise")
    assert code == 0
    assert guess(4) in out
    assert "which is ε = 8, δ = 0 in all" in out
    with dpsql.open(clinic) as owner:
        assert (owner.budget.spent, owner.analyst("ana").budget.total) == (0, 3)
    assert run("audit")[0] == 0


def test_a_file_without_a_promise_makes_none(tmp_path, command):
    policy = declared(tmp_path)
    text = POLICY.replace("[promise]\nepsilon = 4\ndelta = 0\n", "")
    policy.write_text(text[: text.index("[[grant]]")])
    assert "no promise" in command(["policy", "apply", "--policy", str(policy)], 6).err
    assert "dpsql policy apply" in command(["budget", "show", "--policy", str(policy)], 6).err
    assert main(["policy", "apply", "--new-promise", "--policy", str(policy)]) == 6
