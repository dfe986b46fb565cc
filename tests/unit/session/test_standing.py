"""Who may spend, from which account and until when: tokens, revocations, freezes, renewals, closed promises."""

from datetime import UTC, datetime
from fractions import Fraction

import pandas as pd
import pytest

import dpsql
from dpsql.catalog.model import Defaults, Person, Policy
from dpsql.engines.registry import open_source
from dpsql.errors import BadParameter, BadPolicy, BudgetExhausted, FrozenLedger, NotPermitted, OverLimit
from dpsql.ledger.memory import MemoryLedger
from dpsql.privacy.window import Window
from dpsql.randomness import SYSTEM
from dpsql.session.granting import grant_of
from dpsql.session.owner import Owner
from tests.kits.ledger_cases import charges_of
from tests.kits.owners import AGED, owner_of, people
from tests.kits.refusals import each_raises, raised

COUNT = "SELECT COUNT(*) FROM people"
OLD = "SELECT COUNT(*) FROM people WHERE age > 60"


class Clock:
    """Seconds since 1970, moved by hand."""

    def __init__(self, day: str) -> None:
        self.set(day)

    def set(self, day: str) -> None:
        self.seconds = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp())

    def __call__(self) -> int:
        return self.seconds


def declared(owner: Owner) -> Owner:
    owner.register("people", people(50), **AGED)
    owner.defaults(cost_per_query=Fraction(1, 4))
    return owner


def opened(**promise) -> Owner:
    return owner_of(50, **{"epsilon": 2, **promise}, cost_per_query=Fraction(1, 4))


@pytest.fixture
def owner() -> Owner:
    return opened()


def with_clock(clock: Clock, **promise) -> Owner:
    policy = Policy(
        source="memory:", ledger=None, data_version=None, person=Person(), promise=None, defaults=Defaults(), tables={}
    )
    owner = Owner(policy=policy, engine=open_source("memory:"), ledger=MemoryLedger(clock=clock), source=SYSTEM)
    declared(owner).promise(**{"epsilon": 2, **promise})
    return owner


def students(owner: Owner, *names: str, budget: Fraction = Fraction(1)) -> list[dpsql.Analyst]:
    """Several people, one token each, all for one grant."""
    owner.grant("students", budget=budget)
    for name in names:
        owner.keeper.admit(name, role="analyst", grant="students")
    return [owner.analyst(name) for name in names]


class TestTokensOfOneGrant:
    def test_spend_from_one_budget_under_their_own_names(self, owner):
        ann, bob = students(owner, "ann", "bob", budget=Fraction(1, 2))
        ann.sql(COUNT)
        assert (bob.name, bob.budget.left) == ("bob", Fraction(1, 4))
        bob.sql(OLD)
        for asks, sql in ((ann, "SELECT SUM(age) FROM people"), (bob, COUNT)):
            with pytest.raises(BudgetExhausted):
                asks.sql(sql)
        assert ann.sql(COUNT).cost.epsilon == 0  # her own
        charges = [charge for _, charge in charges_of(owner._ledger)]
        assert [(charge.analyst, charge.grant) for charge in charges] == [("ann", "students"), ("bob", "students")]
        owner._ledger.verify()

    def test_pay_for_a_batch(self):
        ann, bob = students(opened(), "ann", "bob")
        bob.run([COUNT, OLD], total=Fraction(1, 2))
        assert ann.budget.spent == Fraction(1, 2)

    def test_are_shown_their_own_questions_only(self, owner):
        ann, bob = students(owner, "ann", "bob")
        ann.sql(COUNT)
        assert len(ann.sql("SELECT * FROM dp.ledger")) == 1
        assert len(bob.sql("SELECT * FROM dp.ledger")) == 0
        ((name, *_),) = bob.sql("SELECT * FROM dp.budget").rows
        assert name == "bob"
        assert [row.kind for row in owner.keeper.rows_about("ann")] == ["charge"]
        assert owner.keeper.rows_about("bob") == ()

    def test_end_one_by_one_and_with_the_grant_all_at_once(self, owner):
        ann, bob, eve = students(owner, "ann", "bob", "eve")
        owner.keeper.dismiss("bob")
        owner.keeper.new_token("eve", grant="eve")
        for asks in (bob, eve):
            with pytest.raises(NotPermitted, match=f"{asks.name} does not pay from the budget of students"):
                asks.sql(COUNT)
            with pytest.raises(NotPermitted, match=f"{asks.name} has no grant"):
                owner.analyst(asks.name)
        ann.sql(COUNT)
        owner.keeper.new_token("ann")  # for the same grant
        ann.sql(OLD)
        owner.revoke("students")
        for ask in (lambda: ann.sql(COUNT), lambda: owner.analyst("students")):
            raised(NotPermitted, ask, match="the grant of students was revoked")
        owner.grant("students", budget=1)
        raised(NotPermitted, lambda: owner.analyst("ann"), match="ann has no grant")

    @pytest.mark.parametrize("words", [{"to": ""}, {"to": 1}, {"to": " a"}, {"to": "a", "sees_releases": "yes"}])
    def test_a_grant_is_said_completely(self, words):
        raised(BadPolicy, lambda: opened().grant(budget=1, **words))


