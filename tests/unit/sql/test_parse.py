"""Text to tree: what is accepted becomes the tree written here by hand, what is refused says where and why."""

import ast
import dataclasses
import re
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import BadParameter, DpsqlError, NotSupported, NotUnderstood
from dpsql.sql.parse import parse
from dpsql.sql.syntax import Call, Derived, Expression, Identifier, Literal, Name, Purpose, Select, Star
from tests.kits.cases import cases
from tests.kits.refusals import raised
from tests.kits.rows import read_rows

# ---- a short way to write trees -------------------------------------------------------------------------------------


def i(name: str, *, quoted: bool = False) -> Identifier:
    return Identifier(name=name, quoted=quoted)


def n(*parts: str) -> Name:
    return Name(parts=tuple(map(i, parts)))


def v(value: Any) -> Literal:
    types = {bool: SqlType.BOOLEAN, int: SqlType.INTEGER, Fraction: SqlType.DOUBLE, str: SqlType.TEXT}
    types |= {date: SqlType.DATE, datetime: SqlType.TIMESTAMP, type(None): None}
    return Literal(value=value, type=types[type(value)])


def c(function: str, *arguments: Expression, **more: Any) -> Call:
    return Call(function=function, arguments=arguments, **more)


A, B, X = n("a"), n("b"), n("x")


