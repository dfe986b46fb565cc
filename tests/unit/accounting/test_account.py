"""The account rule: exact arithmetic, and soundness against every adaptive analyst of a small world.

The search in `worst` is exhaustive: at every point the analyst knows all answers so far and may choose any release
of a menu. Releases are the worst of their kind (randomized response, with a confession for δ, exact discrete
Gaussians with the tails merged). Its value is the smallest δ the whole conversation satisfies at ε.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.accounting.account import Account, remaining
from dpsql.accounting.optimal import optimal_epsilon
from dpsql.accounting.triple import FREE, Triple, triple
from dpsql.accounting.zcdp import largest_rho
from dpsql.errors import BadParameter, BudgetExhausted, DpsqlError, UnsupportedEvent
from dpsql.privacy.events import Approximate, BoundedRange, Composed, ContinuousGaussian, DiscreteGaussian, Event, Pure
from tests.kits.refusals import raised

F = Fraction
Pair = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Release:
    """An event and the output laws (P(y), Q(y)) of the worst pair it describes."""

    event: Event
    pair: Pair


def response(epsilon: float, delta: float = 0.0) -> Pair:
    truth = 1 / (1 + math.exp(-epsilon))
    honest = [((1 - delta) * truth, (1 - delta) * (1 - truth)), ((1 - delta) * (1 - truth), (1 - delta) * truth)]
    return [*honest, (delta, 0.0), (0.0, delta)] if delta else honest


def pure(epsilon: Fraction) -> Release:
    return Release(Pure(epsilon=epsilon), response(float(epsilon)))


def approximate(epsilon: Fraction, delta: Fraction) -> Release:
    return Release(Approximate(epsilon=epsilon, delta=delta), response(float(epsilon), float(delta)))


def gaussian(sigma_squared: Fraction, cells: int) -> Release:
    """The discrete Gaussian at 0 and at 1, outputs merged into cells of nearly equal loss."""
    sigma = math.sqrt(sigma_squared)
    reach = int(12 * sigma) + 3
    law = {x: math.exp(-x * x / (2 * float(sigma_squared))) for x in range(-reach - 1, reach + 2)}
    total = math.fsum(law.values())
    points = [(law[x] / total, law[x - 1] / total) for x in range(-reach, reach + 2)]
    edges = [len(points) // 2 + int((i - cells / 2) * sigma * 5 / cells) for i in range(1, cells)]
    cuts = [0, *edges, len(points)]
    merged = [
        (math.fsum(p for p, _ in points[a:b]), math.fsum(q for _, q in points[a:b]))
        for a, b in itertools.pairwise(cuts)
    ]
    return Release(DiscreteGaussian(sigma_squared=sigma_squared, l2_squared=F(1)), merged)


def bounded_range(epsilon: Fraction) -> Release:
    high = float(epsilon) / 2
    mass = (1 - math.exp(-high)) / (math.exp(high) - math.exp(-high))
    return Release(
        BoundedRange(epsilon=epsilon), [(mass * math.exp(high), mass), ((1 - mass) * math.exp(-high), 1 - mass)]
    )


def both(parts: Sequence[Release], epsilon: Fraction, delta: Fraction) -> Release:
    """Several releases as the one of (ε, δ) that they are together."""
    joint: list[tuple[float, float]] = [(1.0, 1.0)]
    for part in parts:
        joint = [(p * x, q * y) for p, q in joint for x, y in part.pair]
    return Release(Approximate(epsilon=epsilon, delta=delta), joint)


def worst(account: Account, menu: Sequence[Release], depth: int, p: float = 1.0, q: float = 1.0) -> float:
    """The largest Σ (P − e^ε Q)₊ over all transcripts, over all ways to choose the next release."""
    best = max(0.0, p - math.exp(account.epsilon) * q)
    if depth == 0 or p == 0:
        return best
    for release in menu:
        if account.admits(release.event):
            after = account.charged(release.event)
            best = max(best, math.fsum(worst(after, menu, depth - 1, p * x, q * y) for x, y in release.pair))
    return best


def test_rho_star_is_the_largest_rho() -> None:
    """C110: an account fixes ρ* when it is opened."""
    account = Account.opened(epsilon=1, delta=F(1, 10**6), delta_prime=F(1, 2 * 10**6))
    assert account.rho == largest_rho(epsilon=1, delta=F(1, 2 * 10**6))
    assert account.spent == FREE
    assert account.spent_epsilon == 0


SMALL = Account.opened(epsilon=F(1), delta=F(1, 5), delta_prime=F(1, 10))


def test_no_adaptive_analyst_beats_the_account() -> None:
    """C100: pure, approximate and bounded-range releases, chosen after every answer, four deep."""
    menu = [pure(F(1, 2)), pure(F(1)), approximate(F(1, 2), F(1, 20)), bounded_range(F(1))]
    found = worst(SMALL, menu, depth=4)
    assert found <= float(SMALL.delta) + 1e-12
    assert found > 0.09  # the δ that may be spent is nearly used: the search is not idle


def test_no_adaptive_analyst_beats_the_account_with_gaussian_noise() -> None:
    """C100: with Gaussian noise the second branch carries the promise."""
    menu = [gaussian(F(8), 8), gaussian(F(20), 6), pure(F(1, 2))]
    found = worst(SMALL, menu, depth=4)
    assert 0.01 < found <= float(SMALL.delta) + 1e-12


def test_branches_do_not_add_up_across_paths() -> None:
    """C100: paths that end in the first branch and paths that end in the second share one δ."""
    size = F(9, 10)
    tail = optimal_epsilon(k=2, epsilon=size, delta=F(0), target_delta=F(1, 11))
    planned = both([pure(size), pure(size)], F(tail), F(1, 10))
    menu = [planned, pure(F(1, 10)), gaussian(F(30), 6), approximate(F(1, 4), F(1, 10))]
    account = Account.opened(epsilon=F(tail) + F(1, 2), delta=F(1, 5), delta_prime=F(1, 10))
    found = worst(account, menu, depth=3)
    assert 0.02 < found <= float(account.delta) + 1e-12


def test_a_wrong_limit_is_caught_by_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """C100: the search can fail: with four times ρ* an analyst breaks the promise."""
    monkeypatch.setattr(Account, "__post_init__", lambda self: None)  # which would refuse the wrong limit
    account = Account(epsilon=F(1, 2), delta=F(1, 50), delta_prime=F(1, 50), rho=F(0))
    right = largest_rho(epsilon=F(1, 2), delta=F(1, 50))
    step = pure(F(1, 4))
    assert step.event == Pure(epsilon=F(1, 4))
    honest = Account(epsilon=account.epsilon, delta=account.delta, delta_prime=account.delta_prime, rho=right)
    wrong = Account(epsilon=account.epsilon, delta=account.delta, delta_prime=account.delta_prime, rho=4 * right)
    assert worst(honest, [step], depth=12) <= float(account.delta)
    assert worst(wrong, [step], depth=12) > float(account.delta)


def test_an_account_that_forgets_to_reserve_is_caught() -> None:
    """C100: spending δ' twice, on events and on the second branch, breaks the promise."""
    reserved = Account.opened(epsilon=F(2), delta=F(1, 10), delta_prime=F(1, 10))
    menu = [approximate(F(1, 100), F(1, 10)), gaussian(F(1), 12)]
    assert worst(reserved, menu, depth=3) <= 0.1
    limit = largest_rho(epsilon=2, delta=F(1, 10))
    generous = Account(epsilon=F(2), delta=F(1, 5), delta_prime=F(1, 10), rho=limit)  # δ − δ' is the whole δ
    assert worst(generous, menu, depth=3) > 0.1


