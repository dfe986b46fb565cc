"""Tab proposes what the policy says and never what the data hold."""

import pytest

import dpsql
from dpsql.cli.shell.completing import FUNCTIONS, KEYWORDS, proposals, written
from dpsql.cli.shell.names import VIEWS, Names, names_of, names_or_none
from dpsql.session import views
from dpsql.sql.functions.table import FUNCTIONS as KNOWN
from dpsql.sql.outputs import PARTS
from dpsql.sql.parsing.functions import NOT_CALLABLE, OTHER_NAMES
from dpsql.sql.words import AGGREGATES
from tests.kits.cases import cases


@pytest.fixture(scope="module")
def names():
    with dpsql.demo() as ana:
        return names_of(ana)


def proposed(names, before, after=""):
    commands = ["\\d", "\\dt", "\\mode"]
    choices = {"\\d": lambda names: names.tables, "\\mode": lambda names: ("table", "csv")}
    return {text for text, _ in proposals(before, before + after, lambda: names, commands, choices)}


@cases(__file__, "before", "after=", "found=")
def test_what_is_proposed(names, before, after, found):
    assert proposed(names, before, after) == found


def test_private_groups_and_texts_of_rows_are_never_proposed_and_odd_names_are_quoted(names):
    everything = set().union(*(proposed(names, f"SELECT 1 FROM {table} WHERE x = '") for table in names.tables))
    assert everything == {"Aarau'", "Basel'", "Bern'", "Geneva'", "f'", "m'", "x'"}
    assert [written(name) for name in ("city", "my city", 'a"b', "order")] == ["city", '"my city"', '"a""b"', '"order"']


def test_who_may_ask_nothing_is_proposed_nothing():
    owner = dpsql.open(":memory:")
    owner.promise(epsilon=1)
    ana = owner.grant("ana", budget=1)
    owner.keeper.freeze("a look")
    assert names_or_none(ana) == Names()
    owner.close()


def test_every_function_that_is_proposed_can_be_asked_and_the_views_are_those_there_are():
    known = {*KNOWN, *AGGREGATES, *OTHER_NAMES, *(name.lower() for name in PARTS)} - NOT_CALLABLE
    assert {name.lower() for name in FUNCTIONS} <= known
    assert KEYWORDS.isdisjoint(FUNCTIONS)
    assert sorted(VIEWS) == sorted(f"dp.{name}" for name in views.VIEWS)