class TestReleasesOfOthers:
    def test_are_known_to_those_who_were_granted_it_and_paid_for_by_everybody_else(self, owner):
        ann = owner.grant("ann", budget=1)
        bob = owner.grant("bob", budget=1, sees_releases=True)
        first = ann.sql(COUNT)
        again = bob.sql(COUNT)
        assert (again.cost.epsilon, again.release) == (0, None)
        assert again.rows[0][0].value == first.rows[0][0].value
        owner = opened()
        owner.grant("ann", budget=1).sql(COUNT)
        eve = owner.grant("eve", budget=1)
        assert eve.cost(COUNT) == Fraction(1, 4)
        assert eve.sql(COUNT).cost.epsilon == Fraction(1, 4)
        raised(dpsql.DpsqlError, lambda: owner.grant("mia", budget=1).sql(f"{COUNT} COST 0"))


class TestRevoking:
    def test_nothing_is_told_any_more(self, owner):
        ann = owner.grant("ann", budget=1)
        ann.sql(COUNT)
        owner.revoke("ann")
        for sql in (COUNT, OLD, f"EXPLAIN PRIVACY {COUNT}", "SELECT * FROM dp.budget"):
            with pytest.raises(NotPermitted, match="revoked"):
                ann.sql(sql)

    def test_a_new_grant_goes_on_where_the_old_one_was(self, owner):
        owner.grant("ann", budget=1).sql(COUNT)
        owner.revoke("ann")
        assert owner.grant("ann", budget=1).budget.spent == Fraction(1, 4)
        raised(NotPermitted, lambda: opened().revoke("ann"))


class TestConditionsOfNow:
    ABOVE = f"{COUNT} WHERE age > PRIVATE (SELECT AVG(age) FROM people)"

    def test_what_others_have_asked_is_paid_for_once_it_is_not_granted_any_more(self, owner):
        """Also where a question is planned again, because it has others inside."""
        owner.grant("ann", budget=1).sql(self.ABOVE)
        bob = owner.grant("bob", budget=1, sees_releases=True)
        owner.grant("bob", budget=1)
        price = bob.query(self.ABOVE).cost.epsilon
        assert price == Fraction(1, 4)
        assert bob.sql(self.ABOVE).cost.epsilon == price

    def test_the_views_tell_of_what_is_granted_now_and_a_changed_grant_holds(self, owner):
        owner.register("wards", pd.DataFrame({"ward": [1]}), public=True)
        ann = owner.grant("ann", budget=1)
        owner.grant("ann", budget=1, tables=["wards"])
        assert {row[0] for row in ann.sql("SELECT table_name FROM dp.columns").rows} == {"wards"}
        owner = opened()
        owner.register("wards", pd.DataFrame({"ward": [1]}), public=True)
        ann = owner.grant("ann", budget=1)
        owner.grant("ann", budget=1, tables=["wards"], max_per_query=Fraction(1, 10))
        raised(dpsql.DpsqlError, lambda: ann.sql(COUNT), match="no table people")
        owner.grant("ann", budget=1, max_per_query=Fraction(1, 10))
        raised(NotPermitted, lambda: ann.sql(COUNT), match=r"limit of 0\.1")


