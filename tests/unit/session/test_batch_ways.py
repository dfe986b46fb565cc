"""A batch that a theorem prices: one charge, less noise, derived again by whoever reads the ledger."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from threading import Thread

import pandas as pd
import pytest

import dpsql
from dpsql.accounting.optimal import optimal_delta
from dpsql.accounting.triple import triple
from dpsql.errors import BadParameter, BudgetExhausted, NotPermitted
from dpsql.ledger.ledger import Conditions
from dpsql.ledger.memory import MemoryLedger
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.plan.record import kept
from dpsql.session.auditing import audit
from dpsql.session.declared import ownership_of
from tests.kits.ledger_cases import batches_of, charges_of

SLACK = Fraction(1, 10**8)
COUNTS = [f"SELECT COUNT(*) FROM people WHERE age > {age}" for age in range(30)]


def opened(*, epsilon=1, delta_prime=0, noise="laplace", slack=SLACK, budget=None):
    """A promise that adds up ε alone, unless said."""
    owner = dpsql.open(":memory:")
    people = pd.DataFrame({"id": range(100), "age": [n % 90 for n in range(100)], "town": ["x", "y"] * 50})
    owner.register("people", people, person="id", unique=True, bounds={"age": (0, 100)}, keys={"town": ["x", "y", "z"]})
    owner.register("towns", pd.DataFrame({"town": ["x", "y"]}), public=True)
    owner.promise(epsilon=epsilon, delta=Fraction(1, 10**5), delta_prime=delta_prime)
    owner.defaults(max_keys=10, delta_per_query=slack, noise=noise)
    return owner, owner.grant("ana", budget=budget or epsilon)


def laws(owner):
    return [law.law for _, charge in charges_of(owner._ledger) for _, law in kept(charge.record).noises]


def test_equal_counts_are_finer_by_optimal_composition():
    """Thirty counts for 1: by themselves a thirtieth each; the curve says how much more they may have together."""
    owner, ana = opened()
    answers = ana.run(COUNTS, total=1)
    (law,) = set(laws(owner))
    assert isinstance(law, DiscreteLaplaceLaw)
    assert 15 < law.scale < 30
    assert optimal_delta(k=30, epsilon=1 / law.scale, delta=0, epsilon_total=1) <= SLACK
    assert optimal_delta(k=30, epsilon=Fraction(101, 100) / law.scale, delta=0, epsilon_total=1) > SLACK
    assert [answer.cost.epsilon for answer in answers] == [Fraction(1, 30)] * 30
    assert sum(answer.cost.delta for answer in answers) == SLACK
    assert "one of 30 questions planned together: they cost 1" in answers[0].notes[-1]
    account = owner._ledger.account()
    assert (account.spent.epsilon, account.spent.delta) == (1, SLACK)
    assert ana.budget.left == 0


def test_gaussian_noise_is_paid_from_an_account_that_adds_up_epsilon_alone():
    """A batch has a finite ε, although none of its Gaussian answers has."""
    owner, ana = opened(noise=None)
    ana.run(COUNTS, total=1)
    assert all(isinstance(law, DiscreteGaussianLaw) for law in laws(owner))
    assert owner._ledger.account().pure_branch_open
    with pytest.raises(dpsql.DpsqlError):
        ana.sql("SELECT COUNT(*) FROM people", noise="gaussian", epsilon=0.1)


def test_the_plain_sum_stays_where_a_theorem_saves_nothing():
    owner, ana = opened(epsilon=2)
    two = ana.run(COUNTS[:2], total=1)
    assert not batches_of(owner._ledger)
    assert [answer.cost.delta for answer in two] == [0, 0]
    assert ana.budget.spent == 1


def test_a_large_account_counts_in_rho_instead():
    """At ε = 5 Gaussian noise by its share of ρ* is finer than any batch of total 1."""
    owner, ana = opened(epsilon=5, delta_prime=Fraction(1, 2 * 10**5), noise=None)
    ana.run(COUNTS, total=1)
    assert not batches_of(owner._ledger)


def test_nobody_spends_delta_that_the_owner_has_not_allowed():
    owner, ana = opened(slack=None)
    ana.run(COUNTS, total=Fraction(1, 2))
    assert not batches_of(owner._ledger)
    assert owner._ledger.account().spent.delta == 0
    with pytest.raises(BadParameter, match="which is nothing"):
        ana.run(COUNTS, total=Fraction(1, 2), delta=1e-9)


def test_delta_is_spent_as_it_is_said_and_up_to_that_of_each_question():
    owner, ana = opened(epsilon=2)
    ana.run(COUNTS, total=1, delta=30 * SLACK)
    assert owner._ledger.account().spent.delta == 30 * SLACK
    with pytest.raises(BadParameter, match="more than these questions may spend"):
        ana.run(COUNTS, total=1, delta=31 * SLACK)


@pytest.mark.parametrize("delta", [0, 1, -1e-9, float("nan"), "1e-9", True])
def test_a_delta_is_a_number_between_0_and_1(delta):
    with pytest.raises(BadParameter):
        opened()[1].plan(total=1, delta=delta)


def test_stored_public_and_repeated_questions_are_free_in_a_batch():
    owner, ana = opened(epsilon=2)
    before = ana.sql(COUNTS[0], epsilon=1)
    asked = [*COUNTS, COUNTS[3], "SELECT COUNT(*) FROM towns", f"EXPLAIN PRIVACY {COUNTS[4]}"]
    answers = ana.run(asked, total=1)
    assert answers[0].rows[0][0].value == before.rows[0][0].value
    assert answers[30].rows[0][0].value == answers[3].rows[0][0].value
    assert [answers[place].cost.epsilon for place in (0, 30, 31, 32)] == [0, 0, 0, 0]
    (batch,) = batches_of(owner._ledger)
    assert len(batch.event.events) == 29
    assert sum(answer.cost.epsilon for answer in answers) == batch.cost <= 1
    assert all(row.agrees for row in owner.audit())


def test_grouped_and_weighted_questions_are_priced_together_too():
    owner, ana = opened(noise=None)
    with ana.plan(total=1) as p:
        towns = [p.sql(f"SELECT town, COUNT(*) FROM people WHERE age > {age} GROUP BY town") for age in range(24)]
        much = p.sql("SELECT SUM(age) FROM people", weight=2)
    (batch,) = batches_of(owner._ledger)
    assert batch.event.epsilon == 1
    assert much.answer.cost.epsilon == 2 * towns[0].answer.cost.epsilon
    assert all(row.agrees for row in owner.audit())


def test_a_statement_with_private_questions_keeps_the_plain_sum():
    owner, ana = opened(epsilon=4)
    ana.run([*COUNTS, "SELECT COUNT(*) FROM people WHERE age > PRIVATE (SELECT AVG(age) FROM people)"], total=2)
    assert not batches_of(owner._ledger)
    assert ana.budget.spent == 2


def test_a_batch_that_no_account_can_pay_costs_nothing():
    owner, ana = opened(epsilon=2, budget=1)
    ana.sql("SELECT COUNT(*) FROM people", epsilon=Fraction(1, 2))
    with pytest.raises(BudgetExhausted):
        ana.run(COUNTS, total=1)
    assert ana.budget.spent == Fraction(1, 2)
    assert owner._ledger.account().spent.delta == 0


@pytest.mark.parametrize("stop", [0, 1, 17, 29])
def test_a_batch_that_was_interrupted_goes_on_for_nothing(monkeypatch, stop):
    """All of the budget is spent, and the answers that were stored before stand: nothing is paid again."""
    owner, ana = opened()
    real, told = owner._ledger.store, []

    def stopping(receipt, step, released, *more):
        if len(told) == stop:
            raise KeyboardInterrupt
        told.append(released)
        return real(receipt, step, released, *more)

    monkeypatch.setattr(owner._ledger, "store", stopping)
    with pytest.raises(KeyboardInterrupt):
        ana.run(COUNTS, total=1)
    monkeypatch.setattr(owner._ledger, "store", real)
    spent = owner._ledger.account().spent
    answers = ana.run(COUNTS, total=1)
    assert [answer.cost.epsilon for answer in answers] == [0] * 30
    assert owner._ledger.account().spent == spent
    assert [answer.rows[0][0].value for answer in answers[:stop]] == [step.values[0][0] for step in told]
    again = ana.run(COUNTS, total=1)
    assert [a.rows[0][0].value for a in again] == [a.rows[0][0].value for a in answers]
    owner._ledger.verify()


def test_an_interrupted_batch_with_answers_stored_before_it_goes_on_too(monkeypatch):
    owner, ana = opened(epsilon=2)
    ana.sql(COUNTS[0], epsilon=1)
    real = owner._ledger.store
    monkeypatch.setattr(owner._ledger, "store", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        ana.run(COUNTS, total=1)
    monkeypatch.setattr(owner._ledger, "store", real)
    spent = owner._ledger.account().spent
    assert {answer.cost.epsilon for answer in ana.run(COUNTS, total=1)} == {0}
    assert owner._ledger.account().spent == spent


def audited_again(owner, change):
    """The same entries in another ledger, with one changed on the way: it verifies, whatever they say."""
    charges = [replace(charge, batch=None) for _, charge in charges_of(owner._ledger)]
    (batch,) = batches_of(owner._ledger)
    ledger = MemoryLedger()
    ledger.promise(epsilon=Fraction(1), delta=Fraction(1, 10**5), delta_prime=Fraction(0))
    ledger.own(ownership_of(owner.catalog))
    ledger.adopt("declared", owner._ledger.adopted())
    ledger.grant("ana", epsilon=Fraction(1))
    charges, event = change(charges, batch.event)
    ledger.charge_together(charges, event=event, cost=batch.cost)
    return audit(ledger)


def test_the_price_of_a_batch_is_derived_again():
    owner, ana = opened()
    ana.run(COUNTS, total=1)
    batch, *rows = owner.audit()
    assert (batch.sql, batch.cost, batch.charged.epsilon) == ("30 questions planned together", 1, 1)
    assert Fraction(99, 100) < batch.derived.epsilon <= 1
    assert [row.batch for row in rows] == [batch.receipt] * 30
    assert all(row.agrees for row in (batch, *rows))
    assert all(first.receipt < second.receipt for first, second in pairwise((batch, *rows)))


def test_a_batch_that_was_charged_too_little_is_found():
    owner, ana = opened()
    ana.run(COUNTS, total=1)
    batch, *rows = audited_again(owner, lambda charges, event: (charges, replace(event, epsilon=Fraction(9, 10))))
    assert batch.verdict == "optimal, the best accountant at hand, proves more for this batch than was charged"
    assert all(row.agrees for row in rows)


def test_a_question_of_a_batch_with_other_noise_than_its_event_says_is_found():
    """The events are those of the batch, and one record holds more than its event says."""
    owner, ana = opened()
    ana.run(COUNTS, total=1)

    def change(charges, event):
        first, second, *rest = charges
        finer = second.record.replace(f'"{laws(owner)[0].scale}"', f'"{laws(owner)[0].scale / 2}"')
        assert finer != second.record
        return [first, replace(second, record=finer), *rest], event

    batch, first, second, *rest = audited_again(owner, change)
    assert not second.agrees
    assert all(row.agrees for row in (batch, first, *rest))


# ---- in words --------------------------------------------------------------------------------------------------


def test_the_price_is_told_before_and_after_it_is_paid():
    owner, ana = opened(epsilon=2)
    ana.sql(COUNTS[0], epsilon=1)
    with ana.plan(total=1) as p:
        for sql in [*COUNTS, COUNTS[3]]:
            p.sql(sql)
        assert repr(p) == "Batch(31 questions for 1, not run yet)"
        assert repr(p.questions[3]) == f"Planned({COUNTS[3]!r}, not answered yet)"
        before, explained = p.cost, p.explain()
        assert ana.budget.spent == 1
    (batch,) = batches_of(owner._ledger)
    assert (before.epsilon, before.delta) == (batch.cost, batch.event.delta)
    assert (p.cost.epsilon, p.cost.delta) == (before.epsilon, before.delta)
    first, *lines = explained.splitlines()
    assert p.explain() == explained
    assert repr(p) == f"Batch({first})"
    alone = sum(event.events[0].epsilon for event in batch.event.events)
    assert first.startswith("31 questions for ")
    assert first.endswith(f", by optimal composition; one by one, as fine, {float(alone):.3g}")
    assert float(batch.cost) < 1 < alone
    assert [line.split()[1] for line in lines].count("free") == 2  # the stored one, and the twin
    assert sum(float(line.split()[1].replace("free", "0")) for line in lines) == pytest.approx(float(batch.cost), 0.01)
    assert lines[5].endswith(f"COUNT(*) ± {p.questions[5].answer.rows[0][0].margin}; {COUNTS[5]}")


def test_where_prices_are_added_up_the_batch_says_so():
    owner, ana = opened(epsilon=2, slack=None)
    with ana.plan(total=0.5) as p:
        p.sql(COUNTS[0])
        p.sql("SELECT COUNT(*) FROM towns")
        assert p.cost.epsilon == Fraction(1, 4)
        first, one, two = p.explain().splitlines()
    assert first == "2 questions for 0.25, the sum of their prices"
    assert one.split()[:2] == ["1", "0.25"]
    assert two.split()[:2] == ["2", "free"]
    assert repr(p) == f"Batch({first})"
    owner.close()
    assert "DuckDb" not in repr(p)


def test_twins_of_a_batch_wait_for_each_other_and_pay_once(monkeypatch):
    """Without a turn each of them would take an attempt of the others, and the fourth would pay again."""
    owner, ana = opened(epsilon=4)
    engine = type(ana.place.engine)
    run, told, twins = engine.run, [], []

    def slow(self, sql, *, parameters=()):
        if not twins:
            twins.extend(Thread(target=lambda: told.append(ana.run(COUNTS, total=1))) for _ in range(4))
            for twin in twins:
                twin.start()
            for twin in twins:
                twin.join(timeout=0.3)  # they wait for this one
        return run(self, sql, parameters=parameters)

    monkeypatch.setattr(engine, "run", slow)
    told.append(ana.run(COUNTS, total=1))
    for twin in twins:
        twin.join()
    assert owner._ledger.account().spent.epsilon == 1
    assert len(batches_of(owner._ledger)) == 1
    values = [[answer.rows[0][0].value for answer in answers] for answers in told]
    assert len(values) == 5
    assert all(each == values[0] for each in values)
    assert sorted(sum(answer.cost.epsilon for answer in answers) for answers in told) == [0, 0, 0, 0, 1]


def test_no_answer_of_a_batch_is_finer_than_the_cap_of_one_query_allows():
    """Questions about nobody take a share of the price and none of the noise: two counts would have all of it."""
    owner, _ = opened()
    ana = owner.grant("ana", budget=1, max_per_query=Fraction(1, 10))
    beside = [f"SELECT COUNT(*) FROM towns WHERE town <> '{number}'" for number in range(30)]
    ana.run([*COUNTS[:2], *beside], total=1)
    assert not batches_of(owner._ledger)
    assert {law.scale for law in laws(owner)} == {32}


def test_the_ledger_refuses_a_batch_with_an_answer_above_the_cap():
    owner, ana = opened()
    ana.run(COUNTS, total=1)
    (batched,) = batches_of(owner._ledger)
    members = [replace(charge, batch=None) for _, charge in charges_of(owner._ledger)]
    fresh = MemoryLedger()
    fresh.promise(epsilon=Fraction(2), delta=Fraction(1, 10**5), delta_prime=Fraction(0))
    fresh.own(ownership_of(owner._declared.catalog))
    share, alone = members[0].cost, triple(members[0].event).epsilon
    assert share < alone
    fresh.grant("ana", epsilon=Fraction(2), conditions=Conditions(max_per_query=share))
    with pytest.raises(NotPermitted):
        fresh.charge_together(members, event=batched.event, cost=batched.cost)
    fresh.grant("ana", epsilon=Fraction(2), conditions=Conditions(max_per_query=alone))
    assert len(fresh.charge_together(members, event=batched.event, cost=batched.cost)) == 30
