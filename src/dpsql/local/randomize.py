"""At the source: a column is perturbed value by value before anybody collects it.

In the local model there is no curator to trust: what leaves a person's device is already private. Neighbours are
two values of the same person, so one report costs the ε of its response, and a person who reports several values
pays for each of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

from dpsql.mechanisms.randomized_response import KaryResponse, RandomizedResponse
from dpsql.privacy.exact import Exact
from dpsql.randomness import Source

Category = TypeVar("Category", bound=Hashable)


def randomize_bits(bits: Iterable[int], *, response: RandomizedResponse, source: Source) -> list[int]:
    """Each bit perturbed on its own; one report per person, in the order given.

    Theorem   Warner (1965): each report is ε-DP in its own bit, with the ε of `response`.
    Requires  one value per person. A value that is no bit counts as the nearer one, no number as 0.
    Rounds    nothing: the coins are exact.
    """
    return [response.release(Exact(bit), source=source) for bit in bits]


def randomize_categories(
    values: Iterable[Category], *, response: KaryResponse[Category], source: Source
) -> list[Category]:
    """Each category perturbed on its own; one report per person, in the order given.

    Theorem   Kairouz, Bonawitz, Ramage (2016): each report is ε-DP in its own value.
    Requires  one value per person. Whoever holds no listed category reports a uniform one.
    Rounds    nothing: the coins are exact.
    """
    return [response.release(Exact(value), source=source) for value in values]
