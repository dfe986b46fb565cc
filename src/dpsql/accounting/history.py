"""A history as a flat row of releases."""

from __future__ import annotations

from typing import Final

from dpsql.errors import BadParameter
from dpsql.privacy.events import Composed, Event
from dpsql.require import unmet

LONGEST_HISTORY: Final = 1_000_000


def require_event(event: object) -> None:
    """What is to be priced is one event."""
    if not isinstance(event, Event):
        raise BadParameter(
            f"a {type(event).__name__} stands where an event belongs",
            why="a history is one event; several releases are one event too, once they are composed",
            fix="pass Composed(tuple of events), from dpsql.privacy.events",
        )


def releases(event: Event) -> list[Event]:
    """The releases inside nested compositions, in order.

    Compositions may share parts and nest deeply; a million releases is the limit, so that none of that hangs.
    """
    require_event(event)
    if not isinstance(event, Composed):
        return [event]
    found: list[Event] = []
    waiting: list[Event] = [event]
    seen = 0
    while waiting:
        part = waiting.pop()
        seen += 1
        if seen > LONGEST_HISTORY:
            raise unmet(f"the history holds more than {LONGEST_HISTORY} releases")
        if isinstance(part, Composed):
            waiting.extend(reversed(part.events))
        else:
            found.append(part)
    return found
