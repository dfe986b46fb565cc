"""dpsql.connect: where a word leads, who asks there, and that nothing stays open behind them."""

import pytest

import dpsql
from asked_clinic import COUNT, POLICY, declared
from dpsql.cli.main import main
from dpsql.demonstration import hospital
from dpsql.errors import BadParameter, BadPolicy, DpsqlError, Incomparable, NoSource, NotPermitted
from in_this_process import serving
from tests.kits.cases import cases
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

BEN = '[[grant]]\nto = "ben"\nbudget = 1\n'


def test_the_policy_of_this_folder_is_asked_as_the_only_one_who_may(tmp_path, monkeypatch):
    declared(tmp_path)
    monkeypatch.chdir(tmp_path)
    with dpsql.connect() as ana:
        assert ana.name == "ana"
        assert ana.sql(COUNT).cost.epsilon == 1
    with dpsql.connect(tmp_path / "dpsql.toml", user="ana") as again:  # the file is free again: nothing was left open
        assert again.sql(COUNT).cost.epsilon == 0


def test_closing_ends_an_analyst_alone(tmp_path):
    ana = dpsql.connect(declared(tmp_path))
    ana.close()
    raised(DpsqlError, lambda: ana.sql(COUNT))
    with owner_of(9, epsilon=2, cost_per_query=1) as owner:
        with owner.grant("ana", budget=1):
            pass
        assert owner.analyst("ana").sql(COUNT).cost.epsilon == 1


def test_of_several_one_is_named(tmp_path):
    policy = declared(tmp_path, POLICY + BEN)
    raised(NotPermitted, lambda: dpsql.connect(policy), match="ana, ben")
    with dpsql.connect(policy, user="ben") as ben:  # the refusal left nothing open
        assert ben.name == "ben"
    raised(NotPermitted, lambda: dpsql.connect(policy, user="eve"), match="eve has no grant")


def test_a_policy_without_grants_lets_nobody_ask(tmp_path):
    policy = declared(tmp_path, POLICY[: POLICY.index("[[grant]]")])
    raised(NotPermitted, lambda: dpsql.connect(policy), match="lets nobody ask")


def test_a_folder_without_a_policy_says_where_to_go(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "demo" in raised(BadParameter, lambda: dpsql.connect(), match=r"no dpsql\.toml in this folder").fix
    raised(BadPolicy, lambda: dpsql.connect("dpsql.toml"), match="cannot be read")


@pytest.mark.parametrize("target", ["https://dp.example.org", "clinic.duckdb", "", "unix", 7, "a\0.toml"])
def test_what_leads_nowhere_says_what_would(target):
    assert ".toml" in raised(BadParameter, lambda: dpsql.connect(target), match="nothing to connect to").why


@cases(__file__, "said=")
def test_words_that_do_not_go_together(said):
    raised(BadParameter, lambda: dpsql.connect(**said))


def test_a_server_is_found_by_its_path_and_the_token_of_the_environment(tmp_path, monkeypatch):
    door = tmp_path / "door"
    monkeypatch.delenv("DPSQL_TOKEN", raising=False)
    assert "DPSQL_TOKEN" in raised(NotPermitted, lambda: dpsql.connect(f"unix:{door}"), match="asks for a token").fix
    with dpsql.open(":memory:") as owner:
        owner.promise(epsilon=1)
        monkeypatch.setenv("DPSQL_TOKEN", owner.keeper.admit("dominik", role="auditor"))
        raised(NoSource, lambda: dpsql.connect(f"unix:{door}"))
        with serving(owner, door), dpsql.connect(f"unix:{door}", timeout=60) as client:
            assert client.name == "dominik"


def test_an_empty_token_is_not_replaced_by_that_of_somebody_else(tmp_path, monkeypatch):
    monkeypatch.setenv("DPSQL_TOKEN", "of somebody else")
    with pytest.raises(NotPermitted, match="the token is empty") as refused:
        dpsql.connect(f"unix:{tmp_path / 'door'}", token="")
    assert "profile" in refused.value.fix


def test_the_demo_is_asked_as_ana_and_nobody_else():
    with dpsql.connect("demo", user="ana") as ana:
        assert ana.sql("SELECT COUNT(*) FROM patients").cost.epsilon > 0
    raised(NotPermitted, lambda: dpsql.connect("demo", user="ben"), match="knows no ben")


def test_whoever_asks_applies_no_changed_policy(tmp_path, capsys):
    policy = declared(
        tmp_path, POLICY.replace("unique = true", "unique = true\ncolumns = { id = { bounds = [0, 90] } }")
    )
    where = ["--policy", str(policy)]
    with dpsql.connect(policy) as ana:  # the first opening applies: there is nothing to differ from
        ana.sql(COUNT)
    words = policy.read_text()
    for was, now, told in (
        ("[0, 90]", "[0, 40]", r"people\.columns\.id\.bounds"),
        ("budget = 3", "budget = 2", "ana: changed to 2, was 3"),
        ("[person]", 'data_version = "2"\n[person]', "data version 1 → 2"),
    ):
        policy.write_text(words.replace(was, now))
        error = raised(Incomparable, lambda: dpsql.connect(policy), match=told)
        assert "dpsql policy apply" in error.fix
        assert main([str(policy), "-c", COUNT]) == 8
        assert main(["serve", "--socket", str(tmp_path / "door"), *where]) == 8
        assert main(["table", "suggest", "people.id", "--spend", "0.1", *where]) == 8
    policy.write_text(words)
    assert list(dpsql.policy_diff(policy).lines()) == ["the ledger has applied what the file says"]
    policy.write_text(words.replace("[0, 90]", "[0, 40]"))
    assert main(["policy", "apply", "--keep-version", *where]) == 0
    with dpsql.connect(policy) as ana:
        assert ana.sql(COUNT).cost.epsilon == 0


def test_the_owner_opens_what_is_changed_and_so_applies_it(tmp_path):
    policy = declared(tmp_path)
    dpsql.connect(policy).close()
    policy.write_text(POLICY.replace("cost_per_query = 1", "cost_per_query = 2"))
    raised(Incomparable, lambda: dpsql.open(policy, adopt=False))
    dpsql.open(policy).close()
    dpsql.connect(policy).close()


def test_after_a_promise_was_closed_the_file_may_differ_and_nobody_asks(tmp_path):
    policy = declared(tmp_path)
    dpsql.connect(policy).close()
    with dpsql.open(policy) as owner:
        owner.close_promise("a new study")
    policy.write_text(POLICY.replace("cost_per_query = 1", "cost_per_query = 2"))
    raised(NotPermitted, lambda: dpsql.connect(policy, user="ana"), match="closed")


def test_the_time_for_a_statement_is_not_dropped_in_the_demo(monkeypatch):
    raised(BadParameter, lambda: dpsql.connect("demo", timeout=0), match="timeout")
    limits = []
    opened = hospital.open_owner
    monkeypatch.setattr(hospital, "open_owner", lambda *said, **more: limits.append(more) or opened(*said, **more))
    with dpsql.connect("demo", timeout=5):
        assert limits == [{"timeout": 5}]
