"""The shape every mechanism has: calibrated once, it knows its event and releases values."""

from __future__ import annotations

from typing import Protocol, TypeVar

from dpsql.privacy.events import Event
from dpsql.privacy.exact import Exact
from dpsql.randomness import Source

Input = TypeVar("Input")
Output = TypeVar("Output", covariant=True)


class Mechanism(Protocol[Input, Output]):
    """A frozen value that holds calibrated parameters, never data.

    `event` says what one release costs, in words every accountant knows; whoever calls `release` has charged it.
    """

    @property
    def event(self) -> Event:
        """What one release does to privacy."""
        ...

    def release(self, value: Exact[Input], /, *, source: Source) -> Output:
        """One draw: the only way from an exact value to a number somebody may see."""
        ...