def test_a_grant_lowered_below_what_was_spent_says_what_was_spent() -> None:
    """Both branches of the lower grant are passed: what it shows is the smaller of both sums, not its limit."""
    promise = Account.opened(epsilon=1, delta=F(1, 10**6), delta_prime=F(1, 2 * 10**6))
    lowered = promise.grant(epsilon=F(1, 100))
    spent = Triple(epsilon=F(3, 100), delta=F(0), rho=promise.rho_for(epsilon=F(1, 2)))
    assert replace(lowered, spent=spent).spent_epsilon == F(3, 100)
    gaussian_only = replace(spent, epsilon=None)
    assert replace(lowered, spent=gaussian_only).spent_epsilon == F(1, 2)
    assert remaining([replace(lowered, spent=spent)]) == 0
    assert not replace(lowered, spent=spent).admits(Pure(epsilon=F(1, 10**15)))


def test_without_a_reserve_there_is_no_gaussian() -> None:
    """C110: δ' = 0 has no second branch, however small the noise's ρ."""
    account = Account.opened(epsilon=1, delta=F(1, 10**6), delta_prime=0)
    assert account.rho == 0
    noise = DiscreteGaussian(sigma_squared=F(10**12), l2_squared=F(1))
    assert not account.admits(noise)
    assert "Gaussian" in raised(BudgetExhausted, lambda: account.charged(noise), match="cannot pay").why


