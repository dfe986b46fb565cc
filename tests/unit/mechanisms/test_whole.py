"""Whole numbers in, anything else refused unseen. No chance involved."""

import numpy as np
import pytest

from dpsql.errors import BadParameter
from dpsql.mechanisms.whole import whole, whole_vector


@pytest.mark.parametrize("value", [3, True, np.int64(3), np.uint8(3), 2**100])
def test_integers_of_any_kind(value):
    assert type(whole(value)) is int
    assert whole(value) == value


@pytest.mark.parametrize("value", [867.5309, "8675309", None, np.float64(867.5309), [8675309]])
def test_others_are_refused_without_being_shown(value):
    with pytest.raises(BadParameter) as caught:
        whole(value)
    assert "867" not in str(caught.value)


def test_vectors():
    assert whole_vector([1, np.int32(2)], dimensions=2) == [1, 2]
    with pytest.raises(BadParameter):
        whole_vector([1, 2], dimensions=3)
    with pytest.raises(BadParameter):
        whole_vector([1, 2.0], dimensions=2)
