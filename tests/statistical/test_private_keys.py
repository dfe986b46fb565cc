"""A private key that one person alone holds is shown with probability δ at most; one that many hold, always.

The numbers of people come from the engine once; the selection of the plan is then drawn thousands of times. δ is 1/20
here, so that what it allows can be seen.

False alarms: seeds are fixed, so that a build which passed passes again. With fresh seeds a limit on a frequency of δ
would be missed with probability 1e-6, and a key of many people would be missing with less than 1e-9.
"""

from functools import cache

import duckdb
import pytest
from scipy.stats import binom

import dpsql
from dpsql.accounting.triple import FREE, triple
from dpsql.errors import InternalError
from dpsql.mechanisms import table
from dpsql.mechanisms.partition_threshold import GaussianThresholdSelection
from dpsql.mechanisms.partitions import PartitionSelection, _KeepTable
from dpsql.plan.price import SelectionStep
from dpsql.plan.seal import Sealed
from dpsql.privacy.exact import Exact
from dpsql.session import answer
from dpsql.session.steps import drawn
from dpsql.sql import rewrite
from dpsql.sql.relations import Group, Total, ids
from dpsql.sql.rewrite import Builder
from dpsql.testing.fixed import SeededSource
from tests.kits.noiseless import exact_steps
from tests.kits.refusals import raised

DRAWS = 3000
DELTA = 0.05
ALARM = 1e-6
MOST = int(binom.isf(ALARM, DRAWS, DELTA))
"""More often than this of 3 000 times a thing of probability 1/20 happens once in a million."""
GROUPS = 3
OWN = {"only one", "only two", "only three"}
"""The keys that one person holds, and nobody else."""

QUESTIONS = {
    PartitionSelection: ("SELECT diagnosis FROM visits GROUP BY diagnosis", "laplace"),
    GaussianThresholdSelection: ("SELECT diagnosis, COUNT(DISTINCT person) FROM visits GROUP BY diagnosis", "gaussian"),
}
MECHANISMS = list(QUESTIONS)


@cache
def analyst() -> dpsql.Analyst:
    """Five hundred people with the flu; one of them has three rare things as well, forty rows of each."""
    plain = duckdb.connect()
    plain.execute("CREATE TABLE visits (person BIGINT, diagnosis VARCHAR)")
    plain.execute("INSERT INTO visits SELECT i, 'flu' FROM range(500) AS r(i)")
    for key in OWN:
        plain.execute("INSERT INTO visits SELECT 1000, ? FROM range(40)", [key])
    owner = dpsql.open(":memory:")
    owner.register(
        "visits",
        plain,
        person="person",
        columns=["person"],
        keys={"diagnosis": "private"},
        rows_per_person=5,
        groups_per_person=GROUPS,
    )
    plain.close()
    owner.promise(epsilon=100, delta=0.4)
    owner.defaults(cost_per_query=1, delta_per_query=DELTA, selection_share=0.25, max_keys=100)
    return owner.grant("ana", budget=100)


def selection(mechanism: type) -> tuple[SelectionStep, list]:
    """The step that selects keys, and the numbers of people behind them."""
    sql, noise = QUESTIONS[mechanism]
    sealed = analyst().query(sql, noise=noise).sealed
    (step,) = sealed.plan.steps
    (exact,) = exact_steps(sealed, analyst().place.engine, salt=1)
    assert isinstance(step, SelectionStep)
    assert isinstance(step.mechanism, mechanism)
    return step, exact.rows


def shown(mechanism: type, *, seed: int = 1) -> tuple[int, int]:
    """Of 3 000 draws: in how many one of the person's own keys is shown, and in how many the common one."""
    step, rows = selection(mechanism)
    source = SeededSource(seed)
    found = [{key for (key,) in drawn(step, Exact(rows), source).keys} for _ in range(DRAWS)]
    return sum(bool(keys & OWN) for keys in found), sum("flu" in keys for keys in found)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_engine_counts_people(mechanism):
    """Forty rows of one person are one person."""
    _, rows = selection(mechanism)
    assert dict(rows) == {"flu": 500, **dict.fromkeys(OWN, 1)}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_keys_of_one_person_are_shown_with_probability_delta_at_most(mechanism):
    own, common = shown(mechanism)
    assert own <= MOST
    assert common == DRAWS


def test_the_optimal_rule_uses_its_delta():
    """Three keys at δ/3 each: the rule shows as much as δ allows, so that its limit is known to be reached."""
    own, _ = shown(PartitionSelection)
    probability = 1 - (1 - DELTA / GROUPS) ** GROUPS
    assert binom.isf(1 - ALARM, DRAWS, probability) <= own <= binom.isf(ALARM, DRAWS, probability)


# ------------------------------------------------------------------------------------------------ planted bugs


def threshold_off_by_one(patch):
    honest = GaussianThresholdSelection.threshold.fget
    patch.setattr(GaussianThresholdSelection, "threshold", property(lambda self: honest(self) - 1))
    also = _KeepTable.probability
    patch.setattr(_KeepTable, "probability", lambda self, people: also(self, people + 1))


def every_key(patch):
    """The keys are shown as they are."""

    def planted(mechanism, rows, *, keys, source):
        found = tuple(sorted(row[:keys] for row in rows.open()))
        return table.NoisyTable(keys=found, values=tuple((0,) for _ in found))

    patch.setattr("dpsql.session.steps.selected", planted)


def delta_for_each_key(patch):
    """Each key may fail with δ, instead of all keys of a person together."""
    patch.setattr("dpsql.mechanisms.partitions.changed_keys", lambda *, keys_per_unit, neighbours: 1)
    patch.setattr("dpsql.mechanisms.partition_threshold.changed_keys", lambda *, keys_per_unit, neighbours: 1)


@pytest.mark.parametrize("plant", [threshold_off_by_one, every_key])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_rule_that_shows_too_much_would_be_noticed(mechanism, plant, monkeypatch):
    plant(monkeypatch)
    own, _ = shown(mechanism)
    assert own > MOST


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_delta_for_each_key_is_refused_and_would_be_noticed(mechanism, monkeypatch):
    """`seal` sees that one person stands behind more keys than were priced; without it the frequency shows it."""
    delta_for_each_key(monkeypatch)
    raised(InternalError, lambda: shown(mechanism))
    monkeypatch.setattr(answer, "seal", lambda plan, _: Sealed(plan=plan, price=FREE + triple(plan.event)))
    own, _ = shown(mechanism)
    assert own > MOST


def rows_instead_of_people(bounded, numbers):
    build = Builder(bounded, numbers)
    people = build.column()
    rows = build.base().relation
    relation = Group(input=rows, by=ids(build.keys), columns=(*build.keys, people), totals=(Total(function="count"),))
    return rewrite.Statement(relation=relation, keys=build.keys, values=(people,))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_counting_rows_instead_of_people_is_refused_and_would_be_noticed(mechanism, monkeypatch):
    monkeypatch.setattr(rewrite, "_selection", rows_instead_of_people)
    raised(InternalError, lambda: selection(mechanism), match="derived")
    monkeypatch.setattr(answer, "seal", lambda plan, _: Sealed(plan=plan, price=FREE + triple(plan.event)))
    own, _ = shown(mechanism)
    assert own > MOST
