"""The price of a stored plan, derived from its record; a record that was changed does not hold what it promises."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from explain_plans import planned

from dpsql.accounting.triple import triple
from dpsql.catalog.model import Mode
from dpsql.errors import InternalError, LedgerBroken
from dpsql.plan.audit import Span, audited, audited_upon, costs
from dpsql.plan.record import PLANS as CODEC
from dpsql.plan.record import DeclaredLists, Planned, kept, lists_of, plan_record, read_plan
from dpsql.privacy.events import DiscreteGaussian, Event, GaussianThreshold, KeySelection, Pure
from tests.kits.cases import cases
from tests.kits.ledger_cases import charges_of
from tests.kits.owners import owner_of
from tests.kits.refusals import raised

PLANS = {
    "laplace": planned("SELECT ward, COUNT(*), SUM(charge) FROM visits GROUP BY ward"),
    "gaussian": planned(
        "SELECT ward, COUNT(*), SUM(charge) FROM visits GROUP BY ward", gaussian=True, mode=Mode.CHOOSE
    ),
    "ball": planned("SELECT ward, COUNT(*), SUM(charge) FROM visits GROUP BY ward", gaussian=True, mode=Mode.SCALE),
    "selected": planned("SELECT diagnosis, SUM(charge) FROM visits GROUP BY diagnosis"),
    "path": planned("SELECT drug, SUM(days) FROM prescriptions GROUP BY drug", gaussian=True),
    "rows": planned("SELECT SUM(weight) FROM samples"),
}


LISTS = {digest: each for plan in PLANS.values() for digest, each in lists_of(plan).items()}


def record_of(plan):
    return json.loads(plan_record(plan, dialect="duckdb"))


def parts(record, kind):
    return [fields for name, fields in record["plan"][:-1] if name == kind]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_record_and_the_declared_lists_give_the_price(plan):
    found = audited(json.dumps(record_of(plan)), lists=LISTS)
    assert found.steps == plan.steps
    assert found.price == triple(plan.event)


def smaller_scale(record):
    for fields in parts(record, "laplace"):
        fields["scale"] = str(Fraction(fields["scale"]) * Fraction(99, 100))


def smaller_variance(record):
    for fields in parts(record, "gaussian"):
        fields["sigma_squared"] = str(Fraction(fields["sigma_squared"]) * Fraction(99, 100))


def same_margins(record):
    """The margins that the answer was told with follow the plan, so that only the price can disagree."""
    steps, _, _ = read_plan(json.dumps(record), lists=LISTS)
    for (_, told), noise in zip(record["kept"]["noises"], steps[-1].noises, strict=True):
        (fields,) = told["law"].values()
        fields.update({name: str(getattr(noise.carried.law, name)) for name in fields})


def lower_price(record):
    for fields in parts(record, "pure"):
        fields["epsilon"] = str(Fraction(fields["epsilon"]) * Fraction(99, 100))
    for fields in parts(record, "discrete_gaussian"):
        fields["l2_squared"] = str(Fraction(fields["l2_squared"]) * Fraction(99, 100))


def wider_clamp(record):
    """Every constant that a clamp or a rank is held below."""
    kinds = [name for name, _ in record["plan"][:-1]]
    for name, fields in record["plan"][:-1]:
        if name == "apply" and fields["function"] in ("clamp_whole", "at_most", "factor"):
            last = fields["arguments"][-1]["part"]
            assert kinds[last] == "constant"
            constant = record["plan"][last][1]
            constant["value"] = constant["value"] * 4 + 1


def another_person(record):
    for fields in parts(record, "table"):
        fields["person"] = [f"not_{name}" for name in fields["person"]]
        fields["unit_row"] = False


def other_neighbours(record):
    """Replacing a person moves a sum further than removing one."""
    record["plan"][-1][2] = "change_one"


def passes_for_public(record):
    for fields in parts(record, "table"):
        fields["public"] = True


def one_noise_less(record):
    """A number that was released without noise, and told without a margin."""
    steps, *others = read_plan(json.dumps(record), lists=LISTS)
    less = (*steps[:-1], replace(steps[-1], noises=steps[-1].noises[:-1]))
    record["plan"] = CODEC.to_json((less, *others), Planned, elsewhere=DeclaredLists(LISTS))
    record["kept"]["noises"] = record["kept"]["noises"][:-1]


TAMPERED = [
    (one_noise_less, ["laplace", "gaussian", "ball", "selected"]),
    (smaller_scale, ["laplace", "selected", "rows"]),
    (smaller_variance, ["gaussian", "ball"]),
    (lower_price, ["laplace", "gaussian", "ball", "selected", "rows"]),
    (wider_clamp, ["laplace", "gaussian", "ball", "selected", "path", "rows"]),
    (another_person, ["laplace", "gaussian", "ball", "selected", "path", "rows"]),
    (other_neighbours, ["laplace", "gaussian", "ball", "selected", "path"]),
    (passes_for_public, list(PLANS)),
]


@pytest.mark.parametrize(
    ("tamper", "name"),
    [(tamper, name) for tamper, names in TAMPERED for name in names],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_record_that_was_changed_is_found_out(tamper, name):
    record = record_of(PLANS[name])
    before = json.dumps(record)
    tamper(record)
    assert json.dumps(record) != before
    if tamper in (smaller_scale, smaller_variance):
        same_margins(record)
    raised(LedgerBroken, lambda: audited(json.dumps(record), lists=LISTS), match="does not hold")


def test_margins_that_are_not_those_of_the_noise_are_found_out():
    record = record_of(PLANS["laplace"])
    record["kept"]["noises"][0][1]["law"]["laplace"]["scale"] = "1/1000"
    with pytest.raises(LedgerBroken, match="its margins are not those of its noise"):
        audited(json.dumps(record), lists=LISTS)


@pytest.mark.parametrize(
    "damage",
    [
        lambda record: record.pop("plan"),
        lambda record: record.update(version=1),
        lambda record: record.pop("kept"),
        lambda record: record["kept"].update(version=1),
        lambda record: record["kept"].pop("cost"),
        lambda record: record["plan"].pop(0),
        lambda record: record["plan"].pop(),
        lambda record: record["plan"].__setitem__(-1, {"part": 0}),
        lambda record: record["plan"].__setitem__(-1, [[], [], None]),
        lambda record: record["plan"][0].__setitem__(0, "Path"),
        lambda record: record["plan"][0][1].update(more=1),
        lambda record: record["plan"][0][1].clear(),
        lambda record: record["plan"].__setitem__(
            0, ["project", {"input": {"part": -1}, "columns": [], "expressions": []}]
        ),
        lambda record: record["plan"].__setitem__(
            0, ["project", {"input": {"part": 7}, "columns": [], "expressions": []}]
        ),
        lambda record: record["plan"].__setitem__(0, ["interval", {"low": "1/0", "high": None}]),
    ],
)
def test_what_cannot_be_read_is_refused(damage):
    record = record_of(PLANS["laplace"])
    damage(record)
    raised(LedgerBroken, lambda: audited(json.dumps(record), lists=LISTS))


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"kept": {}, "plan": 5}'])
def test_what_is_no_record_is_refused(text):
    raised(LedgerBroken, lambda: audited(text))


# What was released says what it cost: its ε, or its ρ at the rate of the account.

RATE = Fraction(1, 50)
TINY = Fraction(1, 10**6)


@dataclass(frozen=True)
class Step:
    """All that is read of one."""

    event: Event


def steps(*events):
    return tuple(map(Step, events))


LAPLACE = steps(Pure(epsilon=Fraction(1, 10)))
GAUSSIAN = steps(DiscreteGaussian(sigma_squared=Fraction(100), l2_squared=Fraction(1)))  # ρ = 1/200
GROUPS = steps(
    KeySelection(epsilon=Fraction(1, 10), delta=TINY, keys=2),  # ρ = 1/400
    DiscreteGaussian(sigma_squared=Fraction(100), l2_squared=Fraction(1)),
)
THRESHOLD = steps(GaussianThreshold(sigma_squared=Fraction(100), delta=TINY, keys=2))  # ρ = 1/100


@cases(__file__, "bought=", "in_rho=", "expected=")
def test_a_cost_is_that_of_what_was_released(bought, in_rho, expected):
    found = costs(bought, rate=RATE, in_rho=in_rho)
    assert [span.low for span in found] == list(map(Fraction, expected))
    for span in found:
        assert span.low <= span.high < span.low * (1 + TINY)
        assert span.low in span
        assert span.low / 2 not in span
        assert span.low * (1 - Fraction(1, 10**9)) not in span  # less than it costs is never what was said


def test_an_account_without_a_second_branch_counts_no_rho():
    assert costs(GAUSSIAN, rate=Fraction(0), in_rho=True) == ()
    assert costs(LAPLACE, rate=Fraction(0), in_rho=True) == (Span(low=Fraction(1, 10), high=Fraction(1, 10)),)


# A release that makes another one finer is compared with the records it rests on, and each lie is found.

BOTH = "SELECT COUNT(*) AS n, SUM(age) AS s FROM people"


def charges(*, noise):
    owner = owner_of(60, epsilon=10, delta=1e-6, max_keys=10)
    ana = owner.grant("ana", budget=10)
    for epsilon in (0.1, 0.2, 0.4):
        ana.sql(BOTH, epsilon=epsilon, noise=noise)
    found = charges_of(owner._ledger)
    owner.close()
    return found


MEASURED = charges(noise="gaussian")
AVERAGED = charges(noise="laplace")
WAYS = {"measured": MEASURED, "averaged": AVERAGED}


def checked(paid, change=lambda told: None, *, upon=None):
    """The audit of the last charge, its record changed."""
    records = {number: charge.record for number, charge in paid}
    _, last = paid[-1]
    told = json.loads(last.record)
    change(told)
    audited_upon(json.dumps(told), upon=last.upon if upon is None else upon, records=records)


@pytest.mark.parametrize("way", WAYS)
def test_what_was_charged_agrees(way):
    checked(WAYS[way])
    (first, root), *later = WAYS[way]
    assert root.upon is None
    assert {charge.upon for _, charge in later} == {first}
    assert [json.loads(charge.record)["kept"]["upon"]["way"] for _, charge in later] == [way, way]


def said(name, value):
    return lambda told: told["kept"]["upon"].update({name: value})


def renamed(told):
    told["kept"]["noises"][0][0] = "another"


def coarser(told):
    for _, noise in told["kept"]["noises"]:
        law = noise["law"]["gaussian"]
        law["sigma_squared"] = str(Fraction(law["sigma_squared"]) * 2)


LIES = {
    "another price before": said("paid", "1/1000"),
    "a release that is not there": said("receipt", 4711),
    "other numbers": renamed,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found(way, lie):
    raised(LedgerBroken, lambda: checked(WAYS[way], LIES[lie]))


@pytest.mark.parametrize("way", WAYS)
def test_another_salt_is_found(way):
    raised(LedgerBroken, lambda: checked(WAYS[way], upon=WAYS[way][1][0]), match="charged upon another release")


def test_less_precision_than_was_sold_is_found():
    raised(LedgerBroken, lambda: checked(MEASURED, coarser), match="less precise")


def test_a_plan_that_reads_back_as_another_is_not_stored(monkeypatch):
    other = kept(plan_record(PLANS["rows"], dialect="duckdb"))
    monkeypatch.setattr("dpsql.plan.record.kept", lambda record: other)
    raised(InternalError, lambda: plan_record(PLANS["laplace"], dialect="duckdb"), match="cannot be read")


def fewer_answers(told):
    told["kept"]["upon"]["answers"].pop()


def of_another_grain(told):
    told["kept"]["upon"]["answers"][0]["grain"] = "1/2"


@pytest.mark.parametrize("change", [fewer_answers, of_another_grain])
def test_an_answer_of_other_numbers_is_no_precision(change):
    raised(LedgerBroken, lambda: checked(MEASURED, change), match="less precise")
