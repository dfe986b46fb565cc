"""SQL of other tools that is written otherwise here: the place, the words and a rewrite for what strangers bring along.

Everything here reads the text alone, after it was refused, and speaks only where the refusal is about that place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from dpsql.errors import BadName, DpsqlError, NotUnderstood
from dpsql.sql.clauses import clauses_of
from dpsql.sql.parsing.text import blanked
from dpsql.sql.words import AGGREGATES, RAW_AGGREGATES

_STRAIGHT: Final = str.maketrans("‘’‚‛´“”„‟", "'''''\"\"\"\"")
_TOP: Final = r"\bTOP\b\s*+(?:\(\s*+)?(?P<number>\d++)(?:\s*+\))?"
_SELECT_TOP: Final = re.compile(
    rf"\b(?P<select>SELECT)\s+(?:DISTINCT\s+)?{_TOP}(?P<more>\s+PERCENT\b|\s+WITH\s+TIES\b)?", re.IGNORECASE
)
_SET_JOIN: Final = re.compile(
    r"(?P<left>.*?\S)\s++(?:LEFT\s++)?(?P<kind>SEMI|ANTI)\s++JOIN\s++"
    r"(?P<right>\w++(?:\s++(?:AS\s++)?(?!ON\b|USING\b)\w++)?)\s++(?:ON\s+(?P<on>.+)|USING\s*\(\s*(?P<using>\w+)\s*\))",
    re.IGNORECASE | re.DOTALL,
)
_HINT: Final = re.compile(r"(?<!\s)\s*+\bWITH\s*\(\s*(?:NOLOCK|READUNCOMMITTED|READPAST)\s*\)", re.IGNORECASE)
_TWO_LIMITS: Final = re.compile(r"\bLIMIT\s+(\d+)\s*,\s*(\d+)", re.IGNORECASE)
_BACKTICKS: Final = re.compile(r"`((?:[^`]|``)+)`")
_BRACKETS: Final = re.compile(r"\[([^\[\]]+)\]")
_AGGREGATE: Final = re.compile(rf"\b(?:{'|'.join(sorted(AGGREGATES | RAW_AGGREGATES))})\s*\(", re.IGNORECASE)


_CALL_EDGE: Final = re.compile(r"\b(?P<name>[A-Za-z_]\w*+)\s*+\(|\(|\)")
_LONGEST: Final = 20_000
"""Characters. A pattern may look at the rest of a text from many places of it, so longer texts get no advice."""
_DEEPEST: Final = 30
"""Calls within calls, as many as a statement may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """A way to write that other tools know. Without `what`, the refusal keeps its words and marks this place."""

    written: re.Pattern[str]
    what: str = ""
    fix: str = ""
    why: str = "each question has one way of being written that is checked"
    rewrite: Callable[[str, str], str | None] = lambda _text, _words: None
    """Of the text, and of the text without comments and quotations."""


def in_other_words(error: DpsqlError, text: str) -> None:
    """Give a refusal the words, the place and the rewrite of the habit that it comes from, if one is at its place."""
    if len(text) > _LONGEST:
        return
    try:
        words = blanked(text)[1]
    except NotUnderstood:  # a quotation that never ends
        return
    for habit in HABITS:
        for found in habit.written.finditer(words):
            if _meet(error.at, found.span()):
                _explain(error, habit, found.span(), text, words)
                return
    for name, span in _calls(words):
        if name in CALLS and _meet(error.at, span) and not isinstance(error, NotUnderstood):
            ours = with_our_calls(text[slice(*span)])
            if ours != text[slice(*span)]:
                error.fix = f"write {ours}"
                _propose(error, span, with_our_calls(text))
                return


def _explain(error: DpsqlError, habit: Habit, at: tuple[int, int], text: str, words: str) -> None:
    if habit.what:
        error.what, error.why, error.fix = habit.what.format(text[slice(*at)]), habit.why, habit.fix
        error.args = (error.what,)
    _propose(error, at, habit.rewrite(text, words))


def _propose(error: DpsqlError, at: tuple[int, int], rewrite: str | None) -> None:
    """A rewrite, and none of those that were meant for another place."""
    error.at, error.instead = at, None
    error.proposing(rewrite)
    if isinstance(error, BadName):
        error.meant = None


def _meet(one: tuple[int, int] | None, other: tuple[int, int]) -> bool:
    return one is not None and one[0] < other[1] and other[0] < one[1]


