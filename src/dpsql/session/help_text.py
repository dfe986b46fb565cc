"""What a code or a theorem means, as text: the same from the command line and from Python."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from textwrap import wrap
from typing import Final

from dpsql.codes import CODES, EXITS
from dpsql.errors import BadName, BadType
from dpsql.plan.explanation.rules import RULES

_WIDTH: Final = 100
_NAMES: Final = 11
"""Letters before a paragraph, with its name."""
_ALIKE: Final = 0.4


def help(topic: str | None = None, *, columns: int = _WIDTH) -> str:  # noqa: A001 - dpsql.help, as everywhere
    """What an error code (DP102) or a theorem of an explanation (M1) means, in lines of at most so many letters;
    without one, a list of them all."""
    if topic is None:
        return _everything()
    if not isinstance(topic, str):
        raise BadType(
            f"a topic of help is text, not {type(topic).__name__}",
            why="pages have the names that messages and explanations print",
            fix='write it in quotes, as in dpsql.help("DP102")',
        )
    name = topic.strip().upper().removeprefix("PROOF").strip()
    if name in CODES:
        return _of_code(name, columns)
    if name in RULES:
        return _of_rule(name, columns)
    raise _unknown(topic, name)


def _of_code(code: str, columns: int) -> str:
    page = CODES[code]
    ends = [("Exit", f"{page.exit}: {EXITS[page.exit]}"), ("Class", f"dpsql.errors.{page.kind.__name__}")]
    return _page(f"{code}  {page.title}", [("What", page.what), *page.parts, *ends], columns)


def _of_rule(name: str, columns: int) -> str:
    rule = RULES[name]
    parts = [("Says", rule.says), ("Proof", f"{rule.path} of the documentation")]
    return _page(f"{name}  {rule.title}", parts, columns)


def _everything() -> str:
    codes = [f"{code}  {page.title}" for code, page in CODES.items()]
    rules = [f"{name:<5}  {rule.title}" for name, rule in RULES.items()]
    heads = "Error codes. One of them: dpsql help DP102", "Theorems of explanations. One of them: dpsql help proof M1"
    return "\n".join([heads[0], "", *codes, "", heads[1], "", *rules])


def _page(head: str, parts: Iterable[tuple[str, str]], columns: int) -> str:
    """A headline, and paragraphs below one another, each beside its name."""
    lines = [head, ""]
    for name, text in parts:
        first, *rest = wrap(text, max(columns, 2 * _NAMES) - _NAMES, break_long_words=False, break_on_hyphens=False)
        lines += [f"  {name:<7}  {first}", *(f"{'':{_NAMES}}{line}" for line in rest)]
    return "\n".join(lines)


def _unknown(topic: str, name: str) -> BadName:
    likeness = {known: SequenceMatcher(None, name, known).ratio() for known in (*CODES, *RULES)}
    best = max(likeness, key=likeness.__getitem__)  # of equally near ones the first
    near = best if likeness[best] >= _ALIKE else None
    error = BadName(
        f"there is no help on {topic!r}" + (f". Did you mean {near}?" if near else ""),
        why="there is a page for every code of an error (DP102) and every theorem of an explanation (M1)",
        fix="dpsql help lists them all",
    )
    error.meant = near
    return error
