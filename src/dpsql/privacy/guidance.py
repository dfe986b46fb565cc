"""Which ε and δ to choose: advice with its reasons, returned as values so that any surface can show it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Final

from dpsql.privacy.measure import even_guess, posterior_bound
from dpsql.privacy.rounding import round_down
from dpsql.require import Number, require_count, require_epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaAdvice:
    """A δ to propose to the owner, and why."""

    delta: float
    why: str


LARGEST_DELTA: Final = Fraction(1, 10**6)
"""Even for a handful of people a larger δ is not worth proposing."""


def recommend_delta(*, n: int) -> DeltaAdvice:
    """A δ far below one over the number of people: 1/n², and never above one in a million.

    Theorem   a mechanism that prints each row with probability δ is (0, δ)-DP (`subsample_release_params`) and
              prints n·δ rows on average: with δ = 1/n² that is 1/n of a row.
    Requires  n >= 1, a public or rough number of people: a δ computed from a private n would reveal n.
    Rounds    down, toward the stronger promise.
    """
    require_count(n=n)
    delta = round_down(min(LARGEST_DELTA, Fraction(1, n * n)))
    return DeltaAdvice(
        delta=delta,
        why=(
            f"δ = {delta:.3g}, at most 1/n² for n = {n} people: even a release that prints each row with probability δ"
            f" would print {n * delta:.3g} rows on average. At δ = 1/n it would print one person's row each time."
            " Use a public or rough n: δ is visible to everybody, and the exact number of people may be private."
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonAdvice:
    """How strong a promise an ε is: a word, the odds it allows, and a sentence."""

    strength: str
    posterior: float
    text: str


_STRENGTHS: Final = (  # up to this ε: the word and what it is used for
    (0.01, "very strong", "a single answer of a long series"),
    (0.1, "strong", "a single answer"),
    (log(2), "good", "a published table; ε = ln 2 doubles odds at most"),
    (
        log(3),
        "moderate",
        "everything one analyst may learn; ε = ln 3 is the two-coin survey: 50–50 becomes 75 % at most",
    ),
    (5.0, "weak", "a last resort: state in public what it means"),
)


def epsilon_guidance(*, epsilon: Number) -> EpsilonAdvice:
    """What an ε is worth, judged by the odds it allows.

    Theorem   `posterior_bound`: even odds become exp(ε) to 1 at most.
    Requires  ε > 0.
    Rounds    the posterior up.
    """
    require_epsilon(epsilon=epsilon)
    posterior = posterior_bound(epsilon=epsilon)
    strength, use = next(
        ((word, use) for limit, word, use in _STRENGTHS if epsilon <= limit),
        ("hardly a promise", "no use we would recommend: an observer can become almost certain"),
    )
    guess = even_guess(epsilon=epsilon, person="person")
    text = f"ε = {float(min(epsilon, 10**300)):.4g} is {strength} ({guess}): {use}."
    return EpsilonAdvice(strength=strength, posterior=posterior, text=text)
