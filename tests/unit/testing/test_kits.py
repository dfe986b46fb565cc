"""The kit must be able to fail: each planted bug is caught by the law that names it."""

import math
import sys
from dataclasses import dataclass, field
from fractions import Fraction

import pytest

from dpsql.errors import BadParameter
from dpsql.mechanisms.randomized_response import RandomizedResponse
from dpsql.privacy.events import Pure
from dpsql.randomness import bernoulli
from dpsql.require import require_epsilon
from dpsql.testing.kits import SECRET, MechanismKit, surprise


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
        bit = value.open()
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
    with pytest.raises(AssertionError):
        getattr(kit, law)(*map(request.getfixturevalue, wanted))


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