class TestFreezing:
    def test_nothing_is_told_until_it_is_lifted(self, owner):
        ann = owner.grant("ann", budget=1)
        first = ann.sql(COUNT)
        owner.freeze("DPIA review")
        for sql in (COUNT, OLD, f"{COUNT} COST 0", f"DRY RUN {COUNT}", "SELECT * FROM dp.budget"):
            with pytest.raises(FrozenLedger, match="DPIA review"):
                ann.sql(sql)
        with pytest.raises(FrozenLedger), ann.plan(total=Fraction(1, 10)) as p:
            p.sql(OLD)
        owner.unfreeze("reviewed")
        assert ann.sql(COUNT).rows[0][0].value == first.rows[0][0].value
        assert ann.budget.spent == Fraction(1, 4)

    @pytest.mark.parametrize("reason", ["", "\n", None, 5, "x" * 10_000])
    def test_a_reason_is_text(self, owner, reason):
        each_raises(BadParameter, lambda say: say(reason), (owner.freeze, owner.unfreeze, owner.close_promise))


class TestRenewing:
    def test_says_what_it_means(self):
        owner = declared(dpsql.open(":memory:"))
        told = owner.promise(epsilon=5, delta=1e-6, per="month")
        assert "12 × 5 = 60 a year" in told
        assert "for ever" not in told
        ann = owner.grant("ann", budget=1)
        ann.sql(COUNT)
        assert "2 × (ε = 5, δ = 1e-06), which is ε = 10, δ = 2e-06 in all" in owner.renew()
        assert ann.budget.spent == 0
        assert ann.sql(COUNT).cost.epsilon == 0  # what was told is known
        told = owner.renew()
        assert "3 × (ε = 5" in told
        assert "12 × 5" not in told  # three periods on one day
        owner._ledger.verify()

    def test_a_promise_for_ever_is_not_renewed(self, owner):
        assert "close it" in raised(NotPermitted, lambda: owner.renew(), match="for ever").fix

    def test_the_window_is_part_of_the_promise(self, owner):
        """Said anew it is another promise, and what was said first still holds."""
        with pytest.raises(BadParameter, match='another promise: per was "forever" and is now "day"'):
            owner.promise(epsilon=2, per="day")
        assert owner.catalog.policy.promise.per is Window.FOREVER
        raised(NotPermitted, lambda: owner.renew(), match="for ever")
        owner.close_promise("by the day from now on")
        told = owner.promise(epsilon=2, per="day")
        assert "(ε = 2, δ = 0) + (ε = 2, δ = 0), which is ε = 4, δ = 0 in all" in told
        assert "366 × 2 = 732 a year" in told
        owner.renew()

    @pytest.mark.parametrize("per", ["forever", "month", "day"])
    def test_no_clock_renews_anything(self, per):
        clock = Clock("2026-01-01")
        owner = with_clock(clock, per=per)
        ann = owner.grant("ann", budget=1)
        ann.sql(COUNT)
        for day in ("2036-05-05", "1999-01-01", "2026-01-01"):
            clock.set(day)
            assert ann.budget.spent == Fraction(1, 4)
            assert owner.budget.spent == Fraction(1, 4)


class TestClosing:
    def test_another_promise_is_the_sum_of_both(self):
        owner = opened(epsilon=2, delta=1e-6)
        ann = owner.grant("ann", budget=1)
        ann.sql(COUNT)
        assert "ε = 2, δ = 1e-06 in all" in owner.close_promise("people are now households")
        raised(NotPermitted, lambda: ann.sql(COUNT))
        told = owner.promise(epsilon=1)
        assert "(ε = 2, δ = 1e-06) + (ε = 1, δ = 0), which is ε = 3, δ = 1e-06 in all" in told
        assert owner.budget.spent == 0
        with pytest.raises(NotPermitted):  # the grant has ended with its promise
            ann.sql(OLD)
        assert owner.grant("ann", budget=1).budget.spent == 0
        owner._ledger.verify()
        owner = opened()
        owner.close_promise("done")
        raised((NotPermitted, BadParameter), lambda: owner.grant("ann", budget=1))

    def test_the_person_may_be_another_one_then(self, owner):
        owner.grant("ann", budget=1).sql(COUNT)
        raised(BadPolicy, lambda: owner.person(relation="change_one"), match="other people")
        owner.close_promise("another relation")
        owner.person(relation="change_one")
        owner.promise(epsilon=1)
        assert owner.grant("ann", budget=1).sql(OLD).cost.epsilon == Fraction(1, 4)


