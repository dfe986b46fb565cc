"""Releases planned together: priced once, by a theorem that needs all parameters in advance, and charged as one."""

from __future__ import annotations

from collections.abc import Iterable

from dpsql.accounting.registry import accountant
from dpsql.accounting.triple import triple
from dpsql.privacy.events import Composed, Event, PlannedBatch
from dpsql.privacy.rounding import exact
from dpsql.require import Number


def planned_batch(events: Iterable[Event], *, delta: Number, by: str) -> PlannedBatch:
    """The releases as one event, at the ε that the accountant called `by` proves for them at δ.

    Theorem   the accountant's own; then docs/theorems/event_triples.md for what the account charges.
    Requires  parameters all fixed before the first answer; δ at least the sum of the δ of the releases.
    Rounds    ε up.
    """
    planned = Composed(tuple(events))
    price = accountant(by).price(planned, delta=delta)
    batch = PlannedBatch(epsilon=exact(price), delta=exact(delta), events=planned.events)
    triple(batch)  # refuses a δ below that of the releases, here rather than when it is charged
    return batch
