"""Limits found privately: one question of the owner through the pipeline, and post-processing of what it released."""

import math
import re
import tomllib
from fractions import Fraction

import pandas as pd
import pytest

import dpsql
from asked_clinic import COUNT, POLICY, declared
from dpsql.catalog.names import OWNER_ACCOUNT as ACCOUNT
from dpsql.cli.main import main
from dpsql.errors import (
    BadKey,
    BadName,
    BadParameter,
    BadPolicy,
    BadType,
    BudgetExhausted,
    EngineFailed,
    FrozenLedger,
    NotPermitted,
    NotSupported,
    Unbounded,
)
from dpsql.session.suggesting import Suggestion, _end
from tests.kits.cases import cases
from tests.kits.owners import owner_of, people
from tests.kits.refusals import raised

PEOPLE = 4000
NOISE = "noise of scale 1/2: beyond 10 at one of 66 places once in 10^7 runs"


def hospital(charges, **words):
    """Each person has the charge of their number, and a second visit that cost nothing."""
    owner = dpsql.open(":memory:", threads=1)
    people = list(range(len(charges)))
    rows = {"who": people * 2, "charge": [*charges, *[0] * len(charges)], "cost": 1, "drug": ["a", "b"] * len(charges)}
    known = {"columns": ["charge", "cost"], "keys": {"drug": "private"}, "hidden": ["who"]}
    whole = {"types": {"charge": "integer", "cost": "integer"}}
    owner.register("visits", pd.DataFrame(rows), person="who", **known, **whole | words)
    owner.promise(epsilon=10, delta=1e-6, accounting="basic")
    owner.defaults(max_keys=100)
    return owner


def spread(rare, value, common=700):
    return [value] * rare + [common] * (PEOPLE - rare)


@pytest.fixture(scope="module")
def owner():
    with hospital(spread(100, 40_000)) as owner:
        yield owner


def paid(owner):
    return [row for row in owner.keeper.rows(texts=True) if row.kind == "charge"]


def test_the_bounds_hold_all_values_of_the_share_and_reach_no_further_than_the_grid(owner):
    """100 of 4 000 have 40 000. With 1 % outside, 50 000 is the first point of the grid; with 5 %, 1 000 is."""
    found = owner.suggest_bounds("visits.charge", spend=4)
    assert found.value == (0, 50_000), NOISE
    assert found.written == "bounds = [0, 50000]"
    again = owner.suggest_bounds("visits.charge", spend=4, share=0.95)
    assert (again.value, again.spent) == ((0, 1000), 0), NOISE


@cases(__file__, "charges=", "bounds=")
def test_negative_values_fractions_zeros_and_giants(charges, bounds):
    with hospital([float(charge) for charge in charges], types={"charge": "double"}) as owner:
        found = owner.suggest_bounds("visits.charge", spend=4)
    assert found.value == bounds, NOISE
    assert found.beyond == (bounds[1] == 10**9)


def test_what_noise_alone_makes_is_taken_for_somebody_once_in_a_hundred_times(owner):
    """The margin under which a place counts as empty, against the law of the noise: two-sided geometric, ε = 2."""
    owner.suggest_bounds("visits.charge", spend=4)
    asking = owner._own_place().asking()
    sql = paid(owner)[0].details["sql"]
    answer = asking.sql(sql, confidence=1 - Fraction(1, 100) / 30, noise="laplace", epsilon=2)
    assert answer.cost.epsilon == 0
    places, margin = len(answer), answer["people"][0].margin
    assert places == 30
    tail = 2 * math.exp(-2 * (margin + 1)) / (1 + math.exp(-2))
    assert places * tail <= 0.01


def test_it_is_charged_to_the_promise_stored_and_free_the_second_time(owner):
    before, spent = len(paid(owner)), owner.budget.spent
    found = owner.suggest_bounds("visits.cost", spend=0.5)
    assert (found.spent, owner.budget.spent - spent) == (Fraction(1, 2), Fraction(1, 2))
    new = paid(owner)[before:]
    assert [row.who for row in new] == [ACCOUNT, ACCOUNT]
    assert list(found.releases) == [row.number for row in new]
    head = owner.keeper.rows()[-1]
    again = owner.suggest_bounds("visits.cost", spend=0.5)
    assert (again.spent, again.value, again.releases) == (0, found.value, found.releases)
    assert owner.keeper.rows()[-1] == head


