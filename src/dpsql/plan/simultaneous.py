"""Which margins of an answer hold for all groups of its release at once.

Where released values decide which rows are shown, the shown ones are no longer any rows: the largest of many noisy
numbers is large by its noise too. A margin that holds for all groups holds for those that are shown, however they were
chosen. Theorem: docs/theorems/margins_after_selection.md.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeAlias

from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.mechanisms.margins import NoisySlotLaw, SlotLaw
from dpsql.sql.finish import Finish
from dpsql.sql.linear import linear_form
from dpsql.sql.scalars import Apply, Constant, Scalar, Windowed, columns_of, rebuilt, walk

_EXTREMES: Final = frozenset({"min", "max"})
"""Window functions whose value is that of a row which noise has helped to choose."""

_FOLLOWED: Final = frozenset(
    {"add", "sub", "neg", "mul", "div", "intdiv", "sqrt", "ln", "log10", "log2", "exp", "sign"}
    | {"round", "floor", "ceil", "to_double", "to_integer", "clamp", "coalesce", "greatest", "least", "case"}
)
"""Functions that rise or fall with a noisy argument, so that the middle of their plausible values holds the truth. What
jumps, as n % 7 or n = 300 does, may have its truth among the rare ones. A quotient rises or falls where its divisor
keeps away from 0, which is known with the answer."""

_QUOTIENTS: Final = frozenset({"div", "intdiv", "mod"})
"""What has no value where its second argument is 0."""
_SUMS: Final = frozenset({"add", "sub"})
_STEPS: Final = frozenset({"greatest", "least", "clamp", "sign", "round", "floor", "ceil", "intdiv", "to_integer"})
"""Functions that follow a noisy argument in steps, or up to a limit."""

_Part: TypeAlias = frozenset[tuple[int, Fraction]]
"""The noise of one number: a slot, or several with their weights, the first of which is 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionScope:
    """The noisy slots that decide which rows are shown, and how many groups they choose from."""

    deciding: frozenset[int]
    noisy: frozenset[int]
    thresholded: frozenset[int]
    """Slots that are released only above a threshold; they decide too."""
    groups: int
    parts: frozenset[_Part] = frozenset()
    """The noises of one row behind all values that share noise with what decides: their intervals hold together."""

    def shares(self, scalar: Scalar) -> bool:
        """Whether a value carries noise that decides which rows are shown, or which row it is of, so that its margin
        holds for all groups."""
        return not self.deciding.isdisjoint(columns_of(scalar)) or any(
            isinstance(node, Windowed) and self.is_placed_by_noise(node) for node in walk(scalar)
        )

    def is_placed_by_noise(self, window: Windowed) -> bool:
        """Whether noise decides which rows a window looks at, and in which order."""
        read = (*placing(window), *(window.arguments if window.function in _EXTREMES else ()))
        return any(map(self._reads, read))

    def encloses(self, scalar: Scalar) -> bool:
        """Whether its interval is made of those of its slots: noise decides which row is shown, or which of several
        noisy numbers the value is. Plausible values around the chosen one would lean to the side it was chosen by. Of a
        single noise the box is the interval that its law has."""
        windows = self._windows(scalar)
        return (
            self.shares(scalar)
            or (not windows and len(columns_of(scalar) & self.noisy) == 1)
            or any(self._jumps(node) or self._adds_steps(node) for node in _calls(scalar))
            or any(map(self._adds_up, windows))
        )

    def leans(self, scalar: Scalar) -> bool:
        """Whether noise pushes such numbers to one side, so that it adds up in a sum of them."""
        return (
            any(map(self._jumps, _calls(scalar)))
            or any(True for _ in self._steps(scalar))
            or any(map(self._adds_up, self._windows(scalar)))
        )

    def _windows(self, scalar: Scalar) -> list[Windowed]:
        """The window functions that read noisy numbers."""
        windows = [node for node in walk(scalar) if isinstance(node, Windowed)]
        return [window for window in windows if self._reads(window)]

    def _adds_up(self, window: Windowed) -> bool:
        """Whether its rows lean to one side together, as those of SUM(ABS(x)) do: noises of sums cancel out instead,
        also with weights and conditions that are exact."""
        return any(map(self._leans, window.arguments))

    def _adds_steps(self, call: Apply) -> bool:
        """The same within one row: of several numbers at a limit or a step, noise pushes each to the same side."""
        steps = [columns_of(step) & self.noisy for term in call.arguments for step in self._steps(term)]
        return call.function in _SUMS and len(steps) > 1 and len(frozenset().union(*steps)) > 1

    def _steps(self, scalar: Scalar) -> Iterator[Apply]:
        """The outermost limits and steps of a term. Neither those of a divisor count, which keep it from 0, nor the
        bounds of an average."""
        if not isinstance(scalar, Apply):
            return
        bounds = scalar.function == "clamp" and any(node.function == "div" for node in _calls(scalar))
        if scalar.function in _STEPS and self._reads(scalar) and not bounds:
            yield scalar
        else:
            for argument in scalar.arguments[: 1 if scalar.function == "div" else None]:
                yield from self._steps(argument)

    def _leans(self, scalar: Scalar) -> bool:
        if (
            isinstance(scalar, Apply)
            and scalar.function == "case"
            and not any(map(self._reads, scalar.arguments[:-1:2]))
        ):
            return any(map(self._leans, (*scalar.arguments[1::2], scalar.arguments[-1])))
        return self._reads(scalar) and linear_form(self._with_equal_weights(scalar), self.noisy) is None

    def _with_equal_weights(self, scalar: Scalar) -> Scalar:
        """The same of noise, with 1 for every exact number: whether it is linear does not depend on them."""
        if scalar.type in NUMERIC and not self._reads(scalar):
            return Constant(1, SqlType.INTEGER)
        return rebuilt(scalar, self._with_equal_weights)

    def _reads(self, scalar: Scalar) -> bool:
        return not self.noisy.isdisjoint(columns_of(scalar))

    def _jumps(self, call: Apply) -> bool:
        """Whether the middle of its plausible values may miss the truth: noise chooses between numbers by GREATEST and
        LEAST of several and by the condition of a CASE."""
        if not self._reads(call):
            return False
        match call.function:
            case "greatest" | "least":
                return sum(map(self._reads, call.arguments)) > 1
            case "case":
                return any(map(self._reads, call.arguments[:-1:2]))
            case "mul":
                return self._turns(*call.arguments)
            case name:
                return name not in _FOLLOWED

    def _turns(self, left: Scalar, right: Scalar) -> bool:
        """Whether a product is a square in some noise: it falls before 0 and rises behind it."""
        shared = columns_of(left) & columns_of(right) & self.noisy
        return bool(shared) and None not in (linear_form(left, self.noisy), linear_form(right, self.noisy))

    def groups_of(self, scalar: Scalar) -> int:
        """For how many groups at once the margin of a value holds."""
        return self.groups if self.shares(scalar) else 1

    def outputs_of(self, scalar: Scalar, confidence: Fraction) -> int:
        """As many independent intervals of one noise hold at this confidence together as the margin of a value is made
        for: what is calculated with it is no surer than it is."""
        if not self.shares(scalar):
            return 1
        level, outputs = self.each(scalar, confidence)
        return outputs if level == confidence else math.ceil(outputs * math.log(confidence) / math.log(level) + 1e-6)

    def each(self, scalar: Scalar, confidence: Fraction) -> tuple[Fraction, int]:
        """The confidence at which so many intervals of one noise hold together, for the answer to hold at this one.

        Theorem   docs/theorems/margins_after_selection.md: different slots are independent; numbers that share slots
                  are not, and each then gets an equal part of what may fail.
        Requires  0 < confidence < 1.
        Rounds    nothing.
        """
        if not self.shares(scalar):
            slots = max(1, len(columns_of(scalar) & self.noisy)) if self.encloses(scalar) else 1
            return confidence, slots * self.groups if self._windows(scalar) and self.encloses(scalar) else slots
        if all(len(part) == 1 for part in self.parts):
            return confidence, self.groups * max(1, len(self.parts))
        return 1 - (1 - confidence) / len(self.parts), self.groups


