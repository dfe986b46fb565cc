"""The clauses of a SELECT and the parts of an aggregate as they were written: rewrites keep the words of whoever asked.

A rewrite is planned before anybody sees it: what is read wrongly here is a rewrite that is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from dpsql.errors import NotUnderstood
from dpsql.sql.parsing.text import blanked
from dpsql.sql.syntax import At

_WORD: Final = re.compile(
    r"(?P<distinct>\bIS\s+(?:NOT\s+)?DISTINCT\s+FROM\b)|(?P<edge>[()])|\b(?P<clause>SELECT|FROM|WHERE|GROUP\s+BY|HAVING"
    r"|QUALIFY|WINDOW|ORDER\s+BY|LIMIT(?!\s+\d+\s+(?:ROWS?\s+)?PER\b)|OFFSET|FETCH|UNION|INTERSECT|EXCEPT)\b"
    r"|\b(?P<tail>KEYS(?=\s*\()|(?:COST|WITHIN|CONFIDENCE|LIMIT)\s+[\d.])",
    re.IGNORECASE,
)
_ORDER: Final = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "QUALIFY", "WINDOW", "ORDER BY", "LIMIT", "OFFSET", "FETCH",
)  # fmt: skip
_TAIL: Final = "tail"
_DISTINCT: Final = re.compile(r"\A\s*(?:DISTINCT|ALL)\b", re.IGNORECASE)
_ITEM_NAME: Final = re.compile(r'\s*(?:(?:AS\b\s*)?(?:\w+|"[^"]+"))?\s*', re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clauses:
    """One SELECT, cut at its words; every part without its word, and "" where it is not there."""

    before: str
    items: str
    source: str
    where: str
    group_by: str
    having: str
    """With its word; QUALIFY and WINDOW too."""
    order: str
    """What sorts and cuts rows, with its words."""
    tail: str
    """What a statement says after its question: COST, WITHIN, LIMIT n PER PERSON."""
    after: str

    def asking(self, items: str, *, group_by: str = "") -> str:
        """The same rows, asked for something else; what filters, sorts and cuts the answer is left out."""
        return replace(self, items=items, group_by=group_by, having="", order="").text

    @property
    def text(self) -> str:
        """The statement."""
        parts = [
            f"SELECT {self.items}",
            f"FROM {self.source}",
            f"WHERE {self.where}" if self.where else "",
            f"GROUP BY {self.group_by}" if self.group_by else "",
            self.having,
            self.order,
            self.tail,
        ]
        return f"{self.before}{' '.join(filter(None, parts))}{self.after}"

    def also_where(self, condition: str) -> Clauses:
        """The same question about the rows that the condition keeps as well."""
        kept = f"({self.where})" if re.search(r"\bOR\b", self.where, re.IGNORECASE) else self.where
        return replace(self, where=f"{kept} AND {condition}" if kept else condition)

    def with_groups(self, name: re.Pattern[str], written: str) -> Clauses:
        """The same with a group written in another way, where it is shown, grouped and sorted by. What is inside of
        parentheses, as the arguments of aggregates are, stays: it is another question about the group."""
        items, group_by, order = (_outside(name, each, written) for each in (self.items, self.group_by, self.order))
        return replace(self, items=items, group_by=group_by, order=order)


def _outside(name: re.Pattern[str], text: str, written: str) -> str:
    depth, depths = 0, []
    for character in blanked(text)[1]:
        depth += (character == "(") - (character == ")")
        depths.append(depth)
    return name.sub(lambda found: found[0] if depths[found.start()] else written, text)


def clauses_of(text: str, at: At) -> Clauses | None:
    """The clauses of the SELECT that stands there; None where it has none of FROM, or more than one of something."""
    if at is None or "/*+" in text or "--+" in text:  # a hint is a comment, and would be lost
        return None
    try:
        plain, words = blanked(text)
    except NotUnderstood:
        return None
    marks, end = _marks(plain, words, at[0])
    parts = [(name, plain[start:last], plain[first:last]) for (name, start, first), (_, last, _) in pairwise(marks)]
    found = {name: inside.strip() for name, _, inside in parts}
    names = [name for name, *_ in parts if name != _TAIL]
    if not {"SELECT", "FROM"} <= found.keys() or names != [name for name in _ORDER if name in found]:
        return None

    def written(*names: str) -> str:
        return " ".join(whole.strip() for name, whole, _ in parts if name in names)

    return Clauses(
        before=plain[: at[0]],
        items=found["SELECT"],
        source=found["FROM"],
        where=found.get("WHERE", ""),
        group_by=found.get("GROUP BY", ""),
        having=written("HAVING", "QUALIFY", "WINDOW"),
        order=written("ORDER BY", "LIMIT", "OFFSET", "FETCH"),
        tail=written(_TAIL),
        after=plain[end:].rstrip().rstrip(";").rstrip(),
    )


def with_item(text: str, at: At, place: tuple[int, int], written: str) -> str | None:
    """The text with another item in the SELECT list for the one that consists of `place` alone. The name of the item
    is left out: it named something else. None where the list has no such item."""
    if at is None:
        return None
    plain, words = blanked(text)
    (_, _, first), (_, last, _) = _marks(plain, words, at[0])[0][:2]
    begin = first + len(words[first:last]) - len(_DISTINCT.sub("", words[first:last]))
    commas, depth = [begin - 1], 0
    for offset in range(begin, last):
        depth += (words[offset] == "(") - (words[offset] == ")")
        if depth == 0 and words[offset] == ",":
            commas.append(offset)
    for before, after in pairwise([*commas, last]):
        is_alone = not text[before + 1 : place[0]].strip() and _ITEM_NAME.fullmatch(text, place[1], after)
        if before < place[0] and place[1] <= after and is_alone:
            return f"{text[: place[0]]}{written}{' ' if after == last else ''}{text[after:]}"
    return None


def also_grouped(text: str, at: At, *, by: str) -> str | None:
    """The question that stands there with one more group; None where it is not read."""
    written = clauses_of(text, at)
    if written is None:
        return None
    return replace(written, group_by=", ".join(filter(None, (written.group_by, by)))).text


def _marks(plain: str, words: str, start: int) -> tuple[list[tuple[str, int, int]], int]:
    """Each clause with where its word begins and ends, then where the SELECT ends: at its parenthesis, or the text."""
    depth, found, end = 0, [], len(plain.rstrip().rstrip(";"))
    for word in _WORD.finditer(words, start):
        depth += (word["edge"] == "(") - (word["edge"] == ")")
        if depth < 0:
            end = word.start()
            break
        if depth == 0 and (word["clause"] or word["tail"]):
            name = _TAIL if word["tail"] else " ".join(word["clause"].upper().split())
            found.append((name, *word.span()))
    return [*found, ("", end, end)], end


_WHERE: Final = re.compile(r"\s*WHERE\b", re.IGNORECASE)
_BOUNDS: Final = re.compile(r"\s*,\s*contribution_bounds_per_\w+\s*=>\s*\([^()]*\)\s*$", re.IGNORECASE)
"""GoogleSQL's bounds at the end of a call: they are no part of its argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallText:
    """`SUM(charge) FILTER (WHERE points > 0)`, without comments."""

    argument: str
    """`charge`"""
    filter: str
    """`points > 0`, or nothing."""
    span: tuple[int, int]
    """Where the argument stands in the call."""


