"""Which margins of an answer hold for all groups of its release at once.

Where released values decide which rows are shown, the shown ones are no longer any rows: the largest of many noisy
numbers is large by its noise too. A margin that holds for all groups holds for those that are shown, however they were
chosen. Theorem: docs/theorems/margins_after_selection.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from dpsql.mechanisms.margins import NoisySlotLaw, SlotLaw
from dpsql.sql.finish import Finish
from dpsql.sql.scalars import Scalar, Windowed, columns_of, walk

_EXTREMES: Final = frozenset({"min", "max"})
"""Window functions whose value is that of a row which noise has helped to choose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionScope:
    """The noisy slots that decide which rows are shown, and how many groups they choose from."""

    deciding: frozenset[int]
    noisy: frozenset[int]
    thresholded: frozenset[int]
    """Slots that are released only above a threshold; they decide too."""
    groups: int

    def shares(self, scalar: Scalar) -> bool:
        """Whether a value carries noise that decides which rows are shown, so that its margin holds for all groups."""
        return not self.deciding.isdisjoint(columns_of(scalar)) or any(
            isinstance(node, Windowed) and node.function in _EXTREMES and not self.noisy.isdisjoint(columns_of(node))
            for node in walk(scalar)
        )

    def groups_of(self, scalar: Scalar) -> int:
        """For how many groups at once the margin of a value holds."""
        return self.groups if self.shares(scalar) else 1


def selection_scope(
    finish: Finish, laws: Mapping[int, SlotLaw], *, keys: Collection[int], groups: int, read_further: bool = False
) -> SelectionScope:
    """The scope of an answer over these noisy slots. `read_further`: another query reads all rows and may choose among
    them by any of their values.

    Theorem   docs/theorems/margins_after_selection.md.
    Requires  `groups` is at least the number of rows of the release; `laws` names every noisy slot of it.
    Rounds    nothing: a slot that may decide counts as deciding.
    """
    thresholded = {number for number, law in laws.items() if isinstance(law, NoisySlotLaw) and law.above is not None}
    deciding = laws.keys() if read_further else finish.deciding(keys, groups=groups) & laws.keys()
    return SelectionScope(
        deciding=frozenset(deciding) | thresholded,
        noisy=frozenset(laws),
        thresholded=frozenset(thresholded),
        groups=max(groups, 1),
    )
