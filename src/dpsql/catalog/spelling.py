"""How names, texts and our six types are written for DuckDB, and keys and values into a policy file: the one place, for
whoever prints, whoever copies and whoever proposes a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Final, TypeAlias

from dpsql.catalog.types import SqlType
from dpsql.errors import InternalError

ENGINE_TYPES: Final[Mapping[SqlType, str]] = MappingProxyType(
    {
        SqlType.BOOLEAN: "BOOLEAN",
        SqlType.INTEGER: "BIGINT",
        SqlType.DOUBLE: "DOUBLE",
        SqlType.TEXT: "VARCHAR",
        SqlType.DATE: "DATE",
        SqlType.TIMESTAMP: "TIMESTAMP",
    }
)


PLAIN_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
"""A folded name that needs no quotes, if it is no word of the language."""


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever is in it."""
    if "\0" in name:
        raise InternalError("a name with a NUL")
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL writes it: only the quote is special, and it is doubled."""
    return "'" + text.replace("'", "''") + "'"


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