def bare(value: Any) -> Any:
    """Without places and texts: what must not depend on layout and case."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        known = {field.name: bare(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return type(value)(**{key: part for key, part in known.items() if key not in ("at", "text", "written")})
    return tuple(map(bare, value)) if isinstance(value, tuple) else value


def query(text: str) -> Select:
    return parse(text, dialect="duckdb").query


def expression(text: str) -> Expression:
    (item,) = query(f"SELECT {text} FROM t").items
    return item.expression


# ---- expressions ----------------------------------------------------------------------------------------------------


def tree(text: str) -> Expression:
    """The tree that is written as `add(a, mul(b, 2))`; where the name of a function is a word of Python, as `and_`."""

    def read(node: Any) -> Any:
        match node:
            case ast.Name(id="STAR"):
                return Star()
            case ast.Name(id=name):
                return n(name)
            case ast.Attribute(value=table):
                return Name(parts=(*read(table).parts, i(node.attr)))
            case ast.Call(func=ast.Name(id="DAY" | "MOMENT" | "F" as kind), args=parts):
                made: Any = {"DAY": date, "MOMENT": datetime, "F": Fraction}[kind]
                return v(made(*map(ast.literal_eval, parts)))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=words):
                more = {str(word.arg): True if word.arg == "distinct" else read(word.value) for word in words}
                return c(name.removesuffix("_"), *map(read, arguments), **more)
        return v(ast.literal_eval(node))

    return read(ast.parse(text, mode="eval").body)  # type: ignore[no-any-return]


EXPRESSIONS: list[tuple[str, Expression]] = [
    *((text, tree(written)) for text, written in read_rows(__file__, "expressions")),
    ('"A"', Name(parts=(i("a", quoted=True),))),
]


@pytest.mark.parametrize(("text", "tree"), EXPRESSIONS, ids=[text for text, _ in EXPRESSIONS])
def test_an_expression_becomes_this_tree(text: str, tree: Expression) -> None:
    assert bare(expression(text)) == bare(tree)


def test_long_chains_are_flat() -> None:
    found = expression(" AND ".join(f"a = {number}" for number in range(400)))
    assert isinstance(found, Call)
    assert [bare(argument) for argument in found.arguments] == [c("eq", A, v(number)) for number in range(400)]


def test_a_list_of_thousands_is_read() -> None:
    found = expression(f"a IN ({', '.join(map(str, range(9_000)))})")
    assert isinstance(found, Call)
    assert bare(found.arguments[-1]) == v(8_999)


# ---- queries --------------------------------------------------------------------------------------------------------


def test_a_named_window_is_written_out() -> None:
    named = query("SELECT SUM(a) OVER W, AVG(b) OVER w FROM t WINDOW w AS (PARTITION BY x)")
    plain = query("SELECT SUM(a) OVER (PARTITION BY x), AVG(b) OVER (PARTITION BY x) FROM t")
    assert bare(named) == bare(plain)


def test_the_text_of_a_column_is_what_was_written() -> None:
    items = query('SELECT a  +  b, COUNT(*) AS N, NOT (x) y, CURRENT_DATE, -5 "Ü", f( 1 ), (a) FROM t').items
    assert [item.text for item in items] == ["a  +  b", "COUNT(*)", "NOT (x)", "CURRENT_DATE", "-5", "f( 1 )", "(a)"]
    assert [item.alias.written for item in items if item.alias] == ["N", "y", "Ü"]
    assert [item.alias.name for item in items if item.alias] == ["n", "y", "Ü"]


def test_each_query_finds_its_own_columns() -> None:
    found = query("WITH w AS (SELECT a + 1 FROM u) SELECT b + 2, 3 FROM (SELECT x + 4 FROM w) s")
    assert [item.text for item in found.items] == ["b + 2", "3"]
    assert found.with_[0].query.items[0].text == "a + 1"
    assert isinstance(found.from_, Derived)
    assert found.from_.query.items[0].text == "x + 4"


# ---- what is wanted -------------------------------------------------------------------------------------------------


@cases(__file__, "prefix=", "purpose=")
def test_the_purpose_is_read_and_places_mean_the_whole_text(prefix: str, purpose: Purpose) -> None:
    text = f"{prefix}SELECT COUNT(*) FROM patients WHERE age > 5 ; -- done"
    found = parse(text, dialect="duckdb")
    assert (found.purpose, found.text) == (purpose, text)
    where = found.query.where
    assert isinstance(where, Call)
    assert where.at is not None
    assert text[where.at[0] : where.at[1]] == "age > 5"
    assert bare(found.query) == bare(query("SELECT COUNT(*) FROM patients WHERE age > 5"))


PLACES = read_rows(__file__, "places")


@pytest.mark.parametrize(("text", "marked"), PLACES)
def test_a_place_covers_the_whole_expression(text: str, marked: str) -> None:
    sql = f"SELECT {text} FROM t"
    at = query(sql).items[0].expression.at
    assert at is not None
    assert sql[at[0] : at[1]] == marked


# ---- layout does not matter -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [text for text, _ in EXPRESSIONS if "'" not in text and '"' not in text and "Ä" not in text]
)
def test_layout_and_case_do_not_change_the_tree(text: str) -> None:
    plain = bare(expression(text))
    spaced = re.sub(r"\s+", "\n\t /* , ' */ -- ) \"\n", text)
    assert bare(expression(spaced)) == plain
    assert bare(expression(text.upper())) == plain
    assert bare(expression(text.lower())) == plain


@cases(__file__, "text")
def test_joins_may_be_written_in_any_case(text: str) -> None:
    assert bare(query(f"select 1 from {text.lower()} fetch first 3 rows only")) == bare(
        query(f"SELECT 1 FROM {text.upper()} FETCH FIRST 3 ROWS ONLY")
    )


def test_a_comment_never_speaks_to_the_parser() -> None:
    plain = query("SELECT COUNT(a) FROM t GROUP BY b")
    for comment in ("/* sqlglot.anonymous */", "/*+ dpx(epsilon=9) */", "/* a /* nested */ one */", "-- x\n"):
        text = f"SELECT {comment} COUNT(a) {comment} FROM t {comment} GROUP {comment} BY b {comment}"
        assert bare(query(text)) == bare(plain)


# ---- what is refused ------------------------------------------------------------------------------------------------

REFUSED: list[tuple[str, str]] = read_rows(__file__, "refused")


@pytest.mark.parametrize(("marked", "code"), REFUSED, ids=[text for text, _ in REFUSED])
def test_a_refusal_says_what_why_and_where(marked: str, code: str) -> None:
    text = marked.replace("‹", "").replace("›", "")
    error = raised(DpsqlError, lambda: parse(text, dialect="duckdb"))
    assert error.code == code
    assert error.what
    assert error.why
    assert error.fix
    assert len(str(error)) < 1_000
    if "‹" in marked:
        assert error.at == (marked.index("‹"), marked.index("›") - 1)
        assert error.sql == text


def test_explain_alone_points_to_explain_privacy() -> None:
    error = raised(NotSupported, lambda: parse("EXPLAIN SELECT COUNT(*) FROM t", dialect="duckdb"))
    assert error.try_sql == "EXPLAIN PRIVACY SELECT COUNT(*) FROM t"
    assert parse(error.try_sql, dialect="duckdb").purpose is Purpose.EXPLAIN


def test_a_quotation_that_never_ends_is_shown_where_it_starts() -> None:
    text = "SELECT a FROM t WHERE b = 'x AND c = 1"
    error = raised(NotUnderstood, lambda: parse(text, dialect="duckdb"))
    assert error.at is not None
    assert error.at[0] == text.index("'")


def test_a_file_is_no_table() -> None:
    error = raised(NotSupported, lambda: parse("SELECT a FROM 'people.csv'", dialect="duckdb"), match="single quotes")
    assert "file" in error.why


def test_an_unknown_dialect_is_refused() -> None:
    raised(BadParameter, lambda: parse("SELECT 1", dialect="cobol"))
