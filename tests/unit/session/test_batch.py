"""Several questions for one price."""

from fractions import Fraction
from threading import Thread

import pandas as pd
import pytest

import dpsql
import dpsql.ledger.book
import dpsql.session.batch
import dpsql.session.query
from dpsql.accounting.registry import accountant
from dpsql.errors import BadKey, NotPermitted, NotSupported
from dpsql.ledger import laws
from dpsql.points import Point
from dpsql.privacy.events import Composed, Pure
from dpsql.session.auditing import audit
from dpsql.session.batch import _in_advance
from tests.kits.ledger_cases import charges_of
from tests.kits.owners import owner_of
from tests.kits.refusals import raised


@pytest.fixture
def owner():
    return owner_of(100, epsilon=1, delta=1e-5, accounting="basic", max_keys=10)


@pytest.fixture
def analyst(owner):
    return owner.grant("ana", budget=1)


COUNT, SUM = "SELECT COUNT(*) FROM people", "SELECT SUM(age) FROM people"


def test_the_price_is_shared_equally_or_by_weight(analyst):
    one, two = analyst.run([COUNT, SUM], total=0.5)
    assert one.cost.epsilon == two.cost.epsilon == Fraction(1, 4)
    assert analyst.budget.spent == Fraction(1, 2)
    with analyst.plan(total=0.4) as together:
        little, much = together.sql(f"{COUNT} WHERE age > 1"), together.sql(f"{SUM} WHERE age > 1", weight=3)
    assert little.answer.cost.epsilon == Fraction(1, 10)
    assert much.answer.cost.epsilon == Fraction(3, 10)
    spent = analyst.budget.spent
    assert (analyst.run([], total=0.5), analyst.budget.spent) == ([], spent)


@pytest.mark.parametrize("said", ["COST 0.1", "WITHIN 20"])
def test_a_price_in_the_text_of_a_question_is_set_against_the_total(analyst, said):
    sql = f"{COUNT} {said}"
    error = raised(dpsql.BadParameter, lambda: analyst.run([sql, SUM], total=0.5))
    assert "total=0.5" in error.what
    assert "argument" not in str(error)
    assert sql[slice(*error.at)] == said.split()[1]


def test_a_price_in_the_text_may_be_the_share(analyst):
    one, _ = analyst.run([f"{COUNT} COST 0.25", SUM], total=0.5)
    assert one.cost.epsilon == Fraction(1, 4)


def test_a_share_above_the_cap_is_said_to_be_one():
    capped = owner_of(9, epsilon=1).grant("ana", budget=1, max_per_query=0.1)
    error = raised(NotPermitted, lambda: capped.run([f"{COUNT} WHERE id > {n}" for n in range(4)], total=1))
    assert error.what == "the share of this question of total=1 is 0.25, above your limit of 0.1 per query"
    assert error.try_sql is None  # a price in the text would be refused


def test_nothing_is_paid_where_one_question_is_refused(analyst):
    raised(dpsql.Refused, lambda: analyst.run([COUNT, "SELECT * FROM people"], total=0.5))
    assert analyst.budget.spent == 0


PRICED = [COUNT, SUM, f"{COUNT} WHERE age > 9"]


def test_nothing_is_paid_where_the_questions_do_not_fit_together(analyst):
    """Each costs 1, as much as the whole grant: the first alone would fit."""
    raised(
        dpsql.BudgetExhausted, lambda: analyst.run(PRICED, total=3), match="3 together, more than the promise and your"
    )
    assert analyst.budget.spent == 0
    assert len(analyst.run(PRICED, total=1)) == 3


def test_what_is_left_after_another_question_counts(analyst):
    analyst.sql(PRICED[0], epsilon=0.5)
    raised(dpsql.BudgetExhausted, lambda: analyst.run(PRICED[1:], total=0.6), match=r"in ε, 0\.5 is left")
    assert analyst.budget.spent == Fraction(1, 2)


