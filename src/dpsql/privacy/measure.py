"""What an (ε, δ) promise is worth, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpsql.require import Number, require_delta, require_non_negative


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyParams:
    """An (ε, δ) guarantee: Pr[M(D) in S] <= exp(ε) Pr[M(D') in S] + δ for all neighbours and all events S."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        require_non_negative(epsilon=self.epsilon)
        require_delta(delta=self.delta)

    @property
    def pure(self) -> bool:
        """True where δ = 0: the ratio is bounded for every output, without exception."""
        return self.delta == 0

    def explain(self) -> str:
        """The promise in words: what an observer can learn at most, and what δ means and does not mean."""
        kind = "pure" if self.pure else "approximate"
        head = f"ε = {float(self.epsilon):g}, δ = {float(self.delta):g}: {kind} differential privacy."
        return "\n\n".join([head, _odds_sentence(self.epsilon), _EVERYTHING_ELSE, _delta_sentence(self.delta)])


_EVERYTHING_ELSE = (
    "This holds whatever the observer knew before, whatever else is published, and however the answer is processed"
    " later. It does not say that nothing is learned about a person: what the data say about people in general"
    " is learned, with or without that person's rows."
)


def posterior_bound(*, epsilon: Number) -> float:
    """The most an observer can believe, after a pure ε answer, of something they gave even odds before.

    Theorem   Bayes' rule: posterior odds = prior odds · Pr[answer | D] / Pr[answer | D'] <= exp(ε), so the
              probability is at most exp(ε) / (1 + exp(ε)).
    Requires  ε >= 0.
    Rounds    up.
    """
    require_non_negative(epsilon=epsilon)
    try:
        doubt = math.exp(-float(epsilon))
    except OverflowError:  # an integer or fraction beyond the largest float
        return 1.0
    return min(1.0, math.nextafter(1 / (1 + doubt), 1) + 2 * math.ulp(0.5))


def posterior_percent(*, epsilon: Number) -> str:
    """`posterior_bound` in percent, to a hundredth and never below it: a limit that is rounded down is none."""
    return f"{math.ceil(10_000 * Fraction(posterior_bound(epsilon=epsilon))) / 100:g}"


def even_guess(*, epsilon: Number, person: str) -> str:
    """What ε means to somebody who has to decide about it. Where the percentage would be 100, the ε limits nothing any
    more, and that is what is said."""
    most = posterior_percent(epsilon=epsilon)
    becomes = (
        "may become sure, more than 99.99 %, so that this is no limit in practice"
        if most == "100"
        else f"becomes at most {most} %"
    )
    return f"a 50–50 guess about any one {person} {becomes}"


def _odds_sentence(epsilon: Number) -> str:
    if epsilon == 0:
        return "The answer says nothing at all about any one person: 50–50 stays 50–50."
    guess = even_guess(epsilon=epsilon, person="person")
    return (
        f"Whether a person is in the data, or what their rows say: after the answer, {guess}. In general no odds change"
        " by more than a factor of exp(ε), for every answer that can come out."
    )


def _delta_sentence(delta: Number) -> str:
    if delta == 0:
        return "δ = 0: there is no exception, however unlikely."
    return (
        f"δ = {float(delta):g} is slack added to every probability: the answer comes from a law that differs, with"
        f" probability at most δ, from one for which the sentences above are true without exception. It is not"
        f" the probability that the loss passes ε, which may be larger. And the exception is not harmless by itself:"
        f" printing every row with probability δ is allowed. So δ has to be far below one over the number of people."
    )
