"""Every path a randomised function can take, with its probability: the law of the code itself, not of its formula."""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import permutations
from types import ModuleType
from typing import Final

TAIL: Final = 1e-15


class _Abandoned(Exception):
    """The path is longer, or less likely, than the caller cares about."""


class _Path:
    """Answers requests for chance from a script; beyond it, takes the first answer and notes the others."""

    def __init__(self, script: tuple[int, ...], floor: float, depth: int) -> None:
        self.script, self.floor, self.depth = script, floor, depth
        self.taken: list[int] = []
        self.weight = 1.0
        self.others: list[tuple[int, ...]] = []

    def choose(self, weights: Sequence[float]) -> int:
        here = len(self.taken)
        if here < len(self.script):
            answer = self.script[here]
        else:
            answer = 0
            likely = (k for k in range(1, len(weights)) if self.weight * weights[k] >= self.floor)
            self.others += [(*self.taken, other) for other in likely]
        self.taken.append(answer)
        self.weight *= weights[answer]
        if self.weight < self.floor or self.weight == 0 or len(self.taken) > self.depth:
            raise _Abandoned
        return answer

    def uniform_below(self, bound: int, *, source: object) -> int:
        return self.choose([1 / bound] * bound)

    def shuffled(self, size: int, *, source: object) -> list[int]:
        orders = list(permutations(range(size)))
        return list(orders[self.choose([1 / len(orders)] * len(orders))])

    def bernoulli(self, probability: Fraction, *, source: object) -> bool:
        return self.choose([float(1 - probability), float(probability)]) == 1

    def bernoulli_exp(self, gamma: Fraction, *, source: object) -> bool:
        return self.choose([-math.expm1(-gamma), math.exp(-gamma)]) == 1

    def discrete_laplace(self, *, scale: Fraction, size: int, source: object) -> list[int]:
        return self._noise(size, lambda x: abs(x) / float(scale))

    def discrete_gaussian(self, *, sigma_squared: Fraction, size: int, source: object) -> list[int]:
        return self._noise(size, lambda x: x * x / (2 * float(sigma_squared)))

    def _noise(self, size: int, exponent: Callable[[int], float]) -> list[int]:
        reach = next(x for x in range(1, 10**6) if exponent(x) > -math.log(TAIL))
        support = range(-reach, reach + 1)
        weights = [math.exp(-exponent(x)) for x in support]
        total = math.fsum(weights)
        return [support[self.choose([weight / total for weight in weights])] for _ in range(size)]


CHANCE: Final = ("bernoulli", "bernoulli_exp", "discrete_gaussian", "discrete_laplace", "shuffled", "uniform_below")


@contextmanager
def _chance_from(path: _Path, modules: Iterable[ModuleType]) -> Iterator[None]:
    replaced = [(module, name, getattr(module, name)) for module in modules for name in CHANCE if hasattr(module, name)]
    try:
        for module, name, _ in replaced:
            setattr(module, name, getattr(path, name))
        yield
    finally:
        for module, name, original in replaced:
            setattr(module, name, original)


def law_of(
    run: Callable[[], Hashable], *, modules: Iterable[ModuleType], floor: float = 0.0, depth: int = 1000
) -> tuple[dict[Hashable, float], float]:
    """(probability of each result of `run`, probability of the paths left out).

    Left out are paths less likely than `floor` and those with more than `depth` requests for chance: a rejection
    sampler has paths of every length, and its law shows already in those of a few rounds.

    While it runs, the samplers that `modules` imported by name are replaced by ones that try every answer.
    """
    places = list(modules)
    law: dict[Hashable, float] = defaultdict(float)
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        path = _Path(scripts.pop(), floor, depth)
        with _chance_from(path, places):
            try:
                result = run()
            except _Abandoned:
                pass
            else:
                law[result] += path.weight
        scripts += path.others
    return dict(law), 1 - math.fsum(law.values())
