"""The table of methods: no method without a role, no word that nobody reads, and the guide says the same."""

import re
from pathlib import Path

import pytest

from dpsql import Keeper, Owner
from dpsql.errors import DpsqlError, NotPermitted, NotUnderstood, RowLevel
from dpsql.ledger.book import Ledger
from dpsql.serve.methods import METHODS, Visit, answered
from tests.kits.cases import cases
from tests.kits.refusals import raised

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "serve.md"


def rows_of(heading):
    section = GUIDE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("|")][2:]
    return [[re.findall(r"`(\w+)`", row[0]), *map(str.strip, row[1:])] for row in rows]


def test_the_guide_says_who_may_do_what_with_every_word():
    told = {
        name: {role for role, may in zip(("analyst", "auditor", "owner"), cells, strict=False) if may}
        for names, *cells in rows_of("Roles")
        for name in names
    }
    assert told == {name: set(method.roles) for name, method in METHODS.items()}
    told = {name: set(re.findall(r"`(\w+)`", words)) for names, words, _ in rows_of("The protocol") for name in names}
    assert told == {name: {*method.needs, *method.takes} for name, method in METHODS.items()}


def visit(owner, role):
    return Visit(owner=owner, name="ana", role=role)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("role", ["nobody", "", "OWNER", "owner "])
def test_a_role_that_is_none_may_do_nothing(clinic, method, role):
    raised(NotPermitted, lambda: answered(visit(clinic, role), {"do": method}))


@pytest.mark.parametrize("role", ["analyst", "auditor", "owner"])
def test_a_verb_without_a_row_cannot_be_reached(clinic, role):
    """Whatever the ledger, its keeper and the owner can do: over the socket there is the table, and nothing else."""
    verbs = {name for kind in (Ledger, Keeper, Owner) for name in dir(kind)} - METHODS.keys()
    assert {"grant", "revoke", "renew", "admit", "entries", "close_promise", "new_data_version"} < verbs
    for verb in verbs:
        raised(NotUnderstood, lambda verb=verb: answered(visit(clinic, role), {"do": verb}))


@pytest.mark.parametrize("method", METHODS)
def test_words_that_are_missing_or_too_many_are_no_request(clinic, method):
    role = min(METHODS[method].roles)
    words = dict.fromkeys(METHODS[method].needs, "x")
    raised(NotUnderstood, lambda: answered(visit(clinic, role), {"do": method, **words, "more": 1}))
    for left_out in words:
        with pytest.raises(NotUnderstood):
            answered(visit(clinic, role), {"do": method, **{word: 7 for word in words if word == left_out}})
        raised(NotUnderstood, lambda: answered(visit(clinic, role), {"do": method}))


def test_an_analyst_is_told_of_their_own_entries_without_a_replay_of_all(clinic, monkeypatch):
    """Whoever may ask could else keep the server busy with the entries of everybody."""
    ana, bob = clinic.grant("ana", budget=5), clinic.grant("bob", budget=5)
    count = "SELECT COUNT(*) FROM people"
    ana.sql(count, epsilon=0.5)
    bob.sql(count)
    raised(RowLevel, lambda: ana.sql("SELECT * FROM people"))
    clinic.revoke("ana")
    kinds = {"charge", "refuse", "grant", "revoke"}
    own = [row.as_json() for row in clinic.keeper.rows(texts=True) if row.who == "ana" and row.kind in kinds]
    assert {"charge", "refuse", "grant", "revoke"} <= {row["kind"] for row in own} <= kinds
    budgets = list(clinic.keeper.budget_lines())

    def all_of_them(self):
        raise AssertionError("every entry is lived through again")

    monkeypatch.setattr(Ledger, "entries", all_of_them)
    assert answered(visit(clinic, "analyst"), {"do": "ledger"})["entries"] == own
    later = answered(visit(clinic, "analyst"), {"do": "ledger", "since": "9000-01-01"})
    assert later["entries"] == []
    assert list(clinic.keeper.budget_lines()) == budgets
    assert [line.split()[0] for line in budgets] == ["promise", "ana", "bob"]


COUNT = "SELECT COUNT(*) FROM people"


def written(owner):
    return [
        (row.who, row.details["code"], row.details["sql"])
        for row in owner.keeper.rows(texts=True)
        if row.kind == "refuse"
    ]


@cases(__file__, "role", "request_=", "code")
def test_a_question_that_is_refused_before_anybody_is_an_analyst_is_written_down_once(clinic, role, request_, code):
    assert raised(DpsqlError, lambda: answered(visit(clinic, role), {"do": "sql", **request_})).code == code
    assert written(clinic) == [("ana", code, COUNT)]


def test_a_refusal_is_written_once_whoever_refuses_and_none_of_a_price(clinic):
    for word in ("cost", "explain"):
        with pytest.raises(NotPermitted):
            answered(visit(clinic, "analyst"), {"do": word, "sql": COUNT})
    assert written(clinic) == []
    clinic.grant("ana", budget=1)
    ana = visit(clinic, "analyst")
    for request, code in (({"sql": "SELECT * FROM people"}, "DP101"), ({"sql": COUNT, "epsilon": "x"}, "DP410")):
        with pytest.raises(DpsqlError):
            answered(ana, {"do": "sql", **request})
        assert written(clinic)[-1] == ("ana", code, request["sql"])
    assert len(written(clinic)) == 2
