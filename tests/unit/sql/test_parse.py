"""Text to tree: what is accepted becomes the tree written here by hand, what is refused says where and why."""

from __future__ import annotations

import dataclasses
import re
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest

from dpsql.catalog.types import SqlType
from dpsql.errors import BadParameter, DpsqlError, NotSupported, NotUnderstood
from dpsql.sql.parse import parse
from dpsql.sql.syntax import (
    Call,
    CommonTable,
    Derived,
    Expression,
    Frame,
    FrameUnit,
    Identifier,
    Item,
    Joined,
    JoinKind,
    Literal,
    Name,
    Over,
    Purpose,
    Select,
    SortKey,
    Star,
    TableName,
)

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

EXPRESSIONS: list[tuple[str, Expression]] = [
    # names
    ("a", A),
    ('"A"', Name(parts=(i("a", quoted=True),))),
    ("T.A", n("t", "a")),
    ("s.t.a", n("s", "t", "a")),
    ("Ärger", n("Ärger")),
    # constants
    ("5", v(5)),
    ("-5", v(-5)),
    ("- 5", v(-5)),
    ("1_000", v(1000)),
    ("007", v(7)),
    ("9223372036854775807", v(2**63 - 1)),
    ("-9223372036854775808", v(-(2**63))),
    ("0.1", v(Fraction(1, 10))),
    (".5", v(Fraction(1, 2))),
    ("1e3", v(Fraction(1000))),
    ("1.5E-3", v(Fraction(15, 10_000))),
    ("-2.50", v(Fraction(-5, 2))),
    ("'it''s'", v("it's")),
    ("'a\\n'", v("a\\n")),
    ("''", v("")),
    ("TRUE", v(True)),
    ("false", v(False)),
    ("NULL", v(None)),
    ("DATE '2020-02-29'", v(date(2020, 2, 29))),
    ("'2020-02-29'::DATE", v(date(2020, 2, 29))),
    ("DATE '2021-02-29'", c("to_date", v("2021-02-29"))),
    ("DATE '1/2/2020'", c("to_date", v("1/2/2020"))),
    ("TIMESTAMP '2020-01-02 03:04:05'", v(datetime(2020, 1, 2, 3, 4, 5))),
    ("TIMESTAMP '2020-01-02T03:04:05.25'", v(datetime(2020, 1, 2, 3, 4, 5, 250_000))),
    ("TIMESTAMP '2020-01-02'", v(datetime(2020, 1, 2))),
    ("TIMESTAMP '2020-01-02 25:00:00'", c("to_timestamp", v("2020-01-02 25:00:00"))),
    # arithmetic
    ("a + b * 2", c("add", A, c("mul", B, v(2)))),
    ("(a + b) * 2", c("mul", c("add", A, B), v(2))),
    ("a - b - 1", c("sub", c("sub", A, B), v(1))),
    ("a / b", c("div", A, B)),
    ("a // b", c("intdiv", A, B)),
    ("a % b", c("mod", A, B)),
    ("mod(a, b)", c("mod", A, B)),
    ("a ** b", c("power", A, B)),
    ("a ^ b", c("power", A, B)),
    ("-a", c("neg", A)),
    ("+a", A),
    ("a || b", c("concat", A, B)),
    ("2 * abs(a)", c("mul", v(2), c("abs", A))),
    ("a * replace(b, 'x', 'y')", c("mul", A, c("replace", B, v("x"), v("y")))),
    # logic
    ("a = b", c("eq", A, B)),
    ("a <> b", c("ne", A, B)),
    ("a != b", c("ne", A, B)),
    ("a AND b AND x", c("and", A, B, X)),
    ("a OR b OR x", c("or", A, B, X)),
    ("a AND b OR x", c("or", c("and", A, B), X)),
    ("NOT a = b", c("not", c("eq", A, B))),
    ("a IS NULL", c("is_null", A)),
    ("a IS NOT NULL", c("is_not_null", A)),
    ("a IS NOT TRUE", c("not", c("is_true", A))),
    ("a IS FALSE", c("is_false", A)),
    ("a IS DISTINCT FROM b", c("is_distinct", A, B)),
    ("a IS NOT DISTINCT FROM b", c("is_not_distinct", A, B)),
    ("x IN (1, 2)", c("in", X, v(1), v(2))),
    ("x NOT IN ('a')", c("not", c("in", X, v("a")))),
    ("x BETWEEN 1 AND 2", c("and", c("ge", X, v(1)), c("le", X, v(2)))),
    ("x NOT BETWEEN 1 AND 2", c("not", c("and", c("ge", X, v(1)), c("le", X, v(2))))),
    ("x LIKE 'a%'", c("like", X, v("a%"))),
    ("x NOT ILIKE 'a!%' ESCAPE '!'", c("not", c("ilike", X, v("a!%"), v("!")))),
    # choices
    ("CASE WHEN a THEN 1 ELSE 2 END", c("case", A, v(1), v(2))),
    ("CASE WHEN a THEN 1 END", c("case", A, v(1), v(None))),
    ("CASE x WHEN 1 THEN a WHEN 2 THEN b END", c("case", c("eq", X, v(1)), A, c("eq", X, v(2)), B, v(None))),
    ("IF(a, 1, 2)", c("case", A, v(1), v(2))),
    ("IIF(a, 1, 2)", c("case", A, v(1), v(2))),
    ("COALESCE(a, b, 0)", c("coalesce", A, B, v(0))),
    ("IFNULL(a, b)", c("coalesce", A, B)),
    ("NVL(a, b)", c("coalesce", A, B)),
    ("NULLIF(a, b)", c("nullif", A, B)),
    ("CLAMP(x, 0, -1.5)", c("clamp", X, v(0), v(Fraction(-3, 2)))),
    # functions
    ("POW(a, 2)", c("power", A, v(2))),
    ("CEILING(a)", c("ceil", A)),
    ("LOG(a)", c("log10", A)),
    ("LOG(2, a)", c("log2", A)),
    ("ROUND(a, 2)", c("round", A, v(2))),
    ("LEFT(a, 1)", c("left", A, v(1))),
    ("REPLACE(a, 'x', 'y')", c("replace", A, v("x"), v("y"))),
    ("SUBSTR(a, 1, 2)", c("substring", A, v(1), v(2))),
    ("SUBSTRING(a FROM 1 FOR 2)", c("substring", A, v(1), v(2))),
    ("TRIM(a)", c("trim", A)),
    ("TRIM(BOTH 'x' FROM a)", c("trim", A, v("x"))),
    ("TRIM(LEADING 'x' FROM a)", c("ltrim", A, v("x"))),
    ("RTRIM(a, 'x')", c("rtrim", A, v("x"))),
    ("CONCAT('n', a)", c("concat", v("n"), c("coalesce", c("to_text", A), v("")))),
    ("made_up(a, 'b')", c("made_up", A, v("b"))),
    ("DATE(a)", c("date", A)),
    ("now()", c("now")),
    ("random()", c("random")),
    ("uuid()", c("uuid")),
    ("CURRENT_DATE", c("current_date")),
    ("today()", c("current_date")),
    ("current_timestamp", c("current_timestamp")),
    # casts
    ("CAST(a AS INT)", c("to_integer", A)),
    ("TRY_CAST(a AS BIGINT)", c("to_integer", A)),
    ("a::DOUBLE", c("to_double", A)),
    ("a::FLOAT8", c("to_double", A)),
    ("a::VARCHAR(10)", c("to_text", A)),
    ("a::TEXT", c("to_text", A)),
    ("a::DATE", c("to_date", A)),
    ("a::TIMESTAMP", c("to_timestamp", A)),
    ("a::BOOLEAN", c("to_boolean", A)),
    # dates
    ("EXTRACT(YEAR FROM x)", c("year", X)),
    ("EXTRACT('dow' FROM x)", c("dow", X)),
    ("date_part('isodow', x)", c("isodow", X)),
    ("dayofyear(x)", c("doy", X)),
    ("year(x)", c("year", X)),
    ("DATE_TRUNC('Months', x)", c("date_trunc", v("month"), X)),
    ("datediff('day', a, b)", c("date_diff", v("day"), A, B)),
    ("x + INTERVAL 3 DAY", c("date_add", v("day"), v(3), X)),
    ("x - INTERVAL '3' MONTHS", c("date_add", v("month"), v(-3), X)),
    ("x + INTERVAL '2 weeks'", c("date_add", v("week"), v(2), X)),
    ("INTERVAL 1 YEAR + x", c("date_add", v("year"), v(1), X)),
    ("x - INTERVAL (a) HOUR", c("date_add", v("hour"), c("neg", A), X)),
    ("date_add(x, INTERVAL 1 QUARTER)", c("date_add", v("quarter"), v(1), X)),
    # aggregates and windows
    ("COUNT(*)", c("count", Star())),
    ("COUNT(a)", c("count", A)),
    ("COUNT(DISTINCT a, b)", c("count", A, B, distinct=True)),
    ("COUNT(DISTINCT (a, b))", c("count", c("together", A, B), distinct=True)),
    ("COUNT(DISTINCT (a))", c("count", A, distinct=True)),
    ("COUNT(DISTINCT (a) + b)", c("count", c("add", A, B), distinct=True)),
    ("SUM(a) FILTER (WHERE b > 1)", c("sum", A, filter=c("gt", B, v(1)))),
    ("MEAN(a)", c("avg", A)),
    ("VARIANCE(a)", c("var_samp", A)),
    ("STDDEV(a)", c("stddev_samp", A)),
    ("MEDIAN(a)", c("median", A)),
    ("ANY_VALUE(a)", c("any_value", A)),
    ("QUANTILE(a, 0.5)", c("quantile", A, v(Fraction(1, 2)))),
    ("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY a)", c("quantile_cont", A, v(Fraction(1, 4)))),
    ("ROW_NUMBER() OVER ()", c("row_number", over=Over())),
    (
        "SUM(a) OVER (PARTITION BY b ORDER BY x DESC NULLS FIRST ROWS BETWEEN 2 PRECEDING AND UNBOUNDED FOLLOWING)",
        c(
            "sum",
            A,
            over=Over(
                partition_by=(B,),
                order_by=(SortKey(expression=X, descending=True, nulls_first=True),),
                frame=Frame(unit=FrameUnit.ROWS, start=-2, end=None),
            ),
        ),
    ),
    (
        "SUM(a) OVER (ORDER BY x RANGE 1 PRECEDING)",
        c("sum", A, over=Over(order_by=(SortKey(expression=X),), frame=Frame(unit=FrameUnit.RANGE, start=-1, end=0))),
    ),
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


def t(name: str, alias: str | None = None) -> TableName:
    return TableName(name=(i(name),), alias=i(alias) if alias else None)


def test_a_whole_query() -> None:
    text = """
        WITH w (k, m) AS (SELECT a, b FROM u)
        SELECT DISTINCT x AS "Key", COUNT(*) n, t.* FROM s.t AS q LEFT JOIN w ON q.a = w.k, v
        WHERE x > 1 GROUP BY 1, x HAVING COUNT(*) > 2 ORDER BY n DESC, x LIMIT 10 OFFSET 3
    """
    joined = Joined(
        kind=JoinKind.LEFT,
        left=TableName(name=(i("s"), i("t")), alias=i("q")),
        right=t("w"),
        on=c("eq", n("q", "a"), n("w", "k")),
    )
    assert bare(query(text)) == Select(
        with_=(
            CommonTable(
                name=i("w"),
                columns=(i("k"), i("m")),
                query=Select(items=(Item(expression=A), Item(expression=B)), from_=t("u")),
            ),
        ),
        distinct=True,
        items=(
            Item(expression=X, alias=i("key", quoted=True)),
            Item(expression=c("count", Star()), alias=i("n")),
            Item(expression=Star(table=i("t"))),
        ),
        from_=Joined(kind=JoinKind.CROSS, left=joined, right=t("v")),
        where=c("gt", X, v(1)),
        group_by=(v(1), X),
        having=c("gt", c("count", Star()), v(2)),
        order_by=(SortKey(expression=n("n"), descending=True), SortKey(expression=X)),
        limit=10,
        offset=3,
    )


FROMS = [
    ("t", t("t")),
    ("t x", t("t", "x")),
    ("t, u", Joined(kind=JoinKind.CROSS, left=t("t"), right=t("u"))),
    ("t CROSS JOIN u", Joined(kind=JoinKind.CROSS, left=t("t"), right=t("u"))),
    ("t JOIN u ON a = b", Joined(kind=JoinKind.INNER, left=t("t"), right=t("u"), on=c("eq", A, B))),
    ("t FULL JOIN u USING (a, b)", Joined(kind=JoinKind.FULL, left=t("t"), right=t("u"), using=(i("a"), i("b")))),
    ("t RIGHT OUTER JOIN u ON a", Joined(kind=JoinKind.RIGHT, left=t("t"), right=t("u"), on=A)),
    (
        "t, u RIGHT JOIN v ON a",  # the comma is weaker than JOIN
        Joined(
            kind=JoinKind.CROSS,
            left=t("t"),
            right=Joined(kind=JoinKind.RIGHT, left=t("u"), right=t("v"), on=A),
        ),
    ),
    (
        "(SELECT a FROM u) AS s (z)",
        Derived(query=Select(items=(Item(expression=A),), from_=t("u")), alias=i("s"), columns=(i("z"),)),
    ),
    (
        "t JOIN (u JOIN v USING (a)) ON b",
        Joined(
            kind=JoinKind.INNER,
            left=t("t"),
            right=Joined(kind=JoinKind.INNER, left=t("u"), right=t("v"), using=(i("a"),)),
            on=B,
        ),
    ),
]


@pytest.mark.parametrize(("text", "tree"), FROMS, ids=[text for text, _ in FROMS])
def test_tables_and_joins(text: str, tree: object) -> None:
    assert bare(query(f"SELECT 1 FROM {text}").from_) == bare(tree)


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


@pytest.mark.parametrize(
    ("prefix", "purpose"),
    [
        ("", Purpose.ANSWER),
        ("EXPLAIN PRIVACY ", Purpose.EXPLAIN),
        ("explain\n /* of */ privacy\t", Purpose.EXPLAIN),
        ("EXPLAIN PRIVACY (FORMAT JSON) ", Purpose.EXPLAIN_JSON),
        ("Explain Privacy(format\njson)", Purpose.EXPLAIN_JSON),
        ("DRY RUN ", Purpose.DRY_RUN),
        ("-- first\n dry  run\n", Purpose.DRY_RUN),
    ],
)
def test_the_purpose_is_read_and_places_mean_the_whole_text(prefix: str, purpose: Purpose) -> None:
    text = f"{prefix}SELECT COUNT(*) FROM patients WHERE age > 5 ; -- done"
    found = parse(text, dialect="duckdb")
    assert (found.purpose, found.text) == (purpose, text)
    where = found.query.where
    assert isinstance(where, Call)
    assert where.at is not None
    assert text[where.at[0] : where.at[1]] == "age > 5"
    assert bare(found.query) == bare(query("SELECT COUNT(*) FROM patients WHERE age > 5"))


PLACES = [
    ("MAX(age)", "MAX(age)"),
    ("1 + SUM( a ) * 2", "1 + SUM( a ) * 2"),
    ("CASE WHEN a THEN b END", "CASE WHEN a THEN b END"),
    ("COALESCE((a), (b))", "COALESCE((a), (b))"),
    ("CAST(f(a) AS INT)", "CAST(f(a) AS INT)"),
    ("TRY_CAST(((a)+(b)) AS DOUBLE)", "TRY_CAST(((a)+(b)) AS DOUBLE)"),
    ("(a + 1)::BIGINT", "(a + 1)::BIGINT"),
    ("CAST(a::BIGINT AS DOUBLE)", "CAST(a::BIGINT AS DOUBLE)"),
    ("a IN (1, (2))", "a IN (1, (2))"),
    ("EXTRACT(year FROM x)", "EXTRACT(year FROM x)"),
    ("SUM(a) FILTER (WHERE b = 1)", "SUM(a) FILTER (WHERE b = 1)"),
    ("COUNT(*) OVER (ORDER BY a)", "COUNT(*) OVER (ORDER BY a)"),
    ("now()", "now()"),
    ("é || 'ü'", "é || 'ü'"),
]


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


@pytest.mark.parametrize("text", [text for text, _ in FROMS] + ["t INNER JOIN u ON a", "t LEFT OUTER JOIN u ON a"])
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

REFUSED: list[tuple[str, str]] = [
    # (text with the place that is pointed to between ‹ and ›, code)
    ("SELECT a FROM t ‹NATURAL JOIN› u", "DP104"),
    ("SELECT a FROM t ‹SEMI JOIN› u ON a = b", "DP104"),
    ("SELECT a FROM t ‹ANTI JOIN› u ON a = b", "DP104"),
    ("SELECT a FROM t ‹JOIN› u", "DP104"),
    ("SELECT a FROM t ‹JOIN› u JOIN v ON x ON y", "DP104"),
    ("SELECT a FROM t, ‹LATERAL› (SELECT 1) x", "DP104"),
    ("WITH ‹RECURSIVE› w AS (SELECT 1) SELECT 2", "DP104"),
    ("WITH w AS (‹INSERT› INTO t VALUES (1)) SELECT 2", "DP104"),
    ("WITH w AS (SELECT 1) ‹INSERT› INTO t VALUES (1)", "DP104"),
    ("SELECT a FROM t GROUP BY ‹ALL›", "DP104"),
    ("SELECT a FROM t GROUP BY ‹ROLLUP›(a, b)", "DP104"),
    ("SELECT a FROM t GROUP BY ‹CUBE›(a)", "DP104"),
    ("SELECT a FROM t GROUP BY ‹GROUPING› SETS ((a), (b))", "DP104"),
    ("SELECT a FROM t GROUP BY ‹(a, b)›", "DP104"),
    ("SELECT a FROM t ORDER BY ‹ALL›", "DP104"),
    ("SELECT a FROM t ORDER BY a ‹COLLATE› NOCASE", "DP104"),
    ("SELECT ‹DISTINCT ON› (a) b FROM t", "DP104"),
    ("SELECT a FROM t QUALIFY a = 1 ‹WHERE› a = 1", "DP100"),
    ("SELECT a FROM t ‹TABLESAMPLE› 10%", "DP104"),
    ("SELECT a FROM t ‹USING SAMPLE› 10%", "DP104"),
    ("SELECT a FROM t ‹PIVOT› (SUM(x) FOR y IN (1, 2))", "DP104"),
    ("SELECT SUM(a ‹ORDER BY› b LIMIT 1) FROM t", "DP104"),
    ("SELECT STRING_AGG(a, ',' ‹ORDER BY› b) FROM t", "DP104"),
    ("SELECT ‹PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a DESC)› FROM t", "DP104"),
    ("SELECT FIRST(a ‹IGNORE NULLS›) FROM t", "DP104"),
    ("SELECT * ‹EXCLUDE› (a) FROM t", "DP104"),
    ("SELECT * ‹REPLACE› (1 AS a) FROM t", "DP104"),
    ("SELECT a FROM t LIMIT ‹10›%", "DP104"),
    ("SELECT a FROM t LIMIT ‹1 + 1›", "DP104"),
    ("SELECT a FROM t LIMIT ‹2.5›", "DP104"),
    ("SELECT a FROM t ‹FETCH FIRST 5 ROWS› WITH TIES", "DP104"),
    ("SELECT 1 ‹UNION› SELECT 2", "DP104"),
    ("SELECT 1 ‹UNION› DISTINCT SELECT 2", "DP104"),
    ("SELECT 1 UNION ALL SELECT 2 ‹UNION› SELECT 3", "DP104"),
    ("SELECT 1 ‹INTERSECT› ALL SELECT 2", "DP104"),
    ("SELECT a FROM t ORDER BY a ‹UNION› ALL SELECT 2", "DP100"),
    ("SELECT a FROM t UNION ALL ‹ORDER› BY 1", "DP100"),
    ("SELECT 1 ‹EXCEPT› SELECT 2", "DP104"),
    ("‹VALUES› (1)", "DP104"),
    ("SELECT a FROM (‹VALUES› (1)) x(y)", "DP104"),
    ("SELECT a FROM t WHERE a IN (‹(SELECT b FROM u)›)", "DP104"),
    ("SELECT a FROM t WHERE ‹(a, b)› = (SELECT b FROM u)", "DP104"),
    ("SELECT a FROM t WHERE a = ‹ANY (SELECT b FROM u)›", "DP104"),
    ("SELECT f(x ‹->› x + 1) FROM t", "DP104"),
    ("SELECT ‹{›'a': 1}", "DP104"),
    ("SELECT ‹[›1, 2]", "DP104"),
    ("SELECT a‹[›1] FROM t", "DP104"),
    ("SELECT ‹(1, 2)›", "DP104"),
    ("SELECT ‹?›", "DP104"),
    ("SELECT ‹$›1", "DP104"),
    ("SELECT ‹:›x", "DP104"),
    ("SELECT ‹@›x", "DP104"),
    ("SELECT a ‹|>› b", "DP104"),
    ("SELECT a ‹&› b", "DP104"),
    ("SELECT a ‹~› 'x'", "DP104"),
    ("SELECT ‹!›a", "DP104"),
    ("SELECT ‹`›a`", "DP104"),
    ("SELECT a ‹{›# hidden #} FROM t", "DP104"),
    ("SELECT f(a ‹=>› 1)", "DP104"),
    ("SELECT a FROM ‹'file.csv'›", "DP104"),
    ("SELECT a FROM ‹read_csv('x')›", "DP104"),
    ("SELECT a FROM ‹range(3)›", "DP104"),
    ("SELECT a FROM ‹query('SELECT 1')›", "DP104"),
    ("SELECT a AS ‹'x'› FROM t", "DP104"),
    ("SELECT a FROM t AS x(‹b›)", "DP104"),
    ("SELECT ‹main.f(a)› FROM t", "DP104"),
    ("SELECT ‹a.lower()› FROM t", "DP104"),
    ("SELECT ‹E'a\\n'›", "DP104"),
    ("SELECT ‹$$a$$›", "DP104"),
    ("SELECT ‹x'ab'›", "DP104"),
    ("SELECT ‹'a' 'b'›", "DP104"),
    ('SELECT ‹"f"(a)› FROM t', "DP104"),
    ("SELECT ‹1e999›", "DP104"),
    ("SELECT ‹1e-400›", "DP104"),
    ("SELECT ‹1e99999999999999999999›", "DP104"),
    ("SELECT ‹99999999999999999999›", "DP104"),
    ("SELECT ‹9223372036854775808›", "DP104"),
    ("SELECT CAST(a AS ‹SMALLINT›)", "DP104"),
    ("SELECT a::‹REAL›", "DP104"),
    ("SELECT a::DECIMAL(10, 2)", "DP104"),
    ("SELECT a::‹TIMESTAMPTZ›", "DP104"),
    ("SELECT a FROM t WHERE x BETWEEN SYMMETRIC 2 AND 1", "DP104"),
    ("SELECT ‹INTERVAL 1 DAY›", "DP104"),
    ("SELECT x + ‹INTERVAL '1 month 2 days'›", "DP104"),
    ("SELECT x + ‹INTERVAL '1.5'› DAY", "DP104"),
    ("SELECT ‹EXTRACT(epoch FROM x)›", "DP104"),
    ("SELECT DATE_TRUNC(‹'moon'›, x)", "DP104"),
    ("SELECT ‹DATE_TRUNC(month, x)›", "DP405"),
    ("SELECT ‹DATE_DIFF(a, b)›", "DP405"),
    ("SELECT ‹COUNT(a, b)› FROM t", "DP405"),
    ("SELECT COUNT(DISTINCT (‹)›) FROM t", "DP100"),
    ("SELECT COUNT(DISTINCT (a,‹)›) FROM t", "DP100"),
    ("SELECT COUNT(DISTINCT ‹(a, b)›, a) FROM t", "DP104"),
    ("SELECT COUNT(DISTINCT ‹(a, b)› + 1) FROM t", "DP104"),
    ("SELECT ‹IF(a, b)› FROM t", "DP405"),
    ("SELECT ‹LOG(3, a)› FROM t", "DP405"),
    ("SELECT ‹DATE_ADD('day', 1, x)› FROM t", "DP405"),
    ("SELECT ‹to_text(a)› FROM t", "DP401"),
    ("SELECT ‹to_timestamp(a)› FROM t", "DP401"),
    ("SELECT SUM(a) OVER ‹w› FROM t", "DP401"),
    ("SELECT SUM(a) OVER (‹w› ORDER BY b) FROM t WINDOW w AS (PARTITION BY a)", "DP104"),
    ("SELECT SUM(a) OVER (ORDER BY b ‹GROUPS› 1 PRECEDING) FROM t", "DP104"),
    ("SELECT SUM(a) OVER (ORDER BY b ‹ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING›) FROM t", "DP104"),
    ("SELECT SUM(a) OVER (ORDER BY b ROWS 1 PRECEDING EXCLUDE TIES) FROM t", "DP104"),
    ("SELECT a < b < x FROM t", "DP104"),
    ("SELECT 1 + ‹NOT a› FROM t", "DP104"),
    ("SELECT COUNT(‹t.*›) FROM t", "DP104"),
    ("SELECT SUM(‹*›) FROM t", "DP104"),
    ("SELECT a ‹INTO› b FROM t", "DP104"),
    ("SELECT a FROM t ‹FOR› UPDATE", "DP104"),
    ("‹FROM› t SELECT a", "DP104"),
    ("WITH w AS (SELECT 1) ‹FROM› w", "DP104"),
    ("SELECT a FROM (‹FROM› t)", "DP104"),
    ("‹EXPLAIN› SELECT 1", "DP104"),
    ("‹EXPLAIN› ANALYZE SELECT 1", "DP104"),
    ("DRY RUN ‹EXPLAIN› PRIVACY SELECT 1", "DP104"),
    ("‹EXPLAIN PRIVACY (FORMAT XML)› SELECT 1", "DP104"),
    ("‹INSERT› INTO t VALUES (1)", "DP104"),
    ("‹COPY› t TO 'x'", "DP104"),
    ("‹ATTACH› 'x'", "DP104"),
    ("‹PRAGMA› x", "DP104"),
    ("‹SET› x = 1", "DP104"),
    ("‹CALL› f()", "DP104"),
    ("‹SUMMARIZE› t", "DP104"),
    ("‹PIVOT› t ON a", "DP104"),
    ("‹TABLE› t", "DP104"),
    ("‹hello› world", "DP100"),
    ("SELECT 1‹;› SELECT 2", "DP100"),
    ("SELECT ‹(›1", "DP100"),
    ("SELECT 1‹)›", "DP100"),
    ("SELECT ‹CASE› WHEN a THEN 1", "DP100"),
    ("SELECT ‹1abc›", "DP100"),
    ("SELECT ‹0x1F›", "DP100"),
    ("SELECT ‹1e›", "DP100"),
    ("", "DP100"),
    (" ; -- nothing", "DP100"),
    ("‹EXPLAIN PRIVACY›", "DP100"),
]


@pytest.mark.parametrize(("marked", "code"), REFUSED, ids=[text for text, _ in REFUSED])
def test_a_refusal_says_what_why_and_where(marked: str, code: str) -> None:
    text = marked.replace("‹", "").replace("›", "")
    with pytest.raises(DpsqlError) as caught:
        parse(text, dialect="duckdb")
    error = caught.value
    assert error.code == code
    assert error.what
    assert error.why
    assert error.fix
    assert len(str(error)) < 1_000
    if "‹" in marked:
        assert error.at == (marked.index("‹"), marked.index("›") - 1)
        assert error.sql == text


def test_explain_alone_points_to_explain_privacy() -> None:
    with pytest.raises(NotSupported) as caught:
        parse("EXPLAIN SELECT COUNT(*) FROM t", dialect="duckdb")
    assert caught.value.try_sql == "EXPLAIN PRIVACY SELECT COUNT(*) FROM t"
    assert parse(caught.value.try_sql, dialect="duckdb").purpose is Purpose.EXPLAIN


def test_a_quotation_that_never_ends_is_shown_where_it_starts() -> None:
    text = "SELECT a FROM t WHERE b = 'x AND c = 1"
    with pytest.raises(NotUnderstood) as caught:
        parse(text, dialect="duckdb")
    assert caught.value.at is not None
    assert caught.value.at[0] == text.index("'")


def test_a_file_is_no_table() -> None:
    with pytest.raises(NotSupported, match="single quotes") as caught:
        parse("SELECT a FROM 'people.csv'", dialect="duckdb")
    assert "file" in caught.value.why


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(BadParameter):
        parse("SELECT 1", dialect="cobol")
