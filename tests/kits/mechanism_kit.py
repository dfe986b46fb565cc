"""The laws every mechanism obeys, as tests to inherit.

Subclass `MechanismKit` in a test file, say how to build the mechanism and what its law is, and pytest runs the laws.
Tests of chance use the operating system's generator; each comparison of a frequency with its probability fails by
accident less than once in 10⁹ runs (Chernoff's bound in its relative-entropy form).
"""

import dataclasses
import math
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Final

from dpsql.errors import DpsqlError
from dpsql.mechanisms.mechanism import Mechanism
from dpsql.privacy import events
from dpsql.privacy.events import Event
from dpsql.privacy.exact import Exact
from dpsql.randomness import SYSTEM
from dpsql.testing.fixed import SeededSource

FALSE_ALARM: Final = 1e-9
SLACK: Final = 1e-9  # the rounding of the probabilities a test states
ORDERS: Final = (1.5, 2.0, 3.0, 8.0)
SECRET: Final = "0.8675309"  # the digits of a value that must appear in no message


def surprise(*, hits: int, draws: int, probability: float) -> float:
    """An upper bound of the chance of a frequency at least as far out as the one seen, on its side.

    Theorem   Chernoff:  Pr <= exp(−draws · KL(hits/draws ‖ probability)).
    """
    seen = hits / draws
    divergence = sum(
        (math.inf if there == 0 else here * math.log(here / there))
        for here, there in ((seen, probability), (1 - seen, 1 - probability))
        if here > 0
    )
    return math.exp(-draws * max(divergence, 0.0))


class MechanismKit:
    """Say what the mechanism is and how it should behave; the laws follow."""

    draws: ClassVar[int] = 2000

    def mechanism(self) -> Mechanism[Any, Any]:
        """A calibrated mechanism."""
        raise NotImplementedError

    def value(self) -> Any:
        """What it is given, as the caller of `Exact` holds it."""
        raise NotImplementedError

    def neighbour(self) -> Any:
        """The same, for a neighbouring database."""
        raise NotImplementedError

    def outputs(self) -> Sequence[Hashable]:
        """Some outputs, the exact answer among them where it is one."""
        raise NotImplementedError

    def probability(self, value: Any, output: Any) -> float:
        """The probability that the release of `value` is `output`."""
        raise NotImplementedError

    def bad_parameters(self) -> Iterable[Mapping[str, object]]:
        """Changes of single parameters, each of which must be refused."""
        raise NotImplementedError

    def ill_typed(self) -> Iterable[Any]:
        """Inputs that are refused and hold `SECRET`'s digits, which the message must not repeat."""
        return ()

    def strange_rows(self) -> Iterable[Any]:
        """Inputs read from rows of which some hold no value of the right kind: released like any other."""
        return ()

    def test_the_event_is_an_event_and_does_not_change(self) -> None:
        mechanism = self.mechanism()
        before = mechanism.event
        mechanism.release(Exact(self.value()), source=SYSTEM)
        assert isinstance(before, Event)
        assert mechanism.event == before == self.mechanism().event

    def test_the_mechanism_is_frozen(self) -> None:
        mechanism = self.mechanism()
        for field in dataclasses.fields(mechanism):  # type: ignore[arg-type]
            try:
                setattr(mechanism, field.name, None)
            except AttributeError:
                continue
            raise AssertionError(f"{field.name} can be changed after calibration")

    def test_bad_parameters_are_refused(self) -> None:
        for change in self.bad_parameters():
            try:
                dataclasses.replace(self.mechanism(), **change)  # type: ignore[type-var]
            except DpsqlError:
                continue
            raise AssertionError(f"{change} was accepted")

    def test_a_release_keeps_nothing(self) -> None:
        mechanism, exact = self.mechanism(), Exact(self.value())
        text, references = repr(mechanism), sys.getrefcount(exact)
        mechanism.release(exact, source=SYSTEM)
        assert repr(mechanism) == text
        assert sys.getrefcount(exact) == references

    def test_a_release_prints_and_logs_nothing(self, capfd: Any, caplog: Any) -> None:
        with caplog.at_level(0):
            self.mechanism().release(Exact(self.value()), source=SYSTEM)
        printed = capfd.readouterr()
        assert (printed.out, printed.err, caplog.text) == ("", "", "")

    def test_a_refusal_does_not_repeat_the_value(self) -> None:
        for value in self.ill_typed():
            message = self._refusal(value)
            assert message, "an input of the wrong type was released"
            assert SECRET not in message

    def test_no_row_is_an_error(self) -> None:
        for value in self.strange_rows():
            assert not self._refusal(value), "an error that depends on a row is an answer about it"

    def test_a_naked_value_is_refused(self) -> None:
        for value in (self.value(), 8675309, None):
            message = self._refusal(value, wrap=lambda naked: naked)
            assert "Exact(value)" in message, "a value that was not wrapped in Exact was released"
            assert "8675309" not in message

    def _refusal(self, value: Any, *, wrap: Callable[[Any], Any] = Exact) -> str:
        try:
            self.mechanism().release(wrap(value), source=SYSTEM)
        except DpsqlError as error:
            return f"{error} {error.as_json()}"
        return ""

    def test_only_the_source_decides(self) -> None:
        first, second = (self.mechanism().release(Exact(self.value()), source=SeededSource(11)) for _ in range(2))
        assert first == second

    def test_outputs_come_as_often_as_the_law_says(self) -> None:
        """The exact answer, too: an implementation that falls back to it shows here."""
        mechanism, value = self.mechanism(), self.value()
        seen = Counter(_hashable(mechanism.release(Exact(value), source=SYSTEM)) for _ in range(self.draws))
        for output in self.outputs():
            chance = surprise(hits=seen[output], draws=self.draws, probability=self.probability(value, output))
            assert chance > FALSE_ALARM, f"{output!r} came {seen[output]} times in {self.draws}"

    def test_the_law_keeps_the_promise_of_the_event(self) -> None:
        """On the outputs named, which can only make a divergence smaller: a failure is a broken promise."""
        event = self.mechanism().event
        assert type(event) in PROMISES, f"no law says what {type(event).__name__} promises"
        for one, other in ((self.value(), self.neighbour()), (self.neighbour(), self.value())):
            PROMISES[type(event)](
                event, [(self.probability(one, y), self.probability(other, y)) for y in self.outputs()]
            )


