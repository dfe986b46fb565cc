"""What is closed at the end of its `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """`with` gives it out, and closes it however the block ends."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failed: object) -> None:
        self.close()
