"""What a file of another system says about one table, as lines of a policy with the place each comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dpsql.suggest.proposal import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTable:
    """Names of columns are folded."""

    names: tuple[str, ...]
    """How it may be called in the source, the most exact name first; none: the file does not say."""
    place: str
    """As in smartnoise.yaml:3."""
    person: tuple[str, ...] = ()
    person_place: str = ""
    unit_row: bool = False
    lines: Mapping[str, Line] = field(default_factory=dict)
    """By key: caps and the like."""
    columns: Mapping[str, Line] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    """What does not carry over."""

    @property
    def name(self) -> str:
        return self.names[0] if self.names else "without a name"
