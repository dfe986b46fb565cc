"""A stored answer is made finer for what is missing, and the sum of both is what a fresh answer would have cost.

The tests that look at noise draw it, and say how often they raise a false alarm.
"""

import math
from fractions import Fraction

import pandas as pd
import pytest

from dpsql.catalog.model import Grant
from dpsql.errors import BadParameter, DpsqlError, EngineFailed, NothingStored, OverLimit
from dpsql.session.noisy import Noisy
from tests.kits.ledger_cases import charges_of
from tests.kits.owners import AGED, owner_of, people
from tests.kits.refusals import raised

BOTH = "SELECT COUNT(*) AS n, SUM(age) AS s FROM people"
BY_CITY = "SELECT city, SUM(age) AS s FROM people GROUP BY city"
GROUPS = 1500


def opened(*, delta=1e-6, delta_prime=None, epsilon=20):
    words = {**AGED, "keys": {"city": "private"}}
    finding = {"selection_share": 0.25, "delta_per_query": 1e-8} if delta else {}
    promise = {"epsilon": epsilon, "delta": delta, "delta_prime": delta_prime}
    rows = people(900).assign(city=[f"c{n % 3}" for n in range(900)])
    owner = owner_of(rows, **words, **promise, cost_per_query=0.05, max_keys=GROUPS, **finding)
    visits = pd.DataFrame({"id": [n % 300 for n in range(3000)], "ward": [n % 7 for n in range(3000)]})
    owner.register("visits", visits, person="id", bounds={"ward": (0, 6)}, rows_per_person=3, groups_per_person=2)
    nobody, once = pd.DataFrame({"id": [1], "room": [0]}), {"rows_per_person": 1, "groups_per_person": 1}
    owner.register("rooms", nobody, person="id", bounds={"room": (0, GROUPS - 1)}, **once)
    return owner


@pytest.fixture
def owner():
    return opened()


@pytest.fixture
def analyst(owner):
    return owner.grant("ana", budget=20)


def plain(answer):
    return [tuple(cell.value if isinstance(cell, Noisy) else cell for cell in row) for row in answer]


def finer(answer):
    return [note for note in answer.notes if note.startswith("made finer")]


# ---- Gaussian noise: the difference ----------------------------------------------------------------------------


def test_the_difference_is_told_and_paid(analyst):
    analyst.sql(BOTH, epsilon=0.05, noise="gaussian")
    query = analyst.query(BOTH, epsilon=0.2, noise="gaussian")
    assert query.cost.epsilon == Fraction("0.15") == analyst.sql(f"{BOTH} COST 0.2", noise="gaussian").cost.epsilon
    assert abs(analyst.budget.spent - Fraction("0.2")) < Fraction(1, 10**7)
    again = analyst.sql(BOTH, epsilon=0.2, noise="gaussian")
    assert (again.cost.epsilon, finer(again)) == (0, [])


def test_the_answer_says_what_was_paid_before(analyst):
    analyst.sql(BOTH, epsilon=0.05, noise="gaussian")
    answer = analyst.sql(BOTH, epsilon=0.2, noise="gaussian")
    assert finer(answer) == ["made finer: 0.05 was paid before, 0.15 now"]
    third = analyst.sql(BOTH, epsilon=0.5, noise="gaussian")
    assert finer(third) == ["made finer: 0.2 was paid before, 0.3 now"]
    assert plain(analyst.sql(BOTH, epsilon=0.5, noise="gaussian")) == plain(third)


def test_margins_are_those_of_a_fresh_answer(analyst):
    """But for half a unit of rounding, and the half percent that the law of a sum is known to."""
    fresh = opened().grant("bob", budget=20).query(BOTH, epsilon=0.8, noise="gaussian").margins
    for epsilon in (0.1, 0.3, 0.8):
        answer = analyst.sql(BOTH, epsilon=epsilon, noise="gaussian")
    (n,), (s,) = answer["n"], answer["s"]
    assert fresh["n"] <= n.margin <= fresh["n"] + 1.5
    assert float(fresh["s"]) * 0.99 <= s.margin <= float(fresh["s"]) * 1.006 + 1.5


