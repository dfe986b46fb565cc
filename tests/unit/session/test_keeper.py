"""The ledger without the data: what an owner decides and an auditor sees, where the source is out of reach."""

import re
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import pytest

import dpsql
from asked_clinic import COUNT, POLICY, asked, back
from dpsql.errors import BadParameter, BadPolicy, LedgerBroken, NoSource, NotPermitted
from dpsql.ledger.facts import Granted, Revoked
from dpsql.session import granting
from dpsql.session.keeper import new_token, token_digest
from tests.kits.owners import owner_of, people
from tests.kits.refusals import each_raises, raised


@pytest.fixture
def policy(tmp_path):
    """A policy whose data have been asked once, and are gone."""
    return asked(tmp_path)


def test_everything_but_answers_works_without_the_data(policy, tmp_path):
    with dpsql.open_ledger(policy) as keeper:
        assert keeper.verify() == len(keeper.rows())
        assert len(keeper.rows(since=datetime.now(tz=UTC) - timedelta(days=1))) == len(keeper.rows())
        late = datetime.now(tz=UTC) + timedelta(days=1)
        assert (keeper.rows(since=late), len(keeper.audit(since=late))) == ((), 0)
        assert keeper.audit(since=late).promises[0].spent == 1  # a promise is about everything
        assert (keeper.rows(since=datetime(9000, 1, 1)), len(keeper.audit(since=datetime(9000, 1, 1)))) == ((), 0)
        each_raises(BadParameter, lambda look: look(since="2026-10-01"), (keeper.rows, keeper.audit), match="since")
        found = keeper.audit()
        assert (found.holds, len(found), found.person) == (True, 1, "patient")
        expected = ["promise       3 of 4 left, 1 spent", "ana           2 of 3 left, 1 spent"]
        assert list(keeper.budget_lines()) == expected
        (paid,) = keeper.history(of="ana")
        assert (paid.who, paid.details["cost"], "sql" in paid.details) == ("ana", 1, False)
        raised(BadParameter, lambda: keeper.history(of="bob"), match="nobody by the name bob")
        keeper.freeze("a look")
        assert keeper.frozen == "a look"
        keeper.unfreeze("seen")
        assert keeper.frozen is None
        keeper.backup(tmp_path / "copy.db", with_key=False)
    raised(NoSource, lambda: dpsql.open(policy))


def test_the_ledger_alone_is_enough_for_an_auditor_and_another_ledger_is_refused(policy):
    place = policy.parent / "clinic.duckdb.ledger"
    with dpsql.open_ledger(ledger=place) as keeper:
        assert keeper.audit().holds
        raised(NotPermitted, lambda: keeper.grant("bob", budget=1), match="policy")
    raised(NoSource, lambda: dpsql.open_ledger(ledger=policy.parent / "none.ledger"), match="no ledger")
    assert not (policy.parent / "none.ledger").exists()
    raised(BadParameter, lambda: dpsql.open_ledger(), match="neither")
    policy.write_text(POLICY.replace("[person]", 'ledger = "0000"\n[person]', 1))
    raised(NotPermitted, lambda: dpsql.open_ledger(policy), match="names the ledger")


def test_grants_are_held_to_the_rules_of_the_policy(policy):
    with dpsql.open_ledger(policy) as keeper:
        keeper.grant("bob", budget=Fraction(1, 2), max_per_query=0.1, tables=["people"], expires="2099-01-01")
        facts = [entry.fact for entry in keeper._ledger.entries()]
        said = [fact for fact in facts if isinstance(fact, Granted) and fact.analyst == "bob"]
        (granted,) = said
        assert granted.epsilon == Fraction(1, 2)
        assert (granted.conditions.max_per_query, granted.conditions.tables) == (Fraction(1, 10), ("people",))
        assert granted.conditions.expires == date(2099, 1, 1)
        for words in ({"budget": 5}, {"budget": 0}, {"budget": 1, "tables": ["nowhere"]}, {"budget": float("nan")}):
            with pytest.raises((BadPolicy, BadParameter)):
                keeper.grant("eve", **words)
        keeper.revoke("bob")
        raised(NotPermitted, lambda: keeper.revoke("eve"))
        raised(NotPermitted, lambda: keeper.grant("ana", budget=1), match="policy file")


