"""Sparse vector. Frequencies are compared with their law by `MechanismKit`: below 10⁻⁹ false alarms per comparison."""

import copy
import itertools
import math
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.errors import BadParameter, BudgetExhausted, Refused
from dpsql.mechanisms import sparse_vector
from dpsql.mechanisms.sparse_vector import Comparison, SparseVector, sparse_vector_scales
from dpsql.privacy.events import Pure
from dpsql.privacy.exact import Exact
from dpsql.randomness import SYSTEM
from tests.kits.mechanism_kit import MechanismKit
from tests.kits.methods import always
from tests.kits.paths import law_of
from tests.kits.refusals import each_raises, raised
from tests.oracles.laws import first_above_probabilities

EXAMPLE = {
    "threshold": 2,
    "positives": 1,
    "sensitivity": 1,
    "epsilon": Fraction(2),
    "numeric_epsilon": 0,
    "monotonic": False,
    "split": "half",
}


def discrete_law(queries, *, threshold, positives, threshold_scale, query_scale):
    """Pr[transcript] for every transcript: Σ over the threshold noise of the product of comparisons."""
    reach = 45 * math.ceil(threshold_scale)
    z = np.arange(-reach, reach + 1)
    rho = np.exp(-np.abs(z) / float(threshold_scale))
    rho /= rho.sum()
    q = math.exp(-1 / float(query_scale))

    def above(query):  # Pr[query + ν >= threshold + z]
        y = threshold + z - query
        return np.where(y >= 1, q ** np.maximum(y, 1) / (1 + q), 1 - q ** (1 - np.minimum(y, 0)) / (1 + q))

    law = {}
    for answers in itertools.product((False, True), repeat=len(queries)):
        ends = [i + 1 for i in range(len(queries)) if sum(answers[: i + 1]) == positives]
        shown = answers[: ends[0]] if ends else answers
        if shown not in law:
            factors = [above(v) if a else 1 - above(v) for v, a in zip(queries, shown, strict=False)]
            law[shown] = float(np.sum(rho * np.prod(factors, axis=0)))
    return law


class TestSparseVectorKit(MechanismKit):
    """C046: the sparse vector technique obeys the laws of mechanisms."""

    mechanism = always(lambda: SparseVector(**EXAMPLE))
    value = always(lambda: [1, 2, 5])
    neighbour = always(lambda: [2, 1, 4])

    def outputs(self):
        transcripts = [(True,), (False, True), (False, False, True), (False, False, False)]
        return [tuple(map(Comparison, transcript)) for transcript in transcripts]

    def probability(self, value, output):
        law = discrete_law(value, threshold=2, positives=1, threshold_scale=1, query_scale=2)
        return law[verdicts(output)]

    def bad_parameters(self):
        yield from ({"epsilon": bad} for bad in (0, -1, math.nan, math.inf, "1", True))
        yield from ({"numeric_epsilon": bad} for bad in (-1, math.nan, math.inf))
        yield from ({"sensitivity": bad} for bad in (0, -1, math.nan))
        yield from ({"positives": bad} for bad in (0, -1, 1.5))
        yield from ({"threshold": bad} for bad in (0.5, math.nan, 2**63, "2"))
        yield from ({"split": bad} for bad in ("best", "", None))
        yield {"monotonic": "no"}

    ill_typed = always(lambda: [[0.8675309], ["0.8675309"], {0.8675309: 1}, 0.8675309])


def neighbours(count, top, *, monotonic):
    for queries in itertools.product(range(top + 1), repeat=count):
        for move in itertools.product((0, 1) if monotonic else (-1, 0, 1), repeat=count):
            yield queries, tuple(q + m for q, m in zip(queries, move, strict=True))