def test_the_audit_derives_its_price_from_the_ledger(owner):
    owner.suggest_rows_per_person("visits", spend=0.5)
    audit = owner.audit()
    assert audit.holds
    assert len(audit.charges) == len(paid(owner)) > 0
    assert all(charge.agrees for charge in audit.charges)


def test_the_question_is_the_same_whatever_the_rows_are_and_paid_before_the_engine_is_asked(owner):
    owner.suggest_bounds("visits.charge", spend=4)
    with hospital([9] * 20) as other:
        raised(BudgetExhausted, lambda: other.suggest_bounds("visits.charge", spend=11), match="of the promise")
        assert (paid(other), other.budget.spent) == ([], 0)
        other.suggest_bounds("visits.charge", spend=0.01)
        assert {row.details["sql"] for row in paid(other)} <= {row.details["sql"] for row in paid(owner)}
        spent = other.budget.spent
        other._engine.close()
        raised(EngineFailed, lambda: other.suggest_bounds("visits.charge", spend=1))
        assert other.budget.spent == spent + Fraction(1, 2)


def test_where_nothing_stands_out_nothing_is_proposed():
    """Of an answer in which no number is larger than what noise may make."""
    end = _end({"place": [0, 1, 2], "people": [None, None, None]}, (Fraction(1),), outside=Fraction(1, 2))
    assert not end.found
    told = Suggestion(name="bounds", value=None, meaning="m", spent=Fraction(1, 10), releases=(3,), unseen=9)
    assert told.written is None
    assert str(told) == "# no bounds: nothing stands out from the noise at this price; spent 0.1, ledger #3"


def test_the_line_claims_nothing_about_people_whom_noise_may_hide():
    """60 of 4 000 have 40 000, more than the 1 % that may lie outside, and noise hides groups of 400. The bound on them
    is the sum of two, each of which is too small once in 3 000 runs: both must be at once. For 0.005 either bound is
    beyond 10 000, and the noise on their sum has a standard deviation of 4 200: below 4 000 once in 10^5 runs."""
    with hospital(spread(60, 40_000)) as owner:
        found = owner.suggest_bounds("visits.charge", spend=0.08)
        nothing = owner.suggest_bounds("visits.cost", spend=0.005)
    said = r"about 99 % of the persons seen have all their values within; up to (\d+) of about (\d+) may lie beyond"
    outside, people = map(int, re.fullmatch(said, found.meaning).groups())
    assert (0 if found.value[1] >= 40_000 else 60) <= outside < people
    assert abs(people - PEOPLE) < 1000, "Laplace noise of scale 25, and few places that noise alone makes"
    assert nothing.value is None
    assert str(nothing).startswith("# no bounds: ")


def test_rows_per_person_and_the_end_of_the_grid(owner):
    found = owner.suggest_rows_per_person("visits", spend=1)
    assert (found.value, found.written) == (2, "rows_per_person = 2"), NOISE
    assert "have no more rows" in str(found)
    with hospital(spread(0, 0, common=5e9)) as other:
        beyond = str(other.suggest_bounds("visits.charge", spend=4))
    assert "the end of the grid, which cuts off larger values" in beyond
    assert "99 %" not in beyond


def test_keys_that_enough_people_have():
    with hospital([1.0] * 500, rows_per_person=2, groups_per_person=2) as owner:
        owner.defaults(delta_per_query=1e-9, selection_share=0.5)
        found = owner.suggest_keys("visits.drug", spend=5)
    assert found.value == ("a", "b"), "each of them has 500 people, and some 30 are enough"
    assert found.written == 'keys = ["a", "b"]'
    assert found.spent == 5


