"""docs/theory.md: every topic is there, and each printed formula is right where the lecture notes were wrong.

A formula of the page is read as an expression and evaluated; what it must equal comes from brute force over small
databases, from numerical integration or from exact laws, so a page that printed the notes' version would fail here.
"""

import ast
import math
import re
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import pytest
from scipy import integrate, stats

from dpsql.privacy.divergence import approx_max_divergence, kl_bound
from dpsql.privacy.tails import azuma_bound
from tests.kits.cases import cases

PAGE = (Path(__file__).parents[3] / "docs" / "theory.md").read_text(encoding="utf-8")
FORMULAS = dict(re.findall(r'^```formula title="(\w+)"\n(.+)\n```$', PAGE, re.M))
TOPICS = [
    "Definition", "Neighbours", "Sensitivity", "Global", "Local", "Smooth", "Elastic", "Laplace mechanism",
    "Gaussian mechanism", "Exponential mechanism", "Report noisy max", "Sparse vector", "Randomized response",
    "Group privacy", "Composition", "Divergences", "Probability tools", "Keys of GROUP BY", "Errata",
]  # fmt: skip
FUNCTIONS = {
    "abs": abs, "ceil": math.ceil, "exp": math.exp, "log": math.log, "max": max, "min": min, "range": range,
    "sorted": sorted, "sqrt": math.sqrt, "sum": sum, "Phi": stats.norm.cdf,
}  # fmt: skip


def evaluate(name: str, **values):
    return eval(FORMULAS[name], {"__builtins__": {}, **FUNCTIONS, **values})


