"""Counts over joins, released with elastic sensitivity: frequencies in, noisy counts out, nothing in between shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

from dpsql.mechanisms.mechanism import opened
from dpsql.mechanisms.smooth_noise import Smoothed, SmoothLaplace
from dpsql.privacy.events import Approximate
from dpsql.privacy.exact import Exact
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import Source
from dpsql.require import Number, require_that, unmet
from dpsql.sensitivity.elastic.algebra import Count, Query, ancestors, join_count, joined_columns, with_frequencies
from dpsql.sensitivity.elastic.stability import elastic_sensitivity, scan_limit, smooth_elastic


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Measured:
    """The exact counts and the largest frequency of each joined column, by (table, column). None of it is printed."""

    counts: tuple[int, ...]
    frequencies: Mapping[tuple[str, str], int]

    def __repr__(self) -> str:
        return "Measured(hidden)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticLaplace:
    """Laplace noise of scale 2S/ε on a count, or on one count per public group, with S the smoothed elastic bound.

    The question holds no data: the frequencies of its `joined_columns` arrive with the counts, and S,
    k* and the scale stay inside `release`. The unit is one row of one table.
    """

    query: Query
    neighbours: Neighbours
    epsilon: Number
    delta: Number
    dimensions: int
    noise: SmoothLaplace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.query, Count) and self.dimensions != 1:
            raise unmet(f"dimensions={self.dimensions!r} must be 1 for a single count")
        require_that(ancestors(self.query), "the question reads public tables only")
        noise = SmoothLaplace(epsilon=self.epsilon, delta=self.delta, dimensions=self.dimensions, grain=Fraction(1))
        object.__setattr__(self, "noise", noise)  # counts lie on the grain 1
        # Refuse what has no theorem now, before any row is read: the shape decides, whatever the frequencies.
        scan_limit(joins=join_count(self.query), beta=noise.beta)
        trial = with_frequencies(self.query, dict.fromkeys(joined_columns(self.query), 1))
        elastic_sensitivity(cast(Query, trial), distance=0, neighbours=self.neighbours)

    @property
    def event(self) -> Approximate:
        """(ε, δ), as the smooth noise."""
        return self.noise.event

    def release(self, value: Exact[Measured], /, *, source: Source) -> tuple[int, ...]:
        """The counts with noise, in the order given."""
        measured = opened(value)
        question = cast(Query, with_frequencies(self.query, measured.frequencies))
        beta = self.noise.beta
        bound = smooth_elastic(question, beta=beta, neighbours=self.neighbours).bound
        released = self.noise.release(Exact(Smoothed(values=measured.counts, bound=bound, beta=beta)), source=source)
        return tuple(map(int, released))
