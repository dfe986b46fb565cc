"""docs/supported-sql.md, written from the rule tables: what no rule names is refused, so the tables are the support.

`python tools/supported_sql.py --write` writes the page; without it, the page is compared. A test does the same, and
plans every example.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from dpsql.sql.functions import FUNCTIONS, WINDOW_FUNCTIONS
from dpsql.sql.functions.arithmetic import ARITHMETIC
from dpsql.sql.functions.casts import CASTS
from dpsql.sql.functions.choices import CHOICES
from dpsql.sql.functions.function import Function
from dpsql.sql.functions.logic import LOGIC
from dpsql.sql.functions.mathematics import MATHEMATICS, ROUNDING
from dpsql.sql.functions.text import TEXT
from dpsql.sql.functions.time import TIME
from dpsql.sql.joins import MOST_PRODUCTS
from dpsql.sql.parsing import refusals
from dpsql.sql.parsing.functions import OTHER_NAMES
from dpsql.sql.people import OWN_AGGREGATES
from dpsql.sql.scans import MOST_SCANS
from dpsql.sql.words import AGGREGATES, PUBLIC_AGGREGATES, RAW_AGGREGATES, REFUSED_FUNCTIONS, WINDOWS

PAGE: Final = Path(__file__).parent.parent / "docs" / "supported-sql.md"

OPTIONS: Final = frozenset(
    {
        "COST x",
        "WITHIN m, CONFIDENCE c",
        "LIMIT n PER PERSON",
        "GROUP BY x KEYS (…)",
        "/*+ dp(…) */",
        "DP_LOW(n), DP_HIGH(n), DP_MARGIN(n)",
        "dp.budget, dp.ledger, dp.releases, dp.policy, dp.columns, dp.keys",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…)",
    }
)
"""Clauses that docs/guide/options.md explains."""

SHORT: Final = 9
"""A meaning of no more words says only what the name of a function says."""

MEASURED: Final = {
    "count": (
        "COUNT(*), COUNT(x), COUNT(DISTINCT x), COUNT(DISTINCT person), COUNT(DISTINCT (a, b))",
        "Rows, values that are not NULL, different values, people, pairs (of a, b without parentheses: without NULL).",
    ),
    "sum": ("SUM(x)", "Values beyond the bounds count as the bound; a sum of nothing is 0."),
    "avg": ("AVG(x)", "A noisy sum over a noisy count, inside the bounds; of nothing, the middle of the bounds."),
    "var_pop": ("VAR_POP(x)", "The variance, from 0 to a quarter of the squared width of the bounds."),
    "var_samp": ("VAR_SAMP(x), VARIANCE(x)", "The variance of a sample: VAR_POP · n/(n − 1)."),
    "covar_pop": ("COVAR_POP(y, x)", "The covariance of the rows that have both values, inside what bounds allow."),
    "covar_samp": ("COVAR_SAMP(y, x)", "The covariance of a sample: COVAR_POP · n/(n − 1)."),
    "corr": ("CORR(y, x)", "The correlation, from −1 to 1; NULL where the noise leaves no deviation."),
    "regr_slope": ("REGR_SLOPE(y, x)", "The slope of the line through the points; NULL where x has no variance left."),
    "regr_intercept": ("REGR_INTERCEPT(y, x)", "Where that line meets x = 0."),
    "stddev_pop": ("STDDEV_POP(x)", "The root of VAR_POP."),
    "stddev_samp": ("STDDEV_SAMP(x), STDDEV(x)", "The root of VAR_SAMP."),
}

FAMILIES: Final[Sequence[tuple[str, Iterable[Function]]]] = (
    ("Arithmetic", ARITHMETIC),
    ("Rounding", ROUNDING),
    ("Roots, powers, logarithms", MATHEMATICS),
    ("Comparisons and logic", LOGIC),
    ("Choices and limits", CHOICES),
    ("Casts", CASTS),
    ("Text", TEXT),
    ("Dates and times", TIME),
)

CLAUSE_EXAMPLES: Final = (
    ("WHERE", "Any condition over declared columns.", "SELECT COUNT(*) FROM visits WHERE charge > 500"),
    (
        "GROUP BY public keys",
        "Listed in policy or query, bounded whole numbers, truth values, CASE, calendar, public tables. All appear.",
        "SELECT city, COUNT(*) FROM patients GROUP BY city",
    ),
    (
        "GROUP BY private keys",
        'Columns with keys = "private": found by the noisy number of people, rare ones stay hidden.',
        "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis",
    ),
    (
        "GROUP BY an expression, a number, an alias",
        "As in DuckDB.",
        "SELECT EXTRACT(month FROM day) AS m, COUNT(*) FROM visits GROUP BY m",
    ),
    (
        "JOIN … ON, USING, a public table",
        f"INNER joins with public tables on any condition; {MOST_SCANS} tables, {MOST_PRODUCTS} without an equality.",
        "SELECT w.name, COUNT(*) FROM visits v JOIN wards w ON v.ward_id = w.id GROUP BY w.name",
    ),
    (
        "JOIN … ON, USING, a private table",
        "INNER joins whose condition says that both rows are of the same person.",
        "SELECT AVG(age) FROM patients JOIN visits USING (patient_id)",
    ),
    (
        "Tables beside each other: a comma, CROSS JOIN",
        "What ties them is looked for in WHERE; two tables of people must be tied by the person.",
        "SELECT COUNT(*) FROM patients p, visits v WHERE p.patient_id = v.patient_id",
    ),
    (
        "LEFT JOIN, RIGHT JOIN",
        "That keep rows of people without a partner, in a public table or among the rows of the same person.",
        "SELECT COUNT(*), COUNT(v.charge) FROM patients p LEFT JOIN visits v ON p.patient_id = v.patient_id",
    ),
    (
        "LEFT JOIN, RIGHT JOIN that keep public rows",
        "Their columns are the groups, with a noisy 0 where nobody is; what is counted is a column of people's rows.",
        "SELECT w.name, COUNT(v.ward_id) FROM wards w LEFT JOIN visits v ON v.ward_id = w.id GROUP BY w.name",
    ),
    (
        "FULL JOIN",
        "Of two tables of people, tied by the person, or of two public ones; a column of USING is that of either side.",
        "SELECT COUNT(*), COUNT(DISTINCT patient_id) FROM patients FULL JOIN visits USING (patient_id)",
    ),
    (
        "Subqueries in FROM, WITH",
        "That filter, join and compute row by row.",
        "WITH high AS (SELECT charge FROM visits WHERE points > 0) SELECT SUM(charge) FROM high",
    ),
    (
        "Subqueries that GROUP BY the person",
        f"One row per person, or per person and more: {', '.join(map(str.upper, OWN_AGGREGATES))}, HAVING; any depth.",
        "SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id HAVING COUNT(*) > 1) t",
    ),
    (
        "WITH w AS PRIVATE (SELECT …), FROM PRIVATE (SELECT …)",
        "A question of its own, asked first: what it released is a public table of the statement.",
        "WITH w AS PRIVATE (SELECT city, COUNT(*) AS n FROM patients GROUP BY city) SELECT AVG(n), MAX(n) FROM w",
    ),
    (
        "PRIVATE (SELECT …) as a value",
        "One aggregate without GROUP BY, asked first: what it released is a constant of the statement.",
        "SELECT COUNT(*) FROM visits WHERE charge > PRIVATE (SELECT AVG(charge) FROM visits)",
    ),
    (
        "SELECT DISTINCT with the person, inside",
        "Each different row of a person once.",
        "SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, ward_id FROM visits) t",
    ),
    (
        "UNION ALL",
        "Rows of several tables under one another, inside; each keeps its person. At the top, rows of public tables.",
        "SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM patients) t",
    ),
    (
        "Subqueries that group public rows",
        "What follows from public tables is public: joined with people, and a list of groups.",
        "SELECT COUNT(*) FROM visits v, (SELECT AVG(id) AS middle FROM wards) t WHERE v.ward_id > t.middle",
    ),
    (
        "IN (SELECT …), NOT IN, EXISTS, NOT EXISTS, about people",
        "Conditions of WHERE, joined by AND, that compare the person. Rows without one are no reason for NOT IN.",
        "SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM patients WHERE age > 60)",
    ),
    (
        "IN (SELECT …), NOT IN, EXISTS, NOT EXISTS, public tables",
        "On any column, with SQL's meaning of NULL.",
        "SELECT COUNT(*) FROM visits WHERE ward_id NOT IN (SELECT id FROM wards WHERE floor = 1)",
    ),
    (
        "FILTER (WHERE …)",
        "On every aggregate.",
        "SELECT COUNT(*), COUNT(*) FILTER (WHERE flu) FROM patients",
    ),
    (
        "HAVING, ORDER BY, LIMIT, OFFSET, DISTINCT",
        "On released rows: free.",
        "SELECT city, COUNT(*) AS n FROM patients GROUP BY city HAVING n > 9 ORDER BY n DESC LIMIT 2",
    ),
    (
        "Expressions over aggregates",
        "On released numbers: free, with a margin of their own.",
        "SELECT 100.0 * COUNT(*) FILTER (WHERE flu) / COUNT(*) AS share FROM patients",
    ),
    (
        "OVER (PARTITION BY … ORDER BY … ROWS …)",
        "Windows over released rows: free.",
        "SELECT city, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM patients GROUP BY city",
    ),
    (
        "OVER (PARTITION BY person …) in a subquery",
        "Windows over the rows of one person: first visits, gaps, running totals, sessions; also above GROUP BY.",
        "SELECT AVG(n) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day) AS n FROM visits) t",
    ),
    (
        "QUALIFY with GROUP BY",
        "Filters released groups by a window over them. Free.",
        "SELECT city, COUNT(*) FROM patients GROUP BY city QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 3",
    ),
    (
        "QUALIFY in a subquery",
        "Filters rows of one person by a window.",
        "SELECT COUNT(*) FROM (SELECT * FROM visits QUALIFY RANK() OVER (PARTITION BY patient_id ORDER BY day) = 1) t",
    ),
    (
        "CURRENT_DATE",
        "The day in UTC, fixed when the question is asked.",
        "SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE",
    ),
    (
        "EXPLAIN PRIVACY, EXPLAIN PRIVACY (FORMAT JSON), EXPLAIN PRIVACY DIFF …; …",
        "How the answer would be protected: free.",
        "EXPLAIN PRIVACY SELECT COUNT(*) FROM visits",
    ),
    ("DRY RUN", "The price and the margins: free.", "DRY RUN SELECT COUNT(*) FROM visits"),
    (
        "SIMULATE … ROWS n",
        "The answer to the same plan on invented rows: free. Of `SELECT * FROM t LIMIT n`, invented rows themselves.",
        "SIMULATE SELECT COUNT(*) FROM visits ROWS 500",
    ),
    ("COST x", "What the answer may cost; COST 0: only what is stored.", "SELECT COUNT(*) FROM visits COST 0.1"),
    (
        "WITHIN m, CONFIDENCE c",
        "The cheapest answer whose numbers are all within ± m.",
        "SELECT city, COUNT(*) FROM patients GROUP BY city WITHIN 20 CONFIDENCE 0.9",
    ),
    (
        "LIMIT n PER PERSON",
        "Fewer rows of one person count than the policy allows, with less noise; no row is dropped.",
        "SELECT SUM(charge) FROM visits LIMIT 2 PER PERSON",
    ),
    (
        "GROUP BY x KEYS (…)",
        "The groups to show, all of them: nothing is found by looking.",
        "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis KEYS ('flu', 'asthma')",
    ),
    (
        "/*+ dp(…) */",
        "Options in a comment right after SELECT: epsilon, confidence, noise, mode.",
        "SELECT /*+ dp(epsilon=0.1, noise='laplace') */ COUNT(*) FROM visits",
    ),
    (
        "DP_LOW(n), DP_HIGH(n), DP_MARGIN(n)",
        "The interval of a column of the answer, or of an aggregate, as columns: free. Also DP_INTERVAL_LOW and _HIGH.",
        "SELECT city, COUNT(*) AS n, DP_LOW(n), DP_HIGH(n) FROM patients GROUP BY city",
    ),
    (
        "dp.budget, dp.ledger, dp.releases, dp.policy, dp.columns, dp.keys",
        "What is left, what you have paid for, what is declared: exact and free.",
        "SELECT remaining, note FROM dp.budget",
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…)",
        "GoogleSQL as meant there: epsilon, delta, max_groups_contributed, bounds, AVG of people.",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon=0.1) COUNT(*) FROM visits",
    ),
    (
        "Public tables",
        "Rows, joins, windows and aggregates of them: exact and free.",
        "SELECT floor, MAX(name) FROM wards GROUP BY floor ORDER BY floor",
    ),
)

REFUSED_EXAMPLES: Final = (
    ("DP101", "rows about people", "SELECT age FROM patients"),
    ("DP102", "values without limits", "SELECT SUM(1 / charge) FROM visits"),
    ("DP103", "one person's value", "SELECT MAX(age) FROM patients"),
    ("DP104", "sets of rows", "SELECT COUNT(*) FROM (SELECT age FROM patients UNION SELECT points FROM visits) t"),
    ("DP301", "hidden columns", "SELECT COUNT(*) FROM patients WHERE name = 'Bob'"),
    ("DP303", "joins of different people", "SELECT COUNT(*) FROM visits a JOIN visits b ON a.day = b.day"),
    ("DP304", "subqueries without a person", "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM visits) t"),
    ("DP305", "fractional keys", "SELECT charge, COUNT(*) FROM visits GROUP BY charge"),
)


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Supported SQL"
    yield ""
    yield "Written by `tools/supported_sql.py` from the rule tables of the code. **Unknown means no**: a clause,"
    yield "function, operator or type that no rule names is refused before anything is read or spent, with the reason"
    yield "and a way out. The dialect is DuckDB's. The tables are `patients`, `visits` and the public `wards`."
    yield ""
    yield "## Clauses"
    yield ""
    yield from _clauses()
    yield "## Aggregates about people"
    yield ""
    yield from _list(_measured(), most=0)
    public = ", ".join(sorted(name.upper() for name in PUBLIC_AGGREGATES - AGGREGATES))
    yield f"About public tables also {public}, exactly."
    yield ""
    yield "## Functions"
    yield ""
    yield "Every one is total: no value of a row makes it fail. Where there is no answer it is NULL."
    yield ""
    yield from _functions()
    yield "Other names: " + ", ".join(f"{o.upper()} ({n.upper()})" for o, n in sorted(OTHER_NAMES.items())) + "."
    yield ""
    yield "## Windows"
    yield ""
    yield "Over released rows, over public tables, and in subqueries over the rows of one person."
    yield ""
    yield from _inside_one_person()
    yield from _list(_windows())
    yield "## What is refused"
    yield ""
    yield "The [reasons](errors.md) are DP101 to DP104 and DP301 to DP305. The message says how to write it instead,"
    yield "for the query at hand."
    yield ""
    names = {lesson.what for lesson in _all_lessons()}
    yield "Refused by name: " + _plain(", ".join(sorted(names, key=str.lower)).rstrip(",")) + "."
    yield ""
    yield "### Functions and aggregates"
    yield ""
    yield from _refused_functions()


def _clauses() -> Iterator[str]:
    for clause, meaning, example in CLAUSE_EXAMPLES:
        if clause not in OPTIONS:
            yield f"- **{clause}**: {meaning} {_code(example)}"
    named = ", ".join(_code(clause) for clause, _, _ in CLAUSE_EXAMPLES if clause in OPTIONS)
    yield f"- **Options and statements of dpsql**, which [their page](guide/options.md) explains: {named}."
    yield ""


def _measured() -> Iterable[tuple[str, str]]:
    if MEASURED.keys() != AGGREGATES:
        raise LookupError(f"describe in MEASURED: {sorted(MEASURED.keys() ^ AGGREGATES)}")
    return MEASURED.values()


def _functions() -> Iterator[str]:
    named = [function.name for _, family in FAMILIES for function in family]
    if sorted(named) != sorted(FUNCTIONS):
        raise LookupError(f"no family has: {sorted(FUNCTIONS.keys() ^ set(named))}")
    for title, family in FAMILIES:
        yield f"### {title}"
        yield ""
        yield from _list((each.usage, each.summary) for each in family)


def _windows() -> Iterator[tuple[str, str]]:
    if WINDOW_FUNCTIONS.keys() != WINDOWS:
        raise LookupError(f"two tables of windows differ: {sorted(WINDOW_FUNCTIONS.keys() ^ WINDOWS)}")
    return ((each.usage, each.summary) for each in WINDOW_FUNCTIONS.values())


def _inside_one_person() -> Iterator[str]:
    yield "In a subquery, PARTITION BY must hold the person, with whatever else. What tells rows apart that ORDER BY"
    yield "does not (ROW_NUMBER, NTILE, LAG, LEAD, FIRST_VALUE, LAST_VALUE, frames of ROWS) then orders them by all"
    yield "columns they have: an engine would choose any of several tied rows, here it is always the same one."
    yield "Fractions are added up in whole grains and need bounds. RANGE with a distance is over one date or integer."
    yield ""


def _all_lessons() -> Iterator[refusals.Lesson]:
    """Of constructs and statements, not of signs: those follow from them."""
    for name, value in vars(refusals).items():
        if isinstance(value, refusals.Lesson) and not name.startswith("_"):
            yield value
        elif isinstance(value, dict) and name in ("INSIDE_AGGREGATE", "STARRED", "WORDS", "STATEMENTS"):
            yield from value.values()


def _refused_functions() -> Iterator[str]:
    fixes: dict[str, list[str]] = {}
    for name, (_, fix) in REFUSED_FUNCTIONS.items():
        fixes.setdefault(fix, []).append(name.upper())
    fixes["of people: AVG, STDDEV, or COUNT(*) FILTER (WHERE x > 100)"] = [name.upper() for name in RAW_AGGREGATES]
    for fix, names in fixes.items():
        yield f"- {', '.join(sorted(names))} → {_plain(fix)}"


def _code(text: str) -> str:
    return f"`{text}`"


def _plain(text: str) -> str:
    """Signs that would be markup."""
    return text.replace("*", r"\*").replace("_", r"\_").replace("<", r"\<")


def _list(rows: Iterable[tuple[str, str]], *, most: int = SHORT) -> Iterator[str]:
    """What has more to it than its name has a line; the others are named."""
    plain = []
    for usage, meaning in rows:
        if len(meaning.split()) > most:
            yield f"- {_code(usage)}: {meaning}"
        else:
            plain.append(_code(usage))
    if plain:
        yield f"- Also {', '.join(plain)}."
    yield ""


def main() -> int:
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
    print("supported-sql.md: up to date" if same else "supported-sql.md: run python tools/supported_sql.py --write")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
