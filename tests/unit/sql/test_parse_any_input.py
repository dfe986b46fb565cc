"""Whatever the text, `parse` gives a tree or a typed error, quietly, and the same one from any depth of the stack."""

import logging
import random
import sys
import warnings
from collections.abc import Callable

import pytest
from sqlglot import Dialect

from dpsql.errors import DpsqlError, NotSupported
from dpsql.sql.parse import parse
from dpsql.sql.syntax import Call, Parsed
from tests.kits.refusals import raised
from tests.kits.rows import read_texts

DUCKDB = Dialect.get_or_raise("duckdb")
WORDS = sorted(
    {word for word in DUCKDB.tokenizer_class.KEYWORDS if word[0].isalpha()} | set(DUCKDB.parser_class.FUNCTIONS)
)
SIGNS = [
    "(", ")", ",", ".", "+", "-", "*", "/", "=", "<", "||", "::", ";", "'", '"', "$$", "--", "/*", "*/", "1",
    "2.5", "'x'", '"y"', "a", "b", "t", "[", "]", "{", "}", "?", ":", "->", "\\", "\x00",
    "\ud800", "é", "\u2028", "1e9999", "0x1",
]  # fmt: skip


def outcome(text: str) -> Parsed | DpsqlError:
    """What `parse` says; anything but a tree or a typed error fails the test."""
    try:
        return parse(text, dialect="duckdb")
    except DpsqlError as error:
        found = error
    assert found.code in ("DP100", "DP104", "DP401", "DP405")
    assert found.what
    assert found.why
    assert found.fix
    assert len(str(found)) < 2_000
    assert found.at is None or 0 <= found.at[0] <= found.at[1] <= len(text)
    return found


# ---- large and deep -------------------------------------------------------------------------------------------------

BOMBS: list[tuple[str, Callable[[int], str]]] = [
    ("parentheses", lambda n: "SELECT " + "(" * n + "1" + ")" * n),
    ("open parentheses", lambda n: "SELECT " + "(" * n),
    ("calls", lambda n: "SELECT " + "abs(" * n + "1" + ")" * n),
    ("types that look like calls", lambda n: "SELECT " + "DATE (" * n + "'1'" + ")" * n),
    ("decimals", lambda n: "SELECT CAST(a AS " + "DECIMAL(" * n + "1" + ")" * n + ")"),
    ("nested second arguments", lambda n: "SELECT " + "sort_array(1, " * n + "1" + ")" * n),
    ("cases", lambda n: "SELECT " + "CASE WHEN a THEN " * n + "1" + " END" * n),
    ("simple cases", lambda n: "SELECT " + "CASE " * n + "a" + " WHEN 1 THEN 2 WHEN 3 THEN 4 END" * n),
    ("betweens", lambda n: "SELECT " + "(" * n + "a" + " BETWEEN 1 AND 2)" * n),
    ("negations", lambda n: "SELECT " + "NOT " * n + "a"),
    ("negated parentheses", lambda n: "SELECT " + "NOT (" * n + "a" + ")" * n),
    ("minus signs", lambda n: "SELECT " + "- " * n + "a"),
    ("sums", lambda n: "SELECT a" + " + a" * n),
    ("powers", lambda n: "SELECT a" + " ** a" * n),
    ("casts", lambda n: "SELECT a" + "::INT" * n),
    ("brackets", lambda n: "SELECT a" + "[1]" * n),
    ("joins without conditions", lambda n: "SELECT 1 FROM a" + " JOIN b" * n),
    ("joins", lambda n: "SELECT 1 FROM a" + " JOIN b ON x = y" * n),
    ("commas", lambda n: "SELECT 1 FROM a" + ", b" * n),
    ("subqueries", lambda n: "SELECT 1 FROM " + "(SELECT 1 FROM " * n + "t" + ")" * n),
    ("private questions", lambda n: "SELECT PRIVATE (" * n + "SELECT 1" + ")" * n),
    ("private questions side by side", lambda n: "SELECT 1" + " + PRIVATE (SELECT 1 FROM t)" * n + " FROM t"),
    ("common tables", lambda n: "WITH a AS (" * n + "SELECT 1" + ") SELECT 1" * n),
    ("conditions", lambda n: "SELECT a FROM t WHERE " + " AND ".join(f"a = {i}" for i in range(n))),
    ("columns", lambda n: "SELECT " + ", ".join(f"a{i}" for i in range(n)) + " FROM t"),
    ("values", lambda n: f"SELECT a FROM t WHERE a IN ({', '.join(map(str, range(n)))})"),
    ("unions", lambda n: "SELECT 1" + " UNION SELECT 1" * n),
    ("semicolons", lambda n: ";" * n),
    ("quotes", lambda n: "SELECT " + "'" * n),
    ("strings", lambda n: "SELECT '" + "a" * n + "'"),
    ("comments", lambda n: "--x\n" * n + "SELECT 1"),
    ("nested comments", lambda n: "/*" * n + "SELECT 1" + "*/" * n),
    ("open comments", lambda n: "SELECT 1 " + "/*" * n),
    ("dollars", lambda n: "$" * n),
    ("tags", lambda n: "SELECT " + "$a$" * n),
    ("digits", lambda n: "SELECT " + "9" * n),
    ("decimals after the point", lambda n: "SELECT 0." + "9" * n),
    ("exponent", lambda n: "SELECT 1e" + "9" * n),
    ("names", lambda n: "SELECT " + "a" * n),
    ("paths", lambda n: "SELECT a" + ".b" * n),
    ("blanks", lambda n: " " * n + "SELECT 1"),
    ("signs", lambda n: "SELECT " + "+-*/" * n),
]


