"""An answer as text or bytes in the formats of the command line, and as HTML in a notebook, with prices and budgets;
whether it was given here or over a socket.

In HTML, everything that came from keys, names and questions is escaped. Colours are those of the page, so that dark
pages stay readable; a screen reader says "2611 plus or minus 15".
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, Final, Protocol

from dpsql.charts.letters import without_symbols
from dpsql.errors import BadParameter
from dpsql.safe_text import html_text, markdown_text, printable
from dpsql.session import render
from dpsql.session.budget import budget_bar, shown_left
from dpsql.session.digits import Cost, shown_number, shown_percent
from dpsql.session.noisy import Estimate, Noisy
from dpsql.session.tables import ColumnType, by_column, csv_text, require_arrow, to_arrow_file, to_parquet, unique_names

INLINE: Final = "inline"
COLUMNS: Final = "columns"
NONE: Final = "none"
INTERVALS: Final = (INLINE, COLUMNS, NONE)
"""Margins in the cell of their number, their ends in columns of their own, or not at all."""


class Left(Protocol):
    """What can be spent after an answer."""

    @property
    def total(self) -> Fraction: ...
    @property
    def left(self) -> Fraction: ...
    @property
    def short(self) -> str: ...


class Told(Protocol):
    """What every answer has: `dpsql.Answer` here, `ServedAnswer` at a client."""

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def rows(self) -> Sequence[tuple[Any, ...]]: ...
    @property
    def types(self) -> tuple[ColumnType, ...]: ...
    @property
    def cost(self) -> Cost: ...
    @property
    def release(self) -> int | None: ...
    @property
    def confidence(self) -> Fraction: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def head(self) -> str | None: ...
    @property
    def budget(self) -> Left | None: ...
    @property
    def is_text(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way to write an answer down."""

    write: Callable[[Told, str, bool], str | bytes]
    """Of an answer, what becomes of margins, and whether to do without symbols."""
    intervals: tuple[str, ...]
    """What can become of margins, the usual first."""
    is_binary: bool = False
    require: Callable[[], None] = lambda: None
    """Raises where a library is missing without which it cannot be written: ask before an answer is paid for."""


def formatted(answer: Told, form: str, *, intervals: str | None = None, plain: bool = False) -> str | bytes:
    """The answer in a format: every row, and a last line that is ended. `intervals` says what becomes of margins:
    "inline", "columns" or "none"; unless said, what is usual in the format. `plain`: without frames and symbols."""
    chosen = formats.get(form)
    if chosen is None:
        raise BadParameter(
            f"{form!r} is no format", why="an answer is written in one of a few", fix=f"use one of {', '.join(formats)}"
        )
    if intervals is not None and intervals not in chosen.intervals:
        raise BadParameter(
            f"margins cannot be {intervals!r} in {form}",
            why="a column of such a file has one type: numbers and their margins have columns of their own",
            fix=f"use {' or '.join(chosen.intervals)}",
        )
    return chosen.write(answer, intervals or chosen.intervals[0], plain)


def summary(answer: Told, *, plain: bool = False) -> list[str]:
    """What belongs to an answer besides its rows: what ± is, what it cost and what is left, and what to know of it."""
    if answer.is_text:
        return []
    remark = render.remarks(answer.rows, percent=shown_percent(answer.confidence))
    lines = [remark, " · ".join(paid(answer, drawn=True)), *(f"note: {printable(note)}" for note in answer.notes)]
    return [without_symbols(line) for line in lines] if plain else lines


def paid(answer: Told, *, drawn: bool) -> list[str]:
    """What it cost, what is left of the budget, drawn as a bar where asked, and which release it is."""
    parts = [f"cost {answer.cost}"]
    if answer.budget is not None and answer.cost.epsilon:  # of a repeat nothing was taken
        left, total = answer.budget.left, answer.budget.total
        bar = f"budget {budget_bar(left, total)} " if drawn else ""
        parts += filter(None, (f"{bar}{shown_left(left, total)} left", answer.budget.short))
    if answer.release is not None:
        told = "release" if answer.cost.epsilon else "told again for nothing: release"
        parts.append(f"{told} #{answer.release}")
    return parts


