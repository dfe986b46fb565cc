"""How keys and values are written into a policy file: the one place, for whoever proposes a line."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Final, TypeAlias

Value: TypeAlias = bool | int | float | Decimal | str | date | tuple["Value", ...]

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def toml_key(name: str) -> str:
    """A key as TOML writes it."""
    return name if _BARE.fullmatch(name) else toml_text(name)


def toml_text(text: str) -> str:
    """A text as TOML writes it: what would end it, or steer whoever looks at the file, is escaped."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    return letter if letter.isprintable() else f"\\U{ord(letter):08X}"


def toml(value: Value) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
