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
from dpsql.cli.ending import ENDINGS
from dpsql.cli.main import parser

PAGE: Final = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
_HEAD: Final = """# The command line

Results go to standard output, everything else (price, budget, notes, progress, errors) to standard error, so that \
`dpsql -c "SELECT …" --format csv > answer.csv` is clean. Nothing is asked back where standard input is no terminal. \
`dpsql COMMAND --help` prints what stands here.
"""
_BETWEEN: Final = """
A first word that is a command is a command; everything else is about a question. `dpsql demo -c "SELECT …"` asks \
the demo hospital once.

Several statements are separated by `;`, and `-c` and `-f` may be said several times: they are asked in their order, \
what is `SET` holds to the end, and the first error ends them. What was answered until then is told, and stored: asked \
again, it costs nothing.

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

`dpsql hospital` then opens the shell there, and `dpsql hospital -c "SELECT …"` asks once. A token may stand in the \
file itself, as `token`, if nobody else may read the file.

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
    yield f"`{' '.join(filter(None, (words, placed)))}`"
    yield ""


def _parents() -> Iterator[argparse._SubParsersAction[argparse.ArgumentParser]]:
    yield from (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))


def _named(action: argparse.Action) -> str:
    name = action.metavar or action.dest
    word = "|".join(map(str, action.choices)) if action.choices and not action.metavar else str(name)
    return {"*": f"[{word} …]", "+": f"{word} …", "?": f"[{word}]"}.get(str(action.nargs), word)


def _options(of: argparse.ArgumentParser, told: set[str]) -> Iterator[str]:
    """A table of what can be said, but for --help; what stands on the page already is named only."""
    rows = {_row(action): action for action in of._actions if not _is_plumbing(action)}
    new = [row for row in rows if row not in told]
    if new:
        yield "| option | |"
        yield "|---|---|"
        yield from new
        yield ""
    again = ", ".join(f"`{_written(action)}`" for row, action in rows.items() if row in told)
    if again:
        yield f"As above: {again}."
        yield ""
    told.update(new)


def _row(action: argparse.Action) -> str:
    return f"| `{_escaped(_written(action))}` | {_escaped(action.help or '')} |"


def _escaped(text: str) -> str:
    """A bar does not end the cell of a table."""
    return text.replace("|", r"\|")


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
