"""Golden values: `python -m tests.vectors FILE…` recomputes every vector of a file and compares.

A vector names a topic, inputs, expected values and a tolerance. A *reading* is a function that turns inputs into
outputs; it serves a vector when the topic is its own and the names of the inputs fit its signature. Where one
set of names can be read in two ways (randomized response or Laplace, mean or variance), the names of the expected
values decide, and where those agree too, one reading must reproduce the vector whole. Identifiers are never read.
"""

import inspect
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any, Final

from dpsql.errors import DpsqlError
from tests.vectors import accounting, elastic, mechanisms, privacy, selection, sensitivity, smooth
from tests.vectors.words import Outputs, Reading, Readings

COMMENTS: Final = frozenset({"note"})  # inputs that are remarks to a human
PROSE: Final = frozenset({"rule", "debias"})  # expected values that are remarks to a human
WRONG: Final = "_do_not_use"  # expected values that must not come out

TABLES: Final = (accounting, elastic, mechanisms, privacy, selection, sensitivity, smooth)
READINGS: Final[Readings] = {topic: readings for table in TABLES for topic, readings in table.READINGS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one vector."""

    id: str
    reason: str = ""
    differences: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        return not self.reason and not self.differences

    def __str__(self) -> str:
        why = self.reason or "; ".join(self.differences)
        return f"pass  {self.id}" if self.passed else f"FAIL  {self.id}: {why}"


def judge(vector: Mapping[str, Any]) -> Verdict:
    """Recompute one vector and say what differs."""
    try:
        name, topic = str(vector["id"]), vector["topic"]
        inputs = {key: value for key, value in vector["inputs"].items() if key not in COMMENTS}
        expected: dict[str, Any] = dict(vector["expected"])
        tolerance = Tolerance(rel=float(vector["tolerance"]["rel"]), abs=float(vector["tolerance"]["abs"]))
    except (KeyError, TypeError, AttributeError, ValueError):
        return Verdict(id=_name_of(vector), reason="not a vector: needs id, topic, inputs, expected, tolerance")
    fitting = [function for function in READINGS.get(topic, ()) if _fits(function, inputs)]
    if not fitting:
        return Verdict(id=name, reason=f"no reading of topic {topic!r} takes the inputs {sorted(inputs)}")
    outcomes = [_outcome(function, inputs) for function in fitting]
    right = {key for key in expected if not key.endswith(WRONG) and key not in PROSE}
    complete = [outputs for outputs in outcomes if isinstance(outputs, Mapping) and right <= set(outputs)]
    closest = [outputs for outputs in complete if right == set(outputs)] or complete
    if not closest:
        reasons = [outputs for outputs in outcomes if isinstance(outputs, str)]
        return Verdict(id=name, reason=reasons[0] if reasons else f"no reading of {topic!r} gives {sorted(right)}")
    differences = [tuple(_differences(outputs, expected, tolerance)) for outputs in closest]
    return Verdict(id=name, differences=min(differences, key=len))


def _name_of(vector: object) -> str:
    return str(vector.get("id", "?")) if isinstance(vector, Mapping) else "?"


def _fits(function: Reading, inputs: Mapping[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(**inputs)
    except TypeError:
        return False
    return True


def _outcome(function: Reading, inputs: Mapping[str, Any]) -> Outputs | str:
    """The outputs of a reading, or why it has none: a refusal is an answer, any other exception is a bug."""
    try:
        return function(**inputs)
    except DpsqlError as error:
        return f"refused: {error.what}"
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return f"{function.__name__} failed: {type(error).__name__}: {error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Two numbers agree when they differ by at most abs + rel · |expected|."""

    rel: float
    abs: float

    def agree(self, got: Any, wanted: Any) -> bool:
        """Recursively: numbers within the tolerance, everything else equal."""
        if isinstance(wanted, Mapping):
            return (
                isinstance(got, Mapping)
                and {str(key) for key in got} == {str(key) for key in wanted}
                and all(self.agree(value, wanted[str(key)]) for key, value in got.items())
            )
        if isinstance(wanted, list):
            return (
                isinstance(got, Sequence)
                and not isinstance(got, str)
                and len(got) == len(wanted)
                and all(map(self.agree, got, wanted))
            )
        if isinstance(wanted, bool) or wanted is None:
            return got is wanted
        number = _number(wanted)
        if number is None:
            return bool(got == wanted)
        if isinstance(got, bool) or not isinstance(got, Real):
            return False
        if math.isinf(number) or math.isinf(float(got)):
            return float(got) == number
        return abs(Fraction(float(got)) - Fraction(number)) <= self.abs + self.rel * abs(number)


def _number(value: object) -> float | None:
    if isinstance(value, (int, float)):
        return float(value)
    return float(value) if value in ("inf", "-inf") and isinstance(value, str) else None


def _differences(outputs: Outputs, expected: Outputs, tolerance: Tolerance) -> Iterator[str]:
    right = {key: value for key, value in expected.items() if not key.endswith(WRONG) and key not in PROSE}
    for key, wanted in right.items():
        if not tolerance.agree(outputs[key], wanted):
            yield f"{key} is {outputs[key]!r}, expected {wanted!r}"
    for key, wrong in expected.items():
        # Some wrong formulas are right for some inputs (a missing factor ε at ε = 1).
        harmless = any(tolerance.agree(wrong, value) for value in right.values())
        if key.endswith(WRONG) and not harmless:
            for name, value in outputs.items():
                if tolerance.agree(value, wrong):
                    yield f"{name} is the wrong value {key}"


def run(paths: Sequence[str]) -> int:
    """Judge every vector of every file, one line each, then the count. Returns the exit code."""
    passed = failed = 0
    for path in paths:
        try:
            vectors = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            print(f"FAIL  {path}: cannot be read as JSON ({type(error).__name__})")
            failed += 1
            continue
        for vector in vectors if isinstance(vectors, list) else [vectors]:
            verdict = judge(vector)
            print(verdict)
            passed, failed = passed + verdict.passed, failed + (not verdict.passed)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
