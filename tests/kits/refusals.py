"""The error of a call that must fail, in one line."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

import pytest

Error = TypeVar("Error", bound=BaseException)
Value = TypeVar("Value")


def raised(
    kind: type[Error] | tuple[type[Error], ...], call: Callable[[], object], *, match: str | None = None
) -> Error:
    """What `call` raises, which is a `kind` that says `match`."""
    with pytest.raises(kind, match=match) as caught:
        call()
    return caught.value


def each_raises(
    kind: type[Error] | tuple[type[Error], ...],
    call: Callable[[Value], object],
    values: Iterable[Value],
    *,
    match: str | None = None,
) -> None:
    """`call` raises a `kind` for every one of the values."""
    for value in values:
        raised(kind, partial(call, value), match=match)
