"""The shape every mechanism has: calibrated once, it knows its event and releases values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from dpsql.errors import BadParameter
from dpsql.privacy.events import Event
from dpsql.privacy.exact import Exact
from dpsql.randomness import Source

T = TypeVar("T")
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


def opened(value: Exact[T], /) -> T:
    """The value inside; every release opens its argument here, so that a naked one is refused and not shown."""
    require_exact(value)
    return value.open()


def require_exact(value: object) -> None:
    """A value that travels wrapped."""
    if not isinstance(value, Exact):
        raise BadParameter(
            f"a release takes an Exact; this value is of type {type(value).__name__}",
            why="exact values travel wrapped, so that no log line, message or debugger can print them",
            fix="wrap it: Exact(value), with from dpsql.privacy.exact import Exact",
        )


def execute(
    mechanism: Mechanism[Input, Output], value: Exact[Input], *, charge: Callable[[Event], object], source: Source
) -> Output:
    """One release, paid first: `charge` gets the event and raises if it cannot be paid; then, and only then, one draw.

    Requires  a `charge` that either records the whole event or raises. One that returns a value, as an account
              does that is itself a value, has recorded nothing: that is refused, and nothing is released.
    """
    require_exact(value)  # before anything is paid
    if charge(mechanism.event) is not None:
        raise BadParameter(
            "charge returned a value instead of recording the event",
            why="the value would be thrown away and the release would be free, again and again",
            fix="keep it yourself, then release: account = account.charged(mechanism.event)",
        )
    return mechanism.release(value, source=source)
