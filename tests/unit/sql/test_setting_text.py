"""SET, RESET, SHOW as text."""

from dpsql.errors import DpsqlError
from dpsql.sql import setting_text
from dpsql.sql.setting_text import setting_statement
from tests.kits.cases import cases
from tests.kits.refusals import raised


@cases(__file__, "sql=", "name", "value=")
def test_a_setting_is_read(sql, name, value):
    found = setting_statement(sql)
    assert isinstance(found, setting_text.SetOption)
    assert (found.name, found.value) == (name, value)


@cases(__file__, "sql", "statement=")
def test_the_others_too(sql, statement):
    assert setting_statement(sql) == statement


@cases(__file__, "sql=")
def test_everything_else_is_left_to_parse(sql):
    assert setting_statement(sql) is None


@cases(__file__, "sql", "code", "marked")
def test_a_mistake_is_marked(sql, code, marked):
    error = raised(DpsqlError, lambda: setting_statement(sql))
    assert (error.code, sql[slice(*error.at)]) == (code, marked)
