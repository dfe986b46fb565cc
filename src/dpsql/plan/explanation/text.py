"""An explanation as text: sections with a hanging indent and one tree, at most a hundred columns wide. As HTML, the
same sections, each behind its name."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from dpsql.plan.expected import COMPUTED, Certainty
from dpsql.plan.explanation.tree import Node, reads_released
from dpsql.plan.wording import amount, counted, percent
from dpsql.safe_text import THIN, html_text

if TYPE_CHECKING:
    from dpsql.plan.explain import Explanation, Together

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


def explained_text(explanation: Explanation, *, ascii_only: bool) -> str:
    """Everything an analyst is told before a query runs."""
    return "\n\n".join(text for _, text in _sections(explanation, _Page(ascii_only=ascii_only))) + "\n"


def explained_html(explanation: Explanation) -> str:
    """For a notebook: each section behind its name, the promise and the price open."""
    return "".join(_html(name, text) for name, text in _sections(explanation, _Page(ascii_only=False)))


def _html(name: str, text: str) -> str:
    body = f'<pre style="margin:0;white-space:pre-wrap">{html_text(text, lines=True)}</pre>'
    shown = " open" if name in ("PROMISE", "COST") else ""
    return f"<details{shown}><summary>{html_text(name.capitalize())}</summary>{body}</details>" if name else body


def _sections(explanation: Explanation, page: _Page) -> Iterator[tuple[str, str]]:
    """Each part with its name, empty where it has none: PRIVATE questions in their turn, then the statement."""
    if explanation.together is not None:
        sentences = together_sentences(explanation.together, len(explanation.private) + 1)
        yield "", "\n".join(page.clean(line) for each in sentences for line in textwrap.wrap(each, WIDTH))
        for number, each in enumerate(explanation.private, start=1):
            yield "", page.clean(_title(number, each))
            yield from _sections(each, page)
        yield "", "THE STATEMENT, which reads what they released"
    notes = ["A margin covers the bounded number:", *explanation.notes] if explanation.notes else []
    proofs = [f"{name} {rule.title}: {rule.path}" for name, rule in explanation.rules.items()]
    error = f"EXPECTED ERROR ({percent(explanation.plan.terms.confidence)})"
    for name, lines in (
        ("PROMISE", page.section("PROMISE", [" ".join(explanation.promise)])),
        ("DERIVATION", ["DERIVATION", *page.tree(explanation.derivation)]),
        (error, page.titled(error, _expected(explanation))),
        ("NOTES", page.section("NOTES", notes)),
        ("COST", page.section("COST", explanation.cost)),
        ("ASSUMES", page.section("ASSUMES", ["; ".join(explanation.assumes)])),
        ("NOT COVERED", page.section("NOT COVERED", ["; ".join(explanation.not_covered)])),
        ("PROOFS", page.section("PROOFS", proofs)),
        ("", ["Nothing was spent, no data was read."]),
    ):
        if lines:
            yield name, "\n".join(lines)


def _title(number: int, explanation: Explanation) -> str:
    query = explanation.plan.bounded.query
    start, end = query.at or (0, 0)
    words = " ".join(query.text[start:end].split())
    return f"PRIVATE QUESTION {number}: {textwrap.shorten(words, WIDTH - 24, placeholder=' …')}"


def together_sentences(together: Together, questions: int) -> Iterator[str]:
    """The price of a statement with PRIVATE questions, and why it is enough."""
    priced, cost, asked = together.priced, amount(together.cost), counted(questions, "question")
    shares = f"{priced} of them read rows of people and have even shares of the price" if priced > 1 else ""
    shares = shares or f"{'one of them reads' if priced else 'none of them reads'} rows of people"
    yield (
        f"This statement asks {asked}, one after the other; {shares}. It costs {cost}, and all of that must be there "
        "before the first is asked."
    )
    yield (
        "A later question is planned and priced before an earlier one is asked, and reads what was released: that is "
        "post-processing [T6], and each release is paid for from one account that holds for questions chosen one "
        "after the other [T7]."
    )


def _expected(explanation: Explanation) -> list[str]:
    plan, columns = explanation.plan, explanation.expected
    if not plan.steps and reads_released(plan.bounded.query.relation):
        return [COMPUTED]
    if all(column.certainty is Certainty.EXACT for column in columns):
        return ["exact"]
    said = [column for column in columns if column.certainty is not Certainty.KEY]
    if not said:
        return ["which groups appear is left to chance; what is shown of them is exact"]
    return [column.text + (f"   from {column.cause}" if column.cause else "") for column in said]


class _Page:
    """Lines of at most WIDTH characters, in the alphabet asked for."""

    def __init__(self, *, ascii_only: bool) -> None:
        self.ascii_only = ascii_only
        self.branch, self.corner, self.bar = ("|- ", "`- ", "|  ") if ascii_only else ("├─ ", "└─ ", "│  ")

    def clean(self, text: str) -> str:
        """Names come from policies and queries: what is no letter on a screen is shown as a sign of its own."""
        shown = "".join(char if char.isprintable() or char == THIN else "\N{REPLACEMENT CHARACTER}" for char in text)
        return shown.translate(_PLAIN).encode("ascii", "backslashreplace").decode() if self.ascii_only else shown

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
