"""What is said about SQL that has no rule: which construct it is, why it is refused, what to write instead.

A construct that is missing here is refused all the same; it only gets a plainer message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dpsql.errors import NotSupported, NotUnderstood
from dpsql.sql.syntax import At

NO_RULE: Final = "only what a rule has shown to be safe is answered; nothing reaches the engine unread"
_ROWS = "which rows it keeps depends on other people's rows, so one person could change all of them"
_OUTSIDE = "it reaches outside the declared tables, where nobody's privacy is accounted for"
_NOT_A_QUESTION = "it is not a question about the data, and nothing but questions is passed on"
_COLUMNS = "which columns it stands for would follow from the tables, and is not seen in the question"
_INSIDE = "what is inside of it has no declared type, limits or groups"
_ONE_WAY = "each question has one way of being written that is checked"
_NAMES = "SELECT * FROM dp.columns"
_TWO_ANSWERS = "an inner question about people needs noise and a price of its own, so it has to be asked for"


@dataclass(frozen=True, slots=True)
class Lesson:
    """`what` names the construct; the reason and the way out follow."""

    what: str
    why: str = NO_RULE
    fix: str = "leave it out"
    try_sql: str | None = None
    instead: str | None = None
    """What might stand at the marked place."""


def excerpt(text: str, at: At, *, longest: int = 40) -> str:
    """A short piece of the text, on one line and printable."""
    if at is None:
        return ""
    piece = " ".join(text[at[0] : min(at[1], at[0] + 4 * longest)].split())
    piece = "".join(character if character.isprintable() else "�" for character in piece)
    return piece if len(piece) <= longest else piece[: longest - 1] + "…"


def unsupported(lesson: Lesson, *, at: At) -> NotSupported:
    """The refusal a lesson stands for."""
    return NotSupported(
        f"{lesson.what} is not available", why=lesson.why, fix=lesson.fix, try_sql=lesson.try_sql, at=at
    ).instead_of(lesson.instead)


def misread(text: str, at: At, *, what: str = "This is not SQL that can be read") -> NotUnderstood:
    """A mistake in the text itself."""
    near = excerpt(text, at)
    return NotUnderstood(
        f"{what}, near {near!r}" if near else what,
        why="a question that can be read in two ways cannot be checked",
        fix="look at the marked place: a comma, a quote, a parenthesis or a word may be missing or too many",
        at=at,
    )


SUBQUERY = Lesson(
    "A subquery inside an expression",
    _TWO_ANSWERS,
    "write PRIVATE before an inner question that has one number as its answer: it is then asked first, with noise and "
    "a price of its own. A group is compared with all of them by a window: COUNT(*) / SUM(COUNT(*)) OVER (); a row "
    "with others of the same person by a window in a subquery: AVG(x) OVER (PARTITION BY person), or by a join with a "
    "subquery that groups by the person",
)
SET_OPERATION = Lesson(
    "UNION without ALL, INTERSECT or EXCEPT",
    "whether a row is left depends on rows of other people that are equal to it",
    "UNION ALL keeps all rows, and SELECT DISTINCT with the person makes equal ones of each person one; people in both "
    "or in one of two: person IN (SELECT …), person NOT IN (SELECT …)",
)
_VALUES = Lesson(
    "VALUES",
    "rows that are written in a question belong to no declared table",
    "filter with IN (…), or declare a public table",
)
_NAMED_ARGUMENT = Lesson(
    "A named argument", "engines give different names to arguments", "give the arguments in their order"
)
LIST = Lesson("A list, a map or a struct", _INSIDE, "use plain columns; a list of values goes into x IN (…)")
_LAMBDA = Lesson("A lambda or a JSON path (->)", _INSIDE, "use plain columns and functions")
_PARAMETER = Lesson(
    "A parameter",
    "the text alone is priced, stored and audited, and a value beside it would be missing there",
    "write the value itself; text goes in single quotes, a name in double quotes",
)
_BITS = Lesson(
    "An operator on bits",
    "one bit more or less is no small change, so nothing limits what one person does to the result",
    "use AND, OR and arithmetic",
)
_PATTERN = Lesson(
    "A regular expression", "some take very long on some rows, and time tells", "use LIKE, or CONTAINS(x, part)"
)
TABLE_FUNCTION = Lesson("A function in FROM", _OUTSIDE, f"name a declared table; {_NAMES} lists them, for free")
GROUPING = Lesson(
    "GROUPING SETS, ROLLUP or CUBE",
    "each of its sets of groups is an answer of its own, with its own noise and price",
    "ask one query for each GROUP BY",
)
SAMPLE = Lesson(
    "A sample of a table", "whom a sample leaves out must not be seen", "leave it out: answers are private as they are"
)
_PIVOT = Lesson(
    "PIVOT",
    "the columns of its result would be found in the rows, and tell what is in them",
    "use COUNT(*) FILTER (WHERE …), one for each column",
)
LATERAL = Lesson(
    "LATERAL", "a subquery that is asked anew for each row has no price of its own", "join with a condition instead"
)

ANY: Final = Lesson("ANY or SOME", _ONE_WAY, "write x IN (a, b, …) or x IN (SELECT …)")
ALL: Final = Lesson("ALL", _ONE_WAY, "compare with each value, joined by AND")
ROW: Final = Lesson(
    "A row of several values (a, b)",
    "limits and groups are declared column by column",
    "compare or group by each column by itself",
)
NAMING: Final = Lesson(
    "This way of naming", NO_RULE, "name a column as column or table.column, a function by its name alone"
)
STAR: Final = Lesson("* here", _COLUMNS, "name the columns, or count rows with COUNT(*)")
INTERVAL: Final = Lesson("An interval by itself", NO_RULE, "add it to a date: x + INTERVAL 3 DAY")
INSIDE_AGGREGATE: Final[Mapping[str, Lesson]] = {
    "ORDER": Lesson("ORDER BY inside an aggregate", _ROWS, "leave it out: it does not change a sum or a count"),
    "LIMIT": Lesson("LIMIT inside an aggregate", _ROWS, "leave it out, or filter with WHERE"),
    "HAVING": Lesson("HAVING inside an aggregate", _ROWS, "filter with FILTER (WHERE …)"),
    "IGNORE": Lesson("IGNORE NULLS", NO_RULE, "filter with FILTER (WHERE x IS NOT NULL)"),
    "RESPECT": Lesson("RESPECT NULLS", NO_RULE, "leave it out"),
}
PART: Final = Lesson("EXTRACT of something that is no part of a date", NO_RULE, "write EXTRACT(year FROM x)")
RECURSIVE: Final = Lesson("WITH RECURSIVE", "how far one person's rows reach is then unknown", "write a plain WITH")
DISTINCT_ON: Final = Lesson("DISTINCT ON", _ROWS, "use GROUP BY with an aggregate")
GROUP_BY_ALL: Final = Lesson("GROUP BY ALL", _COLUMNS, "name the columns, or give their numbers: GROUP BY 1, 2")
ORDER_BY_ALL: Final = Lesson("ALL here", _COLUMNS, "name the columns")
JOIN_METHOD: Final = Lesson(
    "A NATURAL, ASOF or POSITIONAL join", _COLUMNS, "write JOIN … ON a.id = b.id, or USING (id)"
)
SEMI_JOIN: Final = Lesson(
    "A SEMI or ANTI join",
    _ONE_WAY,
    "write WHERE EXISTS (SELECT … WHERE a.id = b.id), or WHERE NOT EXISTS (…) for rows without a partner",
)
STARRED: Final[Mapping[str, Lesson]] = {
    word: Lesson(f"* {word}", _COLUMNS, "name the columns")
    for word in ("EXCLUDE", "EXCEPT", "REPLACE", "RENAME", "ILIKE")
}
BY_NAME: Final = Lesson("UNION ALL BY NAME", _COLUMNS, "put the columns in the same order in every branch")
NO_LIST: Final = Lesson("IN without a list", NO_RULE, "list the values: x IN (a, b)")
SYMMETRIC: Final = Lesson("BETWEEN SYMMETRIC", NO_RULE, "write the smaller bound first")
SHARE_OF_ROWS: Final = Lesson("LIMIT with a share or ties", _ROWS, "give a number of rows")
FETCH: Final = Lesson("FETCH with ties or a share", _ROWS, "give a number of rows: LIMIT 10")
RENAMED_COLUMNS: Final = Lesson("Renaming the columns of a table", NO_RULE, "rename them in a subquery with AS")
EXCLUDE: Final = Lesson("EXCLUDE in a window", NO_RULE, "leave it out")
GROUPS: Final = Lesson("A window of GROUPS", NO_RULE, "use ROWS or RANGE")
AS_OF: Final = Lesson(
    "A table at another time",
    "two states of one person's rows would be compared for one price",
    "ask about the table as it is",
)
EXTENDED_WINDOW: Final = Lesson(
    "A window that extends another", NO_RULE, "write it out: OVER (PARTITION BY … ORDER BY …)"
)

SIGNS: Final[Mapping[str, Lesson]] = {
    **dict.fromkeys(("?", "$", "@", ":", "#", "??"), _PARAMETER),
    **dict.fromkeys(("[", "]", "{", "}"), LIST),
    **dict.fromkeys(("->", "->>"), _LAMBDA),
    **dict.fromkeys(("=>", ":="), _NAMED_ARGUMENT),
    **dict.fromkeys(("&", "|", "<<", ">>", "&&"), _BITS),
    **dict.fromkeys(("~", "~*", "~~", "~~*", "~~~"), _PATTERN),
    "!": Lesson("The sign !", NO_RULE, "write NOT, or <>"),
    "|>": Lesson("The sign |>", NO_RULE, "write one SELECT statement"),
    "<=>": Lesson("The sign <=>", NO_RULE, "write IS NOT DISTINCT FROM"),
    "`": Lesson("The quote `", NO_RULE, "write names in double quotes"),
    "\\": Lesson("The sign \\", NO_RULE, "it has no meaning outside of text"),
}
"""Signs that never belong to an answerable question."""

STRINGS: Final = Lesson(
    "This way of quoting text", "engines read it differently", "write 'text', with '' for a quote in it"
)

_CHANGES = "it would change the data; everybody may only ask"
STATEMENTS: Final[Mapping[str, Lesson]] = {
    **{
        word: Lesson(word, _CHANGES, "ask with SELECT")
        for word in [
            "INSERT",
            "UPDATE",
            "DELETE",
            "MERGE",
            "CREATE",
            "DROP",
            "ALTER",
            "TRUNCATE",
            "COMMENT",
            "GRANT",
            "REVOKE",
            "VACUUM",
            "ANALYZE",
        ]
    },
    **{
        word: Lesson(word, _OUTSIDE, "ask with SELECT about a declared table")
        for word in ["COPY", "EXPORT", "IMPORT", "ATTACH", "DETACH", "INSTALL", "LOAD", "FORCE", "USE"]
    },
    **{
        word: Lesson(word, _NOT_A_QUESTION, "ask with SELECT")
        for word in [
            "PRAGMA",
            "CALL",
            "EXECUTE",
            "PREPARE",
            "DEALLOCATE",
            "BEGIN",
            "START",
            "COMMIT",
            "ROLLBACK",
            "CHECKPOINT",
            "KILL",
            "DECLARE",
            "FETCH",
        ]
    },
    **{
        word: Lesson(
            word,
            "the engine's own catalogue is not passed on",
            f"{_NAMES} lists tables and columns with their types, bounds and groups, for free",
            try_sql=_NAMES,
        )
        for word in ["DESCRIBE", "DESC"]
    },
    "SUMMARIZE": Lesson(
        "SUMMARIZE",
        "it would show exact statistics of private rows",
        f"ask for COUNT, AVG and STDDEV of the columns you need; {_NAMES} lists them with their bounds, for free",
    ),
    "SHOW": Lesson(
        "SHOW",
        _NOT_A_QUESTION,
        f"{_NAMES} lists tables and columns, for free; SHOW dp.budget is given to sql(), by itself",
        try_sql=_NAMES,
    ),
    **{
        word: Lesson(
            word,
            _NOT_A_QUESTION,
            "give it to sql() by itself: SET dp.epsilon = 0.1. What can be SET are dp.epsilon, dp.confidence, "
            "dp.max_cost, dp.noise, dp.mode",
        )
        for word in ["SET", "RESET"]
    },
    "EXPLAIN": Lesson("EXPLAIN after other words", _NOT_A_QUESTION, "write EXPLAIN PRIVACY first"),
    "VALUES": _VALUES,
    "PIVOT": _PIVOT,
    "PIVOT_WIDER": _PIVOT,
    "UNPIVOT": _PIVOT,
    "FROM": Lesson("FROM before SELECT", _ONE_WAY, "write SELECT … FROM …"),
    "TABLE": Lesson("TABLE", "it would show rows, and rows are about people", "write SELECT … FROM …"),
}
"""Statements other than a question, by their first word."""

UNCONDITIONAL_JOIN: Final = Lesson(
    "JOIN without its own condition",
    "without a condition every row of one table meets every row of the other",
    "put ON or USING right after each JOIN",
)
MISSING_PARENTHESES: Final = Lesson(
    "NOT, ESCAPE or a comparison inside another operator, without parentheses,",
    "engines do not agree on what belongs together",
    "put it in parentheses; a < b < c is a < b AND b < c",
)

WORDS: Final[Mapping[str, Lesson]] = {
    "TABLESAMPLE": SAMPLE,
    "PIVOT": _PIVOT,
    "UNPIVOT": _PIVOT,
    "LATERAL": LATERAL,
    "INTO": Lesson("INTO", _NOT_A_QUESTION, "leave it out and keep the answer yourself"),
    "FOR": Lesson("FOR UPDATE or FOR SHARE", _NOT_A_QUESTION, "leave it out"),
    "COLLATE": Lesson("COLLATE", "keys are compared by their bytes on every engine", "compare LOWER(x) with LOWER(y)"),
    "GLOB": _PATTERN,
    "SIMILAR": _PATTERN,
    "OVERLAPS": Lesson("OVERLAPS", NO_RULE, "compare both ends: a.start < b.stop AND b.start < a.stop"),
    "AT": Lesson("AT TIME ZONE", "times are kept without a zone, in UTC", "shift them: x + INTERVAL 2 HOUR"),
    "INTERSECT": SET_OPERATION,
    "EXCEPT": SET_OPERATION,
    "VALUES": _VALUES,
    "ARRAY": LIST,
    "STRUCT": LIST,
    "MAP": LIST,
    "LAMBDA": _LAMBDA,
    "DIV": Lesson("DIV", _ONE_WAY, "write //"),
}
"""Words that stand where nothing reads them."""
