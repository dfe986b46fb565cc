"""A plan whose event promises less than its noise and statements cost is never charged (rule 11)."""

from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest

from dpsql.accounting.triple import triple
from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.partitions import PartitionSelection
from dpsql.plan.seal import seal
from dpsql.privacy.events import DiscreteGaussian, Pure
from dpsql.privacy.unit import Neighbours
from dpsql.sql.rewrite import Unprotected
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

QUESTIONS = {
    "laplace": "SELECT COUNT(*) FROM visits",
    "gaussian": "SELECT COUNT(*), SUM(charge), AVG(charge), VAR_POP(charge) FROM visits",
    "scale": "SELECT ward, COUNT(*), SUM(charge) FROM visits GROUP BY ward",
}


def analyst(relation="add_remove"):
    rows = pd.DataFrame({"who": [n % 50 for n in range(200)], "ward": [n % 8 for n in range(200)], "charge": 1.5})
    declared = {"person": "who", "bounds": {"charge": (0, 100), "ward": (0, 7)}, "keys": {"why": "private"}}
    caps = {"rows_per_person": 4, "groups_per_person": 3, "max_keys": 100}
    prices = {"epsilon": 5, "delta": 1e-6, "cost_per_query": 1, "selection_share": 0.25, "delta_per_query": 1e-8}
    owner = owner_of(rows.assign(why="flu"), "visits", relation=relation, **declared, **caps, **prices)
    return owner.grant("ana", budget=5)


@pytest.fixture
def ana():
    return analyst()


def step_of(ana, sql, **how):
    """The plan of a question, and its only step."""
    plan = ana.query(sql, **how).sealed.plan
    (step,) = plan.steps
    return plan, step


def require_refused(ana, plan, *steps, match="promises less"):
    """The plan with these steps instead is not sealed."""
    raised(InternalError, lambda: seal(replace(plan, steps=steps), ana.place.catalog), match=match)


@pytest.mark.parametrize("relation", ["add_remove", "change_one"])
@pytest.mark.parametrize("sql", QUESTIONS.values(), ids=QUESTIONS)
def test_what_is_planned_is_sealed_at_the_price_of_its_event(sql, relation):
    sealed = analyst(relation).query(sql).sealed
    assert sealed.price == triple(sealed.plan.event)


def test_the_three_kinds_of_noise_are_among_the_questions(ana):
    steps = [step_of(ana, QUESTIONS[name])[1] for name in ("laplace", "gaussian")]
    assert [type(step.noises[0].carried.law) for step in steps] == [DiscreteLaplaceLaw, DiscreteGaussianLaw]
    assert step_of(ana, QUESTIONS["scale"])[0].bounded.mode.value == "scale"


def narrower(law, share):
    if isinstance(law, DiscreteLaplaceLaw):
        return DiscreteLaplaceLaw(scale=law.scale * share)
    return DiscreteGaussianLaw(sigma_squared=law.sigma_squared * share)


@pytest.mark.parametrize("slot", [0, -1])
@pytest.mark.parametrize("sql", QUESTIONS.values(), ids=QUESTIONS)
def test_noise_that_is_one_percent_too_narrow_is_refused(ana, sql, slot):
    plan, step = step_of(ana, sql)
    noises = list(step.noises)
    carried = noises[slot].carried
    noises[slot] = replace(noises[slot], carried=replace(carried, law=narrower(carried.law, Fraction(99, 100))))
    require_refused(ana, plan, replace(step, noises=tuple(noises)))


@pytest.mark.parametrize(
    ("name", "cheap"),
    [
        ("laplace", Pure(epsilon=Fraction(1, 2))),
        ("scale", DiscreteGaussian(sigma_squared=Fraction(10**9), l2_squared=Fraction(1), dimensions=2)),
    ],
)
def test_an_event_that_is_too_cheap_is_refused(ana, name, cheap):
    plan, step = step_of(ana, QUESTIONS[name])
    require_refused(ana, plan, replace(step, event=cheap))


def test_gaussian_noise_charged_as_pure_is_refused(ana):
    plan, step = step_of(ana, QUESTIONS["gaussian"])
    first, *others = step.noises
    laplace = replace(first, carried=replace(first.carried, law=DiscreteLaplaceLaw(scale=Fraction(10**9))))
    require_refused(ana, plan, replace(step, noises=(laplace, *others)))


@pytest.mark.parametrize("keys", [1, 2])
def test_a_selection_for_fewer_keys_than_a_person_has_is_refused(ana, keys):
    plan = ana.query("SELECT why, SUM(charge) FROM visits GROUP BY why", noise="laplace").sealed.plan
    first, second = plan.steps
    fewer = PartitionSelection(
        epsilon=Fraction(1, 4), delta=Fraction(1, 10**8), keys_per_unit=keys, neighbours=Neighbours.ADD_REMOVE
    )
    require_refused(ana, plan, replace(first, mechanism=fewer), second)


@pytest.mark.parametrize("free", ["the answer", "the number of keys"])
def test_a_free_statement_reads_public_tables_only(ana, free):
    plan, step = step_of(ana, QUESTIONS["laplace"])
    rewritten = plan.recalled.rewritten
    if free == "the answer":
        planted = Unprotected(bounded=rewritten.bounded, statement=step.statement)
    else:
        planted = replace(rewritten, key_count=step.statement)
    free_plan = replace(plan, recalled=replace(plan.recalled, rewritten=planted))
    require_refused(ana, free_plan, match="read for nothing")


def test_gaussian_noise_on_one_number_is_said_with_its_own_scale_and_distance(ana):
    """A loss distribution reads σ² and distance apart: the same ρ in other units is not the same number."""
    plan, step = step_of(ana, "SELECT SUM(ward) FROM visits", noise="gaussian")
    event = step.event
    assert (event.dimensions, event.l2_squared) == (1, (4 * 7) ** 2)
    assert event.sigma_squared == step.noises[0].carried.law.sigma_squared
    half = DiscreteGaussian(sigma_squared=event.sigma_squared / 4, l2_squared=event.l2_squared / 4)
    require_refused(ana, plan, replace(step, event=half), match="moves further")


def test_several_numbers_are_not_called_one(ana):
    plan, step = step_of(ana, QUESTIONS["gaussian"])
    require_refused(ana, plan, replace(step, event=replace(step.event, dimensions=1)), match="called one")
