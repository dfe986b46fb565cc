"""The policy file: TOML in, a Policy out, or an error that names file, line and key."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from dpsql.catalog import rules, values
from dpsql.catalog.lines import key_lines
from dpsql.catalog.mistakes import Mistake, line_of
from dpsql.catalog.model import (
    Defaults,
    Grant,
    KeyPath,
    Mode,
    Noise,
    Person,
    Policy,
    Promise,
    TablePolicy,
    Written,
)
from dpsql.catalog.names import folded, listed
from dpsql.catalog.ownership import settled
from dpsql.catalog.sections import Section
from dpsql.catalog.tables import COLUMN_KEYS, TABLE_KEYS, table_of
from dpsql.errors import BadPolicy
from dpsql.privacy.unit import Neighbours

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("version", "source", "person", "promise", "defaults", "table", "grant"),
    "source": ("url", "ledger", "ledger_file", "data_version", "timeout"),
    "person": ("name", "label", "relation", "group_size"),
    "promise": ("epsilon", "delta", "delta_prime", "per", "across"),
    "defaults": (
        "cost_per_query",
        "confidence",
        "selection_share",
        "delta_per_query",
        "max_keys",
        "mode",
        "noise",
    ),
    "table": TABLE_KEYS,
    "column": COLUMN_KEYS,
    "grant": ("to", "tables", "budget", "max_per_query", "expires"),
}
"""Every key there is, by the kind of its section. Anything else is an error."""

_VARIABLE: Final = re.compile(r"\$\{(\w*)\}?")
_AT_LINE: Final = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")
_SAID_ANYWAY: Final[Mapping[str, tuple[str, str]]] = {
    "per": ("forever", "what was told once is known for ever, so nothing of it is given back as time goes by"),
    "across": ("all analysts", "analysts may pool what they learn, so they share one ceiling"),
}
"""Keys of a promise that say what holds anyway: for those who read and sign it."""
_BY_OWNER: Final = "what is promised to people is decided by the owner of the data, never by default"


def load(path: Path | str, *, environment: Mapping[str, str] | None = None) -> Policy:
    """The policy in a file. `environment` fills ${NAME} in source.url; the process's own unless given."""
    name = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadPolicy(
            f"{name}: the policy cannot be read: {reason}",
            why="without a policy nobody knows whom to protect, so nothing can be queried",
            fix="check the path, or write a policy with dpsql init",
        ) from None
    return loads(text, name=name, environment=environment)


def loads(text: str, *, name: str, environment: Mapping[str, str] | None = None) -> Policy:
    """The policy in a text; `name` stands for the file in messages."""
    data, lines = _parsed(text, name)
    written = Written(file=name, lines=_by_folded_names(lines))
    try:
        policy, unconfirmed = _policy(Section(data=data), os.environ if environment is None else environment)
    except Mistake as mistake:  # its key is spelled as in the file
        raise mistake.as_error(Written(file=name, lines={**written.lines, **lines})) from None
    tables, wrong = settled(policy.tables)
    policy = replace(policy, tables=tables, written=written)
    found = [*wrong, *rules.mistakes(policy), *unconfirmed]
    if found:
        raise min(found, key=lambda mistake: line_of(mistake.key, written)).as_error(written)
    return policy


def _parsed(text: str, name: str) -> tuple[dict[str, object], dict[KeyPath, int]]:
    try:
        return tomllib.loads(text, parse_float=values.exact_decimal), key_lines(text)
    except RecursionError:
        reason, line = "nested too deeply", 1
    except ValueError as error:
        match = _AT_LINE.search(str(error))
        reason = str(error)[: match.start()] if match else "a number has too many digits"
        line = int(match["line"]) if match and match["line"] else text.count("\n") + 1 if match else 1
    raise BadPolicy(
        f"{name}:{line}: not TOML: {reason}",
        why="a file that is half understood could leave out what protects somebody",
        fix="correct the line; text stands in quotes, lists in [ ], a section starts with [name]",
    ) from None


