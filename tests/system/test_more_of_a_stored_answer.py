"""A stored answer, asked for more where the whole price does not fit: what is missing is sold wherever it fits, at one
price in every place that tells it; where it does not, the refusal names a price that is then granted."""

import math
from fractions import Fraction
from functools import cache

import pytest

from dpsql.errors import BudgetExhausted, NotPermitted
from tests.kits.ledger_cases import charges_of
from tests.kits.owners import owner_of

BOTH = "SELECT COUNT(*) AS n, SUM(age) AS s FROM people"

OTHER = "SELECT SUM(age) FROM people"
PAID, ASKED = Fraction("0.45"), Fraction("0.9")
KINDS = {"gaussian": ("full", "gaussian"), "averaged": ("full", "laplace"), "basic": ("basic", "laplace")}
"""How an account counts, and the noise of what is stored; what is asked later says nothing about noise."""
SHORT = ["grant", "promise"]


def opened(kind, short):
    """ana has paid 0.45. Of the account that is short 0.55 is left, of the other one more than 0.9; or a cap is 0.7."""
    accounting, noise = KINDS[kind]
    owner = owner_of(50, epsilon=3, delta=1e-6, accounting=accounting, cost_per_query=ASKED)
    analyst = owner.grant("ana", budget=2, max_per_query=0.7 if short == "cap" else None)
    if short == "promise":
        owner.grant("bob", budget=3).sql(OTHER, epsilon=2, noise=noise)
    if short == "grant":
        analyst.sql(OTHER, epsilon=1, noise=noise)
    analyst.sql(BOTH, epsilon=PAID, noise=noise)
    return owner, analyst


def questions(kind, price="0.9"):
    return {"cost": f"{BOTH} COST {price}", "default": BOTH, "within": f"{BOTH} WITHIN {margin_at(kind, price)}"}


@cache
def margin_at(kind, price):
    """± that this price buys where nothing is stored. An average of two is known to half a unit, and one percent."""
    accounting, noise = KINDS[kind]
    with owner_of(50, epsilon=3, delta=1e-6, accounting=accounting) as owner:
        margins = owner.grant("ana", budget=2).query(BOTH, epsilon=Fraction(price), noise=noise).margins
    return math.ceil(max(margins.values()) * Fraction("1.01")) + 1


@pytest.mark.parametrize("short", SHORT)
def test_what_is_missing_is_sold_at_one_price(short):
    owner, analyst = opened("gaussian", short)
    asked = questions("gaussian")
    for way in ("cost", "default"):
        dry = dict(analyst.sql(f"DRY RUN {asked[way]}"))
        assert (dry["allowed"], dry["cost"], analyst.cost(asked[way])) == ("yes", "0.45", PAID)
    bought = analyst.query(asked["within" if short == "grant" else "default"])
    assert Fraction("0.42") < bought.cost.epsilon <= PAID
    assert Fraction(bought.explain().as_json()["finer"]["cost"]) == bought.cost.epsilon
    assert "not enough" not in bought.explain().text()
    before = analyst.budget.spent
    answer = bought.answered()
    (*_, (_, charge)) = charges_of(owner._ledger)
    assert answer.cost.epsilon == charge.cost == bought.cost.epsilon
    assert float(analyst.budget.spent - before) == pytest.approx(float(charge.cost), rel=1e-5)
    assert analyst.cost(bought.sql) == 0
    assert all(row.agrees for row in owner.audit())
    owner.close()


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_cap_is_one_of_the_whole_answer(kind):
    """Whether it is bought at once or in parts: a cap of 0.7 sells nothing that is as fine as 0.9 would be, and what it
    proposes is sold at what is missing."""
    owner, analyst = opened(kind, "cap")
    proposals = []
    for sql in questions(kind).values():
        with pytest.raises(NotPermitted) as caught:
            analyst.sql(sql)
        proposals.append(caught.value.try_sql)
    missing = 0.25 if kind == "gaussian" else 0.7
    costs = [analyst.cost(proposal) for proposal in proposals]
    assert [float(cost) for cost in costs] == [pytest.approx(missing, rel=rel) for rel in (0, 0, 0.1)]
    assert analyst.sql(proposals[0]).cost.epsilon == costs[0]
    owner.close()


