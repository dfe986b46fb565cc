"""The theorems an explanation rests on: a short id, what it says, and the page that proves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    title: str
    says: str
    """The theorem in a sentence or two; the page has every precondition and the proof."""
    page: str
    """A page of docs/theorems."""

    @property
    def path(self) -> str:
        return f"docs/theorems/{self.page}.md"


RULES: Final[Mapping[str, Rule]] = {
    "T1": Rule(
        title="neighbours: adding, removing or replacing one unit",
        says="Two tables are neighbours where one holds one unit more, with all its rows; or, under change-one, "
        "where the rows of one unit are replaced. What is (ε, δ)-private for the first is (2ε, δ(1 + "
        "e^ε))-private for the second, since replacing is removing and adding.",
        page="neighbour_relations",
    ),
    "T2": Rule(
        title="bounded contributions: how far one unit moves a number",
        says="Where each unit counts with at most so many rows, in at most so many groups, and each value is "
        "moved into its bounds, a unit moves a count by at most its rows and a sum by at most its rows "
        "times the largest value, whatever the rows hold.",
        page="bounding",
    ),
    "T3": Rule(
        title="values in whole grains, so that sums are exact",
        says="Values are rounded to whole multiples of a grain before they are added, so that sums are sums of "
        "whole numbers: exact, in any order, and with the reach that was derived.",
        page="grain",
    ),
    "T4": Rule(
        title="basic composition: ε and δ add up",
        says="Answers of (ε₁, δ₁), (ε₂, δ₂), … together tell at most what one answer of (ε₁ + ε₂ + …, δ₁ + δ₂ + "
        "…) tells, also where each question is chosen after the answers before it.",
        page="basic_composition",
    ),
    "T5": Rule(
        title="zero-concentrated privacy: ρ adds up",
        says="Gaussian noise of variance σ² on numbers that one unit moves by at most Δ costs ρ = Δ²/(2σ²). The "
        "ρ of all answers add up, and their sum is turned into one (ε, δ): for many answers far less than "
        "adding up the ε of each.",
        page="zcdp",
    ),
    "T6": Rule(
        title="post-processing is free",
        says="Whatever is computed from released numbers without looking at the data tells nothing more about "
        "anybody: rounding, dividing, sorting, drawing.",
        page="post_processing",
    ),
    "T7": Rule(
        title="the account rule: a limit for every conversation",
        says="An account fixes ε and δ when it is opened, and grants an answer only where all answers together "
        "stay below them. Then the whole conversation is (ε, δ)-private, in whatever way the next question "
        "is chosen.",
        page="account_rule",
    ),
    "T8": Rule(
        title="the price of an event in (ε, δ, ρ)",
        says="Every release has one price (ε, δ, ρ), fixed before it runs. Prices of the same release are the "
        "best each theorem proves, rounded up.",
        page="event_triples",
    ),
    "T9": Rule(
        title="groups of several units",
        says="What is promised for one unit is promised for k units together, at k times the ε, and at a δ that "
        "grows with them.",
        page="group_privacy",
    ),
    "T10": Rule(
        title="top-up: a stored answer is made finer for what is missing",
        says="What an answer has told already is not paid for again: noise is drawn or averaged so that the "
        "stored answer and the new one together are as precise as was asked, for what is missing to the "
        "price of both.",
        page="top_up",
    ),
    "M1": Rule(
        title="discrete Laplace noise",
        says="A whole number that one unit moves by at most Δ is released with whole noise, Pr[x] in proportion "
        "to exp(−|x|·ε/Δ). The release is ε-private: no answer becomes more than e^ε times likelier by one "
        "unit.",
        page="discrete_laplace",
    ),
    "M2": Rule(
        title="discrete Gaussian noise",
        says="A whole number that one unit moves by at most Δ is released with whole noise, Pr[x] in proportion "
        "to exp(−x²/(2σ²)). The release costs ρ = Δ²/(2σ²), and is (ε, δ)-private for every pair its curve "
        "allows.",
        page="discrete_gaussian",
    ),
    "M3": Rule(
        title="optimal selection of private groups",
        says="Whether a group is shown is drawn with a chance that depends on how many units are in it: 0 for "
        "none, δ for one, and from there as steeply rising as (ε, δ) allows. No other rule of that privacy "
        "shows a group more often, unless it shows empty ones.",
        page="partition_selection",
    ),
    "M4": Rule(
        title="private groups by a threshold on noisy counts",
        says="The units in each group are counted with noise, and a group is shown where its noisy count is "
        "above a threshold that the group of a single unit passes with a chance of at most δ.",
        page="partition_threshold",
    ),
    "M5": Rule(
        title="noise is drawn exactly",
        says="Noise is drawn from random bits by integer arithmetic alone, so that its probabilities are those "
        "of the theorem, not of their rounding to floating point.",
        page="exact_samplers",
    ),
}
