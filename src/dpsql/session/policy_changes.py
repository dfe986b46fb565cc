"""What is declared, a line each, and the lines in which two policies differ; when that changed, from the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import unified_diff
from fractions import Fraction
from typing import Any, Final

from dpsql.catalog.key_lists import value_of_text
from dpsql.catalog.spelling import toml
from dpsql.ledger.facts import Adopted, Entry
from dpsql.require import shown
from dpsql.safe_text import printable
from dpsql.session.entry_rows import FILE, deed, moment_of

_MOST: Final = 5
_WORDS: Final = ("person", "cost_per_query", "confidence")
"""What decides about no answer: words for people, the price of a question, and how wide a margin is shown."""


def changed_lines(before: str, after: str) -> list[str]:
    """The lines that differ between two texts of `declarations`: - what was, + what is."""
    compared = unified_diff(_lines(before), _lines(after), n=0, lineterm="")
    return [line for line in compared if line[:2] not in ("--", "++", "@@")]


def names_of(lines: Iterable[str]) -> str:
    """The declarations of changed lines by their names, the first few."""
    found = list(dict.fromkeys(line[1:].partition(" = ")[0] for line in lines))
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"{', '.join(found[:_MOST])}{more}"


def changed_tables(before: str, after: str) -> set[str | None]:
    """The tables whose answers may come out otherwise; None among them stands for all. A table or column that is new
    was in no answer so far."""
    was, now = json.loads(before), json.loads(after)
    tables: Mapping[str, Any] = now.pop("tables")
    found: set[str | None] = {name for name, table in was.pop("tables").items() if _differs(table, tables.get(name))}
    general = {*was, *now}.difference(_WORDS)
    return found | {None} if any(was.get(name) != now.get(name) for name in general) else found


def _differs(was: Mapping[str, Any], now: Mapping[str, Any] | None) -> bool:
    if now is None:
        return True
    kept = {name: column for name, column in now["columns"].items() if name in was["columns"]}
    return was != {**now, "columns": kept}


def _lines(text: str) -> list[str]:
    said = _said(json.loads(text), ())
    return [f"{printable('.'.join(path))} = {printable(_spelled(value))}" for path, value in said]


def _said(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What is declared, by its name; what is left out in a policy file is left out here."""
    if isinstance(value, dict):
        for word, each in sorted(value.items()):
            yield from _said(each, (*path, word))
    elif value is not None and value is not False:
        yield path, value


def _spelled(value: Any) -> str:
    """A value as an owner would write it."""
    if isinstance(value, list):
        return f"[{', '.join(map(_spelled, value))}]"
    if isinstance(value, str) and " " in value:
        with suppress(LookupError, ValueError):  # a word of the policy
            value = value_of_text(value)
    if value is None:
        return "null"
    return shown(value) if isinstance(value, Fraction) else toml(value)


_TOLD: Final = ("promise", "data", "grant", "revoke", "renewal", "close")


def policy_history(entries: Iterable[Entry]) -> Iterator[str]:
    """A line for each change, the oldest first: time (UTC), by whose word, what."""
    before: str | None = None
    for entry in entries:
        fact, decided = entry.fact, deed(entry)
        if isinstance(fact, Adopted):
            told = ["the first version"] if before is None else changed_lines(before, fact.text)
            before = fact.text
            yield from (_line(entry, FILE, f"declared: {what}") for what in told)
        elif decided is not None and decided.kind in _TOLD:
            yield _line(entry, decided.by or "the owner", f"{decided.kind}: {printable(decided.what)}")


def _line(entry: Entry, by: str, what: str) -> str:
    return f"{moment_of(entry):%Y-%m-%d %H:%M:%S}  {by:<15}  {what}"
