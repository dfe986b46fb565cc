"""How often does the attack on Bob succeed? Exact counts, noisy counts, and noisy counts repeated without a ledger.

Run it:  .venv/bin/python examples/differencing.py
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpsql.randomness import SYSTEM, discrete_laplace

EPSILON = Fraction(1, 2)  # the price of each count
TRIALS = 20_000


def success(*, repeats: int, noisy: bool) -> float:
    """How often "the averaged difference is above 1/2" is right about Bob, who is ill in every other trial."""
    ill = np.arange(TRIALS) % 2
    difference = ill.astype(float)
    if noisy:
        for _ in range(repeats):
            first = discrete_laplace(scale=1 / EPSILON, size=TRIALS, source=SYSTEM)
            second = discrete_laplace(scale=1 / EPSILON, size=TRIALS, source=SYSTEM)
            difference = difference + (first - second) / repeats
    tie = difference == 0.5
    right = ((difference > 0.5) == (ill == 1)) & ~tie
    return float(right.mean() + tie.mean() / 2)


def main() -> None:
    print(f"exact counts                              {success(repeats=1, noisy=False):4.0%} right")
    print(f"noisy counts, ε = {float(EPSILON)} each                {success(repeats=1, noisy=True):4.0%} right")
    repeats = 100
    print(f"the same two, asked {repeats} times, averaged    {success(repeats=repeats, noisy=True):4.0%} right")
    print(f"\nNoise alone does not stop patience: {repeats} rounds cost ε = {float(2 * repeats * EPSILON):g} in all.")
    print("That is why every answer has a price, and why somebody has to keep the books.")


if __name__ == "__main__":
    main()
