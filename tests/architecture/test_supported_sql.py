"""The page of supported SQL says what the rule tables say, and its examples get the verdict it claims."""

import importlib.util
import sys
from functools import cache
from pathlib import Path

import pytest

import dpsql
from tests.kits.refusals import raised

sys.path.insert(0, str(Path(__file__).parent.parent / "system"))
from hospital import opened, well_behaved

ROOT = Path(__file__).parent.parent.parent


@cache
def tool():
    spec = importlib.util.spec_from_file_location("supported_sql", ROOT / "tools" / "supported_sql.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def analyst():
    return opened(well_behaved())


def test_the_page_is_what_the_tables_say():
    assert tool().PAGE.read_text(encoding="utf-8") == tool().page(), "python tools/supported_sql.py --write"


def test_a_function_without_a_line_is_noticed(monkeypatch):
    monkeypatch.setattr(tool(), "FUNCTIONS", {**tool().FUNCTIONS, "planted": None})
    raised(LookupError, lambda: tool().page(), match="planted")


@pytest.mark.parametrize("place", range(len(tool().CLAUSE_EXAMPLES)), ids=lambda n: tool().CLAUSE_EXAMPLES[n][0])
def test_a_supported_example_is_accepted(place):
    _, _, sql = tool().CLAUSE_EXAMPLES[place]
    assert analyst().query(sql).sealed is not None


@pytest.mark.parametrize("place", range(len(tool().REFUSED_EXAMPLES)), ids=lambda n: tool().REFUSED_EXAMPLES[n][0])
def test_a_refused_example_is_refused_for_that_reason(place):
    code, _, sql = tool().REFUSED_EXAMPLES[place]
    assert raised(dpsql.Refused, lambda: analyst().query(sql)).code == code
