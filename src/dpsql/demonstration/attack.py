"""Five people, one attack on Bob, and how a noisy count with a margin defeats it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from dpsql.mechanisms.discrete_laplace import LaplaceMechanism
from dpsql.privacy.exact import Exact
from dpsql.privacy.measure import posterior_bound
from dpsql.randomness import Source

FLU: Final = {"Hunter": 1, "Alice": 0, "Bob": 1, "Eric": 0, "Frank": 1}
EPSILON: Final = Fraction(1, 2)
CONFIDENCE: Final = Fraction(95, 100)
WIDTH: Final = 30


def count(*, without: str | None = None) -> int:
    """SELECT COUNT(*) FROM patients WHERE flu AND name <> …"""
    return sum(flu for name, flu in FLU.items() if name != without)


def difference_law(mechanism: LaplaceMechanism) -> list[float]:
    """Pr[noise of one answer minus noise of the other = ±d] for d = 0, 1, 2, …: the sum that defines it."""
    reach = 40 * math.ceil(mechanism.law.scale)  # what lies beyond weighs less than exp(-40)
    pmf = [mechanism.law.pmf(x) for x in range(reach + 1)]
    return [math.fsum(pmf[abs(x)] * pmf[abs(x - d)] for x in range(d - reach, reach + 1)) for d in range(reach // 2)]


def difference_margin(law: list[float]) -> int:
    """The smallest m such that the difference lies within ±m of the truth with 95 % probability."""
    inside, m = law[0], 0
    while inside < CONFIDENCE:
        m += 1
        inside += 2 * law[m]
    return m


def right_guesses(law: list[float]) -> float:
    """How often an attacker who subtracts the answers is right about Bob, both cases being equally likely before.

    With flu the difference is centred at 1, without at 0; the best guess is the likelier of the two.
    """
    return math.fsum(max(law[abs(d - 1)], law[abs(d)]) for d in range(2 - len(law), len(law))) / 2


def curve(mechanism: LaplaceMechanism, center: int) -> Iterator[str]:
    """A bar for each answer, as long as the answer is likely."""
    for x in range(-3, 9):
        bar = "█" * round(mechanism.law.pmf(x - center) / mechanism.law.pmf(0) * WIDTH)
        yield f"{x:>4} {bar}"


def leak() -> Iterator[str]:
    """The table, and two exact counts that give Bob away."""
    everybody, others = count(), count(without="Bob")
    yield "Five people, one private column.\n"
    yield from (f"    {name:<8}{'flu' if flu else '-'}" for name, flu in FLU.items())
    yield "\n1. Exact answers leak. Two harmless-looking counts:\n"
    yield f"    SELECT COUNT(*) FROM patients WHERE flu                      {everybody}"
    yield f"    SELECT COUNT(*) FROM patients WHERE flu AND name <> 'Bob'    {others}"
    yield f"\n    {everybody} - {others} = {everybody - others}: Bob has flu, and nobody asked about Bob."


def defence(mechanism: LaplaceMechanism, source: Source) -> Iterator[str]:
    """The same two counts, released."""
    margin, law = mechanism.law.margin(confidence=CONFIDENCE), difference_law(mechanism)
    everybody = mechanism.release(Exact(count()), source=source)
    others = mechanism.release(Exact(count(without="Bob")), source=source)
    yield f"\n2. The same questions with noise, at a privacy cost of ε = {float(EPSILON)} each:\n"
    yield f"    SELECT COUNT(*) FROM patients WHERE flu                      {everybody} ± {margin}"
    yield f"    SELECT COUNT(*) FROM patients WHERE flu AND name <> 'Bob'    {others} ± {margin}"
    yield f"\n    {everybody} - {others} = {everybody - others} ± {difference_margin(law)}."
    yield "\n    The margins hold 19 times out of 20. They depend on ε alone: known before asking, safe to tell."


def reason(mechanism: LaplaceMechanism) -> Iterator[str]:
    """Two worlds, side by side."""
    yield "\n3. Why it works: the first answer as it falls if Bob has flu, and if he has not.\n"
    yield f"    {'Bob has flu':<{WIDTH + 10}}Bob has not"
    worlds = zip(curve(mechanism, count()), curve(mechanism, count() - 1), strict=True)
    yield from (f"    {ill:<{WIDTH + 10}}{healthy}" for ill, healthy in worlds)
    guess, most = right_guesses(difference_law(mechanism)), posterior_bound(epsilon=EPSILON)
    margin = mechanism.law.margin(confidence=CONFIDENCE)
    yield f"\n    Guessing from the difference is right {guess:.0%} of the time; a coin is right 50%."
    yield "    Whatever an attacker knows and does, the one answer that involves Bob moves 50-50"
    yield f"    to {most:.0%} at most: that is what ε = {float(EPSILON)} means."
    yield f"\n    Among five people ± {margin} drowns the answer too. Among five thousand it does not:"
    yield f"    the margin stays {margin}."


def story(source: Source) -> Iterator[str]:
    """The demonstration, line by line."""
    mechanism = LaplaceMechanism(l1=1, epsilon=EPSILON)
    yield from leak()
    yield from defence(mechanism, source)
    yield from reason(mechanism)
    yield "\nEvery run draws new noise. Next: README.md, docs/theory.md, examples/."
