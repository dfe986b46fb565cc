"""Plausible values of arithmetic over released numbers, for many rows at once: one array of rows × draws per value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpsql.mechanisms.margins import Band, PossibleSpread

Drawn: TypeAlias = NDArray[Any]
"""Rows × draws; NaN is a value that does not exist."""


def drawn_slot(
    values: Sequence[float], noises: Sequence[float], shuffles: Sequence[tuple[int, int]], *, count: int
) -> Drawn:
    """Each value less the noises that its row takes: draw d of a row with shuffle (a, b) takes place a·d + b."""
    factor, start = (np.array(part, dtype=np.int64)[:, None] for part in zip(*shuffles, strict=True))
    places = (factor * np.arange(count) + start) % len(noises)
    drawn: Drawn = np.array(values, dtype=np.float64)[:, None] - np.array(noises, dtype=np.float64)[places]
    return drawn


def exact_column(values: Sequence[float]) -> Drawn:
    """Numbers without noise: the same in every draw."""
    return np.array(values, dtype=np.float64)[:, None]


def _divided(above: Any, below: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(np.equal(below, 0), np.nan, np.divide(above, below))


def _root(value: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return np.sqrt(value)


OPERATIONS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": _divided,
        "neg": np.negative,
        "abs": np.abs,
        "sqrt": _root,
        "to_double": lambda value: value,
        "greatest": lambda *values: _folded(np.fmax, values),
        "least": lambda *values: _folded(np.fmin, values),
        "clamp": np.clip,
        "nullif": lambda value, other: np.where(np.equal(value, other), np.nan, value),
        "ge": np.greater_equal,
        "gt": np.greater,
        "le": np.less_equal,
        "lt": np.less,
        "and": lambda *values: _folded(np.logical_and, values),
    }
)
"""Functions of SQL that mean the same on arrays, NULL being NaN. Every other expression goes to the engine."""


def _folded(operation: Callable[[Any, Any], Any], values: Sequence[Any]) -> Any:
    first, *others = values
    for other in others:
        first = operation(first, other)
    return first


def summaries(values: Any, possible: Any, *, rows: int, rule: Band) -> list[PossibleSpread]:
    """For each row how many plausible values exist, their ends and quantiles; then how many of them rows can be behind,
    and their quantiles. `possible` is True where all of them are."""
    shape = (rows, rule.count)
    full = np.broadcast_to(np.asarray(values, dtype=np.float64), shape)
    every = _sorted(full, np.isfinite(full))
    mask = np.broadcast_to(np.asarray(possible, dtype=np.bool_), shape)
    some = every if bool(mask.all()) else _sorted(full, mask & np.isfinite(full))
    known, likely = (np.isfinite(each).sum(axis=1) for each in (every, some))
    outside = np.maximum(rule.outside - (rule.count - known + 1) // 2, 0)
    fewer = rule.outside * likely // rule.count
    numbers = zip(
        known.tolist(),
        _at(every, np.zeros_like(known)),
        _at(every, outside),
        _at(every, known - 1 - outside),
        _at(every, known - 1),
        likely.tolist(),
        _at(some, fewer),
        _at(some, likely - 1 - fewer),
        strict=True,
    )
    return [PossibleSpread(*each) for each in numbers]


def _sorted(values: Drawn, there: Drawn) -> Drawn:
    """Each row in order, what is not there at its end."""
    return np.sort(np.where(there, values, np.inf), axis=1)


def _at(ordered: Drawn, places: Drawn) -> list[float]:
    """The value at a place of each row; of a row without values any."""
    limited = np.clip(places, 0, ordered.shape[1] - 1)
    listed: list[float] = np.take_along_axis(ordered, limited[:, None], axis=1)[:, 0].tolist()
    return listed
