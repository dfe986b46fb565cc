"""Who is protected: the neighbour relation and the unit of protection."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dpsql.require import require_count, require_that, require_type, unmet


class Neighbours(Enum):
    """Which two databases must be hard to tell apart. Declared by the owner, never guessed.

    Constants differ between the two by up to a factor of two, so every sensitivity and every price states its own.
    """

    ADD_REMOVE = "add_remove"
    """Unbounded: one has all rows of the other and those of one more unit. The size itself is protected."""

    CHANGE_ONE = "change_one"
    """Bounded: equal size, the rows of one unit replaced. The size is public."""


def require_neighbours(neighbours: object) -> None:
    """The relation is one of the two, stated as such: text or a flag could be misread."""
    require_type(Neighbours, neighbours=neighbours)


class Unit(Enum):
    """What one neighbour has more than the other."""

    PERSON = "person"
    """All rows that hold one key: a person, a device, a company."""

    ROW = "row"
    """One row, whoever it speaks of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """The protected entity: what it is called, the table that lists it, and the column or columns that name it.

    With `Unit.ROW` there are no key columns: each row is its own entity. `group_size` is the largest group (a
    family, a household) for which the owner also wants the promise printed; see `dpsql.privacy.group`.
    """

    entity: str
    table: str
    columns: tuple[str, ...]
    unit: Unit
    group_size: int = 1

    def __post_init__(self) -> None:
        require_name(entity=self.entity, table=self.table)
        require_that(isinstance(self.columns, tuple), "a tuple of names", columns=self.columns)
        require_name(**{f"columns[{index}]": name for index, name in enumerate(self.columns)})
        require_that(len(set(self.columns)) == len(self.columns), "distinct names", columns=self.columns)
        require_type(Unit, unit=self.unit)
        if self.unit is Unit.PERSON and not self.columns:
            raise unmet("Unit.PERSON needs at least one key column")
        if self.unit is Unit.ROW and self.columns:
            raise unmet("Unit.ROW has no key columns")
        require_count(group_size=self.group_size)


def require_name(**named: str) -> None:
    """Each value is a non-empty string."""
    for name, value in named.items():
        if not isinstance(value, str) or not value.strip():
            raise unmet(f"{name}={value!r} must be a non-empty name")
