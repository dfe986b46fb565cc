"""Results that are lines: on standard output, in words where there are no symbols."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from dpsql import without_symbols
from dpsql.cli.manner import is_plain


def tell(lines: Iterable[str], chosen: argparse.Namespace) -> None:
    """Each line as the arguments ask for it."""
    plain = is_plain(chosen)
    for line in lines:
        print(without_symbols(line) if plain else line)
