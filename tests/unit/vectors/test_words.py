"""The words that vectors use for the neighbour relation."""

import pytest

from dpsql.privacy.unit import Neighbours
from tests.vectors.words import relation


@pytest.mark.parametrize("words", ["add_remove", "add-remove: factor 1", "Unbounded", "remove every row of one user"])
def test_add_remove(words):
    assert relation(words) is Neighbours.ADD_REMOVE


@pytest.mark.parametrize("words", ["change_one", "change one row of one table", "bounded", "change_one: factor 2"])
def test_change_one(words):
    assert relation(words) is Neighbours.CHANGE_ONE


@pytest.mark.parametrize("words", ["", "neighbours", "both"])
def test_other_words_are_refused(words):
    with pytest.raises(ValueError, match="relation"):
        relation(words)
