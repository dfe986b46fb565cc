"""An explanation as text: sections with a hanging indent and one tree, at most a hundred columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dpsql.accounting.account import Account
from dpsql.plan.caveats import caveats
from dpsql.plan.expected import COMPUTED, Certainty, expected
from dpsql.plan.explanation.facts import assumes, not_covered
from dpsql.plan.explanation.node import Node
from dpsql.plan.explanation.promise import cost, promise
from dpsql.plan.explanation.rows import reads_released
from dpsql.plan.explanation.rules import RULES
from dpsql.plan.explanation.tree import derivation
from dpsql.plan.price import Plan
from dpsql.plan.wording import THIN, percent

WIDTH: Final = 100
_BOND: Final = "\u00a0"
_KEPT: Final = {part: part.replace(" ", _BOND) for part in (" = ", " %", "± ", "+/- ", " × ", " x ", " / n")}
_INDENT: Final = 13
_FOR_RULES: Final = 14

_PLAIN: Final = str.maketrans(
    {
        "ε": "eps", "δ": "delta", "ρ": "rho", "σ": "sigma", "±": "+/-", "≤": "<=", "→": "->", "×": "x", "·": "*",
        "–": "-", "−": "-", "²": "^2", "√": "sqrt ", "∞": "infinity", "…": "...", THIN: "",
    }
)  # fmt: skip
"""Words for the signs that ASCII lacks."""


def explained_text(plan: Plan, accounts: Sequence[Account], *, ascii_only: bool) -> str:
    """Everything an analyst is told before a query runs."""
    page = _Page(ascii_only=ascii_only)
    tree = derivation(plan)
    sections = [
        page.section("PROMISE", [" ".join(promise(plan, accounts))]),
        ["DERIVATION", *page.tree(tree)],
        page.titled(f"EXPECTED ERROR ({percent(plan.terms.confidence)})", _expected(plan)),
        page.section("NOTES", _notes(plan)),
        page.section("COST", cost(plan, accounts)),
        page.section("ASSUMES", ["; ".join(assumes(plan))]),
        page.section("NOT COVERED", ["; ".join(not_covered(plan))]),
        page.section("PROOFS", _proofs(tree)),
        ["Nothing was spent, no data was read."],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def in_letters(text: str, *, ascii_only: bool) -> str:
    """With words for the signs that ASCII lacks, where it is all that may be used."""
    return text.translate(_PLAIN).encode("ascii", "backslashreplace").decode("ascii") if ascii_only else text


def _expected(plan: Plan) -> list[str]:
    columns = expected(plan)
    if not plan.steps and reads_released(plan.bounded.query.relation):
        return [COMPUTED]
    if all(column.certainty is Certainty.EXACT for column in columns):
        return ["exact"]
    said = [column for column in columns if column.certainty is not Certainty.KEY]
    if not said:
        return ["which groups appear is left to chance; what is shown of them is exact"]
    return [column.text + (f"   from {column.cause}" if column.cause else "") for column in said]


def _notes(plan: Plan) -> list[str]:
    found = caveats(plan)
    return ["A margin covers the bounded number:", *found] if found else []


def _proofs(tree: Node) -> list[str]:
    used = sorted({rule for node in tree.walk() for rule in node.rules})
    return [f"{rule} {RULES[rule].title}: {RULES[rule].path}" for rule in used]


class _Page:
    """Lines of at most WIDTH characters, in the alphabet asked for."""

    def __init__(self, *, ascii_only: bool) -> None:
        self.ascii_only = ascii_only
        self.branch, self.corner, self.bar = ("|- ", "`- ", "|  ") if ascii_only else ("├─ ", "└─ ", "│  ")

    def clean(self, text: str) -> str:
        """Names come from policies and queries: what is no letter on a screen is shown as a sign of its own."""
        shown = "".join(char if char.isprintable() or char == THIN else "\N{REPLACEMENT CHARACTER}" for char in text)
        return in_letters(shown, ascii_only=self.ascii_only)

    def section(self, name: str, paragraphs: Iterable[str]) -> list[str]:
        lines: list[str] = []
        for paragraph in paragraphs:
            lines += self.wrapped(paragraph, WIDTH - _INDENT)
        heads = [name] + [""] * len(lines)
        return [f"{head:<{_INDENT}}{line}".rstrip() for head, line in zip(heads, lines, strict=False)]

    def titled(self, name: str, paragraphs: Iterable[str]) -> list[str]:
        """A section under its name; none without content."""
        lines = [line for paragraph in paragraphs for line in self.wrapped(paragraph, WIDTH - _INDENT)]
        return [self.clean(name), *(" " * _INDENT + line for line in lines)] if lines else []

    def wrapped(self, text: str, width: int) -> list[str]:
        """Lines that do not part a number from its sign or unit."""
        kept = self.clean(text)
        for apart, together in _KEPT.items():
            kept = kept.replace(apart, together)
        return [line.replace(_BOND, " ") for line in textwrap.wrap(kept, width, break_on_hyphens=False)]

    def tree(self, node: Node, before: str = "", *, last: bool = True) -> Iterator[str]:
        """The node and all below it, each line led by its branch."""
        first, after = before + (self.corner if last else self.branch), before + ("   " if last else self.bar)
        below = after + (self.bar if node.children else "   ")
        rules = f"[{' '.join(node.rules)}]" if node.rules else ""
        lines = self.wrapped(node.text, max(WIDTH - len(first) - _FOR_RULES - 1, 20))
        for place, line in enumerate(lines):
            start = (first if place == 0 else below) + line
            yield f"{start:<{WIDTH - _FOR_RULES}}{rules if place == 0 else ''}".rstrip()
        for child in node.children:
            yield from self.tree(child, after, last=child is node.children[-1])
