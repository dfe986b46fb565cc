"""Every error is in one tree, says what, why and how, and survives pickling."""

import inspect
import json
import pickle
import re

import pytest

from dpsql import errors
from dpsql.errors import BadParameter, DpsqlError, InternalError, LedgerBroken, NotRandomised, Refused, Unbounded

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, DpsqlError)]


def example(kind: type[DpsqlError]) -> DpsqlError:
    return kind("something happened", why="because", fix="do this", try_sql="SELECT 1", at=(3, 7))


def test_the_tree_at_the_top_of_the_file_is_the_tree_of_distinct_codes():
    drawn = re.findall(r"^[│ ├└─]*(\w+) +(DP\d{3})  ", errors.__doc__, re.M)
    assert dict(drawn) == {kind.__name__: kind.code for kind in KINDS if kind is not DpsqlError}
    assert len({kind.code for kind in KINDS}) == len(KINDS) == 33


@pytest.mark.parametrize("kind", KINDS)
def test_the_message_has_code_what_why_fix_and_try_json_one_shape_and_pickling_keeps_everything(kind):
    expected = [f"{kind.code}  something happened", "  Why   because", "  Fix   do this", "  Try   SELECT 1"]
    assert str(example(kind)).splitlines() == expected
    assert "Try" not in str(kind("something happened", why="because", fix="do this"))
    shape = example(kind).as_json()
    assert json.loads(json.dumps(shape)) == {
        "code": kind.code,
        "title": "something happened",
        "where": [3, 7],
        "why": "because",
        "fix": "do this",
        "try": "SELECT 1",
        "docs": f"dpsql help {kind.code}",
    }
    error = example(kind)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert copy.as_json() == error.as_json()
    assert str(copy) == str(error)


def test_why_and_fix_cannot_be_left_out_and_errors_are_caught_as_what_they_are():
    with pytest.raises(TypeError):
        DpsqlError("something happened")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        DpsqlError("something happened", "because", "do this")  # type: ignore[misc]
    assert issubclass(BadParameter, ValueError)
    assert issubclass(Unbounded, Refused)
    assert issubclass(NotRandomised, Refused)


@pytest.mark.parametrize("kind", [InternalError, LedgerBroken])
def test_what_only_a_bug_or_damage_causes_states_what_and_its_class_the_rest(kind):
    error = kind("something happened")
    assert error.what == "something happened"
    assert error.why
    assert error.fix
    assert pickle.loads(pickle.dumps(error)).as_json() == error.as_json()


STEERING = ["\x1b[2J", "\x07", "\x9b31m", "\u202e", "\u2066", "\r", "\u2028", "\x00"]


@pytest.mark.parametrize("steering", STEERING)
def test_no_text_of_an_analyst_steers_the_terminal_through_an_error(steering):
    """A traceback prints str(error), and SQL is the analyst's."""
    sql = f"SELECT '{steering}' wrong FROM t"
    place = (sql.index("wrong"), sql.index("wrong") + 5)
    error = Refused(f"a{steering}b", why=steering, fix=steering, try_sql=f"SELECT\n{steering}", at=place).within(sql)
    assert steering not in str(error)
    line, caret = str(error).split("\n")[1:3]
    assert line[caret.index("^") : caret.rindex("^") + 1] == "wrong"
    assert (error.what, error.sql) == (f"a{steering}b", sql)
    assert error.as_json()["title"] == f"a{steering}b"
