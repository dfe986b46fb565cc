"""Whatever is passed to a function about selection, surveys or keys, the outcome is finite or an error of dpsql.

One argument at a time is replaced by something unlikely, and several at once by hypothesis. No chance involved
apart from its choice of examples.
"""

import dataclasses
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql.errors import DpsqlError
from dpsql.local.debias import debias_margin, debias_variance, estimate_share
from dpsql.mechanisms import (
    exponential,
    noisy_max,
    partition_threshold,
    partitions,
    permute_and_flip,
    quantile,
    randomized_response,
    scores,
    sparse_vector,
)
from dpsql.privacy.exact import Exact
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import SYSTEM
from tests.oracles import laws

CHOICE = {"sensitivity": 1, "epsilon": 0.5, "monotonic": False}
SURVEY = randomized_response.RandomizedResponse.two_coin()

CALLS = [
    (scores.selection_scale, CHOICE),
    (scores.gaps_below_best, {"scores": [1, 2], "scale": 1}),
    (scores.scores_are_monotone, {"kind": "counts", "neighbours": Neighbours.ADD_REMOVE}),
    (exponential.exponential_log_probabilities, {"scores": [1, 2], "scale": 1}),
    (exponential.exponential_probabilities, {"scores": [1, 2], **CHOICE}),
    (exponential.exponential_utility_bound, {"scores": [1, 2], **CHOICE, "t": 1}),
    (exponential.wrong_outcome_bound, {"gap": 2, "candidates": 2, "sensitivity": 1, "epsilon": 0.5}),
    (laws.permute_and_flip_probabilities, {"scores": [1, 2], "scale": 1}),
    (laws.laplace_noisy_max_probabilities, {"scores": [1, 2], "scale": 1}),
    (laws.discrete_noisy_max_probabilities, {"scores": [1, 2], "scale": 1}),
    (sparse_vector.sparse_vector_scales, {**CHOICE, "positives": 2, "split": "half"}),
    (sparse_vector.above_threshold_accuracy, {"epsilon": 0.5, "queries": 9, "beta": 0.1}),
    (
        laws.first_above_probabilities,
        {"queries": [1, 2], "threshold": 1, "threshold_scale": 2, "query_scale": 3},
    ),
    (randomized_response.rr_epsilon, {"gamma": 0.25}),
    (randomized_response.rr_gamma, {"epsilon": 0.5}),
    (randomized_response.kary_keep_probability, {"epsilon": 0.5, "categories": 3}),
    (randomized_response.two_coin_probabilities, {"truth": 0.5, "heads": 0.25}),
    (randomized_response.RandomizedResponse.with_gamma, {"gamma": 0.25}),
    (randomized_response.RandomizedResponse.with_epsilon, {"epsilon": 0.5}),
    (randomized_response.RandomizedResponse.two_coin, {"truth": 0.5, "heads": 0.25}),
    (randomized_response.rr_mean, {"answers": [0, 1], "gamma": 0.25}),
    (randomized_response.rr_variance, {"gamma": 0.25, "size": 10}),
    (randomized_response.rr_tail, {"gamma": 0.25, "size": 10, "ones": 3, "radius_squared": 0.25}),
    (randomized_response.rr_sample_size, {"epsilon": 0.5, "alpha": 0.1, "beta": 0.1}),
    (randomized_response.kary_frequency, {"observed": 0.5, "epsilon": 0.5, "categories": 3}),
    (randomized_response.kary_observed, {"share": 0.5, "epsilon": 0.5, "categories": 3}),
    (randomized_response.kary_variance, {"share": 0.5, "size": 9, "epsilon": 0.5, "categories": 3}),
    (quantile.rank_sensitivity, {"q": 0.5, "neighbours": Neighbours.ADD_REMOVE, "values_per_unit": 2}),
    (
        quantile.quantile_probabilities,
        {"data": [1, 2], "lower": 0, "upper": 5, "q": 0.5, "epsilon": 0.5, "sensitivity": 1},
    ),
    (partitions.changed_keys, {"keys_per_unit": 2, "neighbours": Neighbours.ADD_REMOVE}),
    (partitions.split_delta, {"delta": 0.1, "keys": 3}),
    (partitions.keep_probability, {"people": 3, "epsilon": 0.5, "delta": 0.1}),
    (partitions.people_for_certainty, {"epsilon": 0.5, "delta": 0.1}),
    (partitions.people_for_even_chance, {"epsilon": 0.5, "delta": 0.1}),
    (partition_threshold.laplace_threshold_scale, {"epsilon": 0.5, "keys": 2, "linf": 1}),
    (partition_threshold.laplace_threshold, {"epsilon": 0.5, "delta": 0.1, "keys": 2, "linf": 1}),
    (partition_threshold.laplace_threshold_union, {"epsilon": 0.5, "delta": 0.1, "keys": 2, "linf": 1}),
    (partition_threshold.gaussian_threshold, {"sigma": 2, "delta": 0.1, "keys": 2, "linf": 1}),
    (partition_threshold.discrete_gaussian_upper_tail, {"sigma_squared": 4, "at_least": 3}),
    (partition_threshold.discrete_threshold_delta, {"sigma_squared": 4, "threshold": 3, "keys": 2}),
    (partition_threshold.discrete_threshold, {"sigma_squared": 4, "delta": 0.1, "keys": 2}),
    (debias_variance, {"size": 9, "p": Fraction(3, 4), "q": Fraction(1, 4)}),
    (debias_margin, {"size": 9, "p": Fraction(3, 4), "q": Fraction(1, 4), "beta": 0.1}),
    (lambda *, reports, beta: estimate_share(reports, response=SURVEY, beta=beta), {"reports": [0, 1], "beta": 0.1}),
]
NEVER = [math.nan, math.inf, -math.inf, None, 1j, Decimal("NaN"), object()]
UNLIKELY = [
    *NEVER, 0, -1, 1, True, False, "1", "", 5e-324, 1.7e308, -0.0, 1e-150, 1e150, 0.999, 1 - 1e-16, 10**400,
    -(10**400), Fraction(1, 10**400), 1 - Fraction(1, 10**40), 2**53, 2**53 + 1, [], [math.nan], [0] * 3,
    [1e308, -1e308], [Fraction(1, 10**400), 10**400],
    ["a", "b"], Decimal("1e-30"), Decimal("Infinity"), Neighbours.CHANGE_ONE,
]  # fmt: skip
IDS = [f"{i}-{call[0].__name__}" for i, call in enumerate(CALLS)]


