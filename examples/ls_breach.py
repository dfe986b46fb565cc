"""Noise scaled to local sensitivity is not private: the slide's example (0, …, 0, M, M), with the exact loss.

    python examples/ls_breach.py

Two tables of seven incomes differ in one person. The median is 0 in both. In the first nobody alone can move it, so
its local sensitivity is 0 and no noise is added; in the second one person can move it by M. Whoever sees an answer
other than 0 knows which table it was. The scale itself is the leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpsql.enclosure import exp_bounds
from dpsql.privacy.rounding import round_down, round_up
from dpsql.privacy.unit import Neighbours
from dpsql.require import require_count, require_epsilon
from dpsql.sensitivity.aggregates import Column, Median, Outside
from dpsql.sensitivity.global_ import global_sensitivity
from dpsql.sensitivity.local import local_sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """What an observer of one answer can tell. Probabilities are intervals (low, high) around the exact value."""

    medians: tuple[Fraction, Fraction]
    local: tuple[Fraction, Fraction]
    global_: Fraction
    zero_from_first: Fraction
    zero_from_second: tuple[float, float]
    delta: tuple[float, float]
    loss_with_global: Fraction


def breach(*, largest: int, epsilon: Fraction) -> Breach:
    """The exact privacy loss of median + discrete Laplace(local sensitivity / ε), on the two tables of the slide.

    Discrete Laplace noise of scale t is 0 with probability (1 - p)/(1 + p), p = exp(-1/t). The first table has t = 0:
    it answers 0 always. So the event "not 0" has probability 0 on one side and δ = 2p/(1 + p) on the other. No ε' is
    a bound for it: the loss is infinite, and the mechanism is (ε', δ')-private for no δ' below this δ, whatever ε'.
    Noise of scale M/ε on both tables, equal medians: equal laws, a loss of |0 - 0|·ε/M = 0 here and at most ε anywhere.
    """
    require_count(largest=largest)
    require_epsilon(epsilon=epsilon)
    median = Median(column=Column(bounds=(0, largest), outside=Outside.REJECT))
    first, second = [0] * 5 + [largest] * 2, [0] * 4 + [largest] * 3
    local = tuple(local_sensitivity(median, rows, neighbours=Neighbours.CHANGE_ONE) for rows in (first, second))
    everywhere = global_sensitivity(median, neighbours=Neighbours.CHANGE_ONE).l1
    low, high = exp_bounds(-epsilon / local[1])
    medians = (median.value(first), median.value(second))
    return Breach(
        medians=medians,
        local=(local[0], local[1]),
        global_=everywhere,
        zero_from_first=Fraction(1),
        zero_from_second=(round_down((1 - high) / (1 + high)), round_up((1 - low) / (1 + low))),
        delta=(round_down(2 * low / (1 + low)), round_up(2 * high / (1 + high))),
        loss_with_global=abs(medians[0] - medians[1]) * epsilon / everywhere,
    )


def main() -> None:
    found = breach(largest=1000, epsilon=Fraction(1))
    print(f"medians:              {found.medians[0]} and {found.medians[1]}")
    print(f"local sensitivities:  {found.local[0]} and {found.local[1]}")
    print(f"Pr[answer = 0]:       {float(found.zero_from_first)} and {found.zero_from_second[1]:.6f}")
    print(f"An answer other than 0 proves that it was the second table; its probability is {found.delta[0]:.6f}.")
    print("So the loss is infinite: no ε holds, and no δ below that number.")
    print(f"Scaled to the global sensitivity {found.global_} the loss is {found.loss_with_global} on this pair,")
    print("and at most ε = 1 on any.")


if __name__ == "__main__":
    main()
