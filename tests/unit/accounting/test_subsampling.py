"""Amplification by sampling against enumeration of all samples, and the release of the sample itself."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.rdp import gaussian_rdp, subsampled_gaussian_rdp
from dpsql.accounting.subsampling import Scheme, amplify, base_epsilon
from dpsql.errors import BadParameter
from dpsql.privacy.divergence import subsample_release_params
from tests.kits.digits import mp
from tests.kits.refusals import raised
from tests.oracles.accounting import amplified_response

F = Fraction


@given(st.floats(1e-12, 1e5), st.floats(0, 0.9), st.floats(1e-12, 0.999999), st.sampled_from(Scheme))
def test_balle_barthe_gaboardi_rounds_up(epsilon: float, delta: float, rate: float, scheme: Scheme) -> None:
    """C116: ε' = ln(1 + q(e^ε − 1)), δ' = qδ."""
    found = amplify(epsilon=epsilon, delta=delta, rate=rate, scheme=scheme)
    with mpmath.workdps(60):
        true = mp(epsilon) + mpmath.log(mp(rate) + (1 - mp(rate)) * mpmath.exp(-mp(epsilon)))
        assert true * (1 - mpmath.mpf(10) ** -30) <= found.epsilon <= true * (1 + mpmath.mpf(10) ** -14)
    assert F(delta) * F(rate) <= F(found.delta) <= F(delta) * F(rate) * (1 + F(1, 2**52)) + F(1, 2**1074)


def hockey_stick(p: dict[int, float], q: dict[int, float], epsilon: float) -> float:
    return math.fsum(max(0.0, p[y] - math.exp(epsilon) * q[y]) for y in p)


def noisy_count(ones: int, epsilon: float) -> dict[int, float]:
    """A geometric count, an ε-DP release of the number of ones among at most 4 rows; outputs folded to −4..8."""
    ratio = math.exp(-epsilon)
    law = dict.fromkeys(range(-4, 9), 0.0)
    for noise in range(-300, 301):
        law[min(8, max(-4, ones + noise))] += (1 - ratio) / (1 + ratio) * ratio ** abs(noise)
    return law


def mixed(parts: list[tuple[float, dict[int, float]]]) -> dict[int, float]:
    return {y: math.fsum(weight * law[y] for weight, law in parts) for y in parts[0][1]}


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_poisson_sampling_by_enumeration(rate: float) -> None:
    """C116: all samples of up to 4 rows, both directions: the amplified ε suffices."""
    epsilon = 1.0
    promised = amplify(epsilon=epsilon, delta=0, rate=rate, scheme=Scheme.POISSON).epsilon

    def law(rows: tuple[int, ...]) -> dict[int, float]:
        return mixed(
            [
                (
                    math.prod(rate if kept else 1 - rate for kept in coins),
                    noisy_count(sum(r for r, kept in zip(rows, coins, strict=True) if kept), epsilon),
                )
                for coins in itertools.product((0, 1), repeat=len(rows))
            ]
        )

    for rows in itertools.product((0, 1), repeat=3):
        with_one, without = law((*rows, 1)), law(rows)
        assert hockey_stick(with_one, without, promised) < 1e-12
        assert hockey_stick(without, with_one, promised) < 1e-12


def test_sampling_without_replacement_by_enumeration() -> None:
    """C116: 2 of 4 rows under change_one is amplified by q = 1/2."""
    epsilon = 1.0
    promised = amplify(epsilon=epsilon, delta=0, rate=F(1, 2), scheme=Scheme.WITHOUT_REPLACEMENT).epsilon

    def law(rows: tuple[int, ...]) -> dict[int, float]:
        sets = list(itertools.combinations(rows, 2))
        return mixed([(1 / len(sets), noisy_count(sum(chosen), epsilon)) for chosen in sets])

    for rows in itertools.product((0, 1), repeat=4):
        changed = (1 - rows[0], *rows[1:])
        assert hockey_stick(law(rows), law(changed), promised) < 1e-12


def test_the_bound_is_attained() -> None:
    """C116: randomized response on a Poisson sample of one person loses exactly ln(1 + q(e^ε − 1))."""
    for epsilon, rate in ((1.0, 0.2), (3.0, 0.01), (0.1, 0.9)):
        promised = amplify(epsilon=epsilon, delta=0, rate=rate, scheme=Scheme.POISSON).epsilon
        assert amplified_response(epsilon=epsilon, rate=rate) == pytest.approx(promised, rel=1e-12)


@given(st.floats(1e-9, 600), st.floats(1e-9, 0.999), st.sampled_from(Scheme))
def test_the_inverse_rounds_down(target: float, rate: float, scheme: Scheme) -> None:
    """C116: the base ε, run on the sample, is within the target; a millionth more is not."""
    base = base_epsilon(target_epsilon=target, rate=rate, scheme=scheme)
    assert base >= target * (1 - 1e-12)
    assert amplify(epsilon=base, delta=0, rate=rate, scheme=scheme).epsilon <= target * (1 + 1e-14)
    assert amplify(epsilon=base * (1 + 1e-6), delta=0, rate=rate, scheme=scheme).epsilon > target


def test_a_scheme_is_no_text() -> None:
    raised(BadParameter, lambda: amplify(epsilon=1, delta=0, rate=0.1, scheme="poisson"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "m", "epsilon"), [(4, 1, 0.0), (5, 2, 0.0), (5, 2, 1.0), (5, 4, 3.0)])
def test_publishing_a_sample_by_enumeration(n: int, m: int, epsilon: float) -> None:
    """C116: the exact divergence between the samples of two databases that differ in one row is m/n at every ε."""
    rows, other = tuple(range(n)), (n, *range(1, n))
    weight = 1 / math.comb(n, m)
    p = dict.fromkeys(itertools.combinations(rows, m), weight)
    q = dict.fromkeys(itertools.combinations(other, m), weight)
    needed = math.fsum(max(0.0, mass - math.exp(epsilon) * q.get(sample, 0.0)) for sample, mass in p.items())
    assert needed == pytest.approx(subsample_release_params(rate=F(m, n)).delta, abs=1e-12)


def test_a_sample_of_everybody_amplifies_nothing() -> None:
    """C116: at rate 1 every bound is that of the release itself."""
    assert amplify(epsilon=1, delta=1e-6, rate=1, scheme=Scheme.POISSON).epsilon == pytest.approx(1, rel=1e-15)
    assert base_epsilon(target_epsilon=1, rate=1, scheme=Scheme.POISSON) == pytest.approx(1, rel=1e-15)
    assert subsampled_gaussian_rdp(alpha=8, sigma=2, rate=1) == gaussian_rdp(alpha=8, sigma=2, l2=1)