@pytest.mark.parametrize("short", SHORT)
@pytest.mark.parametrize("kind", ["averaged", "basic"])
def test_what_can_only_be_averaged_is_bought_whole_or_not_at_all(kind, short):
    """0.55 is left, and buys an answer of its own."""
    owner, analyst = opened(kind, short)
    proposals = []
    for way, sql in questions(kind).items():
        if (way, short) == ("within", "promise"):
            continue
        with pytest.raises(BudgetExhausted) as caught:
            analyst.sql(sql)
        proposals.append(caught.value.try_sql)
        if way == "within":
            continue
        name = "your grant" if short == "grant" else "the promise"
        assert caught.value.what == f"this answer costs 0.9, more than {name} has left: 0.55"
        dry = dict(analyst.sql(f"DRY RUN {sql}"))
        assert (dry["allowed"], dry["cost"]) == ("no: the budget does not suffice", "0.9")
    assert proposals[:2] == [f"{BOTH} COST 0.55"] * 2
    bought = analyst.query(proposals[-1])
    assert Fraction("0.5") <= bought.cost.epsilon <= Fraction("0.55")
    assert bought.answered().cost == bought.cost
    owner.close()


@pytest.mark.parametrize("short", SHORT)
def test_where_what_is_missing_does_not_fit_either_a_price_is_named_that_does(short):
    """1.9 would take 1.45 more. 0.55 more is there: enough for 1."""
    owner, analyst = opened("gaussian", short)
    asked = questions("gaussian", "1.9")
    with pytest.raises(BudgetExhausted) as caught:
        analyst.sql(asked["cost"])
    proposal, fix = caught.value.try_sql, caught.value.fix
    if short == "grant":
        with pytest.raises(BudgetExhausted) as caught:
            analyst.sql(asked["within"])
        assert 0 < analyst.cost(caught.value.try_sql) <= Fraction("0.55")
    dry = dict(analyst.sql(f"DRY RUN {asked['cost']}"))
    assert (dry["allowed"], dry["cost"]) == ("no: the budget does not suffice", "1.45")
    assert "COST 1 would fit, for 0.55 more" in fix
    cost = analyst.cost(proposal)
    assert cost == Fraction("0.55")
    assert analyst.sql(proposal).cost.epsilon == cost
    owner.close()


@pytest.mark.parametrize("kind", list(KINDS))
def test_where_nothing_finer_fits_only_what_is_stored_is_offered(kind):
    owner, analyst = opened(kind, "grant")
    analyst.sql("SELECT COUNT(age) FROM people", epsilon=Fraction("0.54"), noise=KINDS[kind][1])
    with pytest.raises(BudgetExhausted) as caught:
        analyst.sql(f"{BOTH} COST 0.9")
    if kind == "gaussian":  # of which any difference can be bought
        assert analyst.sql(caught.value.try_sql).cost.epsilon == Fraction("0.01")
    else:
        assert "would fit" not in caught.value.fix
        assert caught.value.try_sql == f"{BOTH} COST 0"
        assert analyst.sql(caught.value.try_sql).cost.epsilon == 0
    owner.close()


def test_an_average_never_takes_more_than_it_says():
    """Laplace answers weigh more in ρ than in ε: the first Gaussian one would count them all anew."""
    owner = owner_of(1, epsilon=20, delta=1e-6)
    analyst = owner.grant("ana", budget=20)
    for age in range(6):
        analyst.sql(f"SELECT COUNT(*) FROM people WHERE age > {age}", epsilon=1, noise="laplace")
    wide = ", ".join(f"SUM(age + {n}) AS s{n}" for n in range(12))
    for price in (1, 2):
        before = analyst.budget.spent
        answer = analyst.sql(f"SELECT {wide} FROM people COST {price}")
        assert analyst.budget.spent - before <= answer.cost.epsilon == price
    owner.close()
