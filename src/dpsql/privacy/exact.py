"""A value computed from private rows, which cannot leave by accident."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar, final

T = TypeVar("T")


@final
class Exact(Generic[T]):
    """Holds an exact value. It does not print, format, compare, hash or pickle it; only a mechanism opens it.

    This stops accidents (a log line, an exception text, a debugger's repr), not somebody who owns the process.
    """

    __slots__ = ("_value",)
    _value: T

    def __init__(self, value: T) -> None:
        if hasattr(self, "_value"):
            raise TypeError("an exact value cannot be changed")
        object.__setattr__(self, "_value", value)

    def open(self) -> T:
        """The value itself. An architecture test allows this call under `mechanisms/` only."""
        return self._value

    def __repr__(self) -> str:
        return "Exact(hidden)"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise TypeError("an exact value cannot be changed")

    def __format__(self, spec: str) -> NoReturn:
        raise TypeError("an exact value cannot be formatted; add noise first")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("an exact value cannot be compared; add noise first")

    def __bool__(self) -> NoReturn:
        raise TypeError("an exact value cannot decide a branch; add noise first")

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> NoReturn:
        raise TypeError("an exact value cannot be pickled")

    def __getstate__(self) -> NoReturn:
        raise TypeError("an exact value cannot be pickled")

    def __copy__(self) -> NoReturn:
        raise TypeError("an exact value cannot be copied")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError("an exact value cannot be copied")