def test_a_question_asked_twice_and_an_explanation_fit(analyst):
    """Twins are one payment, and an explanation none: 1/3 for the count, 1/3 for nothing, 1/3 for the plan."""
    twin = "select count(*)  from people"
    one, two, plan = analyst.run([PRICED[0], twin, f"EXPLAIN PRIVACY {PRICED[1]}"], total=3)
    assert one["COUNT(*)"][0].value == two.rows[0][0].value
    assert [answer.cost.epsilon for answer in (one, two, plan)] == [1, 0, 0]
    assert analyst.budget.spent == 1


def test_what_is_simulated_takes_no_share(analyst):
    """With a share of its own it would leave the other question half the price, and twice the noise."""
    refused = raised(NotSupported, lambda: analyst.run([f"SIMULATE {COUNT}", COUNT], total=0.5), match="has no part in")
    assert "by itself" in refused.fix
    together = analyst.plan(total=0.5)
    for sql in (COUNT, f"simulate {COUNT}"):
        together.sql(sql)
    raised(NotSupported, lambda: together.cost)
    assert analyst.budget.spent == 0


def test_a_question_is_planned_once(analyst, monkeypatch):
    planned = []
    real = dpsql.session.query.plan_of

    def counted(text, *rest, **more):
        planned.append(text)
        return real(text, *rest, **more)

    monkeypatch.setattr(dpsql.session.query, "plan_of", counted)
    analyst.run(PRICED, total=0.5)
    assert planned == PRICED


def test_too_many_public_keys_are_found_before_anything_is_paid():
    rows = pd.DataFrame({"id": range(9), "ward": 1})
    owner = owner_of(rows, person="id", unique=True, columns=["ward"], epsilon=1, max_keys=4)
    owner.register("wards", pd.DataFrame({"ward": range(5)}), public=True, columns=["ward"])
    analyst = owner.grant("ana", budget=1)
    many = "SELECT w.ward, COUNT(*) FROM people p JOIN wards w ON p.ward = w.ward GROUP BY w.ward"
    raised(BadKey, lambda: analyst.run([COUNT, many], total=1))
    assert analyst.budget.spent == 0


def test_an_error_inside_the_block_runs_nothing_and_answers_are_there_after_it(analyst):
    with pytest.raises(KeyError), analyst.plan(total=0.5) as together:
        raise KeyError(together.sql(COUNT))
    assert analyst.budget.spent == 0
    with pytest.raises(dpsql.BadParameter, match="has not run"), analyst.plan(total=0.5) as together:
        _ = together.sql(COUNT).answer


@pytest.mark.parametrize("total", [0, -1, float("nan"), float("inf")])
def test_a_price_is_a_positive_number(analyst, total):
    raised(dpsql.BadParameter, lambda: analyst.plan(total=total))


ABOVE = "SELECT COUNT(*) FROM people WHERE age > PRIVATE (SELECT AVG(age) FROM people)"
ABOVE_OLD = "SELECT COUNT(*) FROM people WHERE age > PRIVATE (SELECT AVG(age) FROM people WHERE age > 60)"


def test_questions_that_await_different_answers_are_no_twins(analyst):
    """Both count those above \"the answer to the first question of the statement\": four payments of 0.3, not three."""
    raised(dpsql.BudgetExhausted, lambda: analyst.run([ABOVE, ABOVE_OLD], total=1.2), match=r"cost 1\.2 together")
    assert analyst.budget.spent == 0
    analyst.run([ABOVE, ABOVE_OLD], total=1)
    assert analyst.budget.spent == 1


def test_questions_that_await_the_same_answer_are_twins(analyst):
    one, two = analyst.run([ABOVE, ABOVE], total=2)
    assert one.rows[0][0].value == two.rows[0][0].value
    assert analyst.budget.spent == 1


def test_an_inner_question_that_the_batch_has_asked_before_is_paid_for_once(analyst):
    """0.5 for the mean, which the second statement finds stored, and 0.5 for its own count."""
    with analyst.plan(total=1.5) as together:
        mean = together.sql("SELECT AVG(age) FROM people")
        above = together.sql(ABOVE, weight=2)
    assert (mean.answer.cost.epsilon, above.answer.cost.epsilon) == (Fraction(1, 2), Fraction(1, 2))
    assert analyst.budget.spent == 1


