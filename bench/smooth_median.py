"""The smooth sensitivity of a median against sorting the same values: ratios within one run, and their limits.

    python bench/smooth_median.py [number of values]

Exit code 1 if a ratio is above its limit. Times are processor seconds and the best of five, taken in turns, so that
a busy machine does not decide.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpsql.privacy.unit import Neighbours
from dpsql.sensitivity.smooth_quantile import median_smooth_sensitivity

LIMITS = {0.03: 120.0, 1e-6: 350.0}  # β: time over the time of numpy.sort
GROWTH_LIMIT = 2.4  # time for twice the values over time
REPEATS = 5

Values = NDArray[np.float64]


def shapes(count: int) -> dict[str, Values]:
    """Columns between 0 and 1, unsorted."""
    chance = np.random.default_rng(20240229)
    return {
        "uniform": chance.random(count),
        "bell": np.clip(chance.normal(0.5, 0.1, count), 0, 1),
        "skewed": np.clip(chance.exponential(0.05, count), 0, 1),
        "hundredths": chance.integers(0, 101, count) / 100,
    }


def fastest(*actions: Callable[[], object]) -> list[float]:
    """Processor seconds of the fastest of several runs of each action, taken in turns."""
    times = [[_seconds(action) for action in actions] for _ in range(REPEATS)]
    return [min(column) for column in zip(*times, strict=True)]


def _seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def smoothing(values: Values, beta: float, neighbours: Neighbours) -> Callable[[], object]:
    return lambda: median_smooth_sensitivity(values, lower=0, upper=1, beta=beta, neighbours=neighbours)


def main(count: int) -> int:
    over = 0
    print(
        f"{'values':>9} {'shape':<11} {'relation':<11} {'β':>6} {'sort':>9} {'S':>9} {'ratio':>7} {'limit':>6}  2n / n"
    )
    single, double = shapes(count), shapes(2 * count)
    for name, values in single.items():
        for neighbours in Neighbours:
            for beta, limit in LIMITS.items():
                sorting, once, twice = fastest(
                    partial(np.sort, values),
                    smoothing(values, beta, neighbours),
                    smoothing(double[name], beta, neighbours),
                )
                failed = once / sorting > limit or twice / once > GROWTH_LIMIT
                over += failed
                print(
                    f"{count:>9} {name:<11} {neighbours.value:<11} {beta:>6g} {sorting * 1e3:>7.1f}ms"
                    f" {once * 1e3:>7.1f}ms {once / sorting:>6.1f}x {limit:>5.0f}x {twice / once:>6.2f}x"
                    f" {'OVER' if failed else ''}".rstrip()
                )
    print(f"{over} over their limit (growth at most {GROWTH_LIMIT}x)")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**6))
