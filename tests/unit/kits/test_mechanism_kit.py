"""The kit must be able to fail: each planted bug is caught by the law that names it."""

import math
import sys
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace

import pytest

from dpsql.errors import BadParameter
from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianLaw, DiscreteGaussianMechanism
from dpsql.mechanisms.mechanism import opened
from dpsql.mechanisms.randomized_response import RandomizedResponse
from dpsql.privacy.events import BoundedRange, ContinuousGaussian, GaussianThreshold, Pure
from dpsql.privacy.exact import Exact
from dpsql.randomness import bernoulli
from dpsql.require import require_epsilon
from tests.kits.mechanism_kit import SECRET, MechanismKit, surprise
from tests.kits.refusals import raised
from tests.oracles.laws import permute_and_flip_probabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class Honest:
    """Two fair coins, written without its own class's checks: what the bugs below are planted in."""

    epsilon: Fraction = Fraction(11, 10)
    seen: list = field(default_factory=list)

    def __post_init__(self):
        require_epsilon(epsilon=self.epsilon)

    @property
    def event(self):
        return Pure(epsilon=self.epsilon)

    def release(self, value, /, *, source):
        bit = opened(value)
        if bit not in (0, 1):
            raise BadParameter("not a bit", why="it must be one", fix="pass a bit")
        return int(bernoulli(Fraction(3, 4) if bit else Fraction(1, 4), source=source))


class Kit(MechanismKit):
    kind = Honest

    def mechanism(self):
        return self.kind()

    def value(self):
        return 1

    def neighbour(self):
        return 0

    def outputs(self):
        return [0, 1]

    def probability(self, value, output):
        return 0.75 if value == output else 0.25

    def bad_parameters(self):
        return [{"epsilon": 0}, {"epsilon": math.nan}]

    def ill_typed(self):
        return [SECRET]

    def strange_rows(self):
        return [True]


class TestHonest(Kit):
    pass


class Talkative(Honest):
    def release(self, value, /, *, source):
        sys.stdout.write(f"exact {value.open()}")
        return Honest.release(self, value, source=source)


class Logging(Honest):
    def release(self, value, /, *, source):
        import logging

        logging.getLogger("dpsql").debug("exact %s", value.open())
        return Honest.release(self, value, source=source)


class Remembering(Honest):
    def release(self, value, /, *, source):
        self.seen.append(value)
        return Honest.release(self, value, source=source)


class FallingBack(Honest):
    def release(self, value, /, *, source):
        noisy = Honest.release(self, value, source=source)
        return noisy or value.open()  # a zero "looks wrong", so the exact value goes out


class Quoting(Honest):
    def release(self, value, /, *, source):
        if value.open() not in (0, 1):
            raise BadParameter(f"{value.open()} is not a bit", why="it must be one", fix="pass a bit")
        return Honest.release(self, value, source=source)


class Choosy(Honest):
    def release(self, value, /, *, source):
        if type(opened(value)) is bool:
            raise BadParameter("not an integer", why="it must be one", fix="pass an integer")
        return Honest.release(self, value, source=source)


class Trusting(Honest):
    def release(self, value, /, *, source):
        wrapped = value if isinstance(value, Exact) else Exact(1)
        return Honest.release(self, wrapped, source=source)


class Careless(Honest):
    def __post_init__(self):
        pass

    @property
    def event(self):
        return Pure(epsilon=Fraction(2))


class OwnChance(Honest):
    def release(self, value, /, *, source):
        import secrets

        return secrets.randbits(64)


class Underpriced(Honest):
    @property
    def event(self):
        return Pure(epsilon=Fraction(1, 2))


@dataclass(kw_only=True)
class Changeable:
    epsilon: Fraction = Fraction(1)


PLANTED = [
    (Talkative, "test_a_release_prints_and_logs_nothing"),
    (Logging, "test_a_release_prints_and_logs_nothing"),
    (Remembering, "test_a_release_keeps_nothing"),
    (FallingBack, "test_outputs_come_as_often_as_the_law_says"),
    (Quoting, "test_a_refusal_does_not_repeat_the_value"),
    (Choosy, "test_no_row_is_an_error"),
    (Trusting, "test_a_naked_value_is_refused"),
    (Careless, "test_bad_parameters_are_refused"),
    (OwnChance, "test_only_the_source_decides"),
    (Underpriced, "test_the_law_keeps_the_promise_of_the_event"),
    (Changeable, "test_the_mechanism_is_frozen"),
]


