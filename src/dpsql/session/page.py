"""What is shown in a notebook: answers, prices and budgets as HTML.

Everything that came from keys, names and questions is escaped. Colours are those of the page, so that dark pages stay
readable; a screen reader says "2611 plus or minus 15".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from dpsql.safe_text import html_text, printable
from dpsql.session.digits import shown_number, shown_percent
from dpsql.session.estimate import Estimate
from dpsql.session.formats import Told, paid
from dpsql.session.noisy import Noisy
from dpsql.session.render import DOUBTFUL, ROWS, is_doubtful, is_number, plain_cell, remarks

_HATCHED: Final = "background:repeating-linear-gradient(45deg,rgba(128,128,128,.3) 0 2px,transparent 2px 7px)"


def footer(answer: Told, *, label: str | None = None) -> list[str]:
    """What belongs to an answer besides its rows: what ± is, what it cost and what is left, and what to know of it; but
    for what stands above them as its label."""
    ledger = [] if answer.head is None else [f"ledger {answer.head}"]
    cost = " · ".join([*paid(answer, drawn=False), *ledger])
    remark = remarks(answer.rows, percent=shown_percent(answer.confidence))
    return [remark, cost, *(f"note: {printable(note)}" for note in answer.notes if note != label)]


def answer_page(answer: Told, *, label: str | None = None) -> str:
    """The answer for a notebook: its table, what it cost, and a bar of what is left. A label stands above it."""
    if answer.is_text:
        return lines_page("\n".join(str(line) for (line,) in answer.rows))
    remark, cost, *notes = footer(answer, label=label)
    above = "" if label is None else f"<p><strong>{html_text(label)}</strong></p>"
    left = answer.budget if answer.cost.epsilon else None
    meter = "" if left is None else f"{meter_page(left.left, left.total)} "
    said = [html_text(remark), meter + html_text(cost), *map(html_text, notes)]
    return above + table_page(answer.columns, answer.rows) + "".join(f"<div>{line}</div>" for line in said)


def lines_page(text: str) -> str:
    """Lines of text."""
    return f"<pre>{html_text(text, lines=True)}</pre>"


def table_page(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The rows as a table; of long answers the beginning, and how many more there are."""
    head = "".join(f'<th scope="col">{html_text(name)}</th>' for name in columns)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows[:ROWS])
    more = f"<div>… {len(rows) - ROWS} more rows</div>" if len(rows) > ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def price_page(sql: str, *, price: str, expected: Iterable[str]) -> str:
    """A question before it is run: what it would cost, and how far off its numbers would be."""
    margins = "".join(f"<li>{html_text(each)}</li>" for each in expected)
    return (
        f"<pre>{html_text(sql, lines=True)}</pre><div><strong>{html_text(price)}</strong></div>"
        + (f"<div>to be expected:</div><ul>{margins}</ul>" if margins else "")
        + "<div>Nothing was spent, no data was read. <code>.run()</code> answers it.</div>"
    )


def _cell(cell: object) -> str:
    if not isinstance(cell, Noisy | Estimate):
        aligned = ' style="text-align:right"' if is_number(cell) else ""
        return f"<td{aligned}>{html_text(plain_cell(cell))}</td>"
    doubtful = is_doubtful(cell)
    value, margin = shown_number(cell.value, cell.margin)
    spoken = " plus or minus ".join(shown_number(cell.value, cell.margin, thousands="")).replace(
        "?", "an unknown margin"
    )
    spoken += ", too noisy to use" * doubtful
    style = f"text-align:right{f';{_HATCHED}' * doubtful}"
    shown = f"{value} ± {margin}" + f" {DOUBTFUL}" * doubtful
    return f'<td style="{style}"><span role="img" aria-label="{html_text(spoken)}">{html_text(shown)}</span></td>'


def meter_page(left: Fraction, total: Fraction) -> str:
    """A bar as full as a budget is; the words beside it say the same."""
    share = float(max(Fraction(0), min(Fraction(1), left / total))) if total > 0 else 0.0
    return f'<meter min="0" max="1" value="{share:.3f}" aria-label="left of the budget">{share:.0%}</meter>'


def budget_page(left: Fraction, total: Fraction, words: Iterable[str]) -> str:
    """A bar, and the words of a budget."""
    return f"<div>{meter_page(left, total)} {html_text(' · '.join(filter(None, words)))}</div>"
