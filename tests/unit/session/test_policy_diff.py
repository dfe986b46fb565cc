"""The file against the ledger: what applying would change, what it means for stored answers, and what was before."""

import pytest

import dpsql
from asked_clinic import COUNT, POLICY, declared, edited
from dpsql.cli.main import main
from dpsql.errors import Incomparable
from dpsql.session.policy_diff import PolicyDiff
from tests.kits.refusals import raised

WORDS = POLICY.replace("unique = true", "unique = true\ncolumns = { id = { bounds = [0, 2000] } }")
SUM = "SELECT SUM(id) FROM people"


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """A clinic that was asked for a count and a sum."""
    policy = declared(tmp_path_factory.mktemp("clinic"), WORDS)
    with dpsql.open(policy) as owner:
        owner.analyst("ana").sql(COUNT)
        owner.analyst("ana").sql(SUM)
    return policy


@pytest.fixture
def policy(answered):
    words = answered.read_text()
    yield answered
    answered.write_text(words)


def test_nothing_is_applied_before_the_first_time(tmp_path):
    diff = dpsql.policy_diff(declared(tmp_path))
    assert diff.is_first
    assert "dpsql policy apply" in next(diff.lines())
    assert {path.name for path in tmp_path.iterdir()} == {"clinic.duckdb", "dpsql.toml"}


def test_what_is_applied_differs_in_nothing(policy):
    diff = dpsql.policy_diff(policy)
    assert list(diff.lines()) == ["the ledger has applied what the file says"]
    diff.require_comparable()


def test_a_changed_bound_with_both_values_and_how_many_answers_it_concerns(policy):
    edited(policy, "2000", "20_000")
    diff = dpsql.policy_diff(policy)
    was, now, meaning = diff.lines()
    assert was == "-tables.people.columns.id.bounds = [0, 2000]"
    assert now == "+tables.people.columns.id.bounds = [0, 20000]"
    assert meaning.startswith("2 stored answers about these tables")
    error = raised(Incomparable, lambda: diff.require_comparable())
    assert error.code == "DP502"
    assert error.what == "changing tables.people.columns.id.bounds makes up to 2 stored answers incomparable"
    assert "--new-version" in error.fix


def test_what_changes_no_answer_makes_none_incomparable(policy):
    edited(policy, "cost_per_query = 1", "cost_per_query = 2")
    edited(policy, 'name = "patient"', 'name = "person"')
    diff = dpsql.policy_diff(policy)
    assert [line for line in diff.changes if line[0] == "+"] == ["+cost_per_query = 2", '+person.name = "person"']
    diff.require_comparable()
    edited(policy, "2000", "20_000")
    edited(policy, "[person]", 'data_version = "2"\n[person]')  # all answers so far are of the version before
    dpsql.policy_diff(policy).require_comparable()


def test_grants_and_the_promise(policy):
    edited(policy, "budget = 3", "budget = 2")
    edited(policy, "epsilon = 4", "epsilon = 5")
    policy.write_text(policy.read_text() + '[[grant]]\nto = "bob"\nbudget = 1\n')
    lines = list(dpsql.policy_diff(policy).lines())
    assert lines[:2] == ["ana: changed to 2, was 3", "bob: granted 1"]
    assert lines[2].startswith("promise.epsilon: 4 → 5, which applying refuses")


def test_apply_does_not_do_it_in_passing(tmp_path, capsys):
    policy = declared(tmp_path, WORDS)
    with dpsql.open(policy) as owner:
        owner.analyst("ana").sql(SUM)

    def run(*words):
        code = main(["policy", *words, "--policy", str(policy)])
        return code, capsys.readouterr()

    edited(policy, "2000", "30")
    code, told = run("apply")
    assert (code, told.out) == (8, "")
    assert "DP502" in told.err
    assert "+tables.people.columns.id.bounds = [0, 30]\n" in run("diff")[1].out  # nothing was written
    assert run("apply", "--keep-version")[0] == 0
    assert run("diff")[1].out == "the ledger has applied what the file says\n"
    edited(policy, "30]", "40]")
    assert run("apply", "--new-version", "2")[0] == 0
    history = run("history")[1].out.split("\n")
    told = [line[21:] for line in history if line]
    assert "the owner        promise: ε = 4, δ = 0 for everybody, for ever" in told
    assert "the policy file  declared: +tables.people.columns.id.bounds = [0, 30]" in told
    assert "the owner        data: version 2" in told
    assert "the policy file  grant: ana: ε = 3 in all" in told


def test_the_data_need_not_be_there_for_the_history(answered, capsys):
    assert main(["policy", "history", "--ledger", str(answered.parent / "clinic.duckdb.ledger")]) == 0
    assert "declared: the first version" in capsys.readouterr().out


def test_before_anything_is_applied_there_is_nothing_to_compare():
    found = PolicyDiff(changes=("a",), grants=(), promise=(), answers=0, is_first=True)
    assert list(found.lines()) == ["nothing is applied yet: dpsql policy apply makes the ledger and the promise"]
