"""The registry: every accountant is documented, proven and obeys what it declares."""

from fractions import Fraction
from pathlib import Path

import pytest

from dpsql.accounting.registry import ACCOUNTANTS, accountant
from dpsql.errors import BadParameter
from dpsql.privacy.events import Composed, Pure
from tests.kits.refusals import raised

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "guide" / "accounting.md"
THEOREMS = ROOT / "docs" / "theorems"


def test_every_accountant_has_a_row_in_the_guide() -> None:
    rows = [line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = {row.split("`")[1]: row for row in rows}
    assert set(named) == set(ACCOUNTANTS)
    for name, entry in ACCOUNTANTS.items():
        assert entry.theorem in named[name]
        assert ("| yes" in named[name]) == (entry.filter is not None), name


@pytest.mark.parametrize("name", sorted(ACCOUNTANTS))
def test_every_accountant_has_a_theorem_page_that_proves_code(name: str) -> None:
    page = THEOREMS / ACCOUNTANTS[name].theorem
    assert "\nproves: dpsql.accounting." in page.read_text(encoding="utf-8")


def test_filters_are_those_of_the_design() -> None:
    filters = {name for name, entry in ACCOUNTANTS.items() if entry.filter is not None}
    assert filters == {"basic", "zcdp", "rdp", "advanced_filter"}


@pytest.mark.parametrize("name", sorted(set(ACCOUNTANTS) - {"pld"}))
def test_names_lead_to_prices(name: str) -> None:
    history = Composed((Pure(epsilon=Fraction(1, 10)),) * 4)
    assert 0 < accountant(name).price(history, delta=Fraction(1, 10**5)) < 2


def test_the_order_of_tightness_on_many_small_releases() -> None:
    history = Composed((Pure(epsilon=Fraction(1, 20)),) * 300)
    price = {
        name: accountant(name).price(history, delta=Fraction(1, 10**5))
        for name in ("basic", "advanced", "advanced_filter", "adaptive", "optimal", "zcdp", "rdp")
    }
    assert price["optimal"] <= price["rdp"] <= price["zcdp"] * 1.01
    assert price["zcdp"] <= price["advanced_filter"]
    assert price["optimal"] <= price["adaptive"] <= price["advanced"] < price["basic"]
    assert price["advanced"] <= price["advanced_filter"]


def test_unknown_names_are_refused() -> None:
    error = raised(BadParameter, lambda: accountant("moments"), match="no accountant")
    assert all(name in error.fix for name in ACCOUNTANTS)
