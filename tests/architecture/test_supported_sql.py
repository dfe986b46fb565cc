"""The page of supported SQL says what the rule tables say, and its examples get the verdict it claims."""

import sys
from functools import cache
from pathlib import Path

import pytest

import dpsql
from tests.kits.refusals import raised
from tests.kits.scripts import script

sys.path.insert(0, str(Path(__file__).parent.parent / "system"))
from hospital import opened, well_behaved

TOOL = script("supported_sql")


@cache
def analyst():
    return opened(well_behaved())


def test_the_page_is_what_the_tables_say():
    assert TOOL.PAGE.read_text(encoding="utf-8") == TOOL.page(), "python tools/supported_sql.py --write"


def test_a_function_without_a_line_is_noticed(monkeypatch):
    monkeypatch.setattr(TOOL, "FUNCTIONS", {**TOOL.FUNCTIONS, "planted": None})
    raised(LookupError, lambda: TOOL.page(), match="planted")


@pytest.mark.parametrize("place", range(len(TOOL.CLAUSE_EXAMPLES)), ids=lambda n: TOOL.CLAUSE_EXAMPLES[n][0])
def test_a_supported_example_is_accepted(place):
    _, _, sql = TOOL.CLAUSE_EXAMPLES[place]
    assert analyst().query(sql).sealed is not None


@pytest.mark.parametrize("place", range(len(TOOL.REFUSED_EXAMPLES)), ids=lambda n: TOOL.REFUSED_EXAMPLES[n][0])
def test_a_refused_example_is_refused_for_that_reason(place):
    code, _, sql = TOOL.REFUSED_EXAMPLES[place]
    assert raised(dpsql.Refused, lambda: analyst().query(sql)).code == code