@pytest.mark.parametrize(("kind", "law"), PLANTED, ids=[kind.__name__ for kind, _ in PLANTED])
def test_a_planted_bug_is_caught(kind, law, request):
    kit = Kit()
    kit.kind = kind
    wanted = ["capfd", "caplog"] if law == "test_a_release_prints_and_logs_nothing" else []
    raised(AssertionError, lambda: getattr(kit, law)(*map(request.getfixturevalue, wanted)))


class GaussianKit(MechanismKit):
    """Discrete Gaussian noise as it is; `change` says how its event is misstated."""

    change = MappingProxyType({})

    def mechanism(self):
        right = DiscreteGaussianMechanism(sigma_squared=Fraction(2), l2=1)
        return SimpleNamespace(event=replace(right.event, **self.change))

    def value(self):
        return 4

    def neighbour(self):
        return 5

    def outputs(self):
        return range(-20, 30)

    def probability(self, value, output):
        return DiscreteGaussianLaw(sigma_squared=Fraction(2)).pmf(output - value)


class ThresholdKit(GaussianKit):
    """A key of one person, shown with its noisy count above 3, against no key at all."""

    shown = DiscreteGaussianLaw(sigma_squared=Fraction(2)).tail(2) / 2  # 1 + Z > 3

    def mechanism(self):
        right = GaussianThreshold(sigma_squared=Fraction(2), delta=Fraction(self.shown), keys=1)
        return SimpleNamespace(event=replace(right, **self.change))

    def outputs(self):
        return [None, *range(4, 30)]

    def probability(self, value, output):
        if value == 5:  # nobody holds the key
            return float(output is None)
        law = DiscreteGaussianLaw(sigma_squared=Fraction(2))
        return 1 - self.shown if output is None else law.pmf(output - 1)


@pytest.mark.parametrize(
    ("kit", "change"),
    [
        (GaussianKit, {"sigma_squared": Fraction(203, 100)}),  # one and a half percent more noise than there is
        (GaussianKit, {"l2_squared": Fraction(98, 100)}),
        (ThresholdKit, {"delta": Fraction(2, 100)}),  # it is 0.039
    ],
)
def test_a_misstated_rho_or_delta_is_caught(kit, change):
    right, wrong = kit(), kit()
    right.test_the_law_keeps_the_promise_of_the_event()
    wrong.change = change
    raised(AssertionError, lambda: wrong.test_the_law_keeps_the_promise_of_the_event())


def test_a_selection_that_is_not_of_bounded_range_is_caught():
    """Permute-and-flip over two candidates is ε-DP, and its loss varies by more than ε."""

    class Kit(MechanismKit):
        event = Pure(epsilon=Fraction(1))

        def mechanism(self):
            return SimpleNamespace(event=self.event)

        def value(self):
            return (0, 1)

        def neighbour(self):
            return (1, 0)

        def outputs(self):
            return (0, 1)

        def probability(self, value, output):
            return permute_and_flip_probabilities(scores=value, scale=2)[output]

    kit = Kit()
    kit.test_the_law_keeps_the_promise_of_the_event()
    kit.event = BoundedRange(epsilon=Fraction(1))
    raised(AssertionError, lambda: kit.test_the_law_keeps_the_promise_of_the_event())


def test_an_event_without_a_law_is_not_passed_over():
    kit = Kit()
    kit.mechanism = lambda: SimpleNamespace(event=ContinuousGaussian(noise_multiplier=Fraction(1)))
    raised(AssertionError, lambda: kit.test_the_law_keeps_the_promise_of_the_event(), match="ContinuousGaussian")


def test_the_kit_passes_a_right_mechanism_made_by_its_own_door():
    class Right(Kit):
        def mechanism(self):
            return RandomizedResponse.two_coin()

    Right().test_the_law_keeps_the_promise_of_the_event()
    Right().test_outputs_come_as_often_as_the_law_says()


def test_surprise_is_small_far_from_the_mean_only():
    """Chernoff: exp(−n KL)."""
    assert surprise(hits=50, draws=100, probability=0.5) == 1
    assert surprise(hits=100, draws=100, probability=0.5) == pytest.approx(2.0**-100)
    assert surprise(hits=0, draws=10, probability=0.0) == 1
    assert surprise(hits=1, draws=10, probability=0.0) == 0
