"""A section of the policy while it is read: every key known, every value of its type, every mistake with its key.

Who is protected, the promise, defaults and grants: read by one reader, whether written in TOML or said in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeGuard, TypeVar

from dpsql.catalog import rules, values
from dpsql.catalog.model import Defaults, Grant, KeyPath, Mode, Noise, Person, Policy, Promise
from dpsql.catalog.names import Mistake, did_you_mean, folded, listed
from dpsql.catalog.values import kind_of
from dpsql.privacy.unit import Neighbours
from dpsql.privacy.window import Window

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


PERSON_KEYS: Final = ("name", "label", "relation", "group_size")
PROMISE_KEYS: Final = ("epsilon", "delta", "delta_prime", "per", "across", "accounting")
DEFAULTS_KEYS: Final = (
    "cost_per_query",
    "confidence",
    "selection_share",
    "delta_per_query",
    "max_keys",
    "mode",
    "noise",
)
GRANT_KEYS: Final = ("to", "tables", "budget", "max_per_query", "expires", "sees_releases")

BASIC: Final = "basic"
_window: Final = values.member_of(
    Window, why="it says when the owner may renew the promise; nothing is given back by itself"
)
_across: Final = values.one_of(("all analysts",), why="analysts may pool what they learn, so they share one ceiling")
_accounting: Final = values.one_of(
    ("full", BASIC), why='"basic" adds up ε alone; "full" also counts in ρ, and keeps a part of δ back for that'
)
_BY_OWNER: Final = "what is promised to people is decided by the owner of the data, never by default"


def person_of(section: Section, now: Person | None = None) -> Person:
    """[person]; what is not said stays as it is `now`."""
    section.only(PERSON_KEYS)
    now = now or Person()
    return Person(
        name=section.optional("name", values.text, now.name),
        label=section.optional("label", values.text, now.label),
        relation=section.optional(
            "relation",
            values.member_of(Neighbours, why="noise differs between the two by up to a factor of two"),
            now.relation,
        ),
        group_size=section.optional("group_size", values.count, now.group_size),
    )


def promise_of(section: Section) -> Promise:
    """[promise]; δ' is half of δ unless it is said, and none of it where only ε is added up."""
    section.only(PROMISE_KEYS)
    epsilon = section.required(
        "epsilon", values.share, why=_BY_OWNER, fix="write epsilon = 5.0, or what you can answer for"
    )
    delta = section.required("delta", values.share, why=_BY_OWNER, fix="write delta = 1e-6, or 0 for a pure promise")
    section.optional("across", _across, "all analysts")
    basic = section.optional("accounting", _accounting, "full") == BASIC
    kept = section.optional("delta_prime", values.share, Fraction(0) if basic else delta / 2)
    if basic and kept:
        raise Mistake(
            'contradicts accounting = "basic"',
            why="δ' is kept back to count in ρ, and a basic account does not",
            fix="leave out delta_prime, or accounting",
            key=(*section.key, "delta_prime"),
        )
    return Promise(epsilon=epsilon, delta=delta, delta_prime=kept, per=section.optional("per", _window, Window.FOREVER))


def defaults_of(section: Section, now: Defaults | None = None) -> Defaults:
    """[defaults]; what is not said stays as it is `now`."""
    section.only(DEFAULTS_KEYS)
    now = now or Defaults()
    return Defaults(
        cost_per_query=section.optional("cost_per_query", values.share, now.cost_per_query),
        confidence=section.optional("confidence", values.share, now.confidence),
        selection_share=section.optional("selection_share", values.share, now.selection_share),
        delta_per_query=section.optional("delta_per_query", values.share, now.delta_per_query),
        max_keys=section.optional("max_keys", values.count, now.max_keys),
        mode=section.optional(
            "mode", values.member_of(Mode, why="it says how people in many groups are bounded"), now.mode
        ),
        noise=section.optional("noise", values.member_of(Noise, why="each kind of noise has its own price"), now.noise),
    )


def grant_of(section: Section) -> Grant:
    """One [[grant]]."""
    section.only(GRANT_KEYS)
    return Grant(
        to=section.required(
            "to", values.holder, why="a grant is a limit of somebody", fix='write to = "ana@example.org"'
        ),
        budget=section.required(
            "budget", values.share, why=_BY_OWNER, fix="write budget = 1.0, at most promise.epsilon"
        ),
        max_per_query=section.optional("max_per_query", values.share, None),
        tables=section.optional("tables", values.names, None),
        expires=section.optional("expires", values.day, None),
        sees_releases=section.optional("sees_releases", values.flag, False),
    )


def said(name: str, words: Mapping[str, object], read: Callable[[Section], T]) -> T:
    """What was said in Python, read as the section `name` of a file would be; None is not said. BadPolicy if wrong."""
    given = {word: value for word, value in words.items() if value is not None}
    try:
        return read(Section(data=given, key=(name,)))
    except Mistake as mistake:
        raise mistake.as_error(None) from None


def _is_several(said: object) -> TypeGuard[Iterable[object]]:
    return isinstance(said, Iterable) and not isinstance(said, str)


def granted(words: Mapping[str, object], policy: Policy) -> Grant:
    """A grant said in Python under a policy with a promise, held to the rules of the file. BadPolicy if wrong."""
    tables = words.get("tables")
    grant = said("grant", {**words, "tables": list(tables)} if _is_several(tables) else words, grant_of)
    for mistake in rules.grant_mistakes(grant, policy):
        raise mistake.under("grant").as_error(None)
    return grant
