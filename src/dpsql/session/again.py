"""The way from an answer back to its question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from dpsql.require import Number

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class Better(Protocol[A_co]):
    """Asks a question for another margin, or at another price."""

    def __call__(
        self, *, within: Number | None = None, epsilon: Number | None = None, max_cost: Number | None = None
    ) -> A_co: ...


@dataclass(frozen=True, slots=True)
class Again(Generic[A]):
    """Asks the question of an answer again. An answer that is copied or sent elsewhere does not take it along: it leads
    to the data, or to the server."""

    ask: Better[A]

    def __call__(self, within: Number | None, epsilon: Number | None, max_cost: Number | None) -> A:
        return self.ask(within=within, epsilon=epsilon, max_cost=max_cost)

    def __reduce__(self) -> tuple[object, ...]:
        return (_no_way_back, ())


def _no_way_back() -> None:
    """What is left of it elsewhere."""