def call_text(call: str) -> CallText:
    """What stands between the first parenthesis and its partner, and in FILTER."""
    plain, words = blanked(call)
    inside, after = _first_pair(words, 0)
    bounds = _BOUNDS.search(words[slice(*inside)])
    inside = inside if bounds is None else (inside[0], inside[0] + bounds.start())
    condition, _ = _first_pair(words, after)
    chosen = plain[slice(*condition)]
    found = _WHERE.match(chosen)
    return CallText(
        argument=plain[slice(*inside)].strip(),
        filter=(chosen[found.end() :] if found else chosen).strip(),
        span=inside,
    )


def with_argument(text: str, places: Sequence[tuple[int, int]], change: Callable[[str], str]) -> str:
    """The text with the argument of a call changed wherever the call is written."""
    for begin, end in sorted(places, reverse=True):
        written = call_text(text[begin:end])
        first, last = (begin + place for place in written.span)
        text = f"{text[:first]}{change(written.argument)}{text[last:]}"
    return text


def _first_pair(words: str, begin: int) -> tuple[tuple[int, int], int]:
    """The place between the first parenthesis and its partner, and where the text goes on."""
    depth, first = 0, words.find("(", begin) + 1
    for place in range(max(first - 1, 0), len(words)):
        depth += (words[place] == "(") - (words[place] == ")")
        if first and depth == 0:
            return (first, place), place + 1
    return (len(words), len(words)), len(words)
