"""Options in comments: read to the end, or refused; hints for others are comments."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpsql.catalog.model import Mode, Noise
from dpsql.errors import DpsqlError
from dpsql.sql.parse import parse
from dpsql.sql.syntax import NO_OPTIONS


def options(sql):
    return parse(sql, dialect="duckdb").options


@pytest.mark.parametrize(
    "hint",
    [
        "/*+ dp(epsilon=0.1, noise='gaussian', confidence=0.9, mode='scale') */",
        "/*+DP( EPSILON = 0.1 , Noise='gaussian',confidence=.9,mode='scale')*/",
        "/*+ PARALLEL(4) dp(epsilon=0.1, noise='gaussian', confidence=0.9, mode='scale') */",
        "--+ dp(epsilon=0.1, noise='gaussian', confidence=0.9, mode='scale')\n",
        "/*+ dp(epsilon=0.1) */ /* between */ /*+ dp(noise='gaussian', confidence=0.9, mode='scale') */",
    ],
)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {} COUNT(*) FROM t",
        "{} SELECT COUNT(*) FROM t",
        "EXPLAIN PRIVACY {} SELECT COUNT(*) FROM t",
        "DRY RUN SELECT {} COUNT(*) FROM t",
        "WITH w AS (SELECT a FROM t) SELECT {} COUNT(*) FROM w",
    ],
)
def test_a_hint_says_what_a_clause_would(sql, hint):
    found = options(sql.format(hint))
    assert (found.epsilon.value, found.confidence.value) == (Fraction(1, 10), Fraction(9, 10))
    assert (found.noise.value, found.mode.value) == (Noise.GAUSSIAN, Mode.SCALE)


@pytest.mark.parametrize(
    "comment",
    [
        "/*+ BROADCAST(x) */",
        "/*+ BROADCAST(dp) */",
        "/*+ INDEX(dp ix_dp) FULL(t) */",
        "/*+ dpx(epsilon=1) */",
        "/* dp(epsilon=1) */",
        "/* + dp(epsilon=1) */",
        "-- dp(epsilon=1)\n",
        "/*+ it's unbalanced ( */",
        "/*+ */",
    ],
)
def test_every_other_comment_is_one(comment):
    assert options(f"SELECT {comment} COUNT(*) FROM t") == NO_OPTIONS
    assert options(f"SELECT COUNT(*) {comment} FROM t") == NO_OPTIONS


def test_a_hint_in_quotes_is_text():
    assert options("SELECT COUNT(*) FROM t WHERE a = '/*+ dp(epsilon=1) */'") == NO_OPTIONS


@pytest.mark.parametrize(
    ("hint", "code"),
    [
        ("/*+ dp */", "DP100"),
        ("/*+ dp epsilon=1 */", "DP100"),
        ("/*+ dp() */", "DP100"),
        ("/*+ dp(epsilon) */", "DP100"),
        ("/*+ dp(epsilon=) */", "DP100"),
        ("/*+ dp(epsilon==1) */", "DP410"),
        ("/*+ dp(epsilon=1,) */", "DP100"),
        ("/*+ dp(epsilon=1 noise='laplace') */", "DP410"),
        ("/*+ dp(epsilon=1 */", "DP100"),
        ("/*+ FULL(t dp(epsilon=1) */", "DP100"),
        ("/*+ dp(epsilon=1, epsilon=2) */", "DP410"),
        ("/*+ dp(epsilon='1') */", "DP410"),
        ("/*+ dp(epsilon=NaN) */", "DP410"),
        ("/*+ dp(epsilon=inf) */", "DP410"),
        ("/*+ dp(epsilon=-1) */", "DP410"),
        ("/*+ dp(epsilon=1e999) */", "DP410"),
        ("/*+ dp(epsilon=١) */", "DP410"),
        ("/*+ dp(epsilon=0) */", "DP410"),
        ("/*+ dp(confidence=1) */", "DP410"),
        ('/*+ dp(noise="gaussian") */', "DP410"),
        ("/*+ dp(delta=1e-6) */", "DP401"),
        ("/*+ dp(max_cost=1) */", "DP401"),
    ],
)
def test_a_hint_that_cannot_be_read_is_refused(hint, code):
    with pytest.raises(DpsqlError) as caught:
        options(f"SELECT {hint} COUNT(*) FROM t")
    assert caught.value.code == code, caught.value
    start, end = caught.value.at
    assert 7 <= start < end <= 7 + len(hint)


def test_a_clause_goes_before_a_hint():
    found = options("SELECT /*+ dp(epsilon=1, noise='laplace') */ COUNT(*) FROM t COST 2 CONFIDENCE 0.9")
    assert (found.epsilon.value, found.noise.value, found.confidence.value) == (2, Noise.LAPLACE, Fraction(9, 10))
    margin = options("SELECT /*+ dp(epsilon=1) */ COUNT(*) FROM t WITHIN 5")
    assert (margin.epsilon, margin.within.value) == (None, 5)
