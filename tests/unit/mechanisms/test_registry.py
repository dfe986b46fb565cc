"""The registry, its documentation, and paying before drawing. No chance involved."""

import ast
from fractions import Fraction
from pathlib import Path

import pytest

from dpsql import mechanisms
from dpsql.accounting.account import Account
from dpsql.errors import BadParameter, BudgetExhausted
from dpsql.mechanisms.discrete_laplace import LaplaceMechanism
from dpsql.mechanisms.mechanism import Mechanism
from dpsql.mechanisms.permute_and_flip import PermuteAndFlip
from dpsql.mechanisms.registry import MECHANISMS, execute, find
from dpsql.privacy.events import Event, Pure
from dpsql.privacy.exact import Exact
from dpsql.randomness import SYSTEM

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guide" / "mechanisms.md").read_text(encoding="utf-8")
ROWS = [line.split("|")[1:-1] for line in GUIDE.splitlines() if line.startswith("| `")]


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_entry_resolves_and_charges_what_it_says(name):
    """C048: from its example parameters every mechanism gives the event its entry names."""
    entry = find(name)
    mechanism = entry.with_example()
    assert isinstance(mechanism, entry.load())
    assert callable(mechanism.release)
    assert isinstance(mechanism.event, Event)
    assert type(mechanism.event) is entry.event
    assert entry.door == "" or callable(entry.load_door())


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_entry_has_a_proof_and_a_row_in_the_guide(name):
    """C048."""
    entry = find(name)
    page = ROOT / "docs" / "theorems" / f"{entry.theorem}.md"
    assert page.is_file(), f"docs/theorems/{entry.theorem}.md is missing"
    assert "\nproves: " in page.read_text(encoding="utf-8")
    (row,) = [row for row in ROWS if row[0].strip() == f"`{name}`"]
    assert row[1].strip() == entry.releases
    assert row[-3].strip() == "; in one call ".join(
        "`{1}` of `{0}`".format(*place.split(":")) for place in (entry.where, entry.door) if place
    )
    assert f"`{entry.event.__name__}`" in row[-2]
    assert f"(../theorems/{entry.theorem}.md)" in row[-1]


def test_the_guide_names_no_mechanism_that_is_not_registered():
    assert [row[0].strip().strip("`") for row in ROWS] == list(MECHANISMS)


def test_every_class_that_releases_is_registered():
    """C048: a class with `event` and `release` in mechanisms/ that nobody can find is not finished."""
    registered = {entry.where for entry in MECHANISMS.values()}
    found = set()
    for file in Path(mechanisms.__file__).parent.glob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and {"event", "release"} <= {getattr(m, "name", "") for m in node.body}:
                found.add(f"dpsql.mechanisms.{file.stem}:{node.name}")
    found.remove(f"{Mechanism.__module__}:{Mechanism.__name__}")
    assert found == registered


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(BadParameter, match="abacus") as refusal:
        find("abacus")
    assert "permute_and_flip" in refusal.value.fix


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

    with pytest.raises(BudgetExhausted):
        execute(Unreachable(), Exact([3, 1]), charge=empty_account, source=SYSTEM)


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
    with pytest.raises(BadParameter):
        execute(mechanism, Exact(3), charge=account.charged, source=SYSTEM)


@pytest.mark.parametrize("name", [[], None, 7, "guess"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(BadParameter):
        find(name)
