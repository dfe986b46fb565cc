"""A plan whose event promises less than its noise and statements cost is never charged (rule 11)."""

from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest

import dpsql
from dpsql.accounting.triple import triple
from dpsql.errors import InternalError
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw
from dpsql.mechanisms.discrete_laplace import DiscreteLaplaceLaw
from dpsql.mechanisms.partitions import PartitionSelection
from dpsql.plan.seal import seal
from dpsql.privacy.events import DiscreteGaussian, Pure
from dpsql.privacy.unit import Neighbours
from dpsql.sql.rewrite import Unprotected
from tests.kits.refusals import raised

QUESTIONS = {
    "laplace": "SELECT COUNT(*) FROM visits",
    "gaussian": "SELECT COUNT(*), SUM(charge), AVG(charge), VAR_POP(charge) FROM visits",
    "scale": "SELECT ward, COUNT(*), SUM(charge) FROM visits GROUP BY ward",
}


def analyst(relation="add_remove"):
    owner = dpsql.open(":memory:")
    rows = pd.DataFrame({"who": [n % 50 for n in range(200)], "ward": [n % 8 for n in range(200)], "charge": 1.5})
    rows["why"] = "flu"
    owner.person(relation=relation)
    owner.register(
        "visits",
        rows,
        person="who",
        bounds={"charge": (0, 100), "ward": (0, 7)},
        keys={"why": "private"},
        rows_per_person=4,
        groups_per_person=3,
    )
    owner.promise(epsilon=5, delta=1e-6)
    owner.defaults(cost_per_query=1, max_keys=100, selection_share=0.25, delta_per_query=1e-8)
    return owner.grant("ana", budget=5)


def law_of(plan):
    (step,) = plan.steps
    return step.noises[0].carried.law


@pytest.mark.parametrize("relation", ["add_remove", "change_one"])
@pytest.mark.parametrize("sql", QUESTIONS.values(), ids=QUESTIONS)
def test_what_is_planned_is_sealed_at_the_price_of_its_event(sql, relation):
    sealed = analyst(relation).query(sql).sealed
    assert sealed.price == triple(sealed.plan.event)


def test_the_three_kinds_of_noise_are_among_the_questions():
    ana = analyst()
    assert isinstance(law_of(ana.query(QUESTIONS["laplace"]).sealed.plan), DiscreteLaplaceLaw)
    assert isinstance(law_of(ana.query(QUESTIONS["gaussian"]).sealed.plan), DiscreteGaussianLaw)
    assert ana.query(QUESTIONS["scale"]).sealed.plan.bounded.mode.value == "scale"


def narrower(law, share):
    if isinstance(law, DiscreteLaplaceLaw):
        return DiscreteLaplaceLaw(scale=law.scale * share)
    return DiscreteGaussianLaw(sigma_squared=law.sigma_squared * share)


@pytest.mark.parametrize("slot", [0, -1])
@pytest.mark.parametrize("sql", QUESTIONS.values(), ids=QUESTIONS)
def test_noise_that_is_one_percent_too_narrow_is_refused(sql, slot):
    ana = analyst()
    plan = ana.query(sql).sealed.plan
    (step,) = plan.steps
    noises = list(step.noises)
    carried = noises[slot].carried
    noises[slot] = replace(noises[slot], carried=replace(carried, law=narrower(carried.law, Fraction(99, 100))))
    bad = replace(plan, steps=(replace(step, noises=tuple(noises)),))
    raised(InternalError, lambda: seal(bad, ana.place.catalog), match="promises less")


def test_an_event_that_is_too_cheap_is_refused():
    ana = analyst()
    for sql, cheap in (
        (QUESTIONS["laplace"], Pure(epsilon=Fraction(1, 2))),
        (QUESTIONS["scale"], DiscreteGaussian(sigma_squared=Fraction(10**9), l2_squared=Fraction(1), dimensions=2)),
    ):
        plan = ana.query(sql).sealed.plan
        with pytest.raises(InternalError, match="promises less"):
            seal(replace(plan, steps=(replace(plan.steps[0], event=cheap),)), ana.place.catalog)


def test_gaussian_noise_charged_as_pure_is_refused():
    ana = analyst()
    plan = ana.query(QUESTIONS["gaussian"]).sealed.plan
    (step,) = plan.steps
    laplace = [
        replace(n, carried=replace(n.carried, law=DiscreteLaplaceLaw(scale=Fraction(10**9)))) for n in step.noises
    ]
    mixed = replace(step, noises=(laplace[0], *step.noises[1:]))
    raised(InternalError, lambda: seal(replace(plan, steps=(mixed,)), ana.place.catalog), match="promises less")


@pytest.mark.parametrize("keys", [1, 2])
def test_a_selection_for_fewer_keys_than_a_person_has_is_refused(keys):
    ana = analyst()
    plan = ana.query("SELECT why, SUM(charge) FROM visits GROUP BY why", noise="laplace").sealed.plan
    first, second = plan.steps
    fewer = PartitionSelection(
        epsilon=Fraction(1, 4), delta=Fraction(1, 10**8), keys_per_unit=keys, neighbours=Neighbours.ADD_REMOVE
    )
    bad = replace(plan, steps=(replace(first, mechanism=fewer), second))
    raised(InternalError, lambda: seal(bad, ana.place.catalog), match="promises less")


@pytest.mark.parametrize("free", ["the answer", "the number of keys"])
def test_a_free_statement_reads_public_tables_only(free):
    ana = analyst()
    plan = ana.query(QUESTIONS["laplace"]).sealed.plan
    statement = plan.steps[0].statement
    rewritten = plan.recalled.rewritten
    if free == "the answer":
        planted = Unprotected(bounded=rewritten.bounded, statement=statement)
    else:
        planted = replace(rewritten, key_count=statement)
    with pytest.raises(InternalError, match="read for nothing"):
        seal(replace(plan, recalled=replace(plan.recalled, rewritten=planted), steps=()), ana.place.catalog)


def test_gaussian_noise_on_one_number_is_said_with_its_own_scale_and_distance():
    """A loss distribution reads σ² and distance apart: the same ρ in other units is not the same number."""
    ana = analyst()
    plan = ana.query("SELECT SUM(ward) FROM visits", noise="gaussian").sealed.plan
    (step,) = plan.steps
    event = step.event
    assert event.dimensions == 1
    assert event.l2_squared == (4 * 7) ** 2
    assert event.sigma_squared == law_of(plan).sigma_squared
    half = DiscreteGaussian(sigma_squared=event.sigma_squared / 4, l2_squared=event.l2_squared / 4)
    with pytest.raises(InternalError, match="moves further"):
        seal(replace(plan, steps=(replace(step, event=half),)), ana.place.catalog)


def test_several_numbers_are_not_called_one():
    ana = analyst()
    plan = ana.query(QUESTIONS["gaussian"]).sealed.plan
    (step,) = plan.steps
    one = replace(step.event, dimensions=1)
    with pytest.raises(InternalError, match="called one"):
        seal(replace(plan, steps=(replace(step, event=one),)), ana.place.catalog)