def _outside(text: str, words: str, change: Callable[[str], str]) -> str:
    """The text changed where it is neither a comment nor between quotes."""
    return "".join(change(a) if a == b else a for a, b in zip(text, words, strict=True))


def _replaced(pattern: re.Pattern[str], text: str, words: str, ours: Callable[[re.Match[str]], str]) -> str:
    """The text with every place that the pattern finds in its words written anew."""
    parts, done = [], 0
    for found in pattern.finditer(words):
        if found[0] == text[slice(*found.span())]:  # else there is a quotation in it
            parts += [text[done : found.start()], ours(found)]
            done = found.end()
    return "".join([*parts, text[done:]])


def _plain_signs(text: str, words: str) -> str:
    signs = {"≥": ">=", "≤": "<=", "≠": "<>", **dict.fromkeys("–—−", " - ")}  # "--" is a comment
    return _outside(text, words, lambda character: signs.get(character, character))


def _limited(text: str, words: str) -> str | None:
    found = _SELECT_TOP.search(words)
    written = found and clauses_of(text, (found.start("select"), len(text)))
    if not found or found["more"] or not written:
        return None
    top = re.compile(rf"{_TOP}\s*", re.IGNORECASE)
    order = f"{written.order} LIMIT {found['number']}".strip()
    return replace(written, items=top.sub("", written.items, count=1), order=order).text


def _double_quoted(text: str, words: str) -> str:
    def name(found: re.Match[str]) -> str:
        parts = found[1].replace("``", "`").split(".") if found[0].startswith("`") else [found[1]]
        return ".".join(part if re.fullmatch(r"[A-Za-z_]\w*", part) else f'"{part}"' for part in parts)

    return _replaced(_BACKTICKS if "`" in words else _BRACKETS, text, words, name)


def _exists(text: str, words: str) -> str | None:
    """A semi join keeps the rows that have a partner, an anti join the others."""
    select = re.search(r"\bSELECT\b", words, re.IGNORECASE)
    written = select and clauses_of(text, (select.start(), len(text)))
    found = written and _SET_JOIN.fullmatch(written.source)
    if not written or not found or re.search(r"\bJOIN\b", found["on"] or "", re.IGNORECASE):
        return None
    left, right = (re.split(r"\s+", found[side])[-1] for side in ("left", "right"))
    on = found["on"] or f"{left}.{found['using']} = {right}.{found['using']}"
    exists = f"{'NOT ' * (found['kind'].upper() == 'ANTI')}EXISTS (SELECT 1 FROM {found['right']} WHERE {on})"
    return replace(written, source=found["left"]).also_where(exists).text


def _numbered_groups(text: str, words: str) -> str | None:
    select = re.search(r"\bSELECT\b", words, re.IGNORECASE)
    written = select and clauses_of(text, (select.start(), len(text)))
    if not written:
        return None
    keys = [str(n) for n, item in enumerate(split_arguments(written.items), 1) if not _AGGREGATE.search(item)]
    return replace(written, group_by=", ".join(keys)).text


def _described(text: str, words: str) -> str | None:
    found = re.search(r"(\w+)[\s;]*\Z", words)
    return found and f"SELECT * FROM dp.columns WHERE table_name = '{found[1].lower()}'"


