"""What is left, in the branch that is ahead, and how far it goes."""

from fractions import Fraction

import pytest

import dpsql
from dpsql.errors import BudgetExhausted
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

COUNT = "SELECT COUNT(*) FROM people WHERE age > {}"


def opened(**promise):
    owner = owner_of(50, **promise, cost_per_query=Fraction(1, 20), noise="laplace")
    return owner.grant("ana", budget=promise["epsilon"])


def said(analyst):
    ((counted, more, note),) = analyst.sql("SELECT counted_in, queries_remaining, note FROM dp.budget").rows
    assert note == analyst.budget.outlook
    assert counted == analyst.budget.counted_in
    return counted, more, note


def test_the_branch_that_is_ahead_says_how_many_more():
    """Counts of 0.05 under (5, 1e-6): 353 fit in ρ, and a hundred in ε alone."""
    ana = opened(epsilon=5, delta=1e-6)
    assert said(ana) == ("ε", 100, "about 100 more queries at the usual price")  # whatever noise is asked for
    for age in range(3):
        ana.sql(COUNT.format(age))
    assert said(ana) == ("ρ", 350, "about 350 more queries like your last 3")
    assert repr(ana.budget).endswith("of 5.00, counted in ρ, about 350 more queries like your last 3)")


def test_as_many_are_answered_as_were_foretold():
    """The first question buys Gaussian noise here, which a foretelling in ρ of Laplace noise would miss."""
    with dpsql.demo() as ana:
        assert said(ana)[1:] == (20, "about 20 more queries at the usual price")
        ana.sql("SELECT COUNT(*) FROM patients")
        assert said(ana)[1:] == (19, "about 19 more queries like your last one")
        for age in range(18):
            ana.sql(f"SELECT COUNT(*) FROM patients WHERE age > {age}")
        assert said(ana)[1:] == (1, "about 1 more query like your last 10")
        ana.sql("SELECT COUNT(*) FROM patients WHERE age > 18")
        raised(BudgetExhausted, lambda: ana.sql("SELECT COUNT(*) FROM patients WHERE age > 19"))


@pytest.mark.parametrize(
    ("left", "total", "full"),
    [
        *[("1", "1", 10), ("0.95", "1", 9), ("0.999999", "1", 9), ("0.75", "1", 7), ("0.05", "1", 0), ("0", "1", 0)],
        *[("-2", "1", 0), ("3", "1", 10), ("0", "0", 0)],
    ],
)
def test_a_bar_is_full_only_where_nothing_was_spent(left, total, full):
    assert dpsql.budget_bar(Fraction(left), Fraction(total)) == "▰" * full + "▱" * (10 - full)

    assert 'value="0.000"' in dpsql.Budget(total=Fraction(0), spent=Fraction(0))._repr_html_()


def test_a_basic_account_adds_up_epsilon():
    ana = opened(epsilon=5, delta=1e-6, accounting="basic")
    ana.sql(COUNT.format(1))
    assert said(ana)[:2] == ("ε", 99)


def test_what_is_said_to_fit_fits():
    ana = opened(epsilon=1, delta=1e-6)
    for age in range(4):
        ana.sql(COUNT.format(age), epsilon=Fraction(age + 1, 20))
    more = said(ana)[1]
    for age in range(10, 10 + more):
        ana.sql(COUNT.format(age), epsilon=Fraction(1, 8))  # the mean of the four
    raised(BudgetExhausted, lambda: ana.sql(COUNT.format(9), epsilon=Fraction(1, 8)))


def test_a_question_of_a_batch_counts_with_its_share():
    ana = opened(epsilon=2)
    ana.run([COUNT.format(age) for age in range(4)], total=1)
    assert said(ana)[1] == 4


def test_an_answer_says_what_is_left_after_it():
    ana = opened(epsilon=1)
    answer = ana.sql(COUNT.format(3))
    assert "cost 0.05 · 0.95 of 1.00 left · release #" in str(answer)
    assert answer.budget.left == Fraction(19, 20)
    again = ana.sql(COUNT.format(3))
    assert again.budget.left == Fraction(19, 20)
    assert "left" not in str(again)


