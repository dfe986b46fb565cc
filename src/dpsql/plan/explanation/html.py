"""An explanation for a notebook: each section behind its word, the promise and the price open."""

from __future__ import annotations

import re
from html import escape
from typing import Final

_HEADING: Final = re.compile(r"([A-Z][A-Z ]*[A-Z](?: \([^)\n]*\))?)(?:  +|\n|$)")
_OPEN: Final = ("PROMISE", "COST")


def explained_html(text: str) -> str:
    """The text, section by section; what has no heading stands as it is."""
    return "".join(map(_section, filter(None, text.rstrip().split("\n\n"))))


def _section(section: str) -> str:
    found = _HEADING.match(section)
    body = f'<pre style="margin:0;white-space:pre-wrap">{escape(section)}</pre>'
    if found is None:
        return body
    shown = " open" if found[1] in _OPEN else ""
    return f"<details{shown}><summary>{escape(found[1].capitalize())}</summary>{body}</details>"
