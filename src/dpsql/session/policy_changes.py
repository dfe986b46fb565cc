"""What changed between two policies, in the words of the owner: which declarations, shortly or with their values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from dpsql.session.render import printable

_MOST: Final = 5
_INNER: Final = ("tables", "columns")
"""Words that only say what kind of name follows."""
_WORDS: Final = ("person", "cost_per_query", "confidence")
"""What decides about no answer: words for people, the price of a question, and how wide a margin is shown."""
_NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One declaration, and what it was and is, in words."""

    path: tuple[str, ...]
    before: str
    after: str

    @property
    def name(self) -> str:
        return printable(".".join(word for word in self.path if word not in _INNER))

    @property
    def table(self) -> str | None:
        """The table it is about; None: all of them."""
        return self.path[1] if self.path[0] == "tables" and len(self.path) > 1 else None

    @property
    def decides(self) -> bool:
        """Answers may come out otherwise; a table or column that is new was in no answer so far."""
        return self.path[0] not in _WORDS and not (
            self.before == _NOTHING and self.path[-2:-1] in (("tables",), ("columns",))
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.before} → {self.after}"


def changes(before: str, after: str) -> str:
    """The declarations that differ between two texts of `declarations`, shortly."""
    found = [_short(change) for change in differences(before, after)]
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"{', '.join(found[:_MOST])}{more}"


def _short(change: Change) -> str:
    what = "added" if change.before == _NOTHING else "removed" if change.after == _NOTHING else "changed"
    return f"{change.name} {what}"


def differences(before: str, after: str) -> Iterator[Change]:
    """The declarations that differ between two texts of `declarations`, one by one."""
    return _changed(json.loads(before), json.loads(after), ())


def _changed(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[Change]:
    if before == after:
        return
    if not isinstance(before, dict) or not isinstance(after, dict):
        yield Change(path=path, before=_shown(before), after=_shown(after))
        return
    for word in sorted({*before, *after}):
        yield from _changed(before.get(word), after.get(word), (*path, word))


def _shown(value: Any) -> str:
    """A value of a digest as an owner would write it."""
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_shown(each)}' for key, each in value.items() if each)} }}"
    kind, blank, rest = str(value).partition(" ")
    if not blank or kind not in _KINDS:
        return printable(str(value))
    return _number(rest) if kind == "number" else printable(f'"{rest}"' if kind == "text" else rest.lower())


_KINDS: Final = frozenset({"number", "text", "boolean", "date", "timestamp"})


def _number(written: str) -> str:
    top, _, bottom = written.partition("/")
    return top if bottom == "1" else f"{int(top) / int(bottom):.15g}"
