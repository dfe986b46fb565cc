"""The registry, its documentation, and paying before drawing. No chance involved."""

import ast
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql import mechanisms
from dpsql.accounting.account import Account
from dpsql.errors import BadParameter, BudgetExhausted
from dpsql.mechanisms.discrete_laplace import LaplaceMechanism
from dpsql.mechanisms.mechanism import Mechanism, execute
from dpsql.mechanisms.permute_and_flip import PermuteAndFlip
from dpsql.mechanisms.registry import MECHANISMS
from dpsql.privacy.events import Pure
from dpsql.privacy.exact import Exact
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import SYSTEM
from dpsql.sensitivity.elastic.algebra import Count, Table
from tests.kits.cases import cases
from tests.kits.refusals import raised
from tests.kits.rows import read_rows

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guide" / "mechanisms.md").read_text(encoding="utf-8")
ROWS = [line.split("|")[1:-1] for line in GUIDE.splitlines() if line.startswith("| `")]


CHOOSING = {
    "candidates": ("red", "green", "blue"),
    "sensitivity": 1,
    "epsilon": Fraction(1, 2),
    "monotonic": False,
    "max_candidates": 100,
}
KEYS = {"keys_per_unit": 2, "neighbours": Neighbours.ADD_REMOVE}
SMALL = Fraction(1, 10**6)
RIDES = Count(Table(name="rides"))


@cases(__file__, "name", "parameters=")
def test_a_mechanism_charges_what_its_entry_says(name, parameters):
    """C048."""
    mechanism = MECHANISMS[name].mechanism(**parameters)
    assert callable(mechanism.release)
    assert type(mechanism.event) is MECHANISMS[name].event


def test_every_mechanism_is_asked_what_it_charges():
    assert [name for name, _ in read_rows(__file__, "a mechanism charges what its entry says")] == list(MECHANISMS)


def place(thing):
    return f"`{thing.__name__}` of `{thing.__module__}`"


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_entry_has_a_proof_and_a_row_in_the_guide(name):
    """C048."""
    entry = MECHANISMS[name]
    page = ROOT / "docs" / "theorems" / f"{entry.theorem}.md"
    assert page.is_file(), f"docs/theorems/{entry.theorem}.md is missing"
    assert "\nproves: " in page.read_text(encoding="utf-8")
    (row,) = [row for row in ROWS if row[0].strip() == f"`{name}`"]
    assert row[-3].strip().partition("; in one call ")[0] == place(entry.mechanism)
    assert f"`{entry.event.__name__}`" in row[-2]
    assert f"(../theorems/{entry.theorem}.md)" in row[-1]


def test_the_guide_names_no_mechanism_that_is_not_registered():
    assert [row[0].strip().strip("`") for row in ROWS] == list(MECHANISMS)


def test_every_class_that_releases_is_registered():
    """C048: a class with `event` and `release` in mechanisms/ that nobody can find is not finished."""
    registered = {place(entry.mechanism) for entry in MECHANISMS.values()}
    found = set()
    for file in Path(mechanisms.__file__).parent.glob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and {"event", "release"} <= {getattr(m, "name", "") for m in node.body}:
                found.add(f"`{node.name}` of `dpsql.mechanisms.{file.stem}`")
    found.remove(place(Mechanism))
    assert found == registered


CHOICE = PermuteAndFlip(candidates=["a", "b"], sensitivity=1, epsilon=Fraction(1, 2), monotonic=True, max_candidates=10)


def test_an_execution_charges_its_event_first():
    """C048: the event is charged before anything is drawn."""
    order = []

    class Watched:
        event = CHOICE.event

        def release(self, value, /, *, source):
            order.append("drawn")
            return CHOICE.release(value, source=source)

    result = execute(Watched(), Exact([3, 1]), charge=order.append, source=SYSTEM)
    assert result in "ab"
    assert order == [Pure(epsilon=Fraction(1, 2)), "drawn"]


def test_what_cannot_be_paid_is_not_drawn():
    """C048: an account that refuses stops the release before the value is opened."""

    def empty_account(event):
        raise BudgetExhausted("nothing left", why="it was spent", fix="ask the owner")

    class Unreachable:
        event = CHOICE.event

        def release(self, value, /, *, source):
            raise AssertionError("released without having been paid for")

    raised(BudgetExhausted, lambda: execute(Unreachable(), Exact([3, 1]), charge=empty_account, source=SYSTEM))


def test_the_example_of_the_guide_runs():
    code = GUIDE.partition("```python\n")[2].partition("```")[0]
    scope = {}
    exec(compile(code, "docs/guide/mechanisms.md", "exec"), scope)
    assert scope["choice"] in ("salad", "noodles", "rice")
    assert scope["spent"] == [scope["favourite"].event]


def test_a_charge_that_only_returns_a_value_is_refused():
    """C048: an account that is a value records nothing by being asked; the release would be free for ever."""
    account = Account.opened(epsilon=1, delta=0, delta_prime=0)
    mechanism = LaplaceMechanism(l1=1, epsilon=Fraction(1, 2))
    raised(BadParameter, lambda: execute(mechanism, Exact(3), charge=account.charged, source=SYSTEM))