def test_who_is_granted_something_may_ask_until_it_is_revoked(policy):
    with dpsql.open_ledger(policy) as keeper:
        keeper.grant("bob", budget=2, max_per_query=Fraction(1, 2))
    back(policy)
    with dpsql.open(policy) as owner:
        bob, ana = owner.analyst("bob"), owner.analyst("ana")
        assert (bob.budget.total, bob.place.grant.max_per_query) == (2, Fraction(1, 2))
        assert bob.sql(COUNT, epsilon=0.5).cost.epsilon in (0, Fraction(1, 2))
        owner.analyst("bob")  # nothing that was granted is lost by asking for it
        assert owner._ledger.grants()["bob"].conditions.max_per_query == Fraction(1, 2)
        for name in ("bob", "ana"):
            owner.keeper.revoke(name)
        for asking in (bob, ana):
            with pytest.raises(NotPermitted, match="revoked"):
                asking.sql(COUNT)  # stored, and free otherwise
    with dpsql.open(policy) as owner:
        for name in ("bob", "ana"):  # the policy still names ana
            with pytest.raises(NotPermitted, match="revoked"):
                owner.analyst(name)
        raised(NotPermitted, lambda: owner.analyst("eve"), match="no grant")


def test_a_grant_after_a_revoke_holds_in_place_of_the_file(policy):
    back(policy)
    with dpsql.open_ledger(policy) as keeper:
        keeper.revoke("ana")
        keeper.grant("ana", budget=1)
    with dpsql.open(policy) as owner:
        assert owner.analyst("ana").budget.total == 1
        owner.keeper.grant("ana", budget=2)  # said once more
        assert owner.analyst("ana").budget.total == 2
    with dpsql.open(policy) as owner:
        assert owner.analyst("ana").budget.total == 2
        owner.keeper.grant("ana", budget=3)  # as in the file, which counts again
    policy.write_text(POLICY.replace("budget = 3", "budget = 2.5"))
    with dpsql.open(policy) as owner:
        assert owner.analyst("ana").budget.total == Fraction(5, 2)
        owner.grant("ana", budget=1)
    with dpsql.open(policy) as owner:
        assert owner.analyst("ana").budget.total == 1


def test_whoever_connects_changes_no_entry(policy):
    """A server that runs since before the file was changed has the old grants in mind."""
    back(policy)
    with dpsql.open(policy) as server:
        policy.write_text(POLICY.replace("budget = 3", "budget = 2"))
        dpsql.open(policy).close()
        before = server.keeper.verify()
        assert server.analyst("ana").budget.total == 2
        assert server.keeper.verify() == before


LAB = '[[grant]]\nto = "lab"\nbudget = 2\n'


def test_what_the_file_no_longer_grants_is_revoked_when_it_is_opened(policy):
    back(policy)
    policy.write_text(POLICY + LAB)
    with dpsql.open(policy) as server:
        server.keeper.admit("eve", role="analyst", grant="lab")
        eve = server.analyst("eve")
        assert eve.sql(COUNT).rows
        policy.write_text(POLICY)
        dpsql.open(policy).close()
        raised(NotPermitted, lambda: eve.sql(COUNT), match="revoked")
        raised(NotPermitted, lambda: server.analyst("eve"), match="eve has no grant")
    policy.write_text(POLICY + LAB)
    with dpsql.open(policy) as owner:
        assert owner.analyst("lab").sql(COUNT).rows
        raised(NotPermitted, lambda: owner.analyst("eve"), match="eve has no grant")  # her token has ended
        owner.keeper.admit("eve", role="analyst", grant="lab")
        assert owner.analyst("eve").sql(COUNT).rows


def test_the_file_grants_under_a_promise_that_is_made_again(policy):
    back(policy)
    with dpsql.open(policy) as owner:
        owner.close_promise("other people")
        owner.promise(epsilon=4)
        assert owner.analyst("ana").budget.total == 3
        assert owner.analyst("ana").sql(COUNT).rows


@pytest.mark.parametrize("name", ["ana", "bob"])  # one of the policy, and one that only the ledger has
def test_a_grant_that_is_revoked_meanwhile_is_not_given_again(policy, monkeypatch, name):
    with dpsql.open_ledger(policy) as keeper:
        keeper.grant("bob", budget=2)
    back(policy)
    right = granting.grant_of

    def interrupted(name, **words):
        found = right(name, **words)
        owner.revoke(name)
        return found

    monkeypatch.setattr("dpsql.session.owner.grant_of", interrupted)
    with dpsql.open(policy) as owner:
        raised(NotPermitted, lambda: owner.analyst(name).sql(COUNT), match="revoked")
        assert isinstance(owner._ledger.grants()[name], Revoked)