def test_dry_run_explain_and_max_cost_see_the_difference(analyst):
    analyst.sql(BOTH, epsilon=0.05, noise="gaussian")
    hint = "SELECT /*+ dp(noise='gaussian') */ COUNT(*) AS n, SUM(age) AS s FROM people COST 0.2"
    told = dict(analyst.sql(f"DRY RUN {hint}"))
    assert (told["cost"], told["already stored"]) == ("0.15", "no")
    assert told["makes finer"] == "made finer: 0.05 was paid before, 0.15 now"
    explained = str(analyst.sql(f"EXPLAIN PRIVACY {hint}"))
    assert "0.05 was paid before, 0.15 now" in explained
    assert "docs/theorems/top_up.md" in explained
    whole = analyst.explain(hint).as_json()
    assert whole["finer"] == {"way": "measured", "paid": "1/20", "cost": "3/20", "rule": "T10"}
    assert analyst.cost(hint) == Fraction("0.15")
    raised(OverLimit, lambda: analyst.sql(hint, max_cost=0.14))
    assert analyst.sql(hint, max_cost=0.15).cost.epsilon == Fraction("0.15")


def test_within_pays_for_what_is_missing(analyst):
    alone = opened().grant("bob", budget=20)
    margin = 400
    whole = alone.query(f"{BOTH} WITHIN {margin}", noise="gaussian").cost.epsilon
    first = analyst.sql(BOTH, epsilon=0.3, noise="gaussian").cost.epsilon
    answer = analyst.sql(f"{BOTH} WITHIN {margin}", noise="gaussian")
    assert all(cell.margin <= margin for row in answer for cell in row)
    assert float(answer.cost.epsilon) == pytest.approx(float(whole - first), rel=0.02)
    assert analyst.sql(f"{BOTH} WITHIN {margin}", noise="gaussian").cost.epsilon == 0
    assert analyst.sql(f"{BOTH} COST 0", noise="gaussian").cost.epsilon == 0


def test_what_is_left_need_only_pay_for_what_is_missing():
    analyst = opened(epsilon=1).grant("ana", budget=1)
    analyst.sql(BOTH, epsilon=0.6, noise="gaussian")
    assert analyst.sql(BOTH, epsilon=0.99, noise="gaussian").cost.epsilon == Fraction("0.39")
    assert analyst.query(f"{BOTH} COST 0").cost.epsilon == 0


def test_within_reaches_as_far_as_what_was_paid_and_what_is_left(analyst):
    thrifty = opened(epsilon=1).grant("ana", budget=1)
    margin = math.ceil(thrifty.query(BOTH, epsilon=0.9, noise="gaussian").margins["s"]) + 2
    thrifty.sql(BOTH, epsilon=0.6, noise="gaussian")
    cost = thrifty.sql(f"{BOTH} WITHIN {margin}", noise="gaussian").cost.epsilon
    assert Fraction("0.28") < cost < Fraction("0.31")


def test_groups_that_were_found_are_not_looked_for_again(analyst):
    first = analyst.sql(BY_CITY, epsilon=0.4, noise="gaussian")
    answer = analyst.sql(BY_CITY, epsilon=1.2, noise="gaussian")
    assert answer.cost.epsilon == Fraction("0.6")  # three quarters of the difference: a quarter finds groups
    assert answer.cost.delta == 0
    assert [row[0] for row in first] == [row[0] for row in answer]
    assert any("found before" in note for note in answer.notes)
    assert analyst.sql(BY_CITY, epsilon=1.2, noise="gaussian").cost.epsilon == 0