def test_a_limit_without_a_reserve_is_void() -> None:
    """C110: with δ' = 0 no ρ* is accepted, and one that were there would open no second branch."""
    raised(BadParameter, lambda: Account(epsilon=F(1), delta=F(1, 100), delta_prime=F(0), rho=F(1)))
    odd = Account.opened(epsilon=1, delta=F(1, 100), delta_prime=0)
    object.__setattr__(odd, "rho", F(1))
    assert not odd.concentrated_branch_open
    assert not odd.admits(DiscreteGaussian(sigma_squared=F(100), l2_squared=F(1)))


def test_the_first_gaussian_closes_the_pure_branch_for_ever() -> None:
    """C110: from then on only Σρ counts."""
    account = Account.opened(epsilon=1, delta=F(1, 10**6), delta_prime=F(1, 2 * 10**6))
    assert account.pure_branch_open
    assert account.concentrated_branch_open
    after = account.charged(DiscreteGaussian(sigma_squared=F(10**4), l2_squared=F(1)))
    assert not after.pure_branch_open
    assert after.concentrated_branch_open
    assert after.spent_epsilon == after.spent.rho / after.rho
    assert not after.admits(Pure(epsilon=F(1)))  # ρ = 1/2 is far above ρ*
    assert account.admits(Pure(epsilon=F(1)))


def test_either_branch_is_enough() -> None:
    """C110: many small releases outlive ε by ρ; few large ones outlive ρ by ε."""
    account = Account.opened(epsilon=1, delta=F(1, 10**6), delta_prime=F(1, 2 * 10**6))
    few = account.charged(Pure(epsilon=F(9, 10)))
    assert few.pure_branch_open
    assert not few.concentrated_branch_open
    count, small = 0, Pure(epsilon=F(1, 1000))
    many = account
    while many.admits(small):
        many, count = many.charged(small), count + 1
    assert count > 10_000
    assert not many.pure_branch_open


def test_the_deltas_have_their_own_limit() -> None:
    """C110: Σδ <= δ − δ', exactly."""
    account = Account.opened(epsilon=10, delta=F(1, 10), delta_prime=F(1, 20))
    event = Approximate(epsilon=F(1, 10), delta=F(1, 60))
    for _ in range(3):
        account = account.charged(event)
    assert account.spent.delta == F(1, 20)
    assert not account.admits(event)
    assert account.admits(Pure(epsilon=F(1, 10)))


def test_a_grant_has_the_exchange_rate_of_its_account() -> None:
    account = Account.opened(epsilon=2, delta=F(1, 10**6), delta_prime=F(1, 2 * 10**6))
    grant = account.charged(Pure(epsilon=F(1))).grant(epsilon=F(1, 2))
    assert grant.rho / grant.epsilon == account.rho / account.epsilon
    assert grant.spent == FREE
    assert (grant.delta, grant.delta_prime) == (account.delta, account.delta_prime)
    assert account.rho_for(epsilon=2) == account.rho


