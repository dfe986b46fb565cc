"""How names, texts and our six types are written for DuckDB: the one place, for whoever prints and whoever copies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

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
