"""SET, RESET, SHOW as text."""

from fractions import Fraction

import pytest

from dpsql.catalog.model import Mode, Noise
from dpsql.errors import DpsqlError
from dpsql.sql.setting_text import Reset, SetOption, Show, setting_statement
from tests.kits.cases import cases
from tests.kits.refusals import raised


@pytest.mark.parametrize(
    ("sql", "name", "value"),
    [
        ("SET dp.epsilon = 0.2", "epsilon", Fraction(1, 5)),
        ("  set DP . Epsilon TO 0.2 ; ", "epsilon", Fraction(1, 5)),
        ("SET dp.epsilon=0.2", "epsilon", Fraction(1, 5)),
        ("/* so */ SET dp.confidence = 0.9 -- sure\n;", "confidence", Fraction(9, 10)),
        ("SET dp.max_cost = 0", "max_cost", 0),
        ("SET dp.noise = 'gaussian'", "noise", Noise.GAUSSIAN),
        ("SET dp.mode = 'choose'", "mode", Mode.CHOOSE),
    ],
)
def test_a_setting_is_read(sql, name, value):
    found = setting_statement(sql)
    assert isinstance(found, SetOption)
    assert (found.name, found.value) == (name, value)


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("RESET dp.epsilon", Reset(name="epsilon")),
        ("RESET ALL;", Reset(name=None)),
        ("SHOW dp.budget", Show(name="budget")),
        ("show all", Show(name=None)),
    ],
)
def test_the_others_too(sql, statement):
    assert setting_statement(sql) == statement


@cases(__file__, "sql=")
def test_everything_else_is_left_to_parse(sql):
    assert setting_statement(sql) is None


@cases(__file__, "sql", "code", "marked")
def test_a_mistake_is_marked(sql, code, marked):
    error = raised(DpsqlError, lambda: setting_statement(sql))
    assert (error.code, sql[slice(*error.at)]) == (code, marked)