@pytest.mark.parametrize("split", ["optimal", "half"])
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("positives", [1, 2])
def test_no_transcript_tells_neighbours_apart_by_more_than_epsilon(positives, monotonic, split):
    """C046: the discrete law by summation, all neighbouring streams of three queries with values 0..2."""
    epsilon = 2
    scales = sparse_vector_scales(epsilon=epsilon, positives=positives, sensitivity=1, monotonic=monotonic, split=split)
    laws = {}

    def law(queries):
        if queries not in laws:
            laws[queries] = discrete_law(
                queries,
                threshold=1,
                positives=positives,
                threshold_scale=scales.threshold_scale,
                query_scale=scales.query_scale,
            )
        return laws[queries]

    worst = max(
        abs(math.log(law(one)[t] / law(other)[t]))
        for one, other in neighbours(3, 2, monotonic=monotonic)
        for t in law(one)
    )
    assert worst <= epsilon * (1 + 1e-9)


def test_long_streams_come_close_to_epsilon():
    """C046: the theorem is tight in the limit of many negatives far from the threshold followed by one positive: the
    negatives cost the whole of ε₁ and the positive the whole of ε₂."""
    scales = sparse_vector_scales(epsilon=1, positives=1, sensitivity=1, monotonic=False, split="half")
    arguments = {"threshold": 0, "threshold_scale": scales.threshold_scale, "query_scale": scales.query_scale}
    low = [0] * 4000
    one = first_above_probabilities(queries=[*low, -60], **arguments)
    other = first_above_probabilities(queries=[*(q + 1 for q in low), -61], **arguments)
    assert 0.95 <= math.log(one.at[-1] / other.at[-1]) <= 1


def verdicts(answers):
    return tuple(answer.above for answer in answers)


def test_the_code_has_the_discrete_law():
    """C046: every draw of threshold and query noise."""
    mechanism = SparseVector(**(EXAMPLE | {"epsilon": Fraction(16), "positives": 2, "threshold": 1}))
    queries = [1, 0, 1]
    law, missed = law_of(
        lambda: verdicts(mechanism.release(Exact(queries), source=None)), modules=[sparse_vector], floor=1e-8
    )
    scales = mechanism.scales
    expected = discrete_law(
        queries, threshold=1, positives=2, threshold_scale=scales.threshold_scale, query_scale=scales.query_scale
    )
    assert missed < 1e-4
    assert all(-1e-12 <= expected[t] - law.get(t, 0) <= missed + 1e-12 for t in expected)
    assert set(law) <= set(expected)


def test_a_positive_answer_carries_fresh_noise_when_it_is_bought():
    """C046: ε₃ for the values; the law of a value is discrete Laplace of scale cΔ/ε₃ around the query."""
    mechanism = SparseVector(**(EXAMPLE | {"epsilon": Fraction(40), "numeric_epsilon": Fraction(2), "threshold": -20}))
    assert mechanism.event == Pure(epsilon=Fraction(42))
    assert mechanism.numeric_scale == Fraction(1, 2)
    law, missed = law_of(lambda: mechanism.release(Exact([3]), source=None), modules=[sparse_vector], floor=1e-8)
    q = math.exp(-2)
    assert {answers[0].above for answers in law if answers[0].value is not None} == {True}
    for value in range(1, 6):
        expected = (1 - q) / (1 + q) * q ** abs(value - 3)
        assert -1e-9 <= expected - law[(Comparison(above=True, value=value),)] <= missed + 1e-9
    assert missed < 1e-4


def test_it_refuses_after_the_last_positive():
    """C046: c positives, then nothing."""
    run = SparseVector(**(EXAMPLE | {"positives": 2, "epsilon": 100})).start(source=SYSTEM)
    assert run.ask(Exact(-(10**6))) == Comparison(above=False)
    assert run.ask(Exact(10**6)) == Comparison(above=True)
    assert run.left == 1
    assert run.ask(Exact(10**6)) == Comparison(above=True)
    each_raises(BudgetExhausted, lambda query: run.ask(Exact(query)), (10**6, -(10**6)))


