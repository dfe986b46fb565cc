"""The sparse vector technique: which queries of a stream lie above a threshold, paid for by the positive answers only.

Of the published variants only this one (Lyu, Su, Li 2017, Algorithm 7) is kept: one noisy threshold for the whole
stream, fresh noise per query scaled with the number of positives, and a stop after them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import Final, NoReturn

from dpsql.enclosure import log_bounds
from dpsql.errors import BudgetExhausted, Refused
from dpsql.mechanisms.mechanism import opened
from dpsql.mechanisms.whole import require_listed, whole
from dpsql.privacy.events import Pure
from dpsql.privacy.exact import Exact
from dpsql.privacy.rounding import exact
from dpsql.randomness import Source, discrete_laplace
from dpsql.require import (
    Number,
    require_count,
    require_epsilon,
    require_flag,
    require_non_negative,
    require_open_unit,
    require_positive,
    unmet,
)

LARGEST_THRESHOLD: Final = 2**62
SPLITS: Final[Mapping[str, str]] = {
    "optimal": "the least variance of query noise minus threshold noise",
    "half": "half for the threshold, half for the queries",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVectorScales:
    """How ε is divided, and the two Laplace scales that follow. All numbers are exact."""

    threshold_epsilon: Fraction
    query_epsilon: Fraction
    threshold_scale: Fraction
    query_scale: Fraction


def sparse_vector_scales(
    *, epsilon: Number, positives: int, sensitivity: Number, monotonic: bool, split: str
) -> SparseVectorScales:
    """The shares and scales of Algorithm 7 for `positives` positive answers.

    Theorem   Lyu, Su, Li (2017), Alg 7 and Sec 4.2: threshold Lap(Δ/ε₁), queries Lap(2cΔ/ε₂) (cΔ/ε₂ if monotone);
              ε₁ : ε₂ = 1 : (2c)^⅔ (1 : c^⅔) has the least variance; "half" is their Algorithm 1 and, for c = 1,
              Dwork and Roth's AboveThreshold.
    Requires  epsilon > 0; sensitivity > 0; positives >= 1; split: "optimal" or "half".
    Rounds    nothing that matters: ε₁ + ε₂ = ε exactly, whatever the rounding of the ratio.
    """
    require_epsilon(epsilon=epsilon)
    require_positive(sensitivity=sensitivity)
    require_count(positives=positives)
    require_flag(monotonic=monotonic)
    if not isinstance(split, str) or split not in SPLITS:
        raise unmet(f"split={split!r} must be one of {', '.join(sorted(SPLITS))}")
    factor = (1 if monotonic else 2) * positives
    share = Fraction(1, 2) if split == "half" else Fraction(1 / (1 + factor ** (2 / 3)))
    first = exact(epsilon) * share
    second = exact(epsilon) - first
    return SparseVectorScales(
        threshold_epsilon=first,
        query_epsilon=second,
        threshold_scale=exact(sensitivity) / first,
        query_scale=factor * exact(sensitivity) / second,
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """One answer of a stream: whether the query is above, and the noisy value that was bought with a positive one.

    Two fields, because a noisy value of 0 or 1 must not be taken for False or True.
    """

    above: bool
    value: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVector:
    """A calibrated stream: at most `positives` answers above `threshold`, then no more answers at all.

    Queries and threshold are whole numbers (counts, or grains); every query moves by at most `sensitivity` between
    neighbours. `monotonic` may be set only where all queries of the stream move in the same direction.
    `numeric_epsilon` above 0 buys a noisy value with each positive answer, on top of `epsilon`.
    """

    threshold: int
    positives: int
    sensitivity: Number
    epsilon: Number
    numeric_epsilon: Number
    monotonic: bool
    split: str

    def __post_init__(self) -> None:
        require_count(threshold=self.threshold, at_least=-LARGEST_THRESHOLD, at_most=LARGEST_THRESHOLD)
        require_non_negative(numeric_epsilon=self.numeric_epsilon)
        object.__setattr__(self, "threshold", int(self.threshold))
        _ = self.scales

    @property
    def scales(self) -> SparseVectorScales:
        """Shares and scales of threshold and query noise."""
        return sparse_vector_scales(
            epsilon=self.epsilon,
            positives=self.positives,
            sensitivity=self.sensitivity,
            monotonic=self.monotonic,
            split=self.split,
        )

    @property
    def numeric_scale(self) -> Fraction | None:
        """The scale cΔ/ε₃ of the values released with positive answers; None where none are."""
        third = exact(self.numeric_epsilon)
        return self.positives * exact(self.sensitivity) / third if third else None

    @property
    def event(self) -> Pure:
        """The whole stream, however long: ε₁ + ε₂ + ε₃."""
        return Pure(epsilon=exact(self.epsilon) + exact(self.numeric_epsilon))

    def accuracy(self, *, queries: int, beta: Number) -> int:
        """α such that, over `queries` queries, no comparison is off by more than α, except with probability β.

        Theorem   a discrete Laplace variable of scale b exceeds a whole number a in size with probability at most
                  exp(−a/b); β/2 for the threshold, β/2k for each query.
        Requires  queries >= 1; 0 < beta < 1.
        Rounds    up, to whole numbers, which the discrete tail needs.
        """
        require_count(queries=queries)
        require_open_unit(beta=beta)
        scales, share = self.scales, 2 / exact(beta)
        threshold = scales.threshold_scale * log_bounds(share)[1]
        query = scales.query_scale * log_bounds(share * queries)[1]
        return math.ceil(threshold) + math.ceil(query)

    def start(self, *, source: Source) -> SparseVectorRun:
        """A new stream with its own noisy threshold. Charge `event` once, before this call, for all of it."""
        return SparseVectorRun(self, source)

    def release(self, value: Exact[Sequence[int]], /, *, source: Source) -> tuple[Comparison, ...]:
        """The answers to a list of queries, up to and including the last positive one that is paid for."""
        queries = opened(value)
        require_listed(queries, name="the queries")
        run, answers = self.start(source=source), list[Comparison]()
        for query in queries:
            if run.left == 0:
                break
            answers.append(run.ask(Exact(query)))
        return tuple(answers)


class SparseVectorRun:
    """One stream. It knows its noisy threshold and how many positives are left, and refuses when none are."""

    __slots__ = ("_left", "_lock", "_mechanism", "_noisy_threshold", "_process", "_source")

    def __init__(self, mechanism: SparseVector, source: Source) -> None:
        self._mechanism, self._source, self._left = mechanism, source, mechanism.positives
        self._lock, self._process = Lock(), os.getpid()
        # Exact, because the proof releases comparisons with this number and never the number.
        self._noisy_threshold = Exact(mechanism.threshold + self._noise(mechanism.scales.threshold_scale))

    @property
    def left(self) -> int:
        """How many positive answers can still be given."""
        return self._left

    def ask(self, query: Exact[int], /) -> Comparison:
        """Whether the noisy query reaches the noisy threshold, and the value bought with a positive answer."""
        with self._lock:  # two threads must not both take the last positive
            return self._answer(query)

    def _answer(self, query: Exact[int]) -> Comparison:
        if self._process != os.getpid():
            raise Refused(
                "a stream cannot be continued in a forked process",
                why="parent and child would each give the positive answers that were paid for once",
                fix="start a new stream in the child, and charge it",
            )
        if self._left == 0:
            raise BudgetExhausted(
                f"all {self._mechanism.positives} positive answers have been given",
                why="each further positive answer would cost privacy nobody has paid for",
                fix="start a new stream, and charge it",
            )
        value = whole(opened(query))
        if value + self._noise(self._mechanism.scales.query_scale) < opened(self._noisy_threshold):
            return Comparison(above=False)
        self._left -= 1
        scale = self._mechanism.numeric_scale
        return Comparison(above=True, value=None if scale is None else value + self._noise(scale))

    def _noise(self, scale: Fraction) -> int:
        return int(discrete_laplace(scale=scale, size=1, source=self._source)[0])

    def __reduce__(self) -> NoReturn:
        # Also what copy and deepcopy call: a second run with the same threshold would double the positives.
        raise TypeError("a stream cannot be copied or pickled; start another one")

    def __repr__(self) -> str:
        return f"SparseVectorRun(left={self._left}, threshold hidden)"
