"""The five properties of docs/theory.md, each tried on random output laws in exact arithmetic."""

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.privacy import divergence
from dpsql.privacy.divergence import post_process
from dpsql.privacy.group import group_delta
from tests.kits.drawn_laws import laws

PAGE = Path(__file__).parents[3] / "docs" / "theory.md"
TINY = 1 + 1e-14  # two roundings of the same number


def families(count: int, outcomes: int, least: int = 0):
    return st.tuples(*[laws(outcomes, least)] * count)


EPSILONS = st.one_of(st.just(0), st.floats(0.01, 3))


@given(pair=families(2, 4, 1), side=st.lists(st.integers(1, 50), min_size=2, max_size=2))
def test_linkage(pair, side):
    """C017: linkage. No prior knowledge, however it was come by, lets an answer move the odds by more than exp(ε)."""
    p, q = pair
    prior = Fraction(side[0], side[1])  # the odds that all other sources gave
    epsilon = divergence.audit_pure(p, q)
    for likelihood, other in zip(p, q, strict=True):
        posterior = prior * likelihood / other
        assert abs(math.log(posterior / prior)) <= epsilon * TINY


@given(pair=families(2, 4), low=st.floats(0, 2), step=st.floats(0, 2), delta=st.floats(0, 0.9))
def test_quantification(pair, low, step, delta):
    """C017: quantification. δ falls as ε rises, the two audits are inverse, and the smallest ε is really smallest."""
    p, q = pair
    assert divergence.audit_delta(p, q, epsilon=low) >= divergence.audit_delta(p, q, epsilon=low + step)
    epsilon = divergence.audit_epsilon(p, q, delta=delta)
    if epsilon < math.inf:
        assert divergence.audit_delta(p, q, epsilon=epsilon) <= delta * TINY + 1e-15
        if epsilon > 1e-6:
            assert not divergence.is_dp([p, q], epsilon=epsilon * (1 - 1e-9), delta=delta)
            assert divergence.is_dp([p, q], epsilon=epsilon * TINY, delta=delta)


@given(
    first=families(2, 3),
    second=st.lists(families(2, 2), min_size=3, max_size=3),
    epsilons=st.tuples(EPSILONS, EPSILONS),
)
def test_composition(first, second, epsilons):
    """C017: composition. The second release may be chosen after seeing the first answer; prices add up."""
    p, q = first
    joint_p = [p[i] * mass for i in range(3) for mass in second[i][0]]
    joint_q = [q[i] * mass for i in range(3) for mass in second[i][1]]
    delta_1 = divergence.audit_delta(p, q, epsilon=epsilons[0])
    delta_2 = max(divergence.audit_delta(*chosen, epsilon=epsilons[1]) for chosen in second)
    together = divergence.audit_delta(joint_p, joint_q, epsilon=Fraction(epsilons[0]) + Fraction(epsilons[1]))
    assert together <= (delta_1 + delta_2) * TINY
    assert (
        divergence.audit_pure(joint_p, joint_q)
        <= (divergence.audit_pure(p, q) + max(divergence.audit_pure(*chosen) for chosen in second)) * TINY
    )


@given(chain=st.integers(2, 5).flatmap(lambda k: families(k + 1, 3)), epsilon=EPSILONS)
def test_group_privacy(chain, epsilon):
    """C017: group privacy. The ends of a chain of k neighbours are (kε, δ (exp(kε) - 1)/(exp(ε) - 1)) apart."""
    k = len(chain) - 1
    delta = max(divergence.audit_delta(chain[j], chain[j + 1], epsilon=epsilon) for j in range(k))
    if delta < 1:
        ends = divergence.audit_delta(chain[0], chain[k], epsilon=Fraction(epsilon) * k)
        assert ends <= group_delta(epsilon=epsilon, delta=delta, size=k) * TINY


@given(pair=families(2, 4), kernel=st.integers(1, 4).flatmap(lambda m: families(4, m)), epsilon=EPSILONS)
def test_post_processing(pair, kernel, epsilon):
    """C017: post-processing. No randomised map increases δ, ε or any divergence."""
    p, q = pair
    after_p, after_q = post_process(p, kernel=kernel), post_process(q, kernel=kernel)
    assert sum(after_p) == sum(after_q) == 1
    assert divergence.hockey_stick(after_p, after_q, epsilon=epsilon) <= divergence.hockey_stick(p, q, epsilon=epsilon)
    assert divergence.audit_pure(after_p, after_q) <= divergence.audit_pure(p, q)
    assert divergence.max_divergence(after_p, after_q) <= divergence.max_divergence(p, q)
    assert divergence.total_variation(after_p, after_q) <= divergence.total_variation(p, q)
    assert divergence.approx_max_divergence(after_p, after_q, delta=0.1) <= divergence.approx_max_divergence(
        p, q, delta=0.1
    )
    assert divergence.kl(after_p, after_q) <= divergence.kl(p, q) * TINY + 1e-70


def test_looking_at_the_data_again_is_not_post_processing():
    """C017: the condition of the post-processing theorem is needed."""
    p, q = [Fraction(1, 2)] * 2, [Fraction(1, 2)] * 2  # the answer says nothing
    peek_p, peek_q = post_process(p, kernel=[[1, 0], [1, 0]]), post_process(q, kernel=[[0, 1], [0, 1]])
    assert divergence.audit_delta(p, q, epsilon=0) == 0
    assert divergence.audit_delta(peek_p, peek_q, epsilon=100) == 1


@pytest.mark.parametrize("name", ["Linkage", "Quantification", "Composition", "Group privacy", "Post-processing"])
def test_the_page_states_each_property(name):
    """C017: docs/theory.md has a section per property."""
    assert f"\n## {name}\n" in PAGE.read_text(encoding="utf-8")
    assert f"def test_{name.lower().replace(' ', '_').replace('-', '_')}(" in Path(__file__).read_text(encoding="utf-8")
