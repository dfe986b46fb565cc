"""The values of options, read from the text itself: a number that is not one, or out of range, is refused at its place.

What is not written in plain digits has no meaning here: no NaN, no infinity, no sign, no digits of other scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from typing import Any, Final, TypeVar

from dpsql.catalog.model import Mode, Noise
from dpsql.catalog.names import did_you_mean
from dpsql.errors import BadName, BadParameter
from dpsql.require import is_confidence
from dpsql.sql.parsing.refusals import excerpt
from dpsql.sql.syntax import At, Options, Said
from dpsql.written import plain_number

_LARGEST: Final = Fraction(10**12)
_SMALLEST: Final = Fraction(1, 10**12)
"""Prices are kept to the last of twelve places."""


def price(name: str, written: str, at: At) -> Fraction:
    """A cost: above 0."""
    return _above(name, _number(name, written, at), written, at, why="an answer for nothing may not depend on the data")


def price_or_nothing(name: str, written: str, at: At) -> Fraction:
    """A cost, or 0: only what is stored."""
    return _number(name, written, at)


def margin(name: str, written: str, at: At) -> Fraction:
    """How far off a number may be."""
    return _above(name, _number(name, written, at), written, at, why="no number with noise is exact")


def confidence(name: str, written: str, at: At) -> Fraction:
    """How often the margin holds: between 0 and 1."""
    value = _number(name, written, at)
    if not is_confidence(value):
        raise _bad(
            name,
            written,
            at,
            why="it is the share of answers that lie inside their margin",
            fix="write a number between 0 and 1, and at least 1e-30 away from both, such as 0.95",
        ).instead_of("0.95")
    return value


def share(name: str, written: str, at: At) -> Fraction:
    """A part of δ: from 0 to below 1."""
    value = _number(name, written, at)
    if value >= 1:
        raise _bad(name, written, at, why="at 1 nothing is promised", fix="write a small number, such as 1e-9")
    return value


def rows(name: str, written: str, at: At) -> int:
    """A number of rows: whole, at least 1."""
    value = _number(name, written, at) if not re.search("[.eE]", written) else Fraction(0)
    if value.denominator != 1 or value < 1:
        raise _bad(
            name, written, at, why="it is a number of rows", fix="write a whole number of at least 1"
        ).instead_of("1")
    return int(value)


Choice = TypeVar("Choice", bound=Enum)


def _choice(choices: type[Choice]) -> Callable[[str, str, At], Choice]:
    def read(name: str, written: str, at: At) -> Choice:
        if written[:1] == "'":
            for choice in choices:
                if written == f"'{choice.value}'":
                    return choice
        known = [f"'{choice.value}'" for choice in choices]
        raise _bad(
            name,
            written,
            at,
            why="it decides how the answer is protected" + did_you_mean(written, known),
            fix=f"write {' or '.join(known)}",
        )

    return read


noise: Final = _choice(Noise)
mode: Final = _choice(Mode)

HINTED: Final[Mapping[str, Callable[[str, str, At], object]]] = {
    "epsilon": price,
    "confidence": confidence,
    "noise": noise,
    "mode": mode,
}
"""What a hint may say, and how its value is read."""
FLAGS: Final = ("fresh",)
"""What a hint says by a word alone."""


def with_option(options: Options, name: str, value: object, at: At) -> Options:
    """The options with one more; the same twice is refused."""
    if getattr(options, name) is not None:
        raise _twice(name, at)
    more: dict[str, Any] = {name: Said(value=value, at=at)}
    return replace(options, **more)


def require_once(options: Options, more: Options) -> None:
    """Two places of the same rank say nothing about the same option."""
    for name in Options.__dataclass_fields__:
        said: Said[object] | None = getattr(more, name)
        if said is not None and getattr(options, name) is not None:
            raise _twice(name, said.at)


def _twice(name: str, at: At) -> BadParameter:
    return BadParameter(
        f"{_WORDS.get(name, name)} is said twice", why="only one of them could count", fix="say it once", at=at
    )


_WORDS: Final = {
    "epsilon": "the price",
    "within": "WITHIN",
    "rows_per_person": "LIMIT … PER PERSON",
    "keys": "KEYS",
}


def unknown_option(name: str, known: Mapping[str, object], at: At) -> BadName:
    """A name that no option has."""
    return BadName(
        f"there is no option {excerpt(name, (0, len(name)))}{did_you_mean(name, known)}",
        why="an option that is passed over in silence would be a promise about something else",
        fix=f"the options are {', '.join(known)}",
        at=at,
    )


def _number(name: str, written: str, at: At) -> Fraction:
    value = plain_number(written)
    example = "0.1" if name != "LIMIT" else "3"
    if value is None:
        raise _bad(
            name,
            written,
            at,
            why="a price or a margin is a finite number in plain digits",
            fix=f"write a number such as {name} {example}",
        ).instead_of(example)
    if value and not _SMALLEST <= value <= _LARGEST:
        raise _bad(
            name, written, at, why="so small or large a number has no use here", fix="write one of ordinary size"
        )
    return value


def _above(name: str, value: Fraction, written: str, at: At, *, why: str) -> Fraction:
    if not value:
        raise _bad(
            name,
            written,
            at,
            why=why,
            fix="write a number above 0; COST 0 at the end of a statement asks for what is stored and nothing else",
        )
    return value


def _bad(name: str, written: str, at: At, *, why: str, fix: str) -> BadParameter:
    shown = excerpt(written, (0, len(written)), longest=24)
    return BadParameter(f"{name} cannot be {shown or 'nothing'}", why=why, fix=fix, at=at)