def test_a_token_is_asked_under_by_its_name_and_pays_from_its_grant(policy):
    with dpsql.open_ledger(policy) as keeper:
        keeper.grant("lab", budget=1, sees_releases=True)
        keeper.admit("eve", role="analyst", grant="lab")
    back(policy)
    with dpsql.open(policy) as owner:
        eve = owner.analyst("eve")
        assert (eve.name, eve.place.grant.to, eve.budget.total) == ("eve", "lab", 1)
        raised(dpsql.DpsqlError, lambda: eve.sql("SELECT id FROM people"))
        refused = [row.who for row in owner.keeper.rows() if row.kind == "refuse"]
        assert refused == ["eve"]  # and not the grant
        owner.keeper.revoke("lab")
        raised(NotPermitted, lambda: eve.sql(COUNT), match="revoked")


def test_the_history_adds_up_to_what_was_spent():
    """Each question of a batch is a payment."""
    with owner_of(50, epsilon=10, delta=1e-5, accounting="basic") as owner:
        ana = owner.grant("ana", budget=10)
        ana.sql(COUNT, epsilon=1)
        with ana.plan(total=1) as together:
            for number in range(30):
                together.sql(f"{COUNT} WHERE id > {number}")
        told = list(owner.keeper.history())
        assert len(told) == 31
        assert sum(row.details["cost"] for row in told) == ana.budget.spent
        about = owner.keeper.rows_about("ana")
        assert about == tuple(row for row in owner.keeper.rows(texts=True) if row.who == "ana")


def test_a_token_is_shown_once_and_kept_as_a_hash_of_256_bits(policy, monkeypatch):
    with dpsql.open_ledger(policy) as keeper:
        token = keeper.admit("ana", role="analyst")
        assert keeper.user_of(token).name == "ana"
        raised(NotPermitted, lambda: keeper.admit("ana", role="owner"), match="already")
        with monkeypatch.context() as meanwhile:  # somebody was faster
            meanwhile.setattr(type(keeper._ledger), "users", lambda self: ())
            raised(NotPermitted, lambda: keeper.admit("ana", role="owner"), match="already")
        other = keeper.new_token("ana")
        assert keeper.user_of(token) is None
        assert keeper.user_of(other).role.value == "analyst"
        assert [user.name for user in keeper.users()] == ["ana"]
        keeper.dismiss("ana")
        assert keeper.user_of(other) is None
        each_raises(NotPermitted, lambda wrong: wrong("ana"), (keeper.dismiss, keeper.new_token), match="no token")
        raised(BadParameter, lambda: keeper.admit("bob", role="king"), match="no role")
        for nobody in ("", "dpsql_", token[:-1], token + "x", "\ud800"):
            assert keeper.user_of(nobody) is None
    for path in policy.parent.iterdir():
        if path.is_file():
            secret = token.removeprefix("dpsql_")[:16].encode()  # also a part of it would be too much
            assert secret not in path.read_bytes()
            assert secret.hex().encode() not in path.read_bytes()
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    # 43 letters of 6 bits hold 32 bytes
    assert all(re.fullmatch(r"dpsql_[A-Za-z0-9_-]{43}", token) for token in tokens)
    assert len({token_digest(token) for token in tokens}) == 100


def test_a_backup_is_put_back_by_the_name_of_its_policy_and_only_files_are_copied(policy, tmp_path):
    with dpsql.open_ledger(policy) as keeper:
        keeper.backup(tmp_path / "copy.db", with_key=False)
        raised(BadParameter, lambda: keeper.export("xml"), match="no form")
    raised(NotPermitted, lambda: dpsql.restore_ledger(tmp_path / "copy.db", policy), match="there is a ledger")
    kept = dpsql.restore_ledger(tmp_path / "copy.db", policy, replace=True)
    assert kept.name == "clinic.duckdb.ledger.replaced-1"
    with dpsql.open_ledger(policy) as keeper:
        assert keeper.audit().holds
    with dpsql.open(":memory:") as owner, pytest.raises(NotPermitted, match="not open as a file"):
        owner.keeper.backup(tmp_path / "copy.db", with_key=False)


def test_a_ledger_that_was_changed_is_not_exported(policy):
    place = policy.parent / "clinic.duckdb.ledger"
    with dpsql.open_ledger(policy) as keeper:
        with closing(sqlite3.connect(place)) as database:
            database.execute("DROP TRIGGER entries_are_not_changed")
            database.execute("UPDATE entries SET payload = CAST(replace(payload, 'ana', 'eve') AS BLOB)")
            database.commit()
        for look in (keeper.rows, keeper.audit, keeper.verify, lambda: keeper.export("jsonl")):
            with pytest.raises(LedgerBroken):
                look()
    back(policy)
    each_raises(LedgerBroken, lambda door: door(policy), (dpsql.open_ledger, dpsql.open))


def test_a_ledger_in_memory_has_lost_nothing():
    owner = owner_of(people(3), person="id", epsilon=1, delta=0)
    raised(NotPermitted, owner.keeper.write_off, match="in memory")
