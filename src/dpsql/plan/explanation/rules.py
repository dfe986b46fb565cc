"""The theorems an explanation rests on: a short id, what it says, and the page that proves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    title: str
    page: str
    """A page of docs/theorems."""

    @property
    def path(self) -> str:
        return f"docs/theorems/{self.page}.md"


RULES: Final[Mapping[str, Rule]] = {
    "T1": Rule(title="neighbours: adding, removing or replacing one unit", page="neighbour_relations"),
    "T2": Rule(title="bounded contributions: how far one unit moves a number", page="bounding"),
    "T3": Rule(title="values in whole grains, so that sums are exact", page="grain"),
    "T4": Rule(title="basic composition: ε and δ add up", page="basic_composition"),
    "T5": Rule(title="zero-concentrated privacy: ρ adds up", page="zcdp"),
    "T6": Rule(title="post-processing is free", page="post_processing"),
    "T7": Rule(title="the account rule: a limit for every conversation", page="account_rule"),
    "T8": Rule(title="the price of an event in (ε, δ, ρ)", page="event_triples"),
    "T9": Rule(title="groups of several units", page="group_privacy"),
    "T10": Rule(title="top-up: a stored answer is made finer for what is missing", page="top_up"),
    "M1": Rule(title="discrete Laplace noise", page="discrete_laplace"),
    "M2": Rule(title="discrete Gaussian noise", page="discrete_gaussian"),
    "M3": Rule(title="optimal selection of private groups", page="partition_selection"),
    "M4": Rule(title="private groups by a threshold on noisy counts", page="partition_threshold"),
    "M5": Rule(title="noise is drawn exactly", page="exact_samplers"),
}
