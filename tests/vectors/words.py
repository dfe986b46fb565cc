"""Words and numbers of the vectors, as the library's types."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpsql.privacy.rounding import exact
from dpsql.privacy.unit import Neighbours

Outputs = Mapping[str, Any]
Reading = Callable[..., Outputs]
Readings = Mapping[str, Sequence[Reading]]
"""Topic -> readings. The parameters of a reading are the names of the inputs it understands."""

ADD_REMOVE, CHANGE_ONE = Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE


def relation(words: str) -> Neighbours:
    """The neighbour relation that words such as "change_one", "change one row of one table" or "add-remove" name."""
    text = words.lower()
    if text.startswith(("add", "remove", "unbounded")):
        return ADD_REMOVE
    if text.startswith(("change", "replace", "bounded")):
        return CHANGE_ONE
    raise ValueError(f"neighbours={words!r} names no relation")


def written(number: float) -> Fraction:
    """The decimal a human wrote in the file: 0.1 is one tenth, not the nearest binary fraction."""
    return Fraction(repr(number))


def whole(number: float) -> int:
    """Orders of closed forms and sensitivities of discrete noise are whole numbers."""
    if exact(number).denominator != 1:
        raise ValueError(f"{number!r} must be a whole number")
    return int(number)


def taken(found: object, **attributes: str) -> Outputs:
    """Outputs by name, each the attribute of `found` that the name is given."""
    return {name: getattr(found, attribute) for name, attribute in attributes.items()}
