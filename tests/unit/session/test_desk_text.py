"""Texts for the desk: windows below, everything else above; no order is left to the engine."""

from functools import partial

import pytest

from dpsql.catalog.types import SqlType
from dpsql.session.released_rows import Layers, directed, listed
from dpsql.sql.scalars import ColumnRef, Sorted
from tests.kits.released import call
from tests.kits.released import window as window_of

N, K = ColumnRef(4, SqlType.DOUBLE), ColumnRef(5, SqlType.TEXT)
NAMES = {4: "c4", 5: "c5"}
window = partial(window_of, type_=SqlType.DOUBLE)


def test_windows_are_columns_of_the_lower_layer_each_once():
    layers = Layers(names=NAMES)
    share = call("div", N, window("max", N))
    assert "(c4 / w0)" in layers.text(share)
    assert "over" not in layers.text(share).lower()
    assert layers.below("kept") == "SELECT *, max(c4) OVER () AS w0 FROM kept"
    layers = Layers(names=NAMES)
    expected = ("w0", "w1", "w0")
    assert (layers.text(window("max", N)), layers.text(window("min", N)), layers.text(window("max", N))) == expected
    assert len(layers.windows) == 2


@pytest.mark.parametrize("function", ["row_number", "ntile", "lag", "lead", "first_value"])
def test_rows_that_are_told_apart_one_by_one_are_sorted_to_the_end(function):
    layers = Layers(names=NAMES)
    layers.text(window(function, *[N] * (function != "row_number"), order=(Sorted(by=K),)))
    assert "ORDER BY c5 ASC NULLS LAST, r ASC NULLS LAST)" in layers.below("kept")


def test_frames_of_rows_are_sorted_to_the_end_and_no_window_looks_into_another_draw():
    layers = Layers(names=NAMES)
    layers.text(window("max", N, frame="ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"))
    assert "(ORDER BY r ASC NULLS LAST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)" in layers.below("kept")
    layers = Layers(names=NAMES, per_draw=True)
    layers.text(window("max", N, by=(K,)))
    assert "(PARTITION BY d, c5)" in layers.below("drawn")


@pytest.mark.parametrize("frame", ["", "RANGE BETWEEN 1 PRECEDING AND CURRENT ROW"])
def test_peers_stay_peers(frame):
    """RANK and frames by value treat equal rows alike: a further sort key would tell them apart."""
    layers = Layers(names=NAMES)
    layers.text(window("max", N, order=(Sorted(by=N),), frame=frame))
    assert ", r" not in layers.below("kept")


def test_small_parts():
    assert listed(["a", "b"], "o") == ", a AS o0, b AS o1"
    assert listed([], "o") == ""
    assert directed(Sorted(by=N)) == " ASC NULLS LAST"
    assert directed(Sorted(by=N, descending=True, nulls_first=True)) == " DESC NULLS FIRST"
