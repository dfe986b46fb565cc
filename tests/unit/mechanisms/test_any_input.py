"""Whatever is passed to a function of the theory, the outcome is a number of its kind or an error of dpsql.

One argument at a time is replaced by something unlikely, and several at once by hypothesis. No chance involved apart
from its choice of examples.
"""

import dataclasses
import math
from decimal import Decimal
from fractions import Fraction
from pydoc import locate

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql.accounting.subsampling import Scheme
from dpsql.errors import DpsqlError
from dpsql.mechanisms import exponential, noisy_max, permute_and_flip, quantile, randomized_response, sparse_vector
from dpsql.mechanisms.randomized_response import RandomizedResponse
from dpsql.privacy.exact import Exact
from dpsql.privacy.measure import PrivacyParams
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import SYSTEM
from tests.kits.refusals import raised
from tests.kits.rows import read_rows

WORDS = {"math": math, "Fraction": Fraction, "Scheme": Scheme, "Neighbours": Neighbours, "PrivacyParams": PrivacyParams}
WORDS |= {"SYSTEM": SYSTEM, "RandomizedResponse": RandomizedResponse}
NEVER = [math.nan, math.inf, -math.inf, None, 1j, Decimal("NaN"), object()]
NO_NUMBERS = ["1", True, []]
FIXED = {"source", "response", "params", "pmfs", "tight", "bound"}  # no numbers, or laws that have tests of their own
EITHER_SIGN = {"x", "shift", "value", "azuma_bound.beta", "pdf.mean", "cdf.mean", "ppf.mean"}
ONE_SIGN = {"delta.shift"}
BY_PLACE = {"pdf", "pmf", "cdf", "ppf", "tail"}
LENIENT = {  # None and an empty list are taken for no δ at all, and True for one
    ("dpsql.accounting.optimal.optimal_epsilon", "target_delta"),
    ("dpsql.mechanisms.smooth_noise.smooth_beta", "dimensions"),
}
UNLIKELY = [
    *NEVER, *NO_NUMBERS, 0, -1, 1, 1.5, False, "", 5e-324, 1.7e308, -0.0, 1e-150, 1e150, 0.999, 1 - 1e-16, 10**400,
    -(10**400), Fraction(1, 10**400), 1 - Fraction(1, 10**40), 2**53, 2**53 + 1, [math.nan], [0] * 3,
    [1e308, -1e308], [Fraction(1, 10**400), 10**400], ["a", "b"], Decimal("1e-30"), Decimal("Infinity"),
    Neighbours.CHANGE_ONE,
]  # fmt: skip


def read(text):
    return eval(f"dict({text})", dict(WORDS))


@dataclasses.dataclass(frozen=True)
class Function:
    """A function, or a method of what its first arguments build, under dotted names of the arguments."""

    path: str
    good: dict
    kind: str
    refused: list

    @classmethod
    def of(cls, path, good, kind, refused):
        parts = [read(part) for part in good.split(";")]
        named = {f"{place}.{name}": value for place, part in enumerate(parts) for name, value in part.items()}
        wrong = [read(each) for each in refused.split(";")] if refused != "-" else []
        changes = [{key: each[key[2:]] for key in named if key[2:] in each} for each in wrong]
        return cls(path, named, kind, changes)

    @property
    def varied(self):
        """Arguments that may be anything."""
        laws = {key for key, value in self.good.items() if key in ("0.p", "0.q") and isinstance(value, (list, dict))}
        return {key: value for key, value in self.good.items() if key[2:] not in FIXED and key not in laws}

    def may_be_negative(self, name):
        full = f"{self.path.rpartition('.')[2]}.{name}"
        return full not in ONE_SIGN and not EITHER_SIGN.isdisjoint({name, full})

    def __call__(self, arguments):
        first, second = ({k[2:]: v for k, v in arguments.items() if k[0] == place} for place in "01")
        owner, _, method = self.path.rpartition(".")
        if not second and callable(locate(self.path)):
            return locate(self.path)(**first)
        found = getattr(locate(owner)(**first), method)
        if not callable(found):
            return found
        return found(*second.values()) if len(second) == 1 and method in BY_PLACE else found(**second)

    def judged(self, arguments):
        """Numbers of the result are of their kind; a refusal is an answer."""
        try:
            result = self(arguments)
        except DpsqlError:
            return
        for number in numbers_in(result):
            exactly = isinstance(number, (int, Fraction))
            assert exactly or not math.isnan(number), result
            assert exactly or "finite" not in self.kind or math.isfinite(number), result
            assert "≥ 0" not in self.kind or number >= 0, result


def numbers_in(result):
    if dataclasses.is_dataclass(result):
        parts = [getattr(result, field.name) for field in dataclasses.fields(result)]
        return [x for part in parts for x in numbers_in(part)]
    if isinstance(result, (list, tuple)):
        return [x for part in result for x in numbers_in(part)]
    return [result] if isinstance(result, (int, float, Fraction)) else []


FUNCTIONS = [Function.of(*row) for row in read_rows(__file__, "functions")]
EACH = pytest.mark.parametrize("function", FUNCTIONS, ids=[f"{each.path}-{i}" for i, each in enumerate(FUNCTIONS)])


@EACH
def test_one_unlikely_argument(function):
    for name in function.varied:
        for value in UNLIKELY:
            function.judged(function.good | {name: value})


@EACH
def test_what_is_never_right_is_refused(function):
    function(function.good)
    for wrong in function.refused:
        assert wrong
        raised(DpsqlError, lambda wrong=wrong: function(function.good | wrong))
    for name, good in function.varied.items():
        is_number = isinstance(good, (int, float, Fraction)) and not isinstance(good, bool)
        values = [*NEVER, *(NO_NUMBERS if is_number else [])]
        values += [-1] * (is_number and not function.may_be_negative(name[2:])) + [1.5] * (
            is_number and isinstance(good, int)
        )
        if (function.path, name[2:]) in LENIENT:
            continue
        for value in values:
            raised(DpsqlError, lambda change={name: value}: function(function.good | change))


@EACH
def test_several_unlikely_arguments(function):
    def like(value):
        more = st.lists(st.one_of(st.floats(0, 1), st.sampled_from(UNLIKELY)), max_size=3)
        return st.one_of(
            st.just(value), st.sampled_from(UNLIKELY), st.floats(), st.floats(0, 1), st.integers(0, 9), more
        )

    @settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
    @given(st.fixed_dictionaries({name: like(value) for name, value in function.varied.items()}))
    def holds(arguments):
        function.judged(function.good | arguments)

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
    survey = RandomizedResponse.with_epsilon(epsilon=epsilon)
    assert survey.release(Exact(1), source=SYSTEM) in (0, 1)
    survey = randomized_response.KaryResponse(categories=[*"abc"], epsilon=epsilon)
    assert survey.release(Exact("a"), source=SYSTEM) in "abc"
    mechanism = quantile.QuantileMechanism(
        q=0.5, lower=-(2**62), upper=2**62, epsilon=epsilon, neighbours=Neighbours.CHANGE_ONE, values_per_unit=1
    )
    assert -(2**62) <= mechanism.release(Exact([1, 2, 3]), source=SYSTEM) <= 2**62
