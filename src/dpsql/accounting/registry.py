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
    """Where `epsilon_of(event, *, delta)` lives, in this package; imported on first use."""
    theorem: str
    """The page that proves it, below docs/theorems."""
    filter: str | None
    """The class of `dpsql.accounting.filters` whose limit, fixed in advance, holds although the next parameters are
    chosen after seeing answers. None where the theory prices planned histories only."""

    def price(self, event: Event, *, delta: Number) -> float:
        """The smallest ε this theory proves for the history at δ, rounded up. UnsupportedEvent where it has none."""
        return float(import_module(f"dpsql.accounting.{self.module}").epsilon_of(event, delta=delta))


_ALL: Final = (
    Accountant(name="basic", module="basic", theorem="basic_composition.md", filter="BasicFilter"),
    Accountant(name="advanced", module="advanced", theorem="advanced_composition.md", filter=None),
    Accountant(name="advanced_filter", module="filters", theorem="advanced_filter.md", filter="AdvancedFilter"),
    Accountant(name="optimal", module="heterogeneous", theorem="optimal_composition.md", filter=None),
    Accountant(name="adaptive", module="adaptive", theorem="adaptive_minimum.md", filter=None),
    Accountant(name="zcdp", module="zcdp", theorem="zcdp.md", filter="ZcdpFilter"),
    Accountant(name="rdp", module="rdp", theorem="rdp.md", filter="RdpFilter"),
    Accountant(name="pld", module="pld", theorem="pld.md", filter=None),
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
