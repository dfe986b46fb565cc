"""Words that vectors use for things the library has types for."""

from __future__ import annotations

from dpsql.errors import BadParameter
from dpsql.privacy.unit import Neighbours


def relation(words: str) -> Neighbours:
    """The neighbour relation that words such as "change_one", "change one row of one table" or "add-remove" name."""
    text = words.lower().replace("_", " ").replace("-", " ")
    if text.startswith(("add", "remove", "unbounded")):
        return Neighbours.ADD_REMOVE
    if text.startswith(("change", "replace", "bounded")):
        return Neighbours.CHANGE_ONE
    raise BadParameter(
        f"neighbours={words!r} names no relation", why="sensitivity depends on it", fix="use add_remove or change_one"
    )
