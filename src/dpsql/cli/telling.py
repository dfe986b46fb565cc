"""Results that are lines for people: on standard output, escaped, in words where there are no symbols."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import dpsql
from dpsql.cli.manner import is_plain
from dpsql.cli.output import Output, escaped


def tell(lines: Iterable[str], chosen: argparse.Namespace) -> None:
    """Each line as the arguments ask for it."""
    plain, output = is_plain(chosen), Output(None)
    for line in lines:
        output.write(f"{escaped(dpsql.without_symbols(line) if plain else line)}\n")
