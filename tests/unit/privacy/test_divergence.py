"""Divergences against brute force over all events and against mpmath; audits against small mechanisms."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.errors import BadParameter, NotRandomised
from dpsql.privacy.divergence import (
    approx_max_divergence,
    audit_delta,
    audit_epsilon,
    audit_pure,
    hockey_stick,
    is_dp,
    kl,
    kl_bound,
    max_divergence,
    paired,
    post_process,
    ratio_below,
    require_randomised,
    subsample_release_params,
    total_variation,
)
from dpsql.privacy.rounding import round_up
from tests.kits.drawn_laws import M, mp, pairs
from tests.kits.refusals import each_raises, raised
from tests.vectors.errata import pointwise_approx_max_divergence

PAIRS, FULL_PAIRS = pairs(), pairs(least=1)
EPSILONS = st.one_of(st.just(0), st.floats(1e-9, 8), st.fractions(0, 8))
DELTAS = st.one_of(st.just(0), st.floats(0, 0.999), st.fractions(0, Fraction(99, 100)))


def events(p, q):
    """(Pr[Y in S], Pr[Z in S]) of every event S."""
    for chosen in product((0, 1), repeat=len(p)):
        yield sum(a for a, c in zip(p, chosen, strict=True) if c), sum(b for b, c in zip(q, chosen, strict=True) if c)


def assert_just_above(value, true, slack="1e-14"):
    if true == M.inf:
        assert value == math.inf
    else:
        assert true <= mp(value) <= true + M.mpf(slack) * max(abs(true), M.mpf("1e-290"))


@given(pair=PAIRS)
def test_kullback_leibler_is_the_expected_loss(pair):
    """C117: KL divergence."""
    p, q = pair
    if any(a and not b for a, b in zip(p, q, strict=True)):
        true = M.inf
    else:
        true = M.fsum(mp(a) * M.log(mp(a) / mp(b)) for a, b in zip(p, q, strict=True) if a)
    assert_just_above(kl(p, q), true if abs(true) > 1e-50 else M.mpf(0))


def test_kullback_leibler_of_nearly_equal_laws_keeps_its_digits():
    p, q = [0.5, 0.5], [0.5 + 2**-50, 0.5 - 2**-50]
    with M.workdps(80):
        true = M.fsum(mp(a) * M.log(mp(a) / mp(b)) for a, b in zip(p, q, strict=True))
    assert_just_above(kl(p, q), true)
    assert kl(p, p) == 0


@given(pair=PAIRS)
def test_max_divergence_by_outcomes_is_that_by_events(pair):
    """C118, C008: pointwise equals setwise."""
    p, q = pair
    by_events = max(M.inf if not b else M.log(mp(a) / mp(b)) for a, b in events(p, q) if a)
    assert_just_above(max_divergence(p, q), by_events)


@given(pair=PAIRS)
def test_audit_pure_looks_both_ways(pair):
    """C008: the pure ε of two output laws."""
    p, q = pair
    assert audit_pure(p, q) == audit_pure(q, p) == max(max_divergence(p, q), max_divergence(q, p))


@given(pair=PAIRS, epsilon=EPSILONS)
def test_hockey_stick_is_the_worst_event(pair, epsilon):
    """C009: δ(ε) by the hockey-stick divergence, brute force over all events."""
    p, q = pair
    true = max(mp(a) - M.exp(mp(epsilon)) * mp(b) for a, b in events(p, q))
    assert_just_above(hockey_stick(p, q, epsilon=epsilon), max(true, 0))


@given(pair=PAIRS, epsilon=EPSILONS)
def test_audit_delta_looks_both_ways(pair, epsilon):
    """C009: δ(ε) in both directions."""
    p, q = pair
    both = hockey_stick(p, q, epsilon=epsilon), hockey_stick(q, p, epsilon=epsilon)
    assert audit_delta(p, q, epsilon=epsilon) == max(both)


@given(pair=PAIRS)
def test_statistical_distance_is_half_the_l1_distance_and_the_worst_event(pair):
    """C120: total variation."""
    p, q = pair
    half = sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    assert half == max(a - b for a, b in events(p, q))
    assert half <= total_variation(p, q) <= float(half) * (1 + 1e-15)
    assert total_variation(p, q) == total_variation(q, p)


@given(pair=PAIRS, delta=DELTAS)
def test_approximate_max_divergence_is_taken_over_events(pair, delta):
    """C119: δ-approximate max divergence by events, brute force."""
    p, q = pair
    over = [(mp(a) - mp(delta), mp(b)) for a, b in events(p, q) if a > Fraction(delta)]
    true = max([M.inf if not b else M.log(a / b) for a, b in over], default=M.mpf(0))
    assert_just_above(approx_max_divergence(p, q, delta=delta), max(true, 0))
    assert audit_epsilon(p, q, delta=delta) == max(
        approx_max_divergence(p, q, delta=delta), approx_max_divergence(q, p, delta=delta)
    )


@given(pair=PAIRS, delta=DELTAS)
def test_approximate_max_divergence_inverts_the_hockey_stick(pair, delta):
    p, q = pair
    epsilon = approx_max_divergence(p, q, delta=delta)
    if epsilon < math.inf:
        assert paired(p, q).excess(Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**14))) <= Fraction(delta)


def test_the_pointwise_definition_of_the_notes_certifies_what_is_not_private():
    p, q, delta = [0.05] * 4 + [0.4] * 2, [0.01] * 4 + [0.48] * 2, 0.06
    claimed = pointwise_approx_max_divergence(p, q, delta=delta)
    assert claimed < 0  # "private at any ε"
    assert hockey_stick(p, q, epsilon=0) > delta
    assert hockey_stick(p, q, epsilon=1.25) > delta > hockey_stick(p, q, epsilon=1.26)


@given(pair=PAIRS, epsilon=EPSILONS)
def test_the_loss_tail_is_an_upper_bound_of_delta_and_not_delta(pair, epsilon):
    """C009: Pr[L > ε] <= δ is sufficient, not necessary."""
    p, q = pair
    tail = sum(a for a, b in zip(p, q, strict=True) if mp(a) > M.exp(mp(epsilon)) * mp(b))
    assert hockey_stick(p, q, epsilon=epsilon) <= round_up(Fraction(tail))


@given(pair=PAIRS, epsilon=EPSILONS, delta=DELTAS)
def test_dp_is_a_statement_about_divergences(pair, epsilon, delta):
    """C121: (ε, δ)-DP iff both hockey-stick divergences, iff both approximate max divergences, are small enough."""
    p, q = pair
    worst = max(mp(a) - M.exp(mp(epsilon)) * mp(b) for x, y in ((p, q), (q, p)) for a, b in events(x, y))
    if abs(worst - mp(delta)) > M.mpf("1e-40"):
        assert is_dp([p, q], epsilon=epsilon, delta=delta) == (worst <= mp(delta))
        assert is_dp([p, q], epsilon=epsilon, delta=delta) == (
            (audit_epsilon(p, q, delta=delta) <= epsilon)
            or math.isclose(audit_epsilon(p, q, delta=delta), epsilon, rel_tol=1e-14)
        )
    if delta == 0 and audit_pure(p, q) < math.inf:
        assert is_dp([p, q], epsilon=audit_pure(p, q), delta=0)


def test_a_family_is_private_when_every_pair_of_neighbours_is():
    """C121: a family of laws and a list of neighbouring pairs."""
    three = [[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]]
    assert not is_dp(three, epsilon=0.3, delta=0)
    assert is_dp(three, epsilon=0.3, delta=0, pairs=[(0, 1), (1, 2)])
    assert is_dp(three, epsilon=0.41, delta=0)
    each_raises(BadParameter, lambda pairs: is_dp(three, epsilon=1, delta=0, pairs=pairs), ([(0, 3)], [(-1, 0)], []))
    raised(BadParameter, lambda: is_dp([[1.0]], epsilon=1, delta=0))


def test_is_dp_never_says_yes_to_a_little_too_much():
    p, q = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]
    log3 = Fraction("1.0986122886681096913952452369225257")  # rounded down
    assert not is_dp([p, q], epsilon=log3, delta=0)
    assert is_dp([p, q], epsilon=log3 + Fraction(1, 10**33), delta=0)


class TestDeterministic:
    """C010: a non-trivial deterministic release is refused."""

    def test_a_function_of_the_data_is_refused_wherever_it_changes(self):
        constant, other = {"a": 1}, {"b": 1}
        require_randomised([constant, constant, constant])
        for position in range(1, 4):
            chain = [constant] * position + [other] * (4 - position)
            with pytest.raises(NotRandomised):
                require_randomised(chain)
            assert audit_delta(constant, other, epsilon=10**6) == 1

    def test_random_salt_does_not_help(self):
        raised(NotRandomised, lambda: require_randomised([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]))

    def test_noise_passes(self):
        require_randomised([[0.75, 0.25], [0.25, 0.75]])
        raised(BadParameter, lambda: require_randomised([[1.0]]))


def subset_law(database: tuple[str, ...], m: int) -> dict[tuple[str, ...], Fraction]:
    counts = Counter(tuple(sorted(chosen)) for chosen in combinations(database, m))
    return {shown: Fraction(count, math.comb(len(database), m)) for shown, count in counts.items()}


@pytest.mark.parametrize(("n", "m"), [(5, 2), (6, 1), (8, 4), (4, 3)])
@pytest.mark.parametrize("epsilon", [0, 1, 10, 1000])
def test_publishing_a_sample_is_zero_rate_dp_and_no_better(n, m, epsilon):
    """C011: releasing a uniform subset of kn rows is (0, k)-DP, and no ε lowers δ; by enumeration of all subsets."""
    common = tuple(f"row {i}" for i in range(n - 1))
    law_p, law_q = subset_law((*common, "Ann"), m), subset_law((*common, "Bob"), m)
    assert audit_delta(law_p, law_q, epsilon=epsilon) == subsample_release_params(rate=Fraction(m, n)).delta
    assert subsample_release_params(rate=Fraction(m, n)).epsilon == 0


def test_publishing_a_poisson_sample():
    """C011: the same under add/remove, where each row is shown by its own coin."""
    rate = Fraction(1, 5)
    with_ann = post_process([1], kernel=[[rate, 1 - rate]])
    assert audit_delta(with_ann, [0, 1], epsilon=7) == subsample_release_params(rate=rate).delta == 0.2
    each_raises(BadParameter, lambda bad: subsample_release_params(rate=bad), (0, 1, -0.1, 1.1, math.nan, "0.1"))


@given(epsilon=st.floats(1e-300, 700))
def test_expected_loss_bounds_round_up(epsilon):
    """C123: ε(exp(ε) - 1) and the tight ε tanh(ε/2)."""
    x = mp(epsilon)
    assert_just_above(kl_bound(epsilon=epsilon, tight=True), x * M.tanh(x / 2))
    assert_just_above(kl_bound(epsilon=epsilon, tight=False), x * M.expm1(x))


@given(pair=FULL_PAIRS)
def test_lemma_3_18_and_its_tight_form_hold(pair):
    """C123: the expected loss of every pure pair is below the tight bound, which is below the textbook one."""
    p, q = pair
    epsilon = audit_pure(p, q)
    if epsilon > 0:
        assert kl(p, q) <= kl_bound(epsilon=epsilon, tight=True) * (1 + 1e-12) <= kl_bound(epsilon=epsilon, tight=False)


@given(numerator=st.integers(501, 999))
def test_randomized_response_attains_the_tight_bound(numerator):
    """C123: the tight bound is attained."""
    p = [Fraction(numerator, 1000), Fraction(1000 - numerator, 1000)]
    assert kl(p, p[::-1]) == pytest.approx(kl_bound(epsilon=audit_pure(p, p[::-1]), tight=True), rel=1e-13)


def test_kl_bound_edges():
    assert kl_bound(epsilon=1e9, tight=False) == math.inf
    assert kl_bound(epsilon=1e9, tight=True) == pytest.approx(1e9)
    each_raises(BadParameter, lambda bad: kl_bound(epsilon=bad, tight=True), (0, -1, math.nan, math.inf, True))


GOOD = [0.5, 0.5]
NOT_LAWS = [
    [],
    {},
    [0.5, 0.6],
    [0.5, 0.4],
    [1.5, -0.5],
    [math.nan, 1.0],
    [math.inf, 0.0],
    [True, False],
    ["a", "b"],
    "ab",
    [Fraction(1, 2), Fraction(1, 3)],
    [Fraction(1, 2), Fraction(1, 2) + Fraction(1, 10**12)],
    [Decimal("0.5"), Decimal("NaN")],
    [0.25, 0.25, 0.5],
    {"a": 0.5, "b": 0.5},
]
CALLS = [
    kl,
    max_divergence,
    total_variation,
    audit_pure,
    lambda p, q: hockey_stick(p, q, epsilon=1),
    lambda p, q: approx_max_divergence(p, q, delta=0.1),
    lambda p, q: audit_delta(p, q, epsilon=1),
    lambda p, q: audit_epsilon(p, q, delta=0.1),
    lambda p, q: is_dp([p, q], epsilon=1, delta=0.1),
    lambda p, q: require_randomised([p, q]),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("bad", NOT_LAWS, ids=str)
def test_what_is_not_a_law_is_refused(call, bad):
    raised(BadParameter, lambda: call(bad, GOOD))
    raised(BadParameter, lambda: call(GOOD, bad))


@settings(max_examples=30)
@given(epsilon=st.sampled_from([1e-320, 5e3, 1e300, 10**400, Fraction(1, 10**400)]), pair=PAIRS)
def test_extreme_epsilons_end_quickly_and_round_up(epsilon, pair):
    p, q = pair
    delta = audit_delta(p, q, epsilon=epsilon)
    only = [sum(a for a, b in zip(x, y, strict=True) if not b) for x, y in ((p, q), (q, p))]
    assert max(only) <= delta <= 1


def test_mappings_are_compared_by_outcome():
    p, q = {"a": 0.5, "b": 0.5}, {"b": 0.75, "c": 0.25}
    assert total_variation(p, q) == 0.5
    assert max_divergence(p, q) == math.inf
    assert approx_max_divergence(p, q, delta=0.5) == 0


# Laws are read exactly and put on one scale; a randomised map acts as the law of total probability says.

HALF = Fraction(1, 2)


@given(weights=st.lists(st.floats(0, 1), min_size=1, max_size=8).filter(lambda w: sum(w) > 1e-3))
def test_floats_are_scaled_to_a_genuine_law(weights):
    total = sum(weights)
    law = [w / total for w in weights]
    pair = paired(law, law)
    assert sum(pair.p) == sum(pair.q) == pair.total
    assert all(
        abs(Fraction(a, pair.total) - Fraction(b)) < Fraction(1, 10**12) for a, b in zip(pair.p, law, strict=True)
    )


def test_exact_numbers_are_kept_exactly():
    pair = paired([Fraction(1, 3), Fraction(2, 3)], [Decimal("0.1"), Decimal("0.9")])
    assert Fraction(pair.p[0], pair.total) == Fraction(1, 3)
    assert Fraction(pair.q[0], pair.total) == Fraction(1, 10)
    assert pair.reversed().p == pair.q


def test_a_sum_off_by_more_than_1e_9_is_no_law():
    paired([0.5, 0.5 + 9e-10], [0.5, 0.5])
    raised(BadParameter, lambda: paired([0.5, 0.5 + 2e-9], [0.5, 0.5]))
    raised(BadParameter, lambda: paired([HALF, HALF + Fraction(1, 10**10)], [HALF, HALF]))


def test_post_processing_sums_over_what_was_before():
    assert post_process([HALF, HALF], kernel=[[1, 0], [HALF, HALF]]) == (Fraction(3, 4), Fraction(1, 4))
    assert post_process([0.25, 0.75], kernel=[[1], [1]]) == (1,)


@pytest.mark.parametrize(
    "kernel", [[], [[1, 0]], [[1, 0], [1]], [[1, 0], [0.5, 0.4]], [[1, 0], [2, -1]], [[1, 0], [1, 0], [1, 0]], [[], []]]
)
def test_a_kernel_that_does_not_fit_is_refused(kernel):
    raised(BadParameter, lambda: post_process([0.5, 0.5], kernel=kernel))


@given(epsilon=st.one_of(st.floats(1e-300, 700), st.fractions(Fraction(1, 10**6), 100)))
def test_the_ratio_is_below_and_close(epsilon):
    exact = Fraction(epsilon)
    ratio = ratio_below(epsilon)
    with mpmath.workdps(700):
        true = mpmath.exp(mpmath.mpf(exact.numerator) / exact.denominator)
        value = mpmath.mpf(ratio.numerator) / ratio.denominator
        assert true * (1 - mpmath.mpf(2) ** -255) < value < true


def test_the_ratio_at_the_ends():
    assert ratio_below(0) == 1
    assert ratio_below(10**300) == ratio_below(4096)
