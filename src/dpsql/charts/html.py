"""A chart as HTML: the picture, and the same as a table behind a word. One file that needs no other."""

from __future__ import annotations

from html import escape
from typing import Final

from dpsql.charts.figure import Chart, Table
from dpsql.charts.letters import printable
from dpsql.charts.svg import in_svg

_STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{font-family:system-ui,sans-serif;max-width:760px;margin:2rem auto;padding:0 1rem}"
    "th,td{text-align:left;padding:.2rem .8rem .2rem 0}"
)


def in_html_part(chart: Chart) -> str:
    """For a notebook or another page: in the colours of the text around it."""
    table = _table(chart.table, caption=chart.title)
    return (
        f'<figure style="margin:0">{in_svg(chart, alone=False)}'
        f"<details><summary>View as table</summary>{table}</details></figure>"
    )


def in_html(chart: Chart) -> str:
    """A whole page."""
    title = _text(chart.title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body>{in_html_part(chart)}</body>\n</html>\n"
    )


def _table(table: Table, *, caption: str) -> str:
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in table.columns)
    rows = "".join(
        f'<tr><th scope="row">{_text(first)}</th>' + "".join(f"<td>{_text(cell)}</td>" for cell in rest) + "</tr>"
        for first, *rest in table.rows
    )
    return f"<table><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _text(text: str) -> str:
    return escape(printable(text))
