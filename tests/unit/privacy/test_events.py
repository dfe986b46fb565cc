"""Events keep their numbers exactly and refuse parameters that describe no release."""

import math
import pickle
from dataclasses import FrozenInstanceError, fields
from decimal import Decimal
from fractions import Fraction

import pytest

from dpsql.errors import BadParameter
from dpsql.privacy import events
from dpsql.privacy.events import Approximate, BoundedRange, Composed, ContinuousLaplace, Event, PoissonSampled, Pure
from tests.kits.accountant_kit import PARAMETERS
from tests.kits.refusals import raised

ZERO_MEANS_SOMETHING = {"delta": (Approximate,)}


def test_every_event_has_an_example():
    kinds = {kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event)}
    assert kinds == {*PARAMETERS, Composed, Event}


@pytest.mark.parametrize("kind", PARAMETERS)
def test_numbers_are_kept_exactly(kind):
    event = kind(**PARAMETERS[kind])
    for field in fields(event):
        if field.type == "Fraction":
            value = getattr(event, field.name)
            assert type(value) is Fraction
            assert value == PARAMETERS[kind][field.name]


@pytest.mark.parametrize("kind", PARAMETERS)
@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, -math.inf, True, "1", None, Decimal("NaN")])
def test_no_bad_number_makes_an_event(kind, bad):
    for name, value in PARAMETERS[kind].items():
        if isinstance(value, (Event, tuple)) or (bad == 0 and kind in ZERO_MEANS_SOMETHING.get(name, ())):
            continue
        with pytest.raises(BadParameter):
            kind(**{**PARAMETERS[kind], name: bad})


@pytest.mark.parametrize("kind", PARAMETERS)
def test_events_are_frozen_equal_by_value_and_survive_pickling(kind):
    event = kind(**PARAMETERS[kind])
    assert event == kind(**PARAMETERS[kind])
    assert hash(event) == hash(kind(**PARAMETERS[kind]))
    assert pickle.loads(pickle.dumps(event)) == event
    raised(FrozenInstanceError, lambda: setattr(event, fields(event)[0].name, 1))
    with pytest.raises(TypeError):
        kind(*PARAMETERS[kind].values())  # numbers travel by keyword


def test_two_events_of_different_kinds_are_never_equal():
    assert Pure(epsilon=1) != BoundedRange(epsilon=1)
    assert Pure(epsilon=1) != ContinuousLaplace(epsilon=1)


def test_decimals_keep_their_meaning():
    assert Pure(epsilon=Decimal("0.1")).epsilon == Fraction(1, 10)


@pytest.mark.parametrize("inside", [("x",), (1.0,), (Pure,), (Pure(epsilon=1), None)])
def test_only_events_are_composed(inside):
    raised(BadParameter, lambda: Composed(inside))


def test_an_iterator_is_not_used_up_by_the_check():
    assert len(Composed(Pure(epsilon=1) for _ in range(3)).events) == 3


def test_only_an_event_is_sampled():
    raised(BadParameter, lambda: PoissonSampled(event="Pure", rate=0.1))


def test_composition_may_be_empty_and_nested():
    assert Composed(()).events == ()
    assert Composed((Composed((Pure(epsilon=1),)),)).events[0].events[0].epsilon == 1
