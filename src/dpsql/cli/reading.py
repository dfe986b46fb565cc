"""How the values of options are read: by readers that refuse with a code and a fix, under the name of the option."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

from dpsql.require import require_seconds
from dpsql.written import number, refused

_MODE: Final = re.compile("0?[0-7]{1,3}")


def read_by(reader: Callable[[str, str], object]) -> type[argparse.Action]:
    """The action of an option whose value is read by a function of its name and text. As `type=` of argparse it would
    lose the code, the reason and the fix of a refusal."""

    class Reading(argparse.Action):
        def __call__(
            self,
            parser: argparse.ArgumentParser,
            namespace: argparse.Namespace,
            values: str | Sequence[object] | None,
            option_string: str | None = None,
        ) -> None:
            setattr(namespace, self.dest, reader(self.option_strings[0], str(values)))

    return Reading


def seconds(name: str, text: str) -> Fraction:
    """A time above 0, of a day at most."""
    found = number(name, text)
    require_seconds(**{name: found})
    return found


def mode(name: str, text: str) -> int:
    """The mode of a file, as chmod takes it."""
    if _MODE.fullmatch(text) is None:
        raise refused(
            name, text, why="it says who may read and write a file: three digits from 0 to 7", fix=f"write {name} 0660"
        )
    return int(text, 8)