def test_a_batch_says_its_price_before_and_after_it_is_paid(analyst):
    """Two questions of 1/10 at δ = 10^-5: what is told beside their sum is what the library says of them."""
    before = analyst.sql(PRICED[2], epsilon=0.5)
    with analyst.plan(total=0.4) as together:
        for sql in (PRICED[0], PRICED[1], "SELECT COUNT(*) FROM people", PRICED[2]):
            together.sql(sql)
        assert repr(together) == "Batch(4 questions for 0.4, not run yet)"
        assert repr(together.questions[3]) == f"Planned({PRICED[2]!r}, not answered yet)"
        assert together.cost.epsilon == Fraction(1, 5)
        explained = together.explain()
        assert analyst.budget.spent == Fraction(1, 2)
    first, *lines, last = explained.splitlines()
    assert first == "4 questions for 0.2, the sum of their prices"
    assert [line.split()[1] for line in lines] == ["0.1", "0.1", "free", "free"]
    assert lines[0].endswith(f"COUNT(*) ± {together.questions[0].answer.rows[0][0].margin}; {PRICED[0]}")
    history = Composed((Pure(epsilon=Fraction(1, 10)),) * 2)
    said = {name: accountant(name).price(history, delta=Fraction(1, 10**5)) for name in ("optimal", "pld", "adaptive")}
    told = ", ".join(f"{name} {price:.3g}" for name, price in said.items())
    assert last == f"fixed in advance, at δ = 0.00001, the same noise tells ε: {told}"
    assert together.explain() == explained
    assert together.cost.epsilon == Fraction(1, 5)
    assert repr(together) == f"Batch({first})"
    assert together.questions[3].answer.rows[0][0].value == before.rows[0][0].value


# ---- one transaction -------------------------------------------------------------------------------------------

COUNTS = [f"SELECT COUNT(*) FROM people WHERE age > {age}" for age in range(10)]


def ledger_of(analyst):
    return analyst.place.ledger


def test_each_question_is_an_ordinary_charge_and_passes_the_points_of_one(analyst, monkeypatch):
    passed = []
    for module in (dpsql.session.batch, dpsql.ledger.book):
        monkeypatch.setattr(module, "reached", passed.append)
    analyst.run([*COUNTS, COUNTS[0]], total=1)
    charges = [charge for _, charge in charges_of(ledger_of(analyst))]
    assert [(charge.cost, charge.sql) for charge in charges] == [(Fraction(1, 11), sql) for sql in COUNTS]
    assert passed[:4] == [Point.CHARGING, Point.CHARGE_BEGUN, Point.CHARGE_WRITTEN, Point.CHARGED]
    assert Point.CHARGE_BEGUN not in passed[4:]
    assert all(row.agrees for row in audit(ledger_of(analyst)))


def between(monkeypatch, ledger, *, charges, act):
    """`act` once, between two charges of a batch: when so many have been made, before the next one begins."""
    real, together, made = laws.charge, ledger.charge_together, []

    def charged(page, asked, **more):
        made.append(asked)
        return real(page, asked, **more)

    class Asked(list):
        def __iter__(self):
            for asked in super().__iter__():
                if len(made) == charges:
                    made.append(None)
                    act()
                yield asked

    monkeypatch.setattr(laws, "charge", charged)
    monkeypatch.setattr(ledger, "charge_together", lambda asked, **more: together(Asked(asked), **more))


def test_nobody_spends_between_two_questions_of_a_batch(analyst, owner, monkeypatch):
    """Bob asks for what is left when five of ten are charged: he waits, and nothing is left for him."""
    bob, refused = owner.grant("bob", budget=1), []

    def ask():
        try:
            bob.sql(COUNTS[0], epsilon=0.5)
        except dpsql.BudgetExhausted as error:
            refused.append(error)

    other = Thread(target=ask)

    def start():
        other.start()
        other.join(timeout=0.3)
        assert other.is_alive()

    between(monkeypatch, ledger_of(analyst), charges=5, act=start)
    answers = analyst.run(COUNTS, total=1)
    other.join()
    assert len(refused) == 1
    assert sum(answer.cost.epsilon for answer in answers) == analyst.budget.spent == 1
    assert bob.budget.spent == 0


