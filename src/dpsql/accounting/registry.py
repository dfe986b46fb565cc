"""Every accountant, by name. A new one is one file, one line here, one row in docs/guide/accounting.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Final

from dpsql.errors import BadParameter
from dpsql.privacy.events import Event
from dpsql.require import Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Accountant:
    """A theory of what a history costs."""

    name: str
    module: str
    """Where `epsilon_of(event, *, delta)` lives; imported on first use."""
    is_filter: bool
    """True where a limit fixed in advance holds although the next parameters are chosen after seeing answers."""
    theorem: str
    """The page that proves it, below docs/theorems."""

    def price(self, event: Event, *, delta: Number) -> float:
        """The smallest ε this theory proves for the history at δ, rounded up. UnsupportedEvent where it has none."""
        return float(import_module(self.module).epsilon_of(event, delta=delta))


_ALL: Final = (
    Accountant(name="basic", module="dpsql.accounting.basic", is_filter=True, theorem="basic_composition.md"),
    Accountant(name="advanced", module="dpsql.accounting.advanced", is_filter=False, theorem="advanced_composition.md"),
    Accountant(name="advanced_filter", module="dpsql.accounting.filters", is_filter=True, theorem="advanced_filter.md"),
    Accountant(
        name="optimal", module="dpsql.accounting.heterogeneous", is_filter=False, theorem="optimal_composition.md"
    ),
    Accountant(name="adaptive", module="dpsql.accounting.adaptive", is_filter=False, theorem="adaptive_minimum.md"),
    Accountant(name="zcdp", module="dpsql.accounting.zcdp", is_filter=True, theorem="zcdp.md"),
    Accountant(name="rdp", module="dpsql.accounting.rdp", is_filter=True, theorem="rdp.md"),
    Accountant(name="pld", module="dpsql.accounting.pld", is_filter=False, theorem="pld.md"),
)

ACCOUNTANTS: Final[Mapping[str, Accountant]] = MappingProxyType({accountant.name: accountant for accountant in _ALL})


def accountant(name: str) -> Accountant:
    """The accountant of this name."""
    try:
        return ACCOUNTANTS[name]
    except (KeyError, TypeError):
        raise BadParameter(
            f"no accountant called {name!r}",
            why="every accountant is a theorem of its own, chosen by its name",
            fix=f"choose one of {', '.join(sorted(ACCOUNTANTS))}",
        ) from None
