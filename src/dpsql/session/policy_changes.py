"""What changed between two policies, in the words of the owner: which declarations, not to what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

_MOST: Final = 5
_INNER: Final = ("tables", "columns")
"""Words that only say what kind of name follows."""


def changes(before: str, after: str) -> str:
    """The declarations that differ between two texts of `declarations`, shortly."""
    found = list(_changed(json.loads(before), json.loads(after), ()))
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"{', '.join(found[:_MOST])}{more}"


def _changed(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[str]:
    if before == after:
        return
    name = ".".join(word for word in path if word not in _INNER)
    if not isinstance(before, dict) or not isinstance(after, dict):
        yield f"{name} {'added' if before is None else 'removed' if after is None else 'changed'}"
        return
    for word in sorted({*before, *after}):
        yield from _changed(before.get(word), after.get(word), (*path, word))