def test_the_salt_is_that_of_the_first(analyst, monkeypatch):
    """Which groups of a person count is decided by the salt: both measurements are of the same numbers."""
    engine = analyst.place.engine
    salts, run = [], type(engine).run
    monkeypatch.setattr(
        type(engine),
        "run",
        lambda self, sql, *, parameters: salts.append(parameters["salt"]) or run(self, sql, parameters=parameters),
    )
    by_ward = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    for epsilon in (0.1, 0.2, 0.4):
        analyst.sql(by_ward, epsilon=epsilon, noise="gaussian", mode="choose")
    assert len(salts) == 3
    assert len(set(salts)) == 1


def test_scaled_contributions_are_topped_up_too(analyst):
    by_ward = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    analyst.sql(by_ward, epsilon=0.1, mode="scale")
    answer = analyst.sql(by_ward, epsilon=0.4, mode="scale")
    assert answer.cost.epsilon == Fraction("0.3")
    assert all(type(cell.value) is int for cell in answer["n"])


def test_only_the_very_same_slots_are_put_together_each_with_its_own(analyst):
    analyst.sql(BOTH, epsilon=0.2, noise="gaussian")
    assert analyst.query("SELECT COUNT(*) AS n FROM people", epsilon=0.5, noise="gaussian").cost.epsilon == Fraction(
        "0.5"
    )
    whole = analyst.query("SELECT SUM(age) AS s, COUNT(*) AS n FROM people", epsilon=0.5, noise="gaussian")
    assert whole.cost.epsilon == Fraction("0.3")  # the order of columns means nothing
    analyst.sql(BOTH, epsilon=1, noise="gaussian")
    answer = analyst.sql("SELECT SUM(age) AS s, COUNT(*) AS n FROM people", epsilon=2, noise="gaussian")
    (n,), (s,) = answer["n"], answer["s"]
    assert abs(n.value - 900) < 200  # the true sum is 44 times as large
    assert abs(s.value - 900 * 44.5) < 20_000


def test_another_data_version_is_another_question(owner, analyst):
    analyst.sql(BOTH, epsilon=0.05, noise="gaussian")
    owner.new_data_version("2")
    assert analyst.query(BOTH, epsilon=0.2, noise="gaussian").cost.epsilon == Fraction("0.2")


def test_noise_that_the_coarse_and_the_fine_answer_share_is_counted_once(analyst):
    ((_, coarse),) = analyst.sql(BOTH, epsilon=0.5, noise="gaussian")
    ((_, fine),) = analyst.sql(BOTH, epsilon=1, noise="gaussian")
    apart = coarse - fine  # coarse − (coarse + new)/2: half of each noise is left
    assert apart.margin == pytest.approx(coarse.margin / math.sqrt(2), rel=0.02, abs=1)
    together = coarse + fine
    assert together.margin == pytest.approx(coarse.margin * math.sqrt(1.5**2 + 0.5**2), rel=0.02, abs=1)


def test_what_comes_out_is_as_precise_as_it_says(analyst):
    """1500 empty groups, thrice: about one in twenty lies outside. One false alarm in 10^9 runs."""
    sql = "SELECT room, COUNT(*) AS n FROM rooms GROUP BY room"
    for epsilon in (0.5, 1, 2):
        answer = analyst.sql(sql, epsilon=epsilon, noise="gaussian")
        cells = answer["n"][1:]
        outside = sum(abs(cell.value) > cell.margin for cell in cells)
        slack = math.sqrt(math.log(2e9) * GROUPS / 2)
        assert outside <= GROUPS * 0.05 + slack
        fresh = analyst.query(sql, epsilon=epsilon, noise="gaussian")
        assert fresh.cost.epsilon == 0
    spread = math.sqrt(sum(cell.value**2 for cell in cells) / len(cells))
    assert spread == pytest.approx(cells[0].margin / 1.96, rel=0.25)


# ---- otherwise: bought whole, and averaged ---------------------------------------------------------------------


