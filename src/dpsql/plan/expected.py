"""How far off an answer will be: known before anything runs, from the plan alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Final, TypeAlias

from dpsql.catalog.types import NUMERIC, SqlType
from dpsql.mechanisms.margins import NoisySlotLaw, SlotLaw, largest_margin, linear_margin
from dpsql.plan.price import Plan
from dpsql.plan.recall import Measured, averaged_noises
from dpsql.plan.wording import amount, counted, margin_text, subject, unit_name
from dpsql.sql.bound import PlacedSlot
from dpsql.sql.finish import Finish, LinearForm, linear_form
from dpsql.sql.scalars import Apply, ColumnRef, Constant, Scalar, Windowed, columns_of, rebuilt, walk
from dpsql.sql.slots import SlotKind

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
    """The noisy slots that decide which rows are shown, and how many groups they choose from.

    Where released values decide which rows are shown, the shown ones are no longer any rows: the largest of many noisy
    numbers is large by its noise too. A margin that holds for all groups holds for those that are shown, however they
    were chosen. Theorem: docs/theorems/margins_after_selection.md.
    """

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


COMPUTED: Final = "computed from released numbers, which carry noise: no ± is claimed for what is made of them"


class Certainty(Enum):
    """What can be said about an output column before it exists."""

    KEY = "key"
    """A released key, or made of keys alone: it has no margin."""
    EXACT = "exact"
    """It reads nothing private."""
    MARGIN = "margin"
    """The same ± in every row, from the law of the noise."""
    PER_COUNT = "per count"
    """An average: the ± is a number over the released count of the row."""
    SIMULATED = "simulated"
    """The ± depends on the released numbers; it comes with the answer."""
    DERIVED = "derived"
    """Made of noisy numbers, but not a number: it has no margin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What to expect of one column of the answer, at the confidence of the terms."""

    name: str
    certainty: Certainty
    margin: Fraction | None = None
    """± of every row; 0 where the column is exact. None: not one number for all rows."""
    over_count: Fraction | None = None
    """Of an average: its margin is this over the released count, where the average is near the middle of its bounds."""
    over_count_at_most: Fraction | None = None
    """The same wherever the average lies: the noise of the count then moves it too."""
    examples: tuple[tuple[int, Fraction], ...] = ()
    """(count, margin) for sizes that follow from the public number of rows."""
    cause: str | None = None
    """What makes the margin as large as it is."""
    groups: int | None = None
    """For how many groups at once the margin holds, where released values decide which are shown; None: for each."""
    groups_known: bool = True
    """False: there may be fewer of them, and the margin is then smaller."""
    usual: Fraction | None = None
    """Of a count that is shown only above a threshold: ± far above it, where `margin` is the largest."""

    @property
    def noisy(self) -> bool:
        """It is a number that carries noise."""
        return self.certainty in _NOISY

    @property
    def per_count(self) -> str | None:
        """`± 550 / n`, of an average."""
        return None if self.over_count is None else f"± {margin_text(self.over_count)} / n"

    @property
    def text(self) -> str:
        """In a few words."""
        return f"{self.name} {_WORDS[self.certainty](self)}{self.at_once}"

    @property
    def at_once(self) -> str:
        """That the margin holds for all groups together, in words."""
        if self.groups is None:
            return ""
        return f", for {'all' if self.groups_known else 'up to'} {amount(self.groups)} groups at once"


_NOISY: Final = frozenset({Certainty.MARGIN, Certainty.PER_COUNT, Certainty.SIMULATED})


def _per_count_words(column: Expectation) -> str:
    sizes = "; ".join(f"± {margin_text(margin)} if n = {amount(count)}" for count, margin in column.examples)
    at_most = column.over_count_at_most
    far = "" if at_most is None else f", at most ± {margin_text(at_most)} / n near a bound"
    return f"{column.per_count}" + (f" ({sizes})" if sizes else "") + far


def _margin_words(column: Expectation) -> str:
    most = f"± {margin_text(column.margin or Fraction(0))}"
    return most if column.usual is None else f"± {margin_text(column.usual)}, near the threshold up to {most}"


_WORDS: Final[Mapping[Certainty, Callable[[Expectation], str]]] = {
    Certainty.KEY: lambda column: "is a group",
    Certainty.EXACT: lambda column: "is exact",
    Certainty.MARGIN: _margin_words,
    Certainty.PER_COUNT: _per_count_words,
    Certainty.SIMULATED: lambda column: "± by simulation when it runs",
    Certainty.DERIVED: lambda column: "follows noisy numbers and has no margin",
}


def expected(plan: Plan, *, read_further: bool = False) -> tuple[Expectation, ...]:
    """One per output column, in order. The same plan gives the same numbers; no row and no chance enters.
    `read_further`: another query reads the answer, and may choose among its rows.

    Theorem   linear outputs: `mechanisms.margins.linear_margin`. Averages: (S + e)/(N + f) − S/N is
              (e − f·S/N)/(N + f), and |S/N| is at most half the width of the bounds. Where released values decide
              which rows are shown: docs/theorems/margins_after_selection.md.
    Requires  nothing.
    Rounds    up.
    """
    noises = {noise.placed.column.id: noise for noise in told_noises(plan)}
    scope = selection_scope(
        plan.bounded.finish,
        {number: noise.carried for number, noise in noises.items()},
        keys=[key.column.id for key in plan.bounded.query.keys],
        groups=_most_groups(plan),
        read_further=read_further,
    )
    return tuple(
        Expectation(name=output.name, certainty=Certainty.DERIVED)
        if output.part is not None or not output.interval
        else _at_once(_of_column(output.name, output.expression, noises, scope, plan), output.expression, scope, plan)
        for output in plan.bounded.finish.outputs
    )


def _most_groups(plan: Plan) -> int:
    """How many groups there are; where only their release tells, the most that the policy allows for public ones."""
    bounded = plan.bounded
    most = bounded.query.catalog.policy.defaults.max_keys if bounded.query.keys else 1
    return (most or 1) if bounded.number_of_keys is None else bounded.number_of_keys


def _at_once(column: Expectation, scalar: Scalar, scope: SelectionScope, plan: Plan) -> Expectation:
    if not column.noisy or scope.groups == 1 or not scope.shares(scalar):
        return column
    return replace(column, groups=scope.groups, groups_known=plan.bounded.number_of_keys is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldNoise:
    """The noise of one slot as it will be told."""

    placed: PlacedSlot
    carried: SlotLaw


def told_noises(plan: Plan) -> tuple[ToldNoise, ...]:
    """The noise of what will be told: of the stored release where one is good enough, else of the steps, averaged with
    that of a stored release which they make finer."""
    own = tuple(noise.carried for noise in plan.noises)
    told: tuple[SlotLaw, ...] = own
    if plan.stored is not None:
        told = plan.stored.noises
    elif plan.finer is not None:
        told = averaged_noises((*plan.finer.upon.measured, Measured(receipt=0, noises=own, places=())))
    slots = plan.bounded.slots if told else ()
    return tuple(ToldNoise(placed=placed, carried=carried) for placed, carried in zip(slots, told, strict=True))


_Noises = Mapping[int, ToldNoise]


def _of_column(name: str, scalar: Scalar, noises: _Noises, scope: SelectionScope, plan: Plan) -> Expectation:
    read = columns_of(scalar)
    if read.isdisjoint(noises):
        if plan.steps and not read.isdisjoint(key.column.id for key in plan.bounded.query.keys):
            return Expectation(name=name, certainty=Certainty.KEY)
        return Expectation(name=name, certainty=Certainty.EXACT, margin=Fraction(0))
    if scalar.type not in NUMERIC:
        return Expectation(name=name, certainty=Certainty.DERIVED)
    shape = _shape(scalar, noises)
    if shape is None:
        return Expectation(name=name, certainty=Certainty.SIMULATED)
    if shape.count is not None:
        return _average(name, scalar, shape.top, shape.count, noises, scope, plan)
    weights, (confidence, groups) = shape.top.weights, scope.each(scalar, plan.terms.confidence)
    usual = _margin(weights, noises, confidence, groups)
    if scope.thresholded.isdisjoint(weights):
        most, far = usual, None
    else:
        ((number, weight),) = weights.items()  # the thresholded count is the only slot of its plan
        most, far = abs(weight) * largest_margin(noises[number].carried, confidence=confidence, groups=groups), usual
    return Expectation(
        name=name,
        certainty=Certainty.MARGIN,
        margin=most,
        usual=far,
        cause=_cause(shape.top, noises, plan),
    )


def _margin(weights: Mapping[int, Fraction], noises: _Noises, confidence: Fraction, groups: int) -> Fraction:
    terms = [(weight, noises[number].carried) for number, weight in weights.items()]
    return linear_margin(terms, confidence=confidence, groups=groups)


def _average(
    name: str, scalar: Scalar, top: LinearForm, count: int, noises: _Noises, scope: SelectionScope, plan: Plan
) -> Expectation:
    """Where its noise decides which rows are shown, sum and count have intervals of their own, all of them at once."""
    ((number, weight),) = top.weights.items()
    centred = noises[number].placed.slot
    half = centred.size * centred.reach / centred.cap
    confidence, groups = scope.each(scalar, plan.terms.confidence)
    size = _margin(top.weights, noises, confidence, groups)
    if scope.shares(scalar):
        most = size + _margin({count: weight * half}, noises, confidence, groups)
    else:
        most = _margin({number: weight, count: weight * half}, noises, confidence, groups)
    return Expectation(
        name=name,
        certainty=Certainty.PER_COUNT,
        over_count=size,
        over_count_at_most=most,
        examples=tuple((rows, size / rows) for rows in _sizes(plan)),
    )


def _sizes(plan: Plan) -> tuple[int, ...]:
    """An even share of the public number of rows, and a tenth of it; nothing where no size is public."""
    query = plan.bounded.query
    rows = {query.catalog.policy.tables[name].rows for name in query.private_tables}
    groups = plan.bounded.number_of_keys
    if len(rows) != 1 or not groups:
        return ()
    (public,) = rows
    even = (public or 0) // groups
    unit: int = 10 ** max(0, len(str(even)) - 2)
    share = even // unit * unit  # to two digits
    return tuple(dict.fromkeys(size for size in (share, share // 10) if size))


def _cause(form: LinearForm, noises: _Noises, plan: Plan) -> str | None:
    """Of a single sum or count: how far one person may move it."""
    if len(form.weights) != 1:
        return None
    slot = noises[next(iter(form.weights))].placed.slot
    bounded = plan.bounded
    parts = []
    if slot.of_each:
        low, high = amount(slot.low * slot.size), amount(slot.high * slot.size)
        parts.append(f"the sum of {subject(slot, bounded.query)} within {low} and {high}")
    elif slot.grain is not None:
        low, high = amount(Fraction(slot.grain.lower)), amount(Fraction(slot.grain.upper))
        parts.append(f"{subject(slot, bounded.query)} within {low} and {high}")
    if slot.cap > 1 and not slot.of_each:
        parts.append(counted(slot.cap, "row" if slot.kind is not SlotKind.DISTINCT else "value"))
    if bounded.groups > 1:
        parts.append(counted(bounded.groups, "group"))
    return f"{' × '.join(parts)} of one {unit_name(bounded.query)}" if parts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """`top` plus a constant; or, with a count, top / max(count, …) plus a constant."""

    top: LinearForm
    count: int | None = None


def _shape(scalar: Scalar, noises: _Noises) -> _Shape | None:
    """Linear outputs and averages, perhaps moved, scaled, or kept inside bounds; None for everything else.

    Keeping a number inside fixed bounds moves it no further from a truth that is kept inside the same bounds.
    """
    form = linear_form(scalar, noises)
    if form is not None:
        return _Shape(top=form)
    match scalar:
        case Apply("clamp", (inside, Constant(), Constant())) | Apply("to_double", (inside,)):
            return _shape(inside, noises)
        case Apply("neg", (inside,)):
            return _scaled(_shape(inside, noises), Fraction(-1))
        case Apply("add" | "sub", (inside, Constant() as by)) | Apply("add", (Constant() as by, inside)):
            return _scaled(_shape(inside, noises), None if _number(by) is None else Fraction(1))
        case Apply("mul", (inside, Constant() as by)) | Apply("mul", (Constant() as by, inside)):
            return _scaled(_shape(inside, noises), _number(by))
        case Apply("div", (inside, Constant() as by)):
            number = _number(by)
            return _scaled(_shape(inside, noises), 1 / number if number else None)
        case Apply("div", (above, below)):
            return _quotient(linear_form(above, noises), below, noises)
        case _:
            return None


def _number(constant: Constant) -> Fraction | None:
    value = constant.value
    return Fraction(value) if isinstance(value, int | Fraction) and not isinstance(value, bool) else None


def _scaled(shape: _Shape | None, by: Fraction | None) -> _Shape | None:
    if shape is None or not by:
        return None
    weights = {number: weight * by for number, weight in shape.top.weights.items()}
    return _Shape(top=LinearForm(constant=shape.top.constant * by, weights=weights), count=shape.count)


_OF_AVERAGES: Final = (SlotKind.CENTRED, SlotKind.MEAN)


def _quotient(above: LinearForm | None, below: Scalar, noises: _Noises) -> _Shape | None:
    """S / max(N, 1) for a centred sum S and a count N: what averages are made of."""
    match below:
        case Apply("greatest", (Apply("to_double", (ColumnRef(id=count),)) | ColumnRef(id=count), Constant())):
            pass
        case _:
            return None
    if above is None or above.constant or len(above.weights) != 1 or count not in noises:
        return None
    (centred,) = above.weights
    fits = noises[centred].placed.slot.kind in _OF_AVERAGES and noises[count].placed.slot.counts
    return _Shape(top=above, count=count) if fits else None