def divisor_of(call: Apply) -> Scalar | None:
    """What a quotient or a remainder divides by, looking through NULLIF(x, 0)."""
    if call.function not in _QUOTIENTS:
        return None
    match call.arguments[1]:
        case Apply(function="nullif", arguments=(divisor, Constant(value=0))):
            return divisor
        case divisor:
            return divisor


def _calls(scalar: Scalar) -> Iterator[Apply]:
    """The calls in an expression; of NULLIF(x, 0) as a divisor, those in x."""
    waiting = [scalar]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Apply):
            yield node
            divisor = divisor_of(node)
            waiting += node.arguments if divisor is None else (node.arguments[0], divisor)
        elif isinstance(node, Windowed):
            waiting += (*node.arguments, *placing(node))


def placing(window: Windowed) -> tuple[Scalar, ...]:
    """What decides which rows a window looks at, and in which order."""
    return (*window.partition_by, *(key.by for key in window.order_by))


def selection_scope(
    finish: Finish, laws: Mapping[int, SlotLaw], *, keys: Collection[int], groups: int, read_further: bool = False
) -> SelectionScope:
    """The scope of an answer over these noisy slots. `read_further`: another query reads all rows and may choose among
    them by any of their values.

    Theorem   docs/theorems/margins_after_selection.md.
    Requires  `groups` is at least the number of rows of the release; `laws` names every noisy slot of it.
    Rounds    nothing: a slot that may decide counts as deciding.
    """
    thresholded = {number for number, law in laws.items() if isinstance(law, NoisySlotLaw) and law.above is not None}
    deciding = laws.keys() if read_further else finish.deciding(keys, groups=groups) & laws.keys()
    scope = SelectionScope(
        deciding=frozenset(deciding) | thresholded,
        noisy=frozenset(laws),
        thresholded=frozenset(thresholded),
        groups=max(groups, 1),
    )
    return replace(scope, parts=frozenset(_parts(finish, scope)))


def _parts(finish: Finish, scope: SelectionScope) -> Iterator[_Part]:
    for output in finish.outputs:
        scalar, read = output.expression, columns_of(output.expression) & scope.noisy
        if not read or scalar.type not in NUMERIC or not scope.shares(scalar):
            continue
        form = linear_form(scalar, scope.noisy)
        if form is None:
            yield from (frozenset({(slot, Fraction(1))}) for slot in read)
        elif form.weights:
            first = form.weights[min(form.weights)]
            yield frozenset((slot, weight / first) for slot, weight in form.weights.items())