@pytest.mark.parametrize(("name", "bomb"), BOMBS, ids=[name for name, _ in BOMBS])
def test_large_and_deep_texts(name: str, bomb: Callable[[int], str]) -> None:
    for size in (1, 20, 31, 100, 1_000, 10_000, 200_000):
        text = bomb(size)
        if len(text) <= 1_000_000:
            outcome(text)


def test_a_megabyte_is_read_and_more_is_not() -> None:
    assert isinstance(outcome("SELECT 1" + " " * 999_992), Parsed)
    raised(NotSupported, lambda: parse("SELECT 1" + " " * 999_993, dialect="duckdb"), match="1000001 characters")


def test_words_are_limited_and_comments_are_not() -> None:
    assert isinstance(outcome(f"SELECT a IN ({'1, ' * 12_000}1)"), Parsed)
    assert isinstance(outcome("SELECT 1" + "/**/" * 70_000), Parsed)
    for text in (f"SELECT a IN ({'1, ' * 13_000}1)", "a " * 500_000):
        raised(NotSupported, lambda: parse(text, dialect="duckdb"), match="more than 25000 words")  # noqa: B023


def test_copies_do_not_multiply() -> None:
    """Twenty nested BETWEEN would write the innermost name a million times."""
    with pytest.raises(NotSupported, match="repeated"):
        parse("SELECT " + "(" * 20 + "a" + " BETWEEN 1 AND 2)" * 20, dialect="duckdb")


def depth(expression: object) -> int:
    deepest, left = 0, [(expression, 1)]
    while left:
        node, level = left.pop()
        deepest = max(deepest, level)
        if isinstance(node, Call):
            left += [(argument, level + 1) for argument in node.arguments]
    return deepest


def test_what_is_accepted_is_shallow() -> None:
    """Later stages walk the tree by recursion."""
    accepted = 0
    for _, bomb in BOMBS:
        for size in (10, 25, 60, 140):
            found = outcome(bomb(size))
            if isinstance(found, Parsed):
                accepted += 1
                assert all(depth(item.expression) < 200 for item in found.query.items)
    assert accepted > 30


def test_the_verdict_does_not_depend_on_the_stack() -> None:
    """A caller that stands deep gets the same tree and the same refusal."""

    def from_below(frames: int, text: str) -> Parsed | DpsqlError:
        return from_below(frames - 1, text) if frames else outcome(text)

    deep = sys.getrecursionlimit() - len(_frames()) - 250
    nested = "SELECT " + "(" * 28 + "1" + ")" * 28
    assert isinstance(from_below(0, nested), Parsed)
    assert from_below(deep, nested) == from_below(0, nested)
    long = "SELECT a" + " + a" * 500
    refused = [from_below(frames, long) for frames in (0, deep)]
    assert [str(error) for error in refused] == [str(refused[0])] * 2
    assert isinstance(refused[0], NotSupported)


def test_a_stack_that_is_too_short_for_everybody_is_a_refusal() -> None:
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(len(_frames()) + 50)
    try:
        found = outcome("SELECT " + "(" * 28 + "1" + ")" * 28)
    finally:
        sys.setrecursionlimit(usual)
    assert isinstance(found, NotSupported)
    assert "nested too deeply" in found.what


def _frames() -> list[object]:
    frame, found = sys._getframe(), []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return found


# ---- silence --------------------------------------------------------------------------------------------------------

NOISY = read_texts(__file__, "noisy")


@pytest.mark.parametrize("text", NOISY)
def test_nothing_is_logged_or_printed(
    text: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome(text)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_random_statements_are_quiet_too(caplog: pytest.LogCaptureFixture) -> None:
    chance = random.Random(5)
    with caplog.at_level(logging.DEBUG):
        for _ in range(400):
            words = [chance.choice(WORDS if chance.random() < 0.6 else SIGNS) for _ in range(chance.randint(1, 8))]
            outcome(" ".join(["WITH a AS (SELECT 1)", *words]))
            outcome(" ".join(["WITH a AS (", *words]))
            outcome(" ".join(words))
    assert not caplog.records