def test_a_refused_query_costs_no_positive():
    run = SparseVector(**EXAMPLE).start(source=SYSTEM)
    raised(BadParameter, lambda: run.ask(Exact(1e9)))
    assert run.left == 1


def test_threads_cannot_take_more_positives_than_there_are():
    run = SparseVector(**(EXAMPLE | {"positives": 20, "epsilon": 1000})).start(source=SYSTEM)

    def ask(_):
        try:
            return run.ask(Exact(10**9)).above
        except BudgetExhausted:
            return None

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(200)))
    assert answers.count(True) == 20


def test_the_noisy_threshold_cannot_be_printed_copied_or_pickled():
    run = SparseVector(**EXAMPLE).start(source=SYSTEM)
    assert repr(run) == "SparseVectorRun(left=1, threshold hidden)"
    each_raises(TypeError, lambda escape: escape(run), (copy.copy, copy.deepcopy, pickle.dumps))


@given(
    epsilon=st.fractions(Fraction(1, 100), 10),
    positives=st.integers(1, 50),
    sensitivity=st.fractions(Fraction(1, 9), 9),
    monotonic=st.booleans(),
)
def test_lyu_su_li_algorithm_7(epsilon, positives, sensitivity, monotonic):
    """C046: shares add up exactly, scales are those of the theorem, and the optimal split has the least variance."""
    arguments = {"epsilon": epsilon, "positives": positives, "sensitivity": sensitivity, "monotonic": monotonic}
    best, half = (sparse_vector_scales(**arguments, split=split) for split in ("optimal", "half"))
    factor = positives * (1 if monotonic else 2)
    for scales in (best, half):
        assert scales.threshold_epsilon + scales.query_epsilon == epsilon
        assert scales.threshold_scale * scales.threshold_epsilon == sensitivity
        assert scales.query_scale * scales.query_epsilon == factor * sensitivity

    def variance(first):
        return (sensitivity / first) ** 2 + (factor * sensitivity / (epsilon - first)) ** 2

    first = best.threshold_epsilon
    assert variance(first) <= min(
        map(variance, (first * Fraction(999, 1000), first * Fraction(1001, 1000), epsilon / 2))
    )


def test_dwork_roth_above_threshold_is_the_half_split():
    """C046: Lap(2/ε) and Lap(4/ε)."""
    scales = sparse_vector_scales(epsilon=1, positives=1, sensitivity=1, monotonic=False, split="half")
    assert (scales.threshold_scale, scales.query_scale) == (2, 4)


@pytest.mark.parametrize("beta", [0.5, 0.1, 0.01])
def test_the_accuracy_of_the_discrete_stream_holds_by_its_law(beta):
    """C046: union bound against the exact discrete tail Pr[|Z| > a] = 2 p^(a+1) / (1 + p)."""
    mechanism = SparseVector(**(EXAMPLE | {"epsilon": Fraction(1), "positives": 3}))
    scales, queries = mechanism.scales, 25
    alpha = mechanism.accuracy(queries=queries, beta=beta)
    share = 2 / Fraction(beta)
    parts = [
        (scales.threshold_scale, math.ceil(float(scales.threshold_scale) * math.log(share))),
        (scales.query_scale, math.ceil(float(scales.query_scale) * math.log(share * queries))),
    ]
    assert alpha == sum(part for _, part in parts)
    tails = [2 * math.exp(-(a + 1) / float(b)) / (1 + math.exp(-1 / float(b))) for b, a in parts]
    assert tails[0] + queries * tails[1] <= beta


def test_a_fork_does_not_double_the_positives():
    """C046: parent and child share the threshold; only the one who started the stream may go on."""
    run = SparseVector(**(EXAMPLE | {"epsilon": 100})).start(source=SYSTEM)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            run.ask(Exact(10**6))
            os.write(write, b"answered")
        except Refused:
            os.write(write, b"refused")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 8) == b"refused"
    os.close(read)
    os.close(write)
    assert run.ask(Exact(10**6)).above
