"""All mistakes of a policy at once. The loader stops at the first, as whoever asks needs no more; an owner does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dpsql.catalog import rules
from dpsql.catalog.load import misplaced_ledger, parsed, policy_of, written_in
from dpsql.catalog.marks import Mark, marks
from dpsql.catalog.mistakes import Mistake
from dpsql.catalog.model import KeyPath, Policy, Written
from dpsql.catalog.ownership import settled
from dpsql.catalog.sections import Section

_STANDS_IN: Final[Mapping[KeyPath, object]] = {
    ("version",): 1,
    ("source", "url"): "memory:",
    ("promise", "epsilon"): 1,
    ("promise", "delta"): 0,
}
"""What must be there, so that the rest can be read where it is wrong or missing."""
_WAYS: Final = frozenset({"person", "person_via", "unit", "public"})
_COLUMN: Final = 4
"""Parts of ("table", NAME, "columns", COLUMN)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A policy as far as it can be read."""

    policy: Policy | None
    """Without what is wrong; None: nothing can be read."""
    mistakes: tuple[Mistake, ...]
    marks: tuple[Mark, ...]
    written: Written
    source_is_known: bool


def reviewed(text: str, *, name: str, environment: Mapping[str, str] | None = None) -> Reviewed:
    """Everything that is wrong with a text, without an engine; BadPolicy where it is not TOML."""
    data, lines = parsed(text, name)
    reading = _Reading(data=data, environment=os.environ if environment is None else environment)
    policy = reading.policy()
    written = written_in(name, lines)
    wrong = list(reading.found)
    if policy is not None:
        tables, paths = settled(policy.tables)
        policy = replace(policy, tables=tables, written=written)
        wrong += [each for each in (*paths, *rules.mistakes(policy)) if not reading.follows(each)]
        wrong += misplaced_ledger(policy)
    return Reviewed(
        policy=policy,
        mistakes=tuple(wrong),
        marks=marks(text, lines),
        written=replace(written, lines={**written.lines, **lines}),
        source_is_known=("source", "url") not in reading.touched,
    )


@dataclass(slots=True, kw_only=True)
class _Reading:
    """Reads again and again, each time without what was wrong the last time."""

    data: dict[str, Any]
    environment: Mapping[str, str]
    found: list[Mistake] = field(default_factory=list)
    touched: set[KeyPath] = field(default_factory=set)
    """What was taken out, or replaced."""
    grants: list[int] = field(default_factory=list)
    """Of the grants that are left: which of the file they are."""

    def policy(self) -> Policy | None:
        given = self.data.get("grant")
        self.grants = list(range(len(given))) if isinstance(given, list) else []
        while True:
            try:
                policy, waiting = policy_of(Section(data=self.data), self.environment)
            except Mistake as mistake:
                self.found.append(self.placed(mistake))
                if not self.taken_out(mistake.key):
                    return None
            else:
                self.found += waiting
                return policy

    def placed(self, mistake: Mistake) -> Mistake:
        """At its place in the file: grants before it may have been taken out."""
        if mistake.key[:1] != ("grant",) or len(mistake.key) < 2 or not isinstance(mistake.key[1], int):
            return mistake
        key = ("grant", self.grants[mistake.key[1]], *mistake.key[2:])
        return Mistake(mistake.what, why=mistake.why, fix=mistake.fix, key=key)

    def taken_out(self, key: KeyPath) -> bool:
        """The smallest part that can be missed is out; False: nothing can be."""
        part = _part(key)
        if part in self.touched:
            return False
        if part[:1] != ("grant",):
            self.touched.add(part)
        holder: Any = self.data
        for step in part[:-1]:
            holder = holder.setdefault(step, {}) if isinstance(step, str) else holder[step]
            if not isinstance(holder, dict | list):
                return False
        if part in _STANDS_IN:
            holder[str(part[-1])] = _STANDS_IN[part]
            return True
        if part[:1] == ("grant",) and len(part) > 1:
            self.grants.pop(int(part[1]))
        return _deleted(holder, part[-1])

    def follows(self, mistake: Mistake) -> bool:
        """It may be there only because something else was taken out."""
        lost_promise = any(part[:1] == ("promise",) for part in self.touched)
        lost_table = any(part[:1] == ("table",) and len(part) < _COLUMN for part in self.touched)
        of_promise = mistake.key[:1] in (("promise",), ("defaults",), ("grant",))
        of_tables = mistake.key[:1] == ("grant",) or mistake.key[-1:] in (("person_via",), ("person",))
        return (lost_promise and of_promise) or (lost_table and of_tables)


def _part(key: KeyPath) -> KeyPath:
    """What is taken out for a mistake at a key: a column, a grant, a table whose person is wrong, or the key alone."""
    if key[:1] == ("grant",):
        return key[:2]
    if key[:1] == ("table",) and key[2:3] == ("columns",) and len(key) > _COLUMN - 1:
        return key[:_COLUMN]
    if key[:1] == ("table",) and (len(key) < _COLUMN - 1 or key[2] in _WAYS):
        return key[:2]
    return key


def _deleted(holder: dict[str, Any] | list[Any], name: str | int) -> bool:
    if isinstance(holder, list):
        if not isinstance(name, int) or name >= len(holder):
            return False
        holder.pop(name)
        return True
    return isinstance(name, str) and holder.pop(name, holder) is not holder
