"""Exercise 4.2: a program that computes a differentially private sum.

    python examples/dp_sum.py

Two towns differ in one person. Each program run prints a noisy total of what people earn, with a margin. The bounds,
ε and the neighbour relation are chosen before any salary is read; the noise is exact integer noise from the
operating system's generator, so nothing can be read off its last digits.
"""

from __future__ import annotations

from dpsql.mechanisms.dp_sum import DpSum, dp_sum
from dpsql.privacy.unit import Neighbours

TOWN = [30_000, 42_000, 15_000, 99_000, None, 61_500.50, 250_000, 48_000]  # one salary missing, one above the bound
WITHOUT_ERIC = TOWN[:2] + TOWN[3:]


def total_salary(salaries: list[float | None], *, epsilon: float) -> DpSum:
    """The total of the salaries, each counted as at least 10 000 and at most 100 000."""
    return dp_sum(salaries, lower=10_000, upper=100_000, epsilon=epsilon, neighbours=Neighbours.ADD_REMOVE)


def main() -> None:
    for name, salaries in (("the town", TOWN), ("the town without Eric", WITHOUT_ERIC)):
        answer = total_salary(list(salaries), epsilon=1.0)
        print(f"{name:>21}: {answer.value:12,.2f} ± {answer.margin:,.2f}  (95 %)  for ε = {float(answer.epsilon):g}")
    print("Each line was bought with ε = 1; both together cost ε = 2.")


if __name__ == "__main__":
    main()