def numbers_in(result):
    if dataclasses.is_dataclass(result):
        return [x for f in dataclasses.fields(result) for x in numbers_in(getattr(result, f.name))]
    if isinstance(result, (list, tuple)):
        return [x for part in result for x in numbers_in(part)]
    return [result]


def outcome(function, arguments):
    try:
        result = function(**arguments)
    except DpsqlError:
        return
    assert all(isinstance(x, (int, Fraction)) or not math.isnan(x) for x in numbers_in(result)), result


@pytest.mark.parametrize(("function", "good"), CALLS, ids=IDS)
def test_one_unlikely_argument(function, good):
    function(**good)
    for name in good:
        for value in UNLIKELY:
            outcome(function, good | {name: value})


@pytest.mark.parametrize(("function", "good"), CALLS, ids=IDS)
def test_what_is_never_right_is_refused(function, good):
    for name in good:
        for value in NEVER:
            with pytest.raises(DpsqlError):
                function(**(good | {name: value}))


@pytest.mark.parametrize(("function", "good"), CALLS, ids=IDS)
def test_several_unlikely_arguments(function, good):
    @settings(max_examples=30)
    @given(
        st.fixed_dictionaries(
            {name: st.one_of(st.just(value), st.sampled_from(UNLIKELY), st.floats(), st.floats(0, 1), st.integers(0, 9))
             for name, value in good.items()}
        )
    )  # fmt: skip
    def holds(arguments):
        outcome(function, arguments)

    holds()


EXTREME = [5e-324, 1e-150, 1e150, 1.7e308, Fraction(1, 10**400), 10**400]


@pytest.mark.parametrize("epsilon", EXTREME, ids=str)
@pytest.mark.parametrize("sensitivity", [1, 1e-150, 1e150, 10**400], ids=str)
def test_extreme_scales_release_something_of_the_right_kind(epsilon, sensitivity):
    """Exact arithmetic has no range to leave: no overflow, no endless loop."""
    choice = {
        "candidates": [*"ab"],
        "sensitivity": sensitivity,
        "epsilon": epsilon,
        "monotonic": False,
        "max_candidates": 9,
    }
    value = Exact([0, 10**30])
    assert exponential.ExponentialMechanism(**choice).release(value, source=SYSTEM) in "ab"
    assert permute_and_flip.PermuteAndFlip(**choice).release(value, source=SYSTEM) in "ab"
    whole = Fraction(sensitivity).denominator == 1  # Laplace noise on whole numbers needs a whole Δ
    for noise in noisy_max.NOISES if whole else ("gumbel", "exponential"):
        assert noisy_max.NoisyMax(**choice, noise=noise).release(value, source=SYSTEM) in "ab"
    stream = sparse_vector.SparseVector(
        threshold=5, positives=1, sensitivity=sensitivity, epsilon=epsilon, numeric_epsilon=epsilon,
        monotonic=True, split="optimal",
    )  # fmt: skip
    assert len(stream.release(Exact([1, 2]), source=SYSTEM)) in (1, 2)


@pytest.mark.parametrize("epsilon", EXTREME, ids=str)
def test_extreme_epsilons_of_surveys_and_quantiles(epsilon):
    assert randomized_response.RandomizedResponse.with_epsilon(epsilon=epsilon).release(Exact(1), source=SYSTEM) in (
        0,
        1,
    )
    assert (
        randomized_response.KaryResponse(categories=[*"abc"], epsilon=epsilon).release(Exact("a"), source=SYSTEM)
        in "abc"
    )
    mechanism = quantile.QuantileMechanism(
        q=0.5, lower=-(2**62), upper=2**62, epsilon=epsilon, neighbours=Neighbours.CHANGE_ONE, values_per_unit=1
    )
    assert -(2**62) <= mechanism.release(Exact([1, 2, 3]), source=SYSTEM) <= 2**62
