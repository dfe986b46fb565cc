"""Every price can be derived again from the ledger alone, and one that cannot is pointed at."""

import json
import re
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest

from dpsql.accounting.triple import FREE, Triple
from dpsql.codec import fraction_to_text
from dpsql.ledger import promises
from dpsql.ledger.ledger import Charge, Head, Ownership, ReleasedStep
from dpsql.ledger.memory import MemoryLedger
from dpsql.privacy.events import Composed, Pure
from dpsql.privacy.window import Window
from dpsql.session import auditing
from dpsql.session.auditing import Walk, audit
from tests.kits.ledger_cases import charges_of
from tests.kits.owners import owner_of

COUNT = "SELECT COUNT(*) FROM people"
TOWNS = "SELECT town, COUNT(*), SUM(age) FROM people GROUP BY town"


def declared(path=":memory:", *, delta=1e-3):
    rows = pd.DataFrame({"who": range(60), "age": 30, "town": ["x", "y"] * 30})
    words = {"person": "who", "unique": True, "keys": {"town": "private"}, "bounds": {"age": (0, 99)}}
    shares = {"max_keys": 10, "selection_share": 0.25, "delta_per_query": 1e-6}
    return owner_of(rows, path=path, **words, epsilon=10, delta=delta, **shares)


def owned(*charges):
    """A ledger that says whose rows are whose before it is charged."""
    ledger = MemoryLedger()
    ledger.promise(epsilon=Fraction(10), delta=Fraction(1, 1000), delta_prime=Fraction(1, 2000), per=Window.YEAR)
    ledger.own(Ownership(relation="add_remove", tables=(("people", 'person = "who"'),)))
    ledger.grant("ana", epsilon=Fraction(5))
    for charge in charges:
        ledger.charge(charge)
    return ledger


def asked(path=":memory:"):
    owner = declared(path)
    ana, bob = owner.grant("ana", budget=5), owner.grant("bob", budget=5, sees_releases=True)
    ana.sql(COUNT, epsilon=2, noise="laplace")
    bob.sql(TOWNS, epsilon=1, noise="laplace")
    ana.sql(COUNT, epsilon=2, noise="laplace")  # stored: no payment
    return owner


def kept(*charges):
    """A ledger that verifies, whatever the charges say."""
    ledger = owned(*charges)
    ledger.verify()
    return ledger


@pytest.fixture
def paid():
    """The charge of a count of people at ε = 2."""
    with asked() as owner:
        ((_, charge), _) = charges_of(owner._ledger)
    return charge


def test_every_payment_is_derived_again():
    with asked() as owner:
        first, second = owner.audit()
    assert (first.analyst, first.cost, first.verdict) == ("ana", 2, "agrees")
    assert first.derived.epsilon == first.charged.epsilon == 2
    assert (second.analyst, second.cost, second.sql, second.agrees) == ("bob", 1, TOWNS, True)
    assert second.derived == second.charged
    assert (second.charged.epsilon, second.charged.delta) == (1, Fraction(1, 10**6))
    assert first.receipt < second.receipt


def test_what_is_not_what_was_paid_for_is_found(paid):
    cheap = replace(paid, event=Composed((Pure(epsilon=Fraction(1, 100)),)))
    right, wrong = audit(kept(paid, cheap))
    assert right.agrees
    assert wrong.verdict == "what was charged is not the price of what was released"
    assert (wrong.charged.epsilon, wrong.derived.epsilon) == (Fraction(1, 100), 2)

    (row,) = audit(kept(replace(paid, steps=2)))
    assert row.verdict == "more or fewer steps were paid for than the plan has"
    (row,) = audit(kept(replace(paid, record="{}")))
    assert (row.agrees, row.derived) == (False, None)


def test_a_plan_with_less_noise_than_was_paid_for_is_found(paid):
    record = json.dumps(json.loads(paid.record)).replace('"1/2"', '"1/4"')
    assert record != json.dumps(json.loads(paid.record))
    (row,) = audit(kept(replace(paid, record=record)))
    assert not row.agrees
    assert row.derived is None
    assert "promises" in row.verdict