def test_other_noise_is_bought_whole_and_averaged(analyst):
    analyst.sql(BOTH, epsilon=0.2, noise="laplace")
    answer = analyst.sql(BOTH, epsilon=0.4, noise="gaussian")
    assert answer.cost.epsilon == Fraction("0.4")
    assert finer(answer) == ["made finer: 0.2 was paid before, 0.4 now, averaged with what was told before"]
    again = analyst.sql(BOTH, epsilon=0.4, noise="gaussian")
    assert (again.cost.epsilon, plain(again)) == (0, plain(answer))


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_laplace_noise_is_bought_whole_and_averaged_also_where_epsilon_alone_is_added_up(delta):
    analyst = opened(delta=delta, delta_prime=0).grant("ana", budget=5)
    analyst.sql(BOTH, epsilon=0.05)
    answer = analyst.sql(BOTH, epsilon=0.2)
    assert (answer.cost.epsilon, analyst.budget.spent) == (Fraction("0.2"), Fraction("0.25"))
    assert finer(answer) == ["made finer: 0.05 was paid before, 0.2 now, averaged with what was told before"]
    assert analyst.sql(BOTH, epsilon=0.2).cost.epsilon == 0


def test_groups_that_are_found_anew_have_nothing_to_average_with(analyst):
    analyst.sql(BY_CITY, epsilon=0.2, noise="laplace")
    answer = analyst.sql(BY_CITY, epsilon=0.4, noise="laplace")
    assert answer.cost.epsilon == Fraction("0.4")
    assert finer(answer) == []


def test_an_average_is_what_was_told_weighted_by_precision(analyst):
    """σ² = 2·scale² for Laplace noise: at twice the price the second weighs four times as much."""
    ledger = analyst.place.ledger
    ((_, first),) = plain(analyst.sql(BOTH, epsilon=0.2, noise="laplace"))
    ((_, both),) = plain(analyst.sql(BOTH, epsilon=0.4, noise="laplace"))
    ((_, charge), *_) = charges_of(ledger)
    _, second = (release.steps[-1].values[0] for release in ledger.recall(charge.question))
    assert both == round(Fraction(first + 4 * second[1], 5))


# ---- fresh, others, audit --------------------------------------------------------------------------------------


FRESH = "SELECT /*+ dp(fresh, noise='gaussian') */ COUNT(*) AS n, SUM(age) AS s FROM people"


def test_fresh_buys_new_noise_at_the_whole_price(owner, analyst):
    answers = [analyst.sql(f"{FRESH} COST 0.3") for _ in range(3)]
    assert [answer.cost.epsilon for answer in answers] == [Fraction("0.3")] * 3
    assert len({answer.release for answer in answers}) == 3
    assert len({plain(answer)[0] for answer in answers}) > 1  # three equal pairs: once in more than 10^4 runs
    assert not any(finer(answer) for answer in answers)
    assert {row.verdict for row in owner.audit()} == {"agrees"}


def test_fresh_is_the_same_word_in_python_and_in_the_text(analyst):
    analyst.sql(BOTH, epsilon=0.3, noise="gaussian")
    for asked in (
        lambda: analyst.query(f"{FRESH} COST 0.3"),
        lambda: analyst.query(BOTH, epsilon=0.3, noise="gaussian", fresh=True),
        lambda: analyst.query(f"{FRESH} COST 0.3", fresh=True),
    ):
        assert (asked().cost.epsilon, asked().run().cost.epsilon) == (Fraction("0.3"), Fraction("0.3"))
    assert analyst.sql(BOTH, epsilon=0.3, noise="gaussian", fresh=False).cost.epsilon == 0
    for said in ({"sql": f"{BOTH} COST 0", "fresh": True}, {"sql": BOTH, "fresh": 1}, {"sql": BOTH, "fresh": "no"}):
        with pytest.raises(BadParameter, match="fresh"):
            analyst.query(**said)