def _by_folded_names(lines: Mapping[KeyPath, int]) -> dict[KeyPath, int]:
    found: dict[KeyPath, int] = {}
    for key, line in lines.items():
        found.setdefault(tuple(folded(part) if isinstance(part, str) else part for part in key), line)
    return found


def _policy(top: Section, environment: Mapping[str, str]) -> tuple[Policy, tuple[Mistake, ...]]:
    """The policy as written, and what still waits to be confirmed."""
    top.only(KEYS[""])
    top.required("version", _version, why="the meaning of keys may change between versions", fix="write version = 1")
    source = top.section("source").only(KEYS["source"])
    tables: dict[str, TablePolicy] = {}
    waiting: list[str] = []
    for name, written, section in top.section("table").named():
        tables[name] = table_of(name, section, source=written)
        if not section.optional("confirmed", values.flag, True):
            waiting.append(name)
    policy = Policy(
        source=source.required(
            "url",
            lambda value: _url(value, environment),
            why="it says where the data are",
            fix='write url = "duckdb:///…"',
        ),
        ledger=source.optional("ledger", values.text, None),
        ledger_file=source.optional("ledger_file", values.text, None),
        data_version=source.optional("data_version", values.text, None),
        timeout=source.optional("timeout", values.seconds, None),
        person=_person(top.section("person").only(KEYS["person"])),
        promise=_promise(top.section("promise").only(KEYS["promise"])) if "promise" in top.data else None,
        defaults=_defaults(top.section("defaults").only(KEYS["defaults"])),
        tables=tables,
        grants=tuple(_grant(section.only(KEYS["grant"])) for section in top.sections("grant")),
    )
    return policy, _unconfirmed(waiting)


def _unconfirmed(tables: list[str]) -> tuple[Mistake, ...]:
    if not tables:
        return ()
    return (
        Mistake(
            f"not confirmed yet: {listed(tables)}",
            why="what was suggested from names and types may be wrong; the owner decides who is protected",
            fix="read each suggestion, then write confirmed = true or leave the key out",
            key=("table", tables[0], "confirmed"),
        ),
    )


def _version(value: object) -> int:
    if isinstance(value, bool) or value != 1:
        raise Mistake(
            "this dpsql reads version 1", why="the meaning of keys may change between versions", fix="write version = 1"
        )
    return 1


def _url(value: object, environment: Mapping[str, str]) -> str:
    """The address, with ${NAME} filled in. Messages name variables, never their values."""

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        if not name or not match[0].endswith("}"):
            raise Mistake("${ without a name and }", why="a secret is meant to stand here", fix='write "${PGURL}"')
        if name not in environment:
            raise Mistake(
                f"the environment has no variable {name}",
                why="secrets stand in the environment, not in the file",
                fix=f"set {name} before dpsql starts",
            )
        return environment[name]

    return values.text(_VARIABLE.sub(filled, values.text(value)))


def _person(section: Section) -> Person:
    return Person(
        name=section.optional("name", values.text, "person"),
        label=section.optional("label", values.text, ""),
        relation=section.optional(
            "relation",
            values.member_of(Neighbours, why="noise differs between the two by up to a factor of two"),
            Neighbours.ADD_REMOVE,
        ),
        group_size=section.optional("group_size", values.count, 1),
    )


def _promise(section: Section) -> Promise:
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


def _defaults(section: Section) -> Defaults:
    return Defaults(
        cost_per_query=section.optional("cost_per_query", values.share, None),
        confidence=section.optional("confidence", values.share, Fraction(19, 20)),
        selection_share=section.optional("selection_share", values.share, None),
        delta_per_query=section.optional("delta_per_query", values.share, None),
        max_keys=section.optional("max_keys", values.count, None),
        mode=section.optional(
            "mode", values.member_of(Mode, why="it says how people in many groups are bounded"), None
        ),
        noise=section.optional("noise", values.member_of(Noise, why="each kind of noise has its own price"), None),
    )


def _grant(section: Section) -> Grant:
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
