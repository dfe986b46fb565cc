"""Who is protected, the promise, defaults and grants: read by one reader, whether written in TOML or said in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from dpsql.catalog import rules, values
from dpsql.catalog.mistakes import Mistake
from dpsql.catalog.model import Defaults, Grant, Mode, Noise, Person, Policy, Promise
from dpsql.catalog.sections import Section
from dpsql.privacy.unit import Neighbours

T = TypeVar("T")

PERSON_KEYS: Final = ("name", "label", "relation", "group_size")
PROMISE_KEYS: Final = ("epsilon", "delta", "delta_prime", "per", "across")
DEFAULTS_KEYS: Final = (
    "cost_per_query",
    "confidence",
    "selection_share",
    "delta_per_query",
    "max_keys",
    "mode",
    "noise",
)
GRANT_KEYS: Final = ("to", "tables", "budget", "max_per_query", "expires")

_SAID_ANYWAY: Final[Mapping[str, tuple[str, str]]] = {
    "per": ("forever", "what was told once is known for ever, so nothing of it is given back as time goes by"),
    "across": ("all analysts", "analysts may pool what they learn, so they share one ceiling"),
}
"""Keys of a promise that say what holds anyway: for those who read and sign it."""
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
    """[promise]; δ' is half of δ unless it is said."""
    section.only(PROMISE_KEYS)
    epsilon = section.required(
        "epsilon", values.share, why=_BY_OWNER, fix="write epsilon = 5.0, or what you can answer for"
    )
    delta = section.required("delta", values.share, why=_BY_OWNER, fix="write delta = 1e-6, or 0 for a pure promise")
    for name, (word, why) in _SAID_ANYWAY.items():
        section.optional(name, values.one_of((word,), why=why), word)
    return Promise(
        epsilon=epsilon,
        delta=delta,
        delta_prime=section.optional("delta_prime", values.share, delta / 2),
    )


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
            "to", values.text, why="a grant is a limit of one analyst", fix='write to = "ana@example.org"'
        ),
        budget=section.required(
            "budget", values.share, why=_BY_OWNER, fix="write budget = 1.0, at most promise.epsilon"
        ),
        max_per_query=section.optional("max_per_query", values.share, None),
        tables=section.optional("tables", values.names, None),
        expires=section.optional("expires", values.day, None),
    )


def said(name: str, words: Mapping[str, object], read: Callable[[Section], T]) -> T:
    """What was said in Python, read as the section `name` of a file would be; None is not said. BadPolicy if wrong."""
    given = {word: value for word, value in words.items() if value is not None}
    try:
        return read(Section(data=given, key=(name,)))
    except Mistake as mistake:
        raise mistake.as_error(None) from None


def granted(words: Mapping[str, object], policy: Policy) -> Grant:
    """A grant said in Python under a policy with a promise, held to the rules of the file. BadPolicy if wrong."""
    tables = words.get("tables")
    if isinstance(tables, Iterable) and not isinstance(tables, str):
        words = {**words, "tables": list(tables)}
    grant = said("grant", words, grant_of)
    for mistake in rules.grant_mistakes(grant, policy):
        raise mistake.under("grant").as_error(None)
    return grant
