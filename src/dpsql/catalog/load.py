"""The policy file: TOML in, a Policy out, or an error that names file, line and key."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from dpsql.catalog import rules, sections, values
from dpsql.catalog.lines import key_lines, marks, unconfirmed
from dpsql.catalog.model import KeyPath, Policy, TablePolicy, Written
from dpsql.catalog.names import Mistake, folded, line_of, listed
from dpsql.catalog.ownership import settled
from dpsql.catalog.sections import Section
from dpsql.catalog.tables import COLUMN_KEYS, TABLE_KEYS, table_of
from dpsql.errors import BadPolicy

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("version", "source", "person", "promise", "defaults", "table", "grant"),
    "source": (
        "url",
        "ledger",
        "ledger_file",
        "ledger_url",
        "ledger_key",
        "data_version",
        "timeout",
        "memory_limit",
        "threads",
    ),
    "person": sections.PERSON_KEYS,
    "promise": sections.PROMISE_KEYS,
    "defaults": sections.DEFAULTS_KEYS,
    "table": TABLE_KEYS,
    "column": COLUMN_KEYS,
    "grant": sections.GRANT_KEYS,
}
"""Every key there is, by the kind of its section. Anything else is an error."""

_VARIABLE: Final = re.compile(r"\$\{(\w*)\}?")
_AT_LINE: Final = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


def load(path: Path | str, *, environment: Mapping[str, str] | None = None) -> Policy:
    """The policy in a file. `environment` fills ${NAME} in addresses; the process's own unless given."""
    return loads(text_of(path), name=str(path), environment=environment)


def text_of(path: Path | str) -> str:
    """The text of a policy file."""
    name = str(path)
    begin = "to begin one for a database: dpsql init duckdb://FILE"
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeError:
        raise _unread(name, "it is not UTF-8 text", f"save it as UTF-8: iconv -f LATIN1 -t UTF-8 {name}") from None
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        reason = error.strerror if isinstance(error, OSError) else "it is no path"
        raise _unread(name, reason, f"check the path{f'; {begin}' * missing}") from None
    if not text.strip():
        raise _unread(name, "it is empty", begin)
    return text


def _unread(name: str, reason: str | None, fix: str) -> BadPolicy:
    return BadPolicy(
        f"{name}: the policy cannot be read: {reason}",
        why="it says whom to protect, and without it nothing can be queried",
        fix=f"{fix}; docs/reference/policy.md has a complete example",
    )


def loads(text: str, *, name: str, environment: Mapping[str, str] | None = None) -> Policy:
    """The policy in a text; `name` stands for the file in messages."""
    data, lines = parsed(text, name)
    written = written_in(name, lines)
    try:
        policy, waiting = policy_of(Section(data=data), os.environ if environment is None else environment)
    except Mistake as mistake:  # its key is spelled as in the file
        raise mistake.as_error(Written(file=name, lines={**written.lines, **lines})) from None
    tables, wrong = settled(policy.tables)
    policy = replace(policy, tables=tables, written=written)
    found = [*wrong, *rules.mistakes(policy), *misplaced_ledger(policy), *waiting, *unconfirmed(marks(text, lines))]
    if found:
        raise min(found, key=lambda mistake: line_of(mistake.key, written)).as_error(written)
    return policy


def parsed(text: str, name: str) -> tuple[dict[str, object], dict[KeyPath, int]]:
    """What a text says, and the line of each key; BadPolicy where it is not TOML."""
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


def written_in(name: str, lines: Mapping[KeyPath, int]) -> Written:
    """Where a policy stands, for messages."""
    return Written(file=name, lines=_by_folded_names(lines))


def _by_folded_names(lines: Mapping[KeyPath, int]) -> dict[KeyPath, int]:
    found: dict[KeyPath, int] = {}
    for key, line in lines.items():
        found.setdefault(tuple(folded(part) if isinstance(part, str) else part for part in key), line)
    return found


def policy_of(top: Section, environment: Mapping[str, str]) -> tuple[Policy, tuple[Mistake, ...]]:
    """The policy as written, and what still waits to be confirmed; a Mistake at the first thing that is wrong."""
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
        ledger_url=source.optional("ledger_url", lambda value: _url(value, environment), None),
        ledger_key=source.optional("ledger_key", values.text, None),
        data_version=source.optional("data_version", values.text, None),
        timeout=source.optional("timeout", values.seconds, None),
        memory_limit=source.optional("memory_limit", values.memory, None),
        threads=source.optional("threads", values.threads, None),
        person=sections.person_of(top.section("person")),
        promise=sections.promise_of(top.section("promise")) if "promise" in top.data else None,
        defaults=sections.defaults_of(top.section("defaults")),
        tables=tables,
        grants=tuple(map(sections.grant_of, top.sections("grant"))),
    )
    return policy, _waiting(waiting)


def misplaced_ledger(policy: Policy) -> tuple[Mistake, ...]:
    """A ledger is a file, or has an address and a key."""
    if policy.ledger_url is None and policy.ledger_key is None:
        return ()
    if policy.ledger_url is not None and policy.ledger_key is not None and policy.ledger_file is None:
        return ()
    return (
        Mistake(
            "ledger_url and ledger_key belong together, without ledger_file",
            why="a ledger in PostgreSQL has an address, and a key that each machine keeps in a file of its own",
            fix='write ledger_url = "${LEDGER_URL}" and ledger_key = "clinic.ledger.key"',
            key=("source", "ledger_url" if policy.ledger_url is not None else "ledger_key"),
        ),
    )


def _waiting(tables: list[str]) -> tuple[Mistake, ...]:
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
