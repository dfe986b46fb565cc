"""The commands in docs/guide/shell.md, written from the table that the shell obeys.

`python tools/shell_commands.py --write` writes them; without it, the page is compared. A test does the same.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from dpsql.cli.shell.commands import COMMANDS

PAGE: Final = Path(__file__).parent.parent / "docs" / "guide" / "shell.md"
_PART: Final = re.compile(r"(<!-- commands: [^\n]*-->\n).*?(<!-- end of commands -->)", re.DOTALL)


def page() -> str:
    """The page with the commands as they are."""
    rows = [
        f"| {_code(command.usage)} | {command.about} | {' '.join(map(_code, command.also))} |" for command in COMMANDS
    ]
    table = "\n".join(["| command | does | also |", "|---|---|---|", *rows, ""])
    return _PART.sub(lambda part: part[1] + table + part[2], PAGE.read_text(encoding="utf-8"))


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def main() -> int:
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    same = PAGE.read_text(encoding="utf-8") == page()
    print("shell.md: up to date" if same else "shell.md: run python tools/shell_commands.py --write")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
