"""The JSON Schema of a policy file, for editors: made of the keys and words that the loader reads.

It knows shapes. What two keys mean together (a budget below the promise, a path that arrives) the loader decides alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

from dpsql.catalog.load import KEYS
from dpsql.catalog.model import KeyKind, Mode, Noise
from dpsql.catalog.values import MOST_THREADS, TYPES
from dpsql.privacy.unit import Neighbours
from dpsql.privacy.window import Window
from dpsql.require import LARGEST_COUNT

Shape: TypeAlias = Mapping[str, Any]

_TEXT: Final[Shape] = {"type": "string", "pattern": r"\S"}
_HOLDER: Final[Shape] = {"type": "string", "pattern": r"^\S(.*\S)?$"}
_NAMES: Final[Shape] = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1, "uniqueItems": True}]}
_FLAG: Final[Shape] = {"type": "boolean"}
_COUNT: Final[Shape] = {"type": "integer", "minimum": 1, "maximum": LARGEST_COUNT}
_ABOVE_0: Final[Shape] = {"type": "number", "exclusiveMinimum": 0}
_WITHIN_1: Final[Shape] = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_BELOW_1: Final[Shape] = {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
_DAY: Final[Shape] = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"}
_MOMENT: Final[Shape] = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?$"}
_BOUNDS: Final[Shape] = {
    "anyOf": [
        {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2, "uniqueItems": True},
        {"type": "array", "items": _MOMENT, "minItems": 2, "maxItems": 2, "uniqueItems": True},
    ]
}


def _one_of(words: Iterable[object]) -> Shape:
    return {"enum": [word.value if isinstance(word, Enum) else word for word in words]}


_KEYS: Final[Shape] = {
    "anyOf": [
        _one_of(KeyKind),
        *(
            {"type": "array", "items": {"type": kind}, "minItems": 1, "uniqueItems": True}
            for kind in ("string", "integer", "boolean")
        ),
    ]
}
_SIZE: Final[Shape] = {"anyOf": [_COUNT, {"type": "string", "pattern": r"^about (\d{1,3}([ _,]?\d{3})*|\d{1,15})$"}]}

SHAPES: Final[Mapping[str, Mapping[str, Shape]]] = {
    "": {
        "version": {"const": 1},
        "source": {"$ref": "#/$defs/source"},
        "person": {"$ref": "#/$defs/person"},
        "promise": {"$ref": "#/$defs/promise"},
        "defaults": {"$ref": "#/$defs/defaults"},
        "table": {"type": "object", "additionalProperties": {"$ref": "#/$defs/table"}},
        "grant": {"type": "array", "items": {"$ref": "#/$defs/grant"}},
    },
    "source": dict.fromkeys(("url", "ledger", "ledger_file", "ledger_url", "ledger_key", "data_version"), _TEXT)
    | {
        "timeout": {**_ABOVE_0, "maximum": 86_400},
        "memory_limit": {"type": "string", "pattern": r"^\d{1,9}(\.\d{1,3})? ?[KMGT]i?B$"},
        "threads": {**_COUNT, "maximum": MOST_THREADS},
    },
    "person": {"name": _TEXT, "label": _TEXT, "relation": _one_of(Neighbours), "group_size": _COUNT},
    "promise": {
        "epsilon": _ABOVE_0,
        "delta": _BELOW_1,
        "delta_prime": _BELOW_1,
        "per": _one_of(Window),
        "across": _one_of(("all analysts",)),
        "accounting": _one_of(("full", "basic")),
    },
    "defaults": {
        "cost_per_query": _ABOVE_0,
        "confidence": _WITHIN_1,
        "selection_share": _WITHIN_1,
        "delta_per_query": _WITHIN_1,
        "max_keys": _COUNT,
        "mode": _one_of(Mode),
        "noise": _one_of(Noise),
    },
    "table": {
        "public": _FLAG,
        "person": _NAMES,
        "person_via": {"type": "string", "pattern": "->"},
        "unit": _one_of(("person", "row")),
        "unique": _FLAG,
        "rows": _SIZE,
        "rows_public": _FLAG,
        "rows_per_person": _COUNT,
        "rows_per_group": _COUNT,
        "groups_per_person": _COUNT,
        "source": _TEXT,
        "confirmed": _FLAG,
        "columns": {"type": "object", "additionalProperties": {"$ref": "#/$defs/column"}},
    },
    "column": {
        "type": _one_of(TYPES),
        "bounds": _BOUNDS,
        "keys": _KEYS,
        "null_key": _FLAG,
        "hidden": _FLAG,
        "nulls": _one_of(("ignore", "never")),
        "unique": _FLAG,
    },
    "grant": {
        "to": _HOLDER,
        "tables": _NAMES,
        "budget": _ABOVE_0,
        "max_per_query": _ABOVE_0,
        "expires": _DAY,
        "sees_releases": _FLAG,
    },
}
"""By section and key: what the loader reads there. The keys of each section are those of `KEYS`."""
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("version", "source"),
    "source": ("url",),
    "promise": ("epsilon", "delta"),
    "grant": ("to", "budget"),
}


def policy_schema() -> dict[str, Any]:
    """The schema, as JSON would hold it. Dates of TOML count as texts such as 2027-01-01."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A policy of dpsql, version 1",
        **_section(""),
        "$defs": {name: _section(name) for name in KEYS if name},
    }


def _section(name: str) -> dict[str, Any]:
    """Every key of a section, and no other."""
    found: dict[str, Any] = {
        "type": "object",
        "properties": {key: SHAPES[name][key] for key in KEYS[name]},
        "additionalProperties": False,
    }
    return found | ({"required": list(_REQUIRED[name])} if name in _REQUIRED else {})
