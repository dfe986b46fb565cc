"""A section of the policy while it is read: every key known, every value of its type, every mistake with its key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from dpsql.catalog.mistakes import Mistake
from dpsql.catalog.model import KeyPath
from dpsql.catalog.names import did_you_mean, folded, listed
from dpsql.catalog.values import kind_of

T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A mapping from the file, or built from Python arguments, and its place."""

    data: Mapping[str, object]
    key: KeyPath = ()

    def only(self, known: tuple[str, ...]) -> Section:
        """The same section; a Mistake where it holds any other key."""
        for name in self.data:
            if name not in known:
                raise Mistake(
                    f"unknown key{did_you_mean(name, known)}",
                    why="a key that is not understood could be the one that protects somebody",
                    fix=f"known here: {listed(known)}",
                    key=(*self.key, name),
                )
        return self

    def optional(self, name: str, read: Callable[[object], T], default: D) -> T | D:
        """The value of a key, read; `default` where the key is missing."""
        if name not in self.data:
            return default
        try:
            return read(self.data[name])
        except Mistake as mistake:
            raise mistake.under(*self.key, name) from None

    def required(self, name: str, read: Callable[[object], T], *, why: str, fix: str) -> T:
        """The value of a key that must be there."""
        if name not in self.data:
            raise Mistake("is missing", why=why, fix=fix, key=(*self.key, name))
        try:
            return read(self.data[name])
        except Mistake as mistake:
            raise mistake.under(*self.key, name) from None

    def section(self, name: str) -> Section:
        """A section inside this one; empty where it is missing."""
        return _section(self.data.get(name, {}), (*self.key, name))

    def sections(self, name: str) -> Iterator[Section]:
        """The elements of [[name]], in the order of the file."""
        found = self.data.get(name, [])
        if not isinstance(found, list):
            raise Mistake(
                f"is {kind_of(found)}, not a list of sections",
                why="there may be several",
                fix=f"write [[{name}]] with two brackets for each of them",
                key=(*self.key, name),
            )
        for index, element in enumerate(found):
            yield _section(element, (*self.key, name, index))

    def named(self) -> Iterator[tuple[str, str, Section]]:
        """(folded name, name as written, section) for each key; two that are the same once folded are refused."""
        seen: dict[str, str] = {}
        for name in self.data:
            other = seen.setdefault(folded(name), name)
            if other != name:
                raise Mistake(
                    f"the same name as {other}: upper and lower case do not differ",
                    why="a query could mean either, and one of them may protect less",
                    fix="declare it once",
                    key=(*self.key, name),
                )
            if not name.strip() or "\0" in name:
                raise Mistake("an empty name", why="it cannot be asked for", fix="name it", key=(*self.key, name))
            yield folded(name), name, self.section(name)


def _section(found: object, key: KeyPath) -> Section:
    if not isinstance(found, dict):
        raise Mistake(
            f"is {kind_of(found)}, not a section",
            why="what is known about it stands in keys of its own",
            fix=f"write {{ … }} or a section [{'.'.join(str(part) for part in key if isinstance(part, str))}]",
            key=key,
        )
    return Section(data=found, key=key)