def test_a_grant_is_never_larger_than_its_account() -> None:
    account = Account.opened(epsilon=2, delta=F(1, 10**6), delta_prime=F(1, 2 * 10**6))
    assert account.grant(epsilon=2).rho == account.rho
    small = account.grant(epsilon=F(1, 2))
    inner = small.grant(epsilon=F(1, 3))
    assert inner.rho / inner.epsilon == account.rho / account.epsilon
    for larger in (lambda: account.grant(epsilon=F(201, 100)), lambda: small.grant(epsilon=F(51, 100))):
        with pytest.raises(BadParameter, match="grant"):
            larger()


@settings(deadline=None)
@given(st.fractions(F(1, 1000), 20), st.sampled_from([F(1, 2), F(1, 10**6), F(1, 10**30)]), st.fractions(F(1, 100), 1))
def test_a_rebuilt_account_with_a_false_limit_is_refused(epsilon: Fraction, reserve: Fraction, share: Fraction) -> None:
    """C110: ρ* is checked, for accounts and for grants; a smaller one only refuses more and is accepted."""
    account = Account.opened(epsilon=epsilon, delta=reserve, delta_prime=reserve)
    for honest in (account, account.grant(epsilon=share * epsilon)):
        assert replace(honest) == honest
        assert replace(honest, rho=honest.rho / 2).rho == honest.rho / 2
        for false in (honest.rho * (1 + F(1, 10**12)), 4 * honest.rho, F(-1)):
            with pytest.raises(BadParameter):
                replace(honest, rho=false)
        with pytest.raises(BadParameter):
            replace(honest, epsilon=honest.epsilon / 2)
    raised(BadParameter, lambda: replace(account, delta_prime=reserve / 2))
    raised(BadParameter, lambda: replace(account, granted_from=epsilon / 2))


def test_a_grant_is_not_an_account() -> None:
    """C110: its ρ is a share of the account's, more than its own ε would certify: it says where it comes from."""
    account = Account.opened(epsilon=2, delta=F(1, 10**6), delta_prime=F(1, 2 * 10**6))
    grant = account.grant(epsilon=F(1, 2))
    assert (account.granted_from, grant.granted_from) == (None, 2)
    assert grant.rho > largest_rho(epsilon=grant.epsilon, delta=grant.delta_prime)
    raised(BadParameter, lambda: replace(grant, granted_from=None))


def test_a_refusal_says_what_was_asked_and_what_is_left() -> None:
    account = Account.opened(epsilon=1, delta=F(1, 100), delta_prime=F(1, 200)).charged(Pure(epsilon=F(3, 4)))
    with pytest.raises(BudgetExhausted) as refusal:
        account.charged(Pure(epsilon=F(1, 2)))
    assert "ε = 0.5 is asked, 0.25 is left" in refusal.value.why
    assert "ρ = 0.125 is asked, 0 is left" in refusal.value.why
    assert "Fraction" not in refusal.value.fix
    with pytest.raises(BudgetExhausted) as refusal:
        account.charged(Approximate(epsilon=F(1, 8), delta=F(1, 50)))
    assert "δ = 0.02 is asked, 0.005 is left" in refusal.value.why
    with pytest.raises(BudgetExhausted) as refusal:
        account.charged(DiscreteGaussian(sigma_squared=F(1), l2_squared=F(1)))
    assert "ε = an infinite amount is asked" in refusal.value.why


def test_ten_floats_of_a_tenth_are_a_little_more_than_one() -> None:
    """The refusal names the cause: the float 0.1 is above 1/10."""
    account = Account.opened(epsilon=1, delta=0, delta_prime=0)
    for _ in range(9):
        account = account.charged(Pure(epsilon=0.1))  # type: ignore[arg-type]
    with pytest.raises(BudgetExhausted) as refusal:
        account.charged(Pure(epsilon=0.1))  # type: ignore[arg-type]
    assert "Fraction(1, 10)" in refusal.value.fix
    assert 'Decimal("0.1")' in refusal.value.fix