HABITS: Final[tuple[Habit, ...]] = (
    Habit(
        written=re.compile("[‘‚‛´][^‘’‚‛´\n]*[’´]?|[“„‟][^“”„‟\n]*”?|[’”]"),
        what="{} stands in typographic quotes, as word processors and chats write them",
        why="they are letters of a name here",
        fix="text goes in straight single quotes: 'Bern'; names in straight double quotes",
        rewrite=lambda text, words: _outside(text, words, lambda character: character.translate(_STRAIGHT)),
    ),
    Habit(
        written=re.compile("[≥≤≠–—−]"),
        what="{} is no sign of SQL",
        fix="write >=, <=, <> or -",
        rewrite=_plain_signs,
    ),
    Habit(
        written=re.compile(r"\bWITHIN\s+[\d.]+\s*(?:%|PERCENT\b)", re.IGNORECASE),
        what="{}: a margin is a number, not a share of the answer",
        why="how much a share of the answer is follows from the answer, and the price is set before it is known",
        fix="write the margin in the unit of the answer, as in WITHIN 50; EXPLAIN PRIVACY shows the margin of a price",
    ),
    Habit(
        written=_SELECT_TOP,
        what="TOP is written as LIMIT here",
        fix="write LIMIT and the number of rows at the end, after ORDER BY",
        rewrite=_limited,
    ),
    Habit(
        written=re.compile(r"`[^`]*`?"),
        what="{} stands in backticks",
        fix='write names in double quotes, or without quotes: "two words", city',
        rewrite=_double_quoted,
    ),
    Habit(
        written=re.compile(r"(?<![\w)\]\"'])\[\s*[A-Za-z_][^\[\],]*\]"),
        what="{} stands in brackets",
        fix='write names in double quotes, or without quotes: "two words", city',
        rewrite=_double_quoted,
    ),
    Habit(
        written=re.compile(r"\b(?:LEFT\s+)?(?:SEMI|ANTI)\s+JOIN\s+\w+", re.IGNORECASE),
        rewrite=_exists,
    ),
    Habit(
        written=re.compile(r"\bGROUP\s+BY\s+ALL\b", re.IGNORECASE),
        rewrite=_numbered_groups,
    ),
    Habit(
        written=re.compile(r"(?:\b\w++\s++)?\bWITH\s*\(\s*(?:NOLOCK|READUNCOMMITTED|READPAST)\s*\)", re.IGNORECASE),
        what="{}: there are no hints",
        why="hints never reach the engine",
        fix="leave it out",
        rewrite=lambda text, words: _replaced(_HINT, text, words, lambda _: ""),
    ),
    Habit(
        written=_TWO_LIMITS,
        what="{} is written with OFFSET here",
        fix="write LIMIT 10 OFFSET 5",
        rewrite=lambda text, words: _replaced(_TWO_LIMITS, text, words, lambda by: f"LIMIT {by[2]} OFFSET {by[1]}"),
    ),
    Habit(
        written=re.compile(r"\{\{[^{}]*\}\}"),
        what="{} is a template that was not filled in",
        why="the text alone is priced, stored and audited",
        fix="render the template first, or write the name of the table itself",
    ),
    Habit(
        written=re.compile(r"%\(\w+\)s"),
        what="{} is a parameter that was not filled in",
        why="the text alone is priced, stored and audited, and a value beside it would be missing there",
        fix="write the value itself; text goes in single quotes",
    ),
    Habit(
        written=re.compile(r"\A\s*\\\w+[^;]*"),
        what="{} is a command of the shell, not a statement",
        fix="type it in the shell, which dpsql starts without -c; tables and columns: SELECT * FROM dp.columns",
    ),
    Habit(
        written=re.compile(
            r"\b(?:information_schema|pg_catalog)\s*\.\s*\w+|\bsqlite_(?:master|schema)\b", re.IGNORECASE
        ),
        what="{} is not available",
        why="the engine's own catalogue is not passed on",
        fix="SELECT * FROM dp.columns lists tables and columns, for free",
    ),
    Habit(
        written=re.compile(
            r"\A\s*(?:DESCRIBE|DESC|SHOW\s+COLUMNS\s+(?:FROM|IN))\s+(?:TABLE\s+)?\w+[\s;]*\Z", re.IGNORECASE
        ),
        rewrite=_described,
    ),
    *(
        Habit(written=re.compile(pattern, re.IGNORECASE))
        for pattern in (
            r"\b(?:GROUPING\s+SETS|ROLLUP|CUBE)\s*\([^;]*\)",
            r"\bTABLESAMPLE\s*(?:\w+\s*)?\([^()]*\)",
            r"\*\s*(?:EXCEPT|EXCLUDE|REPLACE|RENAME)\s*\([^()]*\)",
            r"\bDISTINCT\s+ON\s*\([^()]*\)",
        )
    ),
)


def split_arguments(text: str) -> list[str]:
    """What stands between the commas of a list, those inside of calls and quotes left alone."""
    words = blanked(text)[1]
    found, depth, start = [], 0, 0
    for place, character in enumerate(words):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            found.append(text[start:place].strip())
            start = place + 1
    return [*found, text[start:].strip()]


