"""Whole numbers in, anything else refused unseen. No chance involved."""

import numpy as np
import pytest

from dpsql.errors import BadParameter
from dpsql.mechanisms.whole import LARGEST_WHOLE, listed_once, require_whole, whole, whole_vector
from tests.kits.refusals import each_raises, raised


@pytest.mark.parametrize("value", [3, True, np.int64(3), np.uint8(3), 2**100])
def test_integers_of_any_kind(value):
    assert type(whole(value)) is int
    assert whole(value) == value


@pytest.mark.parametrize("value", [867.5309, "8675309", None, np.float64(867.5309), [8675309]])
def test_others_are_refused_without_being_shown(value):
    assert "867" not in str(raised(BadParameter, lambda: whole(value)))


def test_vectors():
    assert whole_vector([1, np.int32(2)], dimensions=2) == [1, 2]
    raised(BadParameter, lambda: whole_vector([1, 2], dimensions=3))
    raised(BadParameter, lambda: whole_vector([1, 2.0], dimensions=2))
    assert whole_vector(np.array([1, 2]), dimensions=2) == [1, 2]


@pytest.mark.parametrize("value", [{867: 5309}, {867}, "867", b"867", 867, None, np.float64(867), np.array([[867]])])
def test_what_is_no_list_is_called_so_and_not_shown(value):
    """A mapping was once told that floating point is dangerous."""
    error = raised(BadParameter, lambda: whole_vector(value, dimensions=1), match="not as a list")
    assert "867" not in str(error)
    assert "floating" not in str(error)


@pytest.mark.parametrize("value", [["a", "b", "a"], [1, True], ("x", "x"), [0.0, -0.0]])
def test_nothing_stands_twice_in_a_public_list(value):
    raised(BadParameter, lambda: listed_once(value, name="candidates"), match="listed twice")


@pytest.mark.parametrize("value", ["abc", {"a": 1}, {"a"}, 3, iter("ab")])
def test_a_public_list_is_a_list(value):
    raised(BadParameter, lambda: listed_once(value, name="candidates"), match="candidates came as ")


def test_public_lists_are_kept_in_their_order():
    assert listed_once(range(3, 0, -1), name="candidates") == (3, 2, 1)
    assert listed_once([[1], [1]], name="candidates") == ([1], [1])
    assert listed_once([([1],), ([2],)], name="candidates") == (([1],), ([2],))


def test_whole_numbers_are_of_a_size_that_ends():
    require_whole(x=LARGEST_WHOLE, y=-LARGEST_WHOLE)
    each_raises(BadParameter, lambda bad: require_whole(x=bad), (LARGEST_WHOLE + 1, -LARGEST_WHOLE - 1, 1.0, True))
