"""There is one list of the kinds of facts; whatever else is known of kinds is held to it."""

from pathlib import Path
from runpy import run_path
from typing import get_args

import pytest

import dpsql
from dpsql.errors import InternalError
from dpsql.ledger import facts
from dpsql.ledger.encoding import word_of

SRC = Path(dpsql.__file__).parent


def test_every_kind_has_a_word_of_its_own():
    kinds = get_args(facts.Fact)
    assert len({word_of(kind) for kind in kinds}) == len(kinds) > 10


@pytest.mark.parametrize("table", ["ledger/encoding.py", "ledger/replay.py", "session/entry_rows.py"])
def test_a_kind_that_is_missing_in_a_table_is_noticed(table, monkeypatch):
    class Planted:
        pass

    run_path(str(SRC / table))
    monkeypatch.setattr(facts, "Fact", facts.Fact | Planted)
    with pytest.raises(InternalError, match="Planted"):
        run_path(str(SRC / table))


def test_a_row_of_no_kind_is_noticed():
    with pytest.raises(InternalError, match="int"):
        facts.of_every_kind({**dict.fromkeys(get_args(facts.Fact), ""), int: ""})