def _calls(words: str) -> list[tuple[str, tuple[int, int]]]:
    """The calls of a text with their places, the outer ones first; none where they are nested too deep."""
    found: list[tuple[str, tuple[int, int]]] = []
    still_open: list[re.Match[str]] = []
    for sign in _CALL_EDGE.finditer(words):
        if sign[0] != ")":
            still_open.append(sign)
            if len(still_open) > _DEEPEST:
                return []
        elif still_open:
            opening = still_open.pop()
            if opening["name"]:
                found.append((opening["name"].lower(), (opening.start(), sign.end())))
    return sorted(found, key=lambda call: call[1])


def with_our_calls(text: str) -> str:
    """The text with functions of other tools as they are written here; what has no equal stays."""
    parts, done = [], 0
    for name, (start, end) in _calls(blanked(text)[1]):
        if start < done or name not in CALLS:
            continue
        inside = text.index("(", start) + 1
        within = with_our_calls(text[inside : end - 1])  # once: calls within calls would double it at each level
        parts += [text[done:start], CALLS[name](split_arguments(within)) or f"{text[start:inside]}{within})"]
        done = end
    return "".join([*parts, text[done:]])


_UNITS: Final = frozenset({"year", "quarter", "month", "day", "hour", "minute", "second"})
"""Without weeks: tools do not agree on the day that they begin with."""


def _unit(text: str) -> str | None:
    name = text.strip("'\"").lower()
    return name if name in _UNITS else None


def _unit_first(name: str, number: int) -> Callable[[list[str]], str | None]:
    """NAME(unit, …), where the unit is a word and no text; or with the unit as its last argument."""

    def ours(given: list[str]) -> str | None:
        first, last = _unit(given[0]), _unit(given[-1])
        if len(given) != number or (first is None) is (last is None):  # a column may be called day
            return None
        rest = given[1:] if first else reversed(given[:-1])
        return f"{name}('{first or last}', {', '.join(rest)})"

    return ours


def _moved(sign: str) -> Callable[[list[str]], str | None]:
    """A moment moved by an interval: NAME(unit, n, x), or NAME(x, INTERVAL n unit)."""

    def ours(given: list[str]) -> str | None:
        if len(given) == 2 and given[1].upper().startswith("INTERVAL"):
            return f"{given[0]} {sign} {given[1]}"
        unit = _unit(given[0])
        if len(given) != 3 or unit is None or not re.fullmatch(r"[+-]?\s*\d+", given[1]):
            return None
        back = given[1].startswith("-") != (sign == "-")
        return f"{given[2]} {'-' if back else '+'} INTERVAL {given[1].lstrip('+- ')} {unit.upper()}"

    return ours


_WHOLE: Final = re.compile("int", re.IGNORECASE)  # of which tools do not agree how to round

CALLS: Final[Mapping[str, Callable[[list[str]], str | None]]] = {
    **dict.fromkeys(("date_trunc", "datetime_trunc", "timestamp_trunc"), _unit_first("DATE_TRUNC", 2)),
    **dict.fromkeys(("datepart", "date_part"), _unit_first("DATE_PART", 2)),
    **dict.fromkeys(("datediff", "date_diff", "datetime_diff"), _unit_first("DATE_DIFF", 3)),
    **dict.fromkeys(("dateadd", "date_add", "timestampadd", "datetime_add", "timestamp_add"), _moved("+")),
    **dict.fromkeys(("date_sub", "datetime_sub", "timestamp_sub"), _moved("-")),
    **dict.fromkeys(("getdate", "sysdatetime", "current_date"), lambda given: None if given[0] else "CURRENT_DATE"),
    "date": lambda given: None if len(given) > 1 or re.match(r"'\D", given[0]) else f"CAST({given[0]} AS DATE)",
    "convert": lambda given: None if len(given) != 2 or _WHOLE.search(given[0]) else f"CAST({given[1]} AS {given[0]})",
    "safe_divide": lambda given: f"(({given[0]}) / ({given[1]}))" if len(given) == 2 else None,
    "iff": lambda given: f"IF({', '.join(given)})" if len(given) == 3 else None,
    **dict.fromkeys(("isnull", "ifnull"), lambda given: f"COALESCE({', '.join(given)})" if len(given) == 2 else None),
    "zeroifnull": lambda given: f"COALESCE({given[0]}, 0)" if len(given) == 1 else None,
    "nvl2": lambda given: f"IF({given[0]} IS NOT NULL, {given[1]}, {given[2]})" if len(given) == 3 else None,
}
"""Functions of other tools, and how they are written here; None where the arguments say something else."""