def test_near_the_end_another_price_than_told_is_not_silent():
    """0.07 is left, in ρ: too little for Gaussian noise of 0.1, enough for Laplace noise, of which 0.1²/2 is paid."""
    ana = owner_of(50, epsilon=5, delta=1e-6).grant("ana", budget=5)
    first = ana.sql("SELECT COUNT(*) FROM people", epsilon=Fraction(493, 100), noise="gaussian")
    assert not any("Gaussian" in note for note in first.notes)
    before = ana.budget.left
    answer = ana.sql("SELECT COUNT(id) FROM people", epsilon=Fraction(1, 10))
    taken = before - ana.budget.left
    assert taken < Fraction(1, 10)
    (note,) = [note for note in answer.notes if "Gaussian" in note]
    assert note.startswith("your budget grants no Gaussian noise for 0.1 any more")
    assert f"takes {float(taken):.2g} of it" in note


def test_what_can_be_spent_is_what_both_have():
    owner = owner_of(9, epsilon=2)
    ana, bob = owner.grant("ana", budget=1), owner.grant("bob", budget=2)
    assert (ana.budget.left, ana.budget.short) == (1, "")
    bob.sql("SELECT COUNT(*) FROM people", epsilon=Fraction(8, 5))
    short = "the promise to everybody has 0.40 left; your grant 1.00"
    assert (ana.budget.left, ana.budget.spent, ana.budget.total) == (Fraction(2, 5), 0, 1)
    assert (ana.budget.shown, ana.budget.short) == ("0.40 of 1.00", short)
    assert f"0.40 of 1.00, {short}" in repr(ana.budget)
    answer = ana.sql("SELECT COUNT(*) FROM people", epsilon=Fraction(3, 10))
    short = "the promise to everybody has 0.10 left; your grant 0.70"
    assert f"cost 0.30 · 0.10 of 1.00 left · {short} · release #" in str(answer)
    assert list(owner.keeper.budget_lines())[1] == (
        "ana           0.1 of 1 left, 0.3 spent; the promise has no more, the grant has 0.7"
    )
    ana.sql("SELECT COUNT(age) FROM people", epsilon=answer.budget.left)
    with pytest.raises(BudgetExhausted, match=r"the promise has left: 0\n"):
        ana.sql("SELECT COUNT(id) FROM people", epsilon=Fraction(1, 10**6))


def test_noise_that_weighs_more_than_its_price_says_so_before_and_after():
    """Under (5, 1e-6) an answer of ε takes ε²/2 of the 0.36 there is in ρ: 0.6 of the budget for a price of 0.3."""
    ana = owner_of(50, epsilon=5, delta=1e-6).grant("ana", budget=5)
    ana.sql("SELECT COUNT(*) FROM people", epsilon=1, noise="gaussian")
    sql = "SELECT /*+ dp(noise='laplace') */ COUNT(id) FROM people COST 0.3"
    told = dict(ana.sql(f"DRY RUN {sql}"))["note"]
    before = ana.budget.spent
    answer = ana.sql(sql)
    taken = ana.budget.spent - before
    assert taken > Fraction(1, 2) > answer.cost.epsilon
    assert told == (
        f"your budget counts in ρ, where this noise weighs more: {float(taken):.2g} of it is taken, not 0.3"
    )
    assert told in answer.notes
    assert "note" not in dict(ana.sql("DRY RUN SELECT COUNT(*) FROM people WHERE id > 5 COST 0.3"))


def test_what_weighs_more_in_the_promise_alone_is_said_too():
    """Somebody else has bought Gaussian noise: the promise counts in ρ since, and this grant in ε still."""
    owner = owner_of(50, epsilon=2, delta=1e-6)
    owner.grant("bob", budget=2).sql("SELECT COUNT(*) FROM people", epsilon=0.01, noise="gaussian")
    ana = owner.grant("ana", budget=0.5)
    before = owner.budget.spent
    answer = ana.sql("SELECT COUNT(*) FROM people", epsilon=0.3, noise="laplace")
    taken = owner.budget.spent - before
    assert taken > 1 > ana.budget.spent == Fraction(3, 10)
    weighs = f"where this noise weighs more: {float(taken):.2g} of it is taken, not 0.3"
    assert f"the promise to everybody counts in ρ, {weighs}" in answer.notes