def test_what_others_have_spent_since_it_was_planned_refuses_a_batch_whole(analyst, owner, monkeypatch):
    bob, real = owner.grant("bob", budget=1), ledger_of(analyst).charge_together

    def late(charges, **more):
        bob.sql("SELECT COUNT(*) FROM people", epsilon=0.05)
        return real(charges, **more)

    monkeypatch.setattr(ledger_of(analyst), "charge_together", late)
    with pytest.raises(dpsql.BudgetExhausted, match=r"cost 1 together, more than the promise can pay"):
        analyst.run(COUNTS, total=1)
    assert [charge.analyst for _, charge in charges_of(ledger_of(analyst))] == ["bob"]
    assert analyst.budget.spent == 0


def test_a_failure_between_two_charges_keeps_none(analyst, monkeypatch):
    def fail():
        raise OSError

    between(monkeypatch, ledger_of(analyst), charges=5, act=fail)
    raised(OSError, lambda: analyst.run(COUNTS, total=1))
    assert analyst.budget.spent == 0
    ledger_of(analyst).verify()


@pytest.mark.parametrize("stop", [0, 1, 9])
def test_a_batch_that_was_interrupted_goes_on_for_nothing(analyst, monkeypatch, stop):
    """All of the budget is spent, and the answers that were stored before stand: nothing is paid again."""
    ledger, told = ledger_of(analyst), []
    real = ledger.store

    def stopping(receipt, step, released, *more):
        if len(told) == stop:
            raise KeyboardInterrupt
        told.append(released)
        return real(receipt, step, released, *more)

    monkeypatch.setattr(ledger, "store", stopping)
    raised(KeyboardInterrupt, lambda: analyst.run(COUNTS, total=1))
    monkeypatch.setattr(ledger, "store", real)
    answers = analyst.run(COUNTS, total=1)
    assert [answer.cost.epsilon for answer in answers] == [0] * 10
    assert analyst.budget.spent == 1
    assert [answer.rows[0][0].value for answer in answers[:stop]] == [step.values[0][0] for step in told]
    ledger.verify()


def test_twins_of_a_batch_wait_for_each_other_and_pay_once(owner, monkeypatch):
    """Without a turn each of them would take an attempt of the others, and the fourth would pay again."""
    analyst = owner.grant("ana", budget=1)
    engine = type(analyst.place.engine)
    run, told, twins = engine.run, [], []

    def slow(self, sql, *, parameters=()):
        if not twins:
            twins.extend(Thread(target=lambda: told.append(analyst.run(COUNTS, total=0.2))) for _ in range(4))
            for twin in twins:
                twin.start()
            for twin in twins:
                twin.join(timeout=0.1)  # they wait for this one
        return run(self, sql, parameters=parameters)

    monkeypatch.setattr(engine, "run", slow)
    told.append(analyst.run(COUNTS, total=0.2))
    for twin in twins:
        twin.join()
    assert analyst.budget.spent == Fraction(1, 5)
    values = [[answer.rows[0][0].value for answer in answers] for answers in told]
    assert len(values) == 5
    assert all(each == values[0] for each in values)
    assert sorted(sum(answer.cost.epsilon for answer in answers) for answers in told) == [0, 0, 0, 0, Fraction(1, 5)]


def test_a_stored_answer_is_made_finer_in_a_batch_as_it_is_by_itself():
    told = []
    for together in (False, True):
        owner = owner_of(100, epsilon=5, delta=1e-5, noise="gaussian")
        analyst = owner.grant("ana", budget=5)
        analyst.sql("SELECT COUNT(*) FROM people", epsilon=0.5)
        finer = "SELECT COUNT(*) FROM people"
        (answer,) = analyst.run([finer], total=1) if together else [analyst.sql(finer, epsilon=1)]
        assert answer.cost.epsilon == Fraction(1, 2)
        told.append((answer.rows[0][0].margin, answer.notes))
        assert all(row.agrees for row in owner.audit())
    assert told[0] == told[1]


def test_nothing_is_said_in_advance_of_questions_that_cost_nothing():
    assert list(_in_advance([], delta=Fraction(1, 10**6))) == []
