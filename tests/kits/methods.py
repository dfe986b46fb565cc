"""Short ways to write what a kit asks of those who inherit it."""

from collections.abc import Callable
from typing import Any


def always(make: Callable[[], Any]) -> Any:
    """A method that gives this, made anew each time."""
    return lambda self: make()