Chances = Sequence[tuple[float, float]]
"""The probability of each output under a database and under its neighbour."""


def _keeps_epsilon_delta(event: Any, chances: Chances) -> None:
    factor = math.exp(event.epsilon)
    excess = math.fsum(max(p - factor * q, 0.0) for p, q in chances)
    assert excess <= float(getattr(event, "delta", 0)) + SLACK


def _keeps_bounded_range(event: Any, chances: Chances) -> None:
    losses = [math.log(p / q) for p, q in chances]
    assert max(losses) - min(losses) <= float(event.epsilon) + SLACK


def _keeps_rho(rho: Fraction, delta: Fraction, chances: Chances) -> None:
    """Outputs that are impossible for the neighbour come with probability δ at most, and without the outputs
    impossible for either the Rényi divergence is at most αρ. Of discrete Gaussians it is αρ exactly at order 2."""
    apart = math.fsum(p for p, q in chances if q == 0)
    assert apart <= float(delta) + SLACK
    others = math.fsum(q for p, q in chances if p == 0)
    shared = [(math.log(p / (1 - apart)), math.log(q / (1 - others))) for p, q in chances if p > 0 and q > 0]
    for order in ORDERS:
        moment = math.fsum(math.exp(order * p + (1 - order) * q) for p, q in shared)
        assert moment <= math.exp((order - 1) * order * rho) * (1 + SLACK), f"at order {order}"


PROMISES: Final[Mapping[type[Event], Callable[[Any, Chances], None]]] = {
    events.Pure: _keeps_epsilon_delta,
    events.BoundedRange: _keeps_bounded_range,
    events.Approximate: _keeps_epsilon_delta,
    events.KeySelection: _keeps_epsilon_delta,
    events.DiscreteGaussian: lambda event, chances: _keeps_rho(
        event.l2_squared / (2 * event.sigma_squared), Fraction(0), chances
    ),
    events.GaussianThreshold: lambda event, chances: _keeps_rho(
        event.keys / (2 * event.sigma_squared), event.delta, chances
    ),
}
"""What each event promises about the two laws of a pair of neighbours."""


def _hashable(output: Any) -> Hashable:
    if isinstance(output, Mapping):
        return tuple(output.items())
    return tuple(output) if isinstance(output, list) else output