class TestExpiry:
    def test_a_clock_that_is_set_back_gives_nothing(self):
        clock = Clock("2026-12-31")
        owner = with_clock(clock)
        ann = owner.grant("ann", budget=1, expires="2032-01-01")
        eve = owner.grant("eve", budget=1)
        ann.sql(COUNT)
        clock.set("2032-01-01")
        each_raises(NotPermitted, lambda sql: ann.sql(sql), (OLD, COUNT), match="ended on 2032-01-01")
        eve.sql(OLD)  # an entry of that day
        clock.set("2026-06-01")
        raised(NotPermitted, lambda: ann.sql(OLD), match="ended on 2032-01-01")
        owner._ledger.verify()

    def test_basic_accounting_grants_no_gaussian_noise(self):
        owner = opened(epsilon=1, delta=1e-6, accounting="basic")
        assert owner._ledger.account().delta_prime == 0
        ann = owner.grant("ann", budget=1)
        raised(dpsql.DpsqlError, lambda: ann.sql(COUNT, noise="gaussian"), match="no Gaussian noise")


def test_after_a_promise_was_closed_everybody_is_told_what_happened_and_what_to_do(owner):
    ana = owner.grant("ana", budget=1)
    ana.sql(COUNT)
    planned = ana.query(OLD)
    owner.close_promise("persons are households now")
    asked = [
        lambda: ana.sql(COUNT),
        lambda: ana.sql(f"EXPLAIN PRIVACY {OLD}"),
        lambda: planned.answered(),
        lambda: ana.run([COUNT, OLD], total=1),
        lambda: ana.budget,
        lambda: ana.sql("SHOW dp.budget"),
        lambda: owner.analyst("ana"),
        lambda: owner.grant("bob", budget=1),
        lambda: owner.close_promise("twice"),
    ]
    for ask in asked:
        with pytest.raises(NotPermitted, match="was closed: persons are households now") as caught:
            ask()
        assert "make another one" in caught.value.fix
        assert "promise" in caught.value.why
    owner.promise(epsilon=1)
    for ask in asked[:7]:
        with pytest.raises(NotPermitted, match=r"grant of ana ended .* closed: persons are households now") as caught:
            ask()
        assert "grant under the promise that holds now" in caught.value.fix
    raised(NotPermitted, lambda: owner.analyst("bob"), match="bob has no grant")
    assert owner.grant("ana", budget=1).sql(COUNT).cost.epsilon == 0  # its answer was told before


def test_a_question_looks_at_the_ledger_once_for_each_thing_it_must_know(owner, monkeypatch):
    """Every look is a transaction, and where others pay from the same ledger each reads anew what they have changed."""
    looks = []
    usual = MemoryLedger.writing  # reads too
    monkeypatch.setattr(MemoryLedger, "writing", lambda *given: looks.append(1) or usual(*given))
    ana = owner.grant("ana", budget=1)
    asked = {
        "the grant": lambda: grant_of("ana", ledger=owner._ledger),
        "conditions, accounts, what is stored, accounts": lambda: ana.cost(COUNT),
        "conditions, accounts, what is stored, accounts, accounts, charge, store, what is left": lambda: ana.sql(COUNT),
    }
    for what, ask in asked.items():
        looks.clear()
        ask()
        assert len(looks) == len(what.split(", ")), what


def test_what_is_told_of_the_budget_is_what_is_left_by_then(owner):
    """A query was planned under the accounts as they were; what it says of them is of the moment it is said."""
    ana = owner.grant("ana", budget=1)
    old, young = ana.query(OLD), ana.query(f"{COUNT} WHERE age < 30")
    ana.sql(COUNT)
    assert "0.75 of 1.00" in old._repr_html_()
    assert "0.25 of 0.75 left in your grant" in old.explain().text()
    assert old.run().budget.left == Fraction(1, 2)
    ana.sql(f"{COUNT} WHERE age < 40", epsilon=Fraction(2, 5))
    raised(BudgetExhausted, young.answered, match="more than your grant has left: 0.1\n")


def test_a_limit_holds_for_what_an_answer_takes_by_now():
    """A query that is kept: others have spent since it was planned, and its noise weighs more by now."""
    owner = opened(delta=1e-6, delta_prime=1e-7)
    ana = owner.grant("ana", budget=1)
    other = owner.analyst("ana")
    ana.sql("SET dp.max_cost = 0.12")
    query = ana.query(COUNT, noise="laplace", epsilon=Fraction(1, 10))
    for age in range(4):
        other.sql(f"{COUNT} WHERE age > {age}", noise="gaussian", epsilon=Fraction(1, 40))
    raised(OverLimit, query.answered, match="it would take 0.1348")
    owner.close_promise("ended")
    for late in (query.curve, query.two_worlds, query.answered, query.explain):
        raised(NotPermitted, late, match="was closed")