def names_in(name: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(FORMULAS[name])) if isinstance(node, ast.Name)} - set(FUNCTIONS)


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_has_a_section(topic):
    """C127: the corrected lecture text covers every topic."""
    section = re.search(rf"^##+ {re.escape(topic)}\n+(.+?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert section
    assert len(section[1].split()) > 20


def test_the_errata_table_opens_with_the_ten_that_break_privacy():
    """C127: the table says what the notes say and what is right."""
    rows = [line.split(" | ") for line in PAGE.partition("## Errata")[2].splitlines() if line.startswith("| ")]
    assert rows[0][2:] == ["what the notes say", "what is right |"]
    assert [row[0] for row in rows[1:11]] == ["| P"] * 10
    assert len(rows) > 30
    assert {row[0] for row in rows[1:]} == {"| P", "| A", "| D"}
    assert len(FORMULAS) == 10


NEIGHBOUR_PAIRS = {True: [], False: []}
for size in range(5):
    for rows in combinations_with_replacement(range(-2, 4), size):
        for row in range(-2, 4):
            NEIGHBOUR_PAIRS[True].append((rows, (*rows, row)))
            if rows:
                NEIGHBOUR_PAIRS[False].append((rows, (*rows[1:], row)))


@pytest.mark.parametrize("add_remove", [True, False])
@pytest.mark.parametrize("all_contribute", [True, False])
@pytest.mark.parametrize(("a", "b"), [(1, 3), (0, 3), (-2, 1), (-2, -1)])
def test_sum_sensitivity(add_remove, all_contribute, a, b):
    """C127, erratum 10: brute force over all small databases with values in [a, b]; a filtered row adds 0."""
    pairs = [p for p in NEIGHBOUR_PAIRS[add_remove] if all(a <= v <= b for v in (*p[0], *p[1]))]
    brute = max(abs(sum(x) - sum(y)) for x, y in pairs)
    if not all_contribute and not add_remove:
        values = {0, *range(a, b + 1)}
        brute = max(abs(x - y) for x in values for y in values)
    assert evaluate("sum_sensitivity", a=a, b=b, add_remove=add_remove, all_contribute=all_contribute) == brute


def local_sensitivity(data: tuple[int, ...], top: int) -> int:
    middle = len(data) // 2
    changed = (sorted((*data[:i], v, *data[i + 1 :])) for i in range(len(data)) for v in range(top + 1))
    return max(abs(after[middle] - data[middle]) for after in changed)


def brute_at_distance(data: tuple[int, ...], k: int, top: int) -> int:
    """The largest local sensitivity of the median of any database at most k changes away."""
    reach = {data}
    for _ in range(k):
        reach |= {tuple(sorted((*d[:i], v, *d[i + 1 :]))) for d in reach for i in range(len(d)) for v in range(top + 1)}
    return max(local_sensitivity(d, top) for d in reach)


def from_page(data: tuple[int, ...], k: int, top: int) -> int:
    def x(i):
        return 0 if i < 1 else top if i > len(data) else data[i - 1]

    return evaluate("median_at_distance", x=x, m=(len(data) + 1) // 2, k=k)


@pytest.mark.parametrize("data", [d for n in (1, 3) for d in combinations_with_replacement(range(6), n)], ids=str)
def test_median_at_distance(data):
    """C127, erratum 2: brute force over all databases within k changes."""
    for k in range(len(data) + 1):
        assert from_page(data, k, 5) == brute_at_distance(data, k, 5)


def test_smooth_bound():
    """C127, erratum 1: the condition holds for the smooth bound of the median and fails for local sensitivity."""
    assert names_in("smooth_bound") == {"S_x", "S_y", "beta"}
    beta, top = 0.3, 5
    databases = list(combinations_with_replacement(range(top + 1), 3))
    smooth = {d: max(math.exp(-beta * k) * from_page(d, k, top) for k in range(4)) for d in databases}
    local = {d: local_sensitivity(d, top) for d in databases}
    neighbours = [(x, y) for x in databases for y in databases if is_one_change(x, y)]
    assert all(evaluate("smooth_bound", S_x=smooth[x] * (1 - 1e-12), S_y=smooth[y], beta=beta) for x, y in neighbours)
    assert not all(evaluate("smooth_bound", S_x=local[x], S_y=local[y], beta=beta) for x, y in neighbours)
    # The condition of the notes, S(x) <= exp(beta) LS(y), refuses the very bound it is meant to define.
    assert any(smooth[x] > math.exp(beta) * local[y] for x, y in neighbours)


def is_one_change(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
    left = list(y)
    for value in x:
        if value in left:
            left.remove(value)
    return len(left) <= 1


def dilation_delta(*, d: int, beta: float, epsilon: float) -> float:
    """The exact δ between d Laplace noises of scale 1 and of scale exp(β): the sum of sizes is a Gamma variable."""
    rate, gamma = -math.expm1(-beta), stats.gamma(d)
    small = max(0.0, (d * beta - epsilon) / rate)
    large = (d * beta + epsilon) / rate
    narrow = gamma.cdf(small) - math.exp(epsilon) * gamma.cdf(small * math.exp(-beta))
    wide = gamma.sf(large * math.exp(-beta)) - math.exp(epsilon) * gamma.sf(large)
    return max(narrow, wide)


@pytest.mark.parametrize(
    ("d", "epsilon", "delta"), [(100, 0.1, 1e-8), (1000, 0.1, 1e-8), (100, 1, 1e-6), (10, 1, 1e-6)]
)
def test_smooth_beta_of_many_bins(d, epsilon, delta):
    """C127, erratum 9: half of (ε, δ) covers the change of scale; the one-dimensional β would not."""
    right = evaluate("smooth_beta_many", d=d, epsilon=epsilon, delta=delta)
    assert dilation_delta(d=d, beta=right, epsilon=epsilon / 2) <= delta / 2
    if d >= 100:
        assert dilation_delta(d=d, beta=epsilon / (2 * math.log(2 / delta)), epsilon=epsilon) > delta


def test_elastic_smoothing():
    """C127, erratum 8: the result is a smooth bound for S(k) = mf + k, where neighbours move mf by one."""
    beta = 0.05

    def smooth(mf):
        return evaluate("elastic_smoothing", S=lambda k: mf + k, beta=beta, degree=1)

    for mf in range(1, 60):
        assert smooth(mf) == max(math.exp(-beta * k) * (mf + k) for k in range(1000))  # over all k
        assert smooth(mf + 1) <= math.exp(beta) * smooth(mf) * (1 + 1e-12)
    # Two peaks: a scan that stops at the first decrease would answer 1000.
    two_peaks = evaluate("elastic_smoothing", S=lambda k: max(1000 + k, (1 + k) ** 3), beta=beta, degree=3)
    assert two_peaks == pytest.approx(11305, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.3, 1, 3])
@pytest.mark.parametrize("ratio", [0.3, 1, 2])
def test_gaussian_delta(epsilon, ratio):
    """C127, erratum 7: by numerical integration of max(0, p - exp(ε) q)."""

    def over(x):
        return max(0, stats.norm.pdf(x, 0, ratio) - math.exp(epsilon) * stats.norm.pdf(x, 1, ratio))

    crossing = 0.5 - epsilon * ratio**2
    true, _ = integrate.quad(over, crossing - 12 * ratio, crossing, epsabs=1e-13, limit=200)
    assert evaluate("gaussian_delta", l2=1, sigma=ratio, epsilon=epsilon) == pytest.approx(true, rel=1e-6, abs=1e-12)


def noisy_max_laws(scale: float, scores: tuple[int, ...]) -> list[float]:
    def law(i):
        def density(x):
            rest = math.prod(stats.laplace.cdf(x, s, scale) for j, s in enumerate(scores) if j != i)
            return stats.laplace.pdf(x, scores[i], scale) * rest

        return integrate.quad(density, -60 * scale, 60 * scale, points=sorted(set(scores)), limit=200)[0]

    return [law(i) for i in range(len(scores))]


def test_noisy_max_scale():
    """C127, erratum 5: the loss found by integration stays below ε; half the noise for mixed moves does not."""
    epsilon = 1.0
    joint = evaluate("noisy_max_scale", monotone=True, sensitivity=1, epsilon=epsilon)
    mixed = evaluate("noisy_max_scale", monotone=False, sensitivity=1, epsilon=epsilon)

    def worst(scale, before, after):
        laws = noisy_max_laws(scale, before), noisy_max_laws(scale, after)
        return max(abs(math.log(a / b)) for a, b in zip(*laws, strict=True))

    assert worst(joint, (0, 0, 0), (1, 1, 0)) <= epsilon
    opposite = ((0, 1, 1, 1), (1, 0, 0, 0))
    assert worst(mixed, *opposite) <= epsilon
    assert worst(joint, *opposite) > 1.2 * epsilon


def test_parallel_composition():
    """C127, erratum 6: randomized response on each part; the exact loss of add/remove and of change-one neighbours."""
    epsilons = [0.1, 0.5, 0.3]
    flip = [Fraction(math.exp(e)) / (1 + Fraction(math.exp(e))) for e in epsilons]

    def law(present: tuple[int, ...]) -> list[Fraction]:
        bits = [(1 - p, p) if bit else (p, 1 - p) for p, bit in zip(flip, present, strict=True)]
        return [math.prod(pick) for pick in product(*bits)]

    states = list(product((0, 1), repeat=3))

    def loss(pairs):
        return max(math.log(max(a / b for a, b in zip(law(x), law(y), strict=True))) for x, y in pairs)

    apart = {(x, y): sum(a != b for a, b in zip(x, y, strict=True)) for x in states for y in states}
    added = loss(pair for pair, d in apart.items() if d <= 1)  # a row joins or leaves one part
    moved = loss(pair for pair, d in apart.items() if d <= 2)  # a changed row leaves one part and joins another
    assert evaluate("parallel_composition", epsilons=epsilons, add_remove=True) == pytest.approx(added)
    assert evaluate("parallel_composition", epsilons=epsilons, add_remove=False) == pytest.approx(moved)


@pytest.mark.parametrize(
    ("k", "epsilon", "delta_prime"), [(10, 0.1, 1e-6), (100, 0.02, 1e-5), (5, 1.5, 1e-3), (3, 2.0, 0.1)]
)
def test_advanced_composition(k, epsilon, delta_prime):
    """C127, erratum 3: at the printed ε the exact k-fold randomized response needs no more than δ'."""
    printed = evaluate("advanced_composition", k=k, epsilon=epsilon, delta_prime=delta_prime)
    up = math.exp(epsilon) / (1 + math.exp(epsilon))
    exact = sum(
        max(0.0, stats.binom.pmf(j, k, up) - math.exp(printed) * stats.binom.pmf(k - j, k, up)) for j in range(k + 1)
    )
    assert exact <= delta_prime
    # Azuma: each loss is at most ε in size and ε(exp(ε) - 1) on average.
    bound = azuma_bound(
        k=k, alpha=epsilon, beta=kl_bound(epsilon=epsilon, tight=False), z=math.sqrt(2 * math.log(1 / delta_prime))
    )
    assert printed == pytest.approx(bound.threshold, rel=1e-12)


@cases(__file__, "p=", "q=", "delta=")
def test_approximate_max_divergence(p, q, delta):
    """C127, erratum 4: over events it is the smallest ε whose hockey-stick divergence is δ."""
    events = [chosen for chosen in product((0, 1), repeat=len(p)) if any(chosen)]

    def mass(law):
        return lambda event: sum(a for a, c in zip(law, event, strict=True) if c)

    value = evaluate("approximate_max_divergence", P=mass(p), Q=mass(q), delta=delta, events=events)
    over = sum(max(0.0, a - math.exp(value) * b) for a, b in zip(p, q, strict=True))
    assert over == pytest.approx(delta)
    assert value == pytest.approx(approx_max_divergence(p, q, delta=delta))


def test_every_theorem_page_named_exists():
    pages = set(re.findall(r"theorems/(\w+\.md)", PAGE))
    assert pages
    assert all((Path(__file__).parents[3] / "docs" / "theorems" / page).exists() for page in pages)
