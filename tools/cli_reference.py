"""docs/reference/cli.md, written from the parser of the command line: what it takes is what the page says.

`python tools/cli_reference.py --write` writes the page; without it, the page is compared. A test does the same.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dpsql.cli.ask import asking_parser
from dpsql.cli.main import parser
from dpsql.cli.manner import ENDINGS

PAGE: Final = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
_HEAD: Final = """# The command line

Results go to standard output, everything else (price, budget, notes, progress, errors) to standard error. There is \
no prompt where standard input is no terminal. An option is explained where it first stands; `dpsql COMMAND --help` \
lists all that a command takes.
"""
_BETWEEN: Final = """
Statements are separated by `;`, and `-c` and `-f` may be repeated: they run in order, `SET` holds to the end, and the \
first error ends them.

### Profiles

A profile is a name for a target, in `$XDG_CONFIG_HOME/dpsql/profiles.toml` (else `~/.config/dpsql/profiles.toml`):

```toml
[hospital]
target = "unix:/run/dpsql/door"      # or a policy file, seen from the folder of this file; or "demo"
token_file = "hospital.token"        # nobody else may read it: chmod 600

[clinic]
target = "/srv/clinic/dpsql.toml"
user = "ana"
```

`dpsql hospital` then opens the shell there. The file itself may hold the token, as `token`, if no other user can read \
it.

### Formats

| format | margins, unless `--intervals` says otherwise | |
|---|---|---|
| `table` | in the cell: `2 611 ± 15` | with `--plain`: `2611 plus or minus 15` |
| `records` | in the cell | a line for each column, where a table is wider than the screen |
| `markdown` | in the cell | keys and names are escaped |
| `json` | in the cell: `{"value", "low", "high", "margin", "doubtful"}` | one object for each answer: `columns`, \
`rows`, `confidence`, `cost`, `release`, `ledger`, `notes`, `budget`; an error is one object on standard error |
| `jsonl` | in the cell | one object for each row |
| `csv` | columns `x_low` and `x_high` | a text that a spreadsheet would run as a formula gets a leading `'` |
| `parquet`, `arrow` | columns `x_low` and `x_high` | need `pip install pyarrow`; not written to a terminal |
"""


def page() -> str:
    """The whole document."""
    asking = asking_parser({})
    told: set[str] = set()
    lines = [_HEAD, "## dpsql", "", *_usage("dpsql [TARGET]", asking), *_options(asking, told), _BETWEEN]
    lines += ["## Exit codes", "", "| code | says |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in ENDINGS.items()]
    lines += ["", "## Commands", ""]
    for name, command in _parts(parser()):
        lines += [f"### dpsql {name}", "", *_usage(f"dpsql {name}", command), *_options(command, told)]
        for part, below in _parts(command):
            lines += [f"#### dpsql {name} {part}", "", *_usage(f"dpsql {name} {part}", below), *_options(below, told)]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines).rstrip()) + "\n"


def _parts(of: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    return [
        (name, below)
        for action in of._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, below in action.choices.items()
    ]


def _usage(words: str, of: argparse.ArgumentParser) -> Iterator[str]:
    """What it is for, and how it is said."""
    said = (action for action in of._actions if not action.option_strings and action.dest not in ("target", "part"))
    placed = " ".join(_named(action) for action in said)
    about = of.description or next(
        (each.help for command in _parents() for each in command._choices_actions if each.dest == words.split()[-1]), ""
    )
    told = " ".join((about or "").split())
    yield f"{told[:1].upper()}{told[1:].removesuffix('.')}."
    yield ""
    if placed:
        yield f"`{words} {placed}`"
        yield ""


def _parents() -> Iterator[argparse._SubParsersAction[argparse.ArgumentParser]]:
    yield from (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))


def _named(action: argparse.Action) -> str:
    name = action.metavar or action.dest
    word = "|".join(map(str, action.choices)) if action.choices and not action.metavar else str(name)
    return {"*": f"[{word} …]", "+": f"{word} …", "?": f"[{word}]"}.get(str(action.nargs), word)


def _options(of: argparse.ArgumentParser, told: set[str]) -> Iterator[str]:
    """A list of the options but for --help; what stands on the page already is left out."""
    rows = {
        _row(action): action
        for action in of._actions
        if not _is_plumbing(action) and (action.option_strings or action.help)
    }
    new = [row for row in rows if row not in told]
    if new:
        yield from new
        yield ""
    told.update(new)


def _row(action: argparse.Action) -> str:
    return f"- `{_written(action)}`" + (f": {action.help}" if action.help else "")


def _is_plumbing(action: argparse.Action) -> bool:
    return isinstance(action, argparse._HelpAction | argparse._SubParsersAction)


def _written(action: argparse.Action) -> str:
    if not action.option_strings:
        return _named(action)
    values = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    said = ", ".join(action.option_strings)
    return said if action.nargs == 0 else f"{said} {values}"


def main() -> int:
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
    print("cli.md: up to date" if same else "cli.md: run python tools/cli_reference.py --write")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