@pytest.mark.parametrize(
    ("column", "error"),
    [("visits.drug", BadType), ("visits.nope", BadName), ("nope.charge", BadName), ("charge", BadName)],
)
def test_what_has_no_bounds_is_named(owner, column, error):
    raised(error, lambda: owner.suggest_bounds(column, spend=1))


@pytest.mark.parametrize("words", [{"spend": 0}, {"spend": -1}, {"spend": float("nan")}, {"spend": 1, "share": 1}])
def test_price_and_share_are_looked_at_first(owner, words):
    before = owner.budget.spent
    raised(BadParameter, lambda: owner.suggest_bounds("visits.charge", **words))
    assert owner.budget.spent == before


def test_a_price_is_said_always(owner):
    raised(TypeError, lambda: owner.suggest_bounds("visits.charge"), match="spend")


def test_tables_without_people_have_other_ways():
    with dpsql.open(":memory:", threads=1) as owner:
        owner.register("wards", pd.DataFrame({"beds": [3]}), public=True, columns="all")
        owner.register("log", pd.DataFrame({"size": [70] * 3000}), unit="row", columns="all")
        owner.promise(epsilon=10)
        owner.defaults(max_keys=100)
        raised(NotSupported, lambda: owner.suggest_bounds("wards.beds", spend=1), match="public")
        raised(NotSupported, lambda: owner.suggest_rows_per_person("log", spend=1), match="log")
        raised(dpsql.DpsqlError, lambda: owner.suggest_keys("log.size", spend=1))
        assert owner.budget.spent == 0
        found = owner.suggest_bounds("log.size", spend=4)
        assert found.value == (0, 100), NOISE
        assert "rows" in found.meaning


def test_a_key_cannot_leave_its_quotes_or_steer_a_terminal():
    keys = ('a"]\nx = [1', "\x1b[31m", "back\\slash", "\u202ebidi", "😀é", True, 5)
    told = Suggestion(name="keys", value=keys, meaning="m", spent=Fraction(0), releases=(), unseen=1)
    assert tomllib.loads(told.written) == {"keys": list(keys)}
    assert told.written.isprintable()


def test_nobody_asks_under_the_account_of_the_owner(tmp_path):
    policy = declared(tmp_path, POLICY.replace("[defaults]", "[defaults]\nmax_keys = 100"))
    where = ["--policy", str(policy)]
    assert main(["table", "suggest", "people.id", "--spend", "0.1", *where]) == 0
    assert main([str(policy), "-c", COUNT]) == 0  # ana, the only one who may
    assert main([str(policy), "-c", COUNT, "--as", ACCOUNT]) == 6
    assert main(["grant", ACCOUNT, "--budget", "1", *where]) == 8
    assert main(["user", "add", ACCOUNT, "--role", "analyst", *where]) == 6
    with dpsql.open(policy) as owner:
        assert owner.analysts == ("ana",)
        raised(NotPermitted, lambda: owner.analyst(ACCOUNT), match="nobody asks as")
        raised(BadPolicy, lambda: owner.grant(ACCOUNT, budget=1), match="nobody is called")
        raised(NotPermitted, lambda: owner.keeper.admit("eve", role="analyst", grant=ACCOUNT), match="nobody asks as")
    policy.write_text(f'{policy.read_text()}[[grant]]\nto = "{ACCOUNT}"\nbudget = 1\n')
    raised(BadPolicy, lambda: dpsql.open(policy), match="nobody is called")


def test_what_is_refused_opens_no_account():
    with hospital([9] * 20) as owner:
        owner.promise(epsilon=10, delta=1e-6, accounting="basic")
        before = len(owner.keeper.rows())
        for column, spend, error in (
            ("visits.charge", 11, BudgetExhausted),
            ("visits.nope", 1, BadName),
            ("visits.charge", -1, BadParameter),
        ):
            with pytest.raises(error):
                owner.suggest_bounds(column, spend=spend)
        with pytest.raises(dpsql.DpsqlError):
            owner.suggest_keys("visits.drug", spend=1)  # nothing says how much δ it may take
        owner.freeze("looked into")
        raised(FrozenLedger, lambda: owner.suggest_bounds("visits.charge", spend=1))
        assert [row.kind for row in owner.keeper.rows()[before:]] == ["freeze"]