def all_doubtful(answers: Sequence[Told]) -> bool:
    """Whether there are noisy numbers, and of each the noise may be all there is. What is computed from such numbers
    and shows no margin may be noise as well, where no cell beside it tells."""
    noisy = [cell for answer in answers for cell in _noisy_cells(answer)]
    return (bool(noisy) or any(map(_hides_margins, answers))) and all(map(render.is_doubtful, noisy))


def _noisy_cells(answer: Told) -> list[Noisy | Estimate]:
    return [cell for row in answer.rows for cell in row if isinstance(cell, Noisy | Estimate)]


def _hides_margins(answer: Told) -> bool:
    return any(note.endswith(render.WITHOUT_MARGIN) for note in answer.notes) and not _noisy_cells(answer)


def _table(answer: Told, intervals: str, plain: bool) -> str:
    if answer.is_text:
        text = "\n".join(printable_lines(answer)) + "\n"
        return without_symbols(text) if plain else text
    columns, rows = _cells(answer, intervals)
    return render.boxed(columns, rows, [], look=render.PLAIN if plain else render.FRAMED, most=len(rows)) + "\n"


def printable_lines(answer: Told) -> list[str]:
    """The lines of an explanation; none of them steers the terminal."""
    return [printable(line) for (whole,) in answer.rows for line in str(whole).split("\n")]


