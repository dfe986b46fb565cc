"""An exact value does not print, format, compare, branch, hash, pickle or copy itself."""

import copy
import json
import logging
import pickle

import pytest

from dpsql.privacy.exact import Exact
from tests.kits.refusals import raised

SECRET = 8675309


@pytest.fixture
def hidden() -> Exact[int]:
    return Exact(SECRET)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda x: f"{x:d}",
        lambda x: f"{x}",
        lambda x: format(x),
        lambda x: format(x, ">10"),
        lambda x: x == SECRET,
        lambda x: x != SECRET,
        lambda x: x == x,
        lambda x: x < 1,
        lambda x: x >= 1,
        lambda x: bool(x),
        lambda x: not x,
        lambda x: 1 if x else 0,
        lambda x: hash(x),
        lambda x: {x: 1},
        lambda x: pickle.dumps(x),
        lambda x: pickle.dumps(x, protocol=0),
        lambda x: copy.copy(x),
        lambda x: copy.deepcopy(x),
        lambda x: copy.deepcopy([x]),
        lambda x: json.dumps(x),
        lambda x: int(x),
        lambda x: float(x),
        lambda x: x + 1,
        lambda x: 1 + x,
        lambda x: x * 2,
        lambda x: -x,
        lambda x: abs(x),
        lambda x: round(x),
        lambda x: range(x),
        lambda x: list(x),
        lambda x: len(x),
        lambda x: x[0],
        lambda x: setattr(x, "_value", 1),
        lambda x: setattr(x, "other", 1),
        lambda x: "%d" % x,  # noqa: UP031
        lambda x: SECRET in [x],
    ],
)
def test_every_way_out_is_a_type_error_that_does_not_tell(hidden, attempt):
    assert str(SECRET) not in str(raised(TypeError, lambda: attempt(hidden)))


def test_text_forms_hide_the_value(hidden):
    for text in (repr(hidden), str(hidden), "%s" % hidden, "%r" % hidden, repr([hidden]), f"{[hidden]}"):  # noqa: UP031
        assert str(SECRET) not in text
        assert "hidden" in text


def test_logs_and_tracebacks_hide_the_value(hidden, caplog):
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("some.module").debug("got %s and %r", hidden, {"x": hidden})
    assert "hidden" in caplog.text
    assert str(SECRET) not in caplog.text


def test_there_is_no_attribute_dictionary(hidden):
    assert not hasattr(hidden, "__dict__")
    raised(TypeError, lambda: vars(hidden))


def test_a_mechanism_opens_it(hidden):
    assert hidden.open() == SECRET


def test_it_cannot_be_subclassed_into_something_that_prints():
    assert getattr(Exact, "__final__", False)


def test_an_exact_value_has_no_state_and_one_life():
    value = Exact(5)
    raised(TypeError, lambda: value.__getstate__())
    raised(TypeError, lambda: value.__init__(6))
    assert value.open() == 5
