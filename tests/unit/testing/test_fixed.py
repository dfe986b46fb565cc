"""Fixed noise: the same answers from the same seed, on the demo hospital alone and in tests alone."""

import pytest

import dpsql
from dpsql.errors import TestsOnly
from dpsql.testing import fixed_noise

QUESTION = "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"


def values(seed):
    with fixed_noise(seed=seed, i_know_this_is_not_private=True) as ana:
        assert isinstance(ana, dpsql.Analyst)
        return [cell.value for cell in ana.sql(QUESTION)["n"]]


def test_a_seed_decides_the_noise():
    """Another seed: four draws of σ above 10 agree in less than one case in 10^4, and the seeds are what they are."""
    assert values(7) == values(7) != values(8)


def test_it_is_asked_for_in_so_many_words_and_refused_outside_a_test(monkeypatch):
    with pytest.raises(TestsOnly, match="i_know_this_is_not_private"), fixed_noise(seed=7):
        pass
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with pytest.raises(TestsOnly), fixed_noise(seed=7, i_know_this_is_not_private=True):
        pass


def test_the_demo_beside_it_keeps_its_own_noise():
    """σ is above 10: two counts agree in less than one case in 30, and four of them in less than one in 10^5."""
    with fixed_noise(seed=7, i_know_this_is_not_private=True):
        runs = [[cell.value for cell in dpsql.demo().sql(QUESTION)["n"]] for _ in range(2)]
    assert runs[0] != runs[1]