def test_a_suggestion_needs_max_keys():
    people = pd.DataFrame({"id": range(99), "x": 1})
    words = {"person": "id", "unique": True, "types": {"x": "integer"}}
    with owner_of(people, **words, epsilon=2, delta=1e-6) as owner:
        raised(Unbounded, lambda: owner.suggest_bounds("people.x", spend=1), match=r"\[defaults\] has no max_keys")
        owner.defaults(max_keys=10)
        for places, suggest in (
            (30, lambda: owner.suggest_bounds("people.x", spend=1)),
            (24, lambda: owner.suggest_rows_per_person("people", spend=1)),
        ):
            with pytest.raises(BadKey, match=rf"max_keys is 10, and a suggestion needs at least {places}\n") as told:
                suggest()
            assert told.value.sql is None, "nobody wrote its question"
            owner.defaults(max_keys=places - 1)
            with pytest.raises(BadKey, match="max_keys"):
                suggest()
            owner.defaults(max_keys=places)
            suggest()
            owner.defaults(max_keys=10)


def test_after_gaussian_noise_the_account_counts_otherwise_and_the_refusal_says_so():
    """ρ* of ε = 2 at δ' = 5e-7 is about 0.06, and Laplace noise of ε = 0.6 weighs 0.18."""
    with owner_of(99, epsilon=2, delta=1e-6) as owner:
        ana = owner.grant("ana", budget=2)
        ana.sql("SELECT COUNT(*) FROM people", epsilon=0.3, noise="gaussian")
        with pytest.raises(BudgetExhausted, match="since the first Gaussian answer they count in ρ"):
            ana.sql("SELECT COUNT(*) AS n FROM people WHERE age > 0", epsilon=0.6, noise="laplace")


def counting_in_rho(noise):
    """ρ* of ε = 2 at δ' = 5e-7 is about 0.06: Laplace noise of ε = 0.4 weighs 0.08, twice as much as there is."""
    owner = dpsql.open(":memory:", threads=1)
    rows = {"who": range(PEOPLE), "x": [float(30 + number % 20) for number in range(PEOPLE)], "drug": "a"}
    known = {"columns": ["x"], "keys": {"drug": "private"}, "unique": True}
    owner.register("people", pd.DataFrame(rows), person="who", **known)
    owner.promise(epsilon=2, delta=1e-6)
    owner.defaults(max_keys=100, delta_per_query=1e-9, selection_share=0.5)
    owner.grant("ana", budget=1).sql("SELECT COUNT(*) FROM people", epsilon=0.05, noise=noise)
    return owner


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_no_more_than_was_said_is_taken_from_the_promise_and_what_is_taken_is_told(noise):
    """After a Gaussian answer, and after a Laplace one, when sums of ρ are ahead of those of ε."""
    with counting_in_rho(noise) as owner:
        for suggest in (
            lambda: owner.suggest_bounds("people.x", spend=0.8),
            lambda: owner.suggest_keys("people.drug", spend=0.5),
        ):
            before = owner.budget.spent
            found = suggest()
            taken = owner.budget.spent - before
            assert found.value in ((0, 50), ("a",))
            assert found.spent == taken
            assert 0 < taken <= (Fraction(8, 10) if found.name == "bounds" else Fraction(5, 10))
            assert suggest().spent == 0
            assert owner.budget.spent == before + taken
        raised(BudgetExhausted, lambda: owner.suggest_rows_per_person("people", spend=0.8), match="of the promise")
        assert owner.audit().holds


def test_no_keys_are_looked_for_where_they_are_listed():
    rows, named = people(30).assign(city="a"), {"city": ["a", "b"]}
    owner = owner_of(rows, person="id", unique=True, keys=named, epsilon=1, delta=0, max_keys=10)
    raised(NotSupported, lambda: owner.suggest_keys("people.city", spend=0.1), match="no keys are looked for")