def test_an_event_without_a_price_is_never_charged() -> None:
    account = Account.opened(epsilon=1, delta=F(1, 10**6), delta_prime=F(1, 10**7))
    for event in (
        ContinuousGaussian(noise_multiplier=F(10**6)),
        Composed((ContinuousGaussian(noise_multiplier=F(9)),)),
    ):
        with pytest.raises(UnsupportedEvent):
            account.admits(event)
        with pytest.raises(UnsupportedEvent):
            account.charged(event)


def test_endless_odd_denominators_do_not_grow_the_totals() -> None:
    """A row of ε = 1/p for many primes p would otherwise make every charge slower than the last."""
    account = Account.opened(epsilon=1000, delta=0, delta_prime=0)
    exactly = F(0)
    for odd in range(3, 6001, 2):
        account = account.charged(Pure(epsilon=F(1, odd)))
        exactly += F(1, odd)
    assert account.spent.epsilon is not None
    assert account.spent.epsilon.denominator.bit_length() <= 8192 + 16
    assert exactly <= account.spent.epsilon <= exactly + F(1, 2**4000)


prices = st.fractions(F(1, 1000), 2)
menu_events = st.one_of(
    prices.map(lambda e: Pure(epsilon=e)),
    prices.map(lambda e: BoundedRange(epsilon=e)),
    prices.map(lambda s: DiscreteGaussian(sigma_squared=10 * s, l2_squared=F(1))),
    prices.map(lambda e: Approximate(epsilon=e, delta=F(1, 10**7))),
)


@settings(deadline=None)
@given(st.lists(menu_events, max_size=12), prices, st.sampled_from([F(0), F(1, 10**6), F(1, 100)]))
def test_the_invariant_holds_after_every_charge(events: list[Event], epsilon: Fraction, reserve: Fraction) -> None:
    account = Account.opened(epsilon=epsilon, delta=F(1, 50), delta_prime=reserve)
    total = FREE
    for event in events:
        grown = total + triple(event)
        if not account.admits(event):
            over_epsilon = grown.epsilon is None or grown.epsilon > epsilon
            over_rho = not reserve or grown.rho is None or grown.rho > account.rho
            assert grown.delta > F(1, 50) - reserve or (over_epsilon and over_rho)
            continue
        account, total = account.charged(event), grown
        assert account.spent == total
        assert account.pure_branch_open or account.concentrated_branch_open
        assert 0 <= account.spent_epsilon <= account.epsilon


anything = st.one_of(
    st.floats(), st.integers(-2, 10), st.just(True), st.just(F(10**400)), st.just(F(1, 10**400)), st.none()
)


@settings(deadline=None)
@given(anything, anything, anything)
def test_bad_accounts_are_refused(epsilon: float, delta: float, delta_prime: float) -> None:
    try:
        account = Account.opened(epsilon=epsilon, delta=delta, delta_prime=delta_prime)
    except DpsqlError:
        return
    assert account.rho >= 0
    assert account.delta_prime <= account.delta


def test_triples_without_a_finite_rho_close_the_second_branch() -> None:
    account = Account.opened(epsilon=1, delta=F(1, 100), delta_prime=F(1, 200))
    spent = Triple(epsilon=F(1, 2), delta=F(0), rho=None)
    odd = Account(
        epsilon=account.epsilon, delta=account.delta, delta_prime=account.delta_prime, rho=account.rho, spent=spent
    )
    assert odd.pure_branch_open
    assert not odd.concentrated_branch_open
    assert odd.spent_epsilon == F(1, 2)
    assert odd.admits(Pure(epsilon=F(1, 2)))
    assert not odd.admits(Pure(epsilon=F(3, 5)))


@pytest.mark.parametrize("part", ["epsilon", "delta", "rho"])
def test_negative_spending_cannot_be_written_down(part: str) -> None:
    """An account rebuilt with a refund in it would never be exhausted."""
    parts = {"epsilon": Fraction(0), "delta": Fraction(0), "rho": Fraction(0)}
    raised(BadParameter, lambda: Triple(**(parts | {part: Fraction(-1)})))