def test_a_record_whose_parts_are_others_cannot_be_read(paid):
    """Each place of the plan points at some other part of it."""
    parts = len(json.loads(paid.record)["plan"])
    for place in re.finditer(r'(?<="part":)\d+', paid.record):
        for other in {0, parts // 2, parts - 1} - {int(place.group())}:
            record = f"{paid.record[: place.start()]}{other}{paid.record[place.end() :]}"
            right, changed = audit(kept(paid, replace(paid, record=record, sql="another")))
            assert (right.agrees, changed.verdict) == (True, "a stored plan cannot be read")


def test_a_record_that_fails_in_any_way_takes_no_other_row_with_it(paid, monkeypatch):
    audited = auditing.audited
    monkeypatch.setattr(
        auditing, "audited", lambda record, **how: audited(record, **how) if record == paid.record else 1 / 0
    )
    right, wrong = audit(kept(paid, replace(paid, record="{}", sql="another")))
    assert (right.verdict, wrong.verdict) == ("agrees", "the parts of its plan do not fit together")


def test_a_told_cost_that_is_not_what_it_costs_is_found(paid):
    """The cap of a query and the history of a budget look at it; the account was charged what is right."""
    one = Fraction(1)
    cheap = replace(paid, cost=one)
    (row,) = audit(kept(cheap))
    assert row.derived == row.charged
    assert row.verdict == "its plan was bought for another cost than was told"
    record = paid.record.replace('"cost":"2"', '"cost":"1"')
    (row,) = audit(kept(replace(cheap, record=record)))
    assert row.verdict == "it was said to cost 1, and costs 2"


WAYS = (
    (COUNT, {"epsilon": 0.01}),
    (TOWNS, {"epsilon": 0.02, "noise": "laplace"}),
    (COUNT, {"epsilon": 0.3, "noise": "gaussian"}),
    (COUNT, {"epsilon": 0.5, "noise": "gaussian"}),  # the difference
    (TOWNS, {"epsilon": 0.4, "noise": "gaussian"}),
    (COUNT + " WHERE age < 50", {"epsilon": 0.2, "noise": "laplace"}),
    (COUNT + " WHERE age < 45 WITHIN 40 CONFIDENCE 0.9", {}),
    ("SELECT town FROM people GROUP BY town", {"epsilon": 0.7}),
    ("SELECT town, COUNT(DISTINCT who) FROM people GROUP BY town", {"epsilon": 0.7}),
)


def every_way():
    """The entries of a ledger with payments of every kind, counted in ε first and in ρ then."""
    with declared(delta=0.9) as owner:
        ana = owner.grant("ana", budget=8)
        for sql, options in WAYS:
            ana.sql(sql, **options)
        owner.defaults(delta_per_query=0.01)
        ana.sql("SELECT town FROM people GROUP BY town", epsilon=0.01)  # decisions in ε, bought with ρ
        owner.defaults(delta_per_query=1e-6)
        found = owner.audit()
        return found, owner._ledger.entries()


def walked(entries):
    walk = Walk(since=None, texts=True)
    for entry in entries:
        walk.past(entry)
    return walk.charges


def with_cost(entry, factor):
    """The same entry, saying another cost."""
    cost = entry.fact.cost * factor
    record = json.loads(entry.fact.record)
    record["kept"]["cost"] = fraction_to_text(cost)
    record = json.dumps(record)
    return replace(entry, fact=replace(entry.fact, cost=cost, record=record))


def test_costs_of_every_kind_agree_and_every_other_one_is_found():
    found, entries = every_way()
    assert found.holds
    paying = {entry.number for entry in entries if isinstance(entry.fact, Charge)}
    assert len(paying) == len(WAYS) + 1
    assert any(charge.charged.epsilon is not None and charge.cost != charge.charged.epsilon for charge in found)
    for factor in (Fraction(1, 2), 1 - Fraction(1, 10**5), 1 + Fraction(1, 10**5), Fraction(2)):
        rows = walked(with_cost(entry, factor) if entry.number in paying else entry for entry in entries)
        said = [row for row in rows if row.problem.startswith("it was said to cost")]
        assert len(said) >= len(rows) - 2  # two are made finer, and what was paid before is wrong there
        assert all(row.problem for row in rows)


def test_a_cost_in_rho_is_none_while_epsilon_is_what_is_added_up():
    """The ρ of a small ε is a far smaller share of its limit."""
    with declared() as owner:
        owner.grant("ana", budget=5).sql(COUNT, epsilon=Fraction(1, 100), noise="laplace")
        entries, account = owner._ledger.entries(), owner._ledger.account()
    in_rho = Fraction(1, 100) ** 2 / 2 * account.epsilon / account.rho
    assert in_rho < Fraction(1, 1000)
    told = [with_cost(each, in_rho * 100) if isinstance(each.fact, Charge) else each for each in entries]
    (row,) = walked(told)
    assert row.problem.endswith("and costs 0.01")


def test_a_plan_that_protected_others_than_the_ledger_says_is_found(paid):
    """The record alone would be believed about whom it protects; the chain has said so before."""
    (row,) = audit(owned(paid))
    assert row.agrees
    other = json.dumps(json.loads(paid.record)).replace('"who"', '"age"')
    assert other != json.dumps(json.loads(paid.record))
    (row,) = audit(owned(replace(paid, record=other)))
    assert row.derived == row.charged  # the price is right, for other people
    assert row.verdict == "its plan protects others than the ledger says the promise is about"
    change_one = paid.record.replace("ADD_REMOVE", "CHANGE_ONE").replace("add_remove", "change_one")
    assert change_one != paid.record
    (row,) = audit(owned(replace(paid, record=change_one)))
    assert not row.agrees


def test_versions_of_the_policy_are_counted_from_the_first_on():
    with asked() as owner:
        (told,) = (line for line in str(owner.audit()).splitlines() if line.startswith("Policy"))
        versions = sum(row.kind == "policy" for row in owner.keeper.rows())
        owner.defaults(max_keys=7)
        (later,) = (line for line in str(owner.audit()).splitlines() if line.startswith("Policy"))
        found = owner.audit().policies
    assert f"{versions} version" in told
    assert f"{versions + 1} versions written down" in later
    assert found[0].what == "the first version"
    assert "max_keys" in found[-1].what


def test_every_promise_is_added_up_anew(paid):
    ledger = owned(paid)
    ledger.renew()
    ledger.charge(replace(paid, question=replace(paid.question, data_version="2")))
    ledger.close_promise("new people")
    ledger.promise(epsilon=Fraction(1), delta=Fraction(0), delta_prime=Fraction(0))
    found = audit(ledger, person="patient")
    told = [(each.account.epsilon, each.period, each.spent, each.ended, each.kept) for each in found.promises]
    assert told == [(10, 1, 2, None, True), (10, 2, 2, "new people", True), (1, 1, 0, None, True)]
    assert found.holds
    assert (found.renewals, len(found), found[0].cost) == (1, 2, 2)
    assert "any one patient" in str(found)
    assert "ε = 21" in str(found)  # what people are promised in all: 10 + 10 + 1


def test_what_was_lost_counts_as_spent(paid):
    ledger = owned(paid)
    lost = Triple(epsilon=Fraction(7), delta=Fraction(0), rho=Fraction(9))
    with ledger.writing() as page:
        promises.write_off(page, Head(number=99, hash=b"", spent=lost))
    found = audit(ledger)
    assert (found.promises[0].spent, found.written_off) == (7, 1)
    assert "written off 1×" in str(found)
    # 2 are left of what was paid: their payment was derived again, those of the other 5 are gone
    assert "kept: 7 spent, of which 5 was written off" in str(found)
    assert "told to cost" not in str(found)
    assert "entries were lost before" in str(found)
    assert "payments that were lost are not among them" in str(found)
    assert found.deeds[-1].what == (
        "what was lost up to entry 99 counts as spent; ε = 5 more than the payments that are left"
    )
    assert "lost" not in str(audit(owned(paid)))


def test_a_lost_period_is_said_to_be_written_off(paid):
    ledger = owned(paid)
    with ledger.writing() as page:
        promises.write_off(page, Head(number=99, hash=b"", spent=FREE), periods=1)
    first, second = audit(ledger).promises
    assert (first.lost, second.written_off) == (True, FREE)
    assert "a lost period · kept: 10 spent, all of it written off" in str(audit(ledger))


def test_it_reads_as_a_statement():
    with asked() as owner:
        found = owner.audit()
        text = str(found)
        owner.keeper.freeze("DPIA review")
        frozen = str(owner.audit())
    assert "chain intact" in text
    assert "kept: 3 spent" in text
    assert "2/2 prices derived again from the stored plans, 0 differ" in text
    # 1 / (1 + e^-10) is 0.99995…, and never 100 %
    assert "a 50–50 guess about any one person may become sure, more than 99.99 %" in text
    assert "ana: 1 payment, 2 in all, 0 refused" in text
    assert repr(found) == text
    assert "Frozen" not in text
    assert "every question is refused: DPIA review" in frozen
    assert "freezes 1" in frozen


def test_a_price_that_differs_is_said_and_named(paid):
    found = audit(kept(paid, replace(paid, event=Composed((Pure(epsilon=Fraction(1, 100)),)))))
    assert not found.holds
    assert "1/2 prices derived again from the stored plans, 1 differ" in str(found)
    assert f"#{found[1].receipt}: what was charged is not the price of what was released" in str(found)


NASTY = "<script>alert(1)</script>|`x`[y](javascript:z)*"


def test_reports_have_no_marks_but_their_own():
    with asked() as owner:
        owner.grant(NASTY, budget=1).sql(COUNT + " WHERE age < 33 AND town <> '<b>|'", epsilon=1, noise="laplace")
        owner.keeper.freeze(NASTY)
        found = owner.audit()
        html, markdown = found.html(), found.markdown()
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script" not in markdown
    assert "[y]" not in markdown
    cells = [line.replace(r"\|", "").count("|") for line in markdown.splitlines() if "alert" in line and line[0] == "|"]
    assert set(cells) == {5, 6, 11}  # decisions and analysts, grants, payments: no cell ends early


def test_reports_hold_no_texts_unless_asked():
    with asked() as owner:
        without, with_texts = owner.keeper.audit(), owner.keeper.audit(texts=True)
    for report in (str(without), without.markdown(), without.html()):
        assert "SELECT" not in report
        assert "FROM people" not in report
    assert "SELECT town" in with_texts.html()


def test_reports_never_hold_a_released_value(paid):
    ledger = kept()
    receipt = ledger.charge(paid)
    ledger.store(receipt, 0, ReleasedStep(keys=(("canary",),), values=((987654321,),)))
    found = audit(ledger)
    for report in (str(found), found.markdown(), found.html()):
        assert "987654321" not in report
        assert "canary" not in report
