"""Who is protected: the neighbour relation and the unit of protection."""

from __future__ import annotations

from enum import Enum


class Neighbours(Enum):
    """Which two databases must be hard to tell apart. Declared by the owner, never guessed.

    Constants differ between the two by up to a factor of two, so every sensitivity and every price states its own.
    """

    ADD_REMOVE = "add_remove"
    """Unbounded: one has all rows of the other and those of one more unit. The size itself is protected."""

    CHANGE_ONE = "change_one"
    """Bounded: equal size, the rows of one unit replaced. The size is public."""
