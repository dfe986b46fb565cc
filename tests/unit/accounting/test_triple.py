"""The (ε, δ, ρ) of every event, against definitions computed from probability mass functions at high precision."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.errors import BadParameter, UnsupportedEvent
from dpsql.privacy.events import (
    Approximate,
    BoundedRange,
    Composed,
    ContinuousGaussian,
    ContinuousLaplace,
    DiscreteGaussian,
    Event,
    GaussianThreshold,
    KeySelection,
    PoissonSampled,
    Pure,
)
from tests.kits.accountant_kit import PARAMETERS, AccountantKit, one_of_each
from tests.kits.refusals import raised

F = Fraction
UNPRICED = (ContinuousGaussian, ContinuousLaplace, PoissonSampled)
ORDERS = [1.001, 1.1, 1.5, 2, 3, 5, 10, 30, 100]


def renyi(p: list[mpmath.mpf], q: list[mpmath.mpf], order: float) -> mpmath.mpf:
    a = mpmath.mpf(order)
    return mpmath.log(mpmath.fsum(x**a * y ** (1 - a) for x, y in zip(p, q, strict=True) if x)) / (a - 1)


class TestTripleRho(AccountantKit):
    events = one_of_each(without=UNPRICED)

    def price(self, event: Event) -> float:
        rho = triple(event).rho
        assert rho is not None
        return rho  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Pure(epsilon=F(1, 2)), Triple(epsilon=F(1, 2), delta=F(0), rho=F(1, 8))),
        (BoundedRange(epsilon=F(1, 2)), Triple(epsilon=F(1, 2), delta=F(0), rho=F(1, 32))),
        (
            DiscreteGaussian(sigma_squared=F(9), l2_squared=F(4), dimensions=7),
            Triple(epsilon=None, delta=F(0), rho=F(2, 9)),
        ),
        (Approximate(epsilon=F(1, 2), delta=F(1, 10**6)), Triple(epsilon=F(1, 2), delta=F(1, 10**6), rho=F(1, 8))),
        (
            KeySelection(epsilon=F(1, 2), delta=F(1, 10**6), keys=4),
            Triple(epsilon=F(1, 2), delta=F(1, 10**6), rho=F(1, 32)),
        ),
        (
            GaussianThreshold(sigma_squared=F(9), delta=F(1, 10**6), keys=4),
            Triple(epsilon=None, delta=F(1, 10**6), rho=F(2, 9)),
        ),
    ],
)
def test_the_table_of_prices(event: Event, expected: Triple) -> None:
    assert triple(event) == expected


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
def test_bun_steinke_pure_release_is_half_epsilon_squared_zcdp(epsilon: float) -> None:
    """Randomized response is the worst ε-DP pair; its Rényi curve stays below ρ·α and touches it at ε -> 0."""
    rho = triple(Pure(epsilon=F(epsilon))).rho
    truth = mpmath.mpf(1) / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
    ratios = [renyi([truth, 1 - truth], [1 - truth, truth], order) / order for order in ORDERS]
    assert rho is not None
    assert max(ratios) <= mpmath.mpf(rho.numerator) / rho.denominator
    assert max(ratios) > 0.2 * float(rho)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
def test_cesar_rogers_bounded_range_is_an_eighth_epsilon_squared_zcdp(epsilon: float) -> None:
    """Pairs whose log-ratios are t and t − ε, for every t that makes both add up to 1."""
    rho = triple(BoundedRange(epsilon=F(epsilon))).rho
    assert rho is not None
    limit = mpmath.mpf(rho.numerator) / rho.denominator
    worst = mpmath.mpf(0)
    for step in range(1, 40):
        high = mpmath.mpf(epsilon) * step / 40  # the larger log-ratio; the smaller is high − ε
        low = high - mpmath.mpf(epsilon)
        mass = (1 - mpmath.exp(low)) / (mpmath.exp(high) - mpmath.exp(low))
        q = [mass, 1 - mass]
        p = [mass * mpmath.exp(high), (1 - mass) * mpmath.exp(low)]
        assert abs(sum(p) - 1) < 1e-12
        worst = max(worst, *(renyi(p, q, order) / order for order in ORDERS))
    assert worst <= limit * (1 + mpmath.mpf(10) ** -12)
    assert worst > 0.7 * limit if epsilon <= 1 else worst > 0.3 * limit


@pytest.mark.parametrize(("sigma_squared", "shift"), [(0.3, 1), (1.0, 1), (4.0, 3), (50.0, 2)])
def test_cks_discrete_gaussian_is_concentrated(sigma_squared: float, shift: int) -> None:
    rho = triple(DiscreteGaussian(sigma_squared=F(sigma_squared), l2_squared=F(shift**2))).rho
    assert rho is not None
    reach = 60 + int(20 * sigma_squared**0.5)
    with mpmath.workdps(60):
        raw = {x: mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(sigma_squared))) for x in range(-reach, reach + 1)}
        points = range(-reach + shift, reach + 1 - shift)
        total = mpmath.fsum(raw.values())
        p, q = [raw[x] / total for x in points], [raw[x - shift] / total for x in points]
        for order in (1.1, 2, 5):
            assert renyi(p, q, order) <= order * mpmath.mpf(rho.numerator) / rho.denominator * (
                1 + mpmath.mpf(10) ** -9
            )


def selection_law(epsilon: mpmath.mpf, delta: mpmath.mpf, people: int) -> mpmath.mpf:
    """The probability that a key of so many people is kept by the optimal rule (Desfontaines et al. 2022)."""
    kept = mpmath.mpf(0)
    for _ in range(people):
        kept = min(mpmath.exp(epsilon) * kept + delta, 1 - mpmath.exp(-epsilon) * (1 - kept - delta), mpmath.mpf(1))
    return kept


@pytest.mark.parametrize("keys", [1, 2, 3])
def test_key_selection_is_approximately_concentrated(keys: int) -> None:
    """Off an event of probability δ, G keys that each lose one person cost ε²/2G: exact products of bits."""
    event = KeySelection(epsilon=F(6, 5), delta=F(1, 100), keys=keys)
    price = triple(event)
    assert price.rho is not None
    each_epsilon, each_delta = mpmath.mpf("1.2") / keys, mpmath.mpf("0.01") / keys
    for people in itertools.combinations_with_replacement(range(1, 7), keys):
        removed, bits = mpmath.mpf(1), []
        for count in people:
            with_person = selection_law(each_epsilon, each_delta, count)
            without = selection_law(each_epsilon, each_delta, count - 1)
            # Take δ/G off the likelier "kept", as the definition of an (ε/G, δ/G)-DP bit allows.
            excess = max(mpmath.mpf(0), with_person - mpmath.exp(each_epsilon) * without)
            assert excess <= each_delta * (1 + mpmath.mpf(10) ** -12)
            removed *= 1 - excess
            bits.append(([with_person - excess, 1 - with_person], [without, 1 - without]))
        assert 1 - removed <= mpmath.mpf("0.01") * (1 + mpmath.mpf(10) ** -12)
        for order in (1.5, 2, 8):
            moment = mpmath.mpf(1)
            for p, q in bits:
                moment *= mpmath.fsum(
                    x**order * y ** (1 - mpmath.mpf(order)) for x, y in zip(p, q, strict=True) if x > 0
                )
            bound = order * (order - 1) * mpmath.mpf(price.rho.numerator) / price.rho.denominator
            assert mpmath.log(moment) <= bound * (1 + mpmath.mpf(10) ** -12)


@pytest.mark.parametrize("kind", UNPRICED)
def test_what_is_not_in_the_table_never_prices_a_release(kind: type[Event]) -> None:
    event = kind(**PARAMETERS[kind])
    raised(UnsupportedEvent, lambda: triple(event))
    raised(UnsupportedEvent, lambda: triple(Composed((Pure(epsilon=F(1)), event))))


epsilons = st.fractions(min_value=F(1, 1000), max_value=10)
deltas = st.fractions(min_value=F(1, 10**9), max_value=F(1, 1000))
events = st.one_of(
    epsilons.map(lambda e: Pure(epsilon=e)),
    epsilons.map(lambda e: BoundedRange(epsilon=e)),
    st.tuples(epsilons, deltas).map(lambda t: Approximate(epsilon=t[0], delta=t[1])),
    st.tuples(epsilons, deltas, st.integers(1, 9)).map(lambda t: KeySelection(epsilon=t[0], delta=t[1], keys=t[2])),
    epsilons.map(lambda s: DiscreteGaussian(sigma_squared=s, l2_squared=F(1))),
)


@given(st.lists(events, max_size=6), st.randoms(use_true_random=False))
def test_sums_are_componentwise_and_exact(parts: list[Event], chance: object) -> None:
    total = FREE
    for part in parts:
        total += triple(part)
    shuffled = list(parts)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert triple(Composed(tuple(shuffled))) == total
    assert (total.epsilon is None) == any(isinstance(part, DiscreteGaussian) for part in parts)


@pytest.mark.parametrize("keys", [np.int8(100), np.uint8(129), True, 2.0])
def test_a_number_of_keys_that_could_wrap_around_is_refused(keys: int) -> None:
    """An 8-bit 2·100 is negative, and a negative ρ would be a refund."""
    raised(BadParameter, lambda: KeySelection(epsilon=1, delta=1e-6, keys=keys))


def test_what_was_added_since_is_never_a_refund():
    before = Triple(epsilon=F(1), delta=F(1, 10), rho=None)
    after = Triple(epsilon=F(3), delta=F(1, 20), rho=F(2))
    assert after.since(before) == Triple(epsilon=F(2), delta=F(0), rho=None)
    assert before.since(after) == Triple(epsilon=F(0), delta=F(1, 20), rho=None)
    assert after.since(FREE) == after