def _cells(answer: Told, intervals: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    """Columns and rows as they are, or with plain values and columns of their own for the ends."""
    if intervals == INLINE:
        return answer.columns, answer.rows
    table = by_column(answer.columns, answer.rows, ends=intervals == COLUMNS, types=answer.types)
    return list(table), list(zip(*table.values(), strict=True))


def _csv(answer: Told, intervals: str, plain: bool) -> str:
    return csv_text(
        by_column(answer.columns, answer.rows, ends=intervals == COLUMNS, types=answer.types), spreadsheet_safe=True
    )


def _markdown(answer: Told, intervals: str, plain: bool) -> str:
    if answer.is_text:
        return "\n".join(f"    {line}" for line in printable_lines(answer)) + "\n"
    columns, rows = _cells(answer, intervals)
    numbers = [any(isinstance(row[place], Noisy | Estimate) for row in rows) for place in range(len(columns))]
    lines = [
        [markdown_text(name) for name in columns],
        ["---:" if number else "---" for number in numbers],
        *([_markdown_cell(cell, plain) for cell in row] for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _markdown_cell(cell: object, plain: bool) -> str:
    text = _one_cell(cell, plain)
    return text if isinstance(cell, Noisy | Estimate) else markdown_text(text)


def _one_cell(cell: object, plain: bool) -> str:
    look = render.PLAIN if plain else render.FRAMED
    if not isinstance(cell, Noisy | Estimate):
        return render.plain_cell(cell, look)
    value, margin = shown_number(cell.value, cell.margin, thousands=look.thousands)
    return f"{value} {look.sign} {margin}" + f" {look.doubtful}" * render.is_doubtful(cell)


def _records(answer: Told, intervals: str, plain: bool) -> str:
    """Each column on a line of its own, for screens that are narrower than the table."""
    if answer.is_text:
        return _table(answer, intervals, plain)
    columns, rows = _cells(answer, intervals)
    names = [printable(name) for name in columns]
    width = max(map(len, names))
    line = (render.PLAIN if plain else render.FRAMED).line * 2
    return "".join(
        f"{line} row {number}\n"
        + "".join(f"{name:<{width}}  {_one_cell(cell, plain)}\n" for name, cell in zip(names, row, strict=True))
        for number, row in enumerate(rows, start=1)
    )


def _json(answer: Told, intervals: str, plain: bool) -> str:
    left = answer.budget
    whole = {
        "columns": list(answer.columns),
        "rows": _objects(answer, intervals),
        "confidence": float(answer.confidence),
        **about(answer),
        "budget": None if left is None else {"left": float(left.left), "total": float(left.total)},
    }
    return json.dumps(whole, ensure_ascii=False, allow_nan=False) + "\n"


def about(answer: Told) -> dict[str, object]:
    """What an answer cost and where it stands, as JSON has it."""
    return {
        "cost": {"epsilon": float(answer.cost.epsilon), "delta": float(answer.cost.delta)},
        "release": answer.release,
        "ledger": answer.head,
        "notes": list(answer.notes),
    }


def _json_lines(answer: Told, intervals: str, plain: bool) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in _objects(answer, intervals))


def _objects(answer: Told, intervals: str) -> list[dict[str, object]]:
    """A dictionary for each row; every name once."""
    columns, rows = _cells(answer, intervals)
    names = unique_names(columns)
    return [{name: _json_cell(cell) for name, cell in zip(names, row, strict=True)} for row in rows]


def _json_cell(cell: object) -> object:
    if isinstance(cell, Noisy | Estimate):
        parts = {"value": cell.value, "low": cell.low, "high": cell.high, "margin": cell.margin}
        return {**{name: _json_cell(part) for name, part in parts.items()}, "doubtful": render.is_doubtful(cell)}
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else str(cell)  # JSON has no NaN and no infinities
    if isinstance(cell, Fraction):
        return float(cell)
    return cell.isoformat() if isinstance(cell, date) else cell


def _parquet(answer: Told, intervals: str, plain: bool) -> bytes:
    return to_parquet(by_column(answer.columns, answer.rows, ends=intervals == COLUMNS, types=answer.types))


def _arrow(answer: Told, intervals: str, plain: bool) -> bytes:
    return to_arrow_file(by_column(answer.columns, answer.rows, ends=intervals == COLUMNS, types=answer.types))


formats: Final[Mapping[str, Format]] = {
    "table": Format(write=_table, intervals=INTERVALS),
    "records": Format(write=_records, intervals=INTERVALS),
    "csv": Format(write=_csv, intervals=(COLUMNS, NONE)),
    "json": Format(write=_json, intervals=INTERVALS),
    "jsonl": Format(write=_json_lines, intervals=INTERVALS),
    "markdown": Format(write=_markdown, intervals=INTERVALS),
    "parquet": Format(write=_parquet, intervals=(COLUMNS, NONE), is_binary=True, require=require_arrow),
    "arrow": Format(write=_arrow, intervals=(COLUMNS, NONE), is_binary=True, require=require_arrow),
}
"""Every format by its name."""


_HATCHED: Final = "background:repeating-linear-gradient(45deg,rgba(128,128,128,.3) 0 2px,transparent 2px 7px)"


def footer(answer: Told, *, label: str | None = None) -> list[str]:
    """What belongs to an answer besides its rows: what ± is, what it cost and what is left, and what to know of it; but
    for what stands above them as its label."""
    ledger = [] if answer.head is None else [f"ledger {answer.head}"]
    cost = " · ".join([*paid(answer, drawn=False), *ledger])
    remark = render.remarks(answer.rows, percent=shown_percent(answer.confidence))
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
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows[: render.ROWS])
    more = f"<div>… {len(rows) - render.ROWS} more rows</div>" if len(rows) > render.ROWS else ""
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
        aligned = ' style="text-align:right"' if render.is_number(cell) else ""
        return f"<td{aligned}>{html_text(render.plain_cell(cell))}</td>"
    doubtful = render.is_doubtful(cell)
    value, margin = shown_number(cell.value, cell.margin)
    spoken = " plus or minus ".join(shown_number(cell.value, cell.margin, thousands="")).replace(
        "?", "an unknown margin"
    )
    spoken += ", too noisy to use" * doubtful
    style = f"text-align:right{f';{_HATCHED}' * doubtful}"
    shown = f"{value} ± {margin}" + f" {render.DOUBTFUL}" * doubtful
    return f'<td style="{style}"><span role="img" aria-label="{html_text(spoken)}">{html_text(shown)}</span></td>'


def meter_page(left: Fraction, total: Fraction) -> str:
    """A bar as full as a budget is; the words beside it say the same."""
    share = float(max(Fraction(0), min(Fraction(1), left / total))) if total > 0 else 0.0
    return f'<meter min="0" max="1" value="{share:.3f}" aria-label="left of the budget">{share:.0%}</meter>'


def budget_page(left: Fraction, total: Fraction, words: Iterable[str]) -> str:
    """A bar, and the words of a budget."""
    return f"<div>{meter_page(left, total)} {html_text(' · '.join(filter(None, words)))}</div>"