def test_a_fresh_answer_that_was_never_told_is_continued(analyst, monkeypatch):
    engine = analyst.place.engine
    run = type(engine).run

    def fails(*_, **__):
        raise EngineFailed("gone", why="a test", fix="none")

    analyst.sql(f"{FRESH} COST 0.3")
    with monkeypatch.context() as patched:
        patched.setattr(type(engine), "run", fails)
        raised(EngineFailed, lambda: analyst.sql(f"{FRESH} COST 0.3"))
    spent = analyst.budget.spent
    assert analyst.sql(f"{FRESH} COST 0.3").cost.epsilon == 0
    assert analyst.budget.spent == spent
    assert type(engine).run is run


@pytest.mark.parametrize("hint", ["fresh=1", "fresh fresh", "fresh,", ", fresh", "fresh, fresh"])
def test_a_mistyped_fresh_is_not_passed_over(analyst, hint):
    raised(DpsqlError, lambda: analyst.query(f"SELECT /*+ dp({hint}) */ COUNT(*) FROM people"))


def test_fresh_is_not_made_of_what_is_stored_and_nothing_stored_stays_nothing(analyst):
    raised(NothingStored, lambda: analyst.sql(f"{BOTH} COST 0"))
    analyst.sql(BOTH, epsilon=0.1, noise="gaussian")
    assert analyst.query(f"{FRESH} COST 0.3").cost.epsilon == Fraction("0.3")
    assert analyst.query(f"{FRESH} WITHIN 3000").cost.epsilon > 0
    raised(BadParameter, lambda: analyst.query(f"{FRESH} COST 0"))


def test_an_audit_derives_every_price_again(owner, analyst):
    for epsilon in (0.1, 0.2, 0.4):
        analyst.sql(BOTH, epsilon=epsilon, noise="gaussian")
    analyst.sql(BOTH, epsilon=2, noise="laplace")
    analyst.sql(BY_CITY, epsilon=0.4, noise="gaussian")
    analyst.sql(BY_CITY, epsilon=1.2, noise="gaussian")
    rows = owner.audit()
    assert [row.verdict for row in rows] == ["agrees"] * 6
    assert sum(row.cost for row in rows[:3]) == Fraction("0.4")


def test_what_others_were_told_is_neither_free_nor_announced(owner, analyst):
    first = analyst.sql(BOTH, epsilon=0.2)
    other = owner.grant("bob", budget=5)
    query = other.query(BOTH, epsilon=0.2)
    assert query.cost.epsilon == Fraction("0.2")
    answer = query.run()
    assert answer.cost.epsilon == Fraction("0.2")
    assert not any("known" in note or "finer" in note for note in answer.notes)
    assert answer.release != first.release
    raised(NothingStored, lambda: owner.grant("cyd", budget=5).sql(f"{BOTH} COST 0"))


def test_with_the_option_it_is_already_known(owner, analyst):
    first = analyst.sql(BOTH, epsilon=0.2, noise="gaussian")
    seeing = owner.admit(Grant(to="bob", budget=Fraction(5), sees_releases=True))
    again = seeing.sql(BOTH, epsilon=0.2, noise="gaussian")
    assert (again.cost.epsilon, again.release, plain(again)) == (0, None, plain(first))
    assert any("already known" in note for note in again.notes)
    more = seeing.sql(BOTH, epsilon=0.5, noise="gaussian")
    assert more.cost.epsilon == Fraction("0.3")
    assert finer(more) == ["made finer: averaged with an answer that was already known"]
    assert "0.2" not in str(seeing.explain(f"{BOTH} COST 0.9").text())
    shown = seeing.query(f"{BOTH} COST 0.9").explain()
    assert str(shown) == repr(shown) == shown.text()  # nothing of the plan that the text does not tell


def test_the_groups_of_an_answer_that_was_made_finer_are_told_without_its_numbers(analyst):
    analyst.sql(f"{BY_CITY} COST 1")
    assert finer(analyst.sql(f"{BY_CITY} COST 2"))
    groups = analyst.sql("SELECT city FROM people GROUP BY city COST 0.1")
    assert (groups.cost.epsilon, plain(groups.rows)) == (0, [("c0",), ("c1",), ("c2",)])
