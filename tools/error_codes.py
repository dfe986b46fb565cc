"""docs/errors.md, written from the table of codes.

`python tools/error_codes.py --write` writes the page; without it, the page is compared. A test does the same.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from dpsql.codes import CODES, Page

PAGE: Final = Path(__file__).parent.parent / "docs" / "errors.md"
_HEAD: Final = """# Error codes

Codes are stable, the wording is not. `dpsql help DP102` and `dpsql.help("DP102")` print the page with its reason, \
and so does every message. In JSON an error is `{code, title, where, why, fix, try, docs}`; `docs` is the command \
that prints its page. What `try` proposes was planned under the same policy and grant. No message contains a value \
computed from private rows. `exit` is [the exit code](reference/cli.md#exit-codes)."""


def page() -> str:
    """The whole document."""
    return "\n".join([_HEAD, *map(_section, CODES.values()), ""])


def _section(about: Page) -> str:
    lines = [
        "",
        f"## {about.code}",
        _linked(f"`{about.kind.__name__}`, exit {about.exit}. {about.what}"),
        "",
        *(
            _linked(f"- {name}: {text}")
            for name, text in about.parts
            if name == "Fix" or (name == "Example" and "→" in text)
        ),
    ]
    return "\n".join(lines)


def _linked(line: str) -> str:
    """Other codes and other pages as links."""
    codes = re.sub(r"\bDP(\d{3})\b", r"[DP\1](#dp\1)", line)
    return re.sub(r"\bdocs/([a-z/-]+\.md)\b", r"[\1](\1)", codes)


def main() -> int:
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
    print("errors.md: up to date" if same else "errors.md: run python tools/error_codes.py --write")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
