"""What is said about SQL that has no rule: which construct it is, why it is refused, what to write instead.

A construct that is missing here is refused all the same; it only gets a plainer message.
"""

from __future__ import annotations

import re
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


def construct(kind: str, *, at: At) -> NotSupported:
    """The refusal of a node of the parser's tree, by the name of its class."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).upper()
    return unsupported(CONSTRUCTS.get(kind, Lesson(words)), at=at)


def clause(kind: str, argument: str, *, at: At) -> NotSupported:
    """The refusal of one argument of a node that is otherwise known."""
    lesson = CLAUSES.get((kind, argument)) or CLAUSES.get(("", argument))
    return unsupported(lesson or Lesson(f"{argument.strip('_').replace('_', ' ').upper()} here"), at=at)


_SUBQUERY = Lesson(
    "A subquery inside an expression",
    _TWO_ANSWERS,
    "write PRIVATE before an inner question that has one number as its answer: it is then asked first, with noise and "
    "a price of its own. A group is compared with all of them by a window: COUNT(*) / SUM(COUNT(*)) OVER (); a row "
    "with others of the same person by a window in a subquery: AVG(x) OVER (PARTITION BY person), or by a join with a "
    "subquery that groups by the person",
)
_SET_OPERATION = Lesson(
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
_LIST = Lesson("A list, a map or a struct", _INSIDE, "use plain columns; a list of values goes into x IN (…)")
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
_TABLE_FUNCTION = Lesson("A function in FROM", _OUTSIDE, f"name a declared table; {_NAMES} lists them, for free")
_GROUPING = Lesson(
    "GROUPING SETS, ROLLUP or CUBE",
    "each of its sets of groups is an answer of its own, with its own noise and price",
    "ask one query for each GROUP BY",
)
_SAMPLE = Lesson(
    "A sample of a table", "whom a sample leaves out must not be seen", "leave it out: answers are private as they are"
)
_PIVOT = Lesson(
    "PIVOT",
    "the columns of its result would be found in the rows, and tell what is in them",
    "use COUNT(*) FILTER (WHERE …), one for each column",
)
_LATERAL = Lesson(
    "LATERAL", "a subquery that is asked anew for each row has no price of its own", "join with a condition instead"
)

CONSTRUCTS: Final[Mapping[str, Lesson]] = {
    "Subquery": _SUBQUERY,
    "Select": _SUBQUERY,
    "Any": Lesson("ANY or SOME", _ONE_WAY, "write x IN (a, b, …) or x IN (SELECT …)"),
    "All": Lesson("ALL", _ONE_WAY, "compare with each value, joined by AND"),
    "Union": _SET_OPERATION,
    "Intersect": _SET_OPERATION,
    "Except": _SET_OPERATION,
    "Values": _VALUES,
    "Tuple": Lesson(
        "A row of several values (a, b)",
        "limits and groups are declared column by column",
        "compare or group by each column by itself",
    ),
    "Lambda": _LAMBDA,
    "JSONExtract": _LAMBDA,
    "Array": _LIST,
    "Bracket": _LIST,
    "Struct": _LIST,
    "Map": _LIST,
    "Kwarg": _NAMED_ARGUMENT,
    "PropertyEQ": _NAMED_ARGUMENT,
    "Alias": Lesson("A name inside an expression", NO_RULE, "give names to columns of the SELECT list only"),
    "Placeholder": _PARAMETER,
    "Parameter": _PARAMETER,
    "Dot": Lesson(
        "This way of naming", NO_RULE, "name a column as column or table.column, a function by its name alone"
    ),
    "Star": Lesson("* here", _COLUMNS, "name the columns, or count rows with COUNT(*)"),
    "Columns": Lesson("COLUMNS", _COLUMNS, "name the columns"),
    "Interval": Lesson("An interval by itself", NO_RULE, "add it to a date: x + INTERVAL 3 DAY"),
    "Order": Lesson("ORDER BY inside an aggregate", _ROWS, "leave it out: it does not change a sum or a count"),
    "Limit": Lesson("LIMIT inside an aggregate", _ROWS, "leave it out, or filter with WHERE"),
    "HavingMax": Lesson("HAVING inside an aggregate", _ROWS, "filter with FILTER (WHERE …)"),
    "IgnoreNulls": Lesson("IGNORE NULLS", NO_RULE, "filter with FILTER (WHERE x IS NOT NULL)"),
    "RespectNulls": Lesson("RESPECT NULLS", NO_RULE, "leave it out"),
    "Distinct": Lesson("DISTINCT here", NO_RULE, "use it as SELECT DISTINCT or COUNT(DISTINCT x)"),
    "SimilarTo": _PATTERN,
    "Glob": _PATTERN,
    "RegexpLike": _PATTERN,
    "RegexpFullMatch": _PATTERN,
    "Collate": Lesson("COLLATE", "keys are compared by their bytes on every engine", "compare LOWER(x) with LOWER(y)"),
    "AtTimeZone": Lesson("AT TIME ZONE", "times are kept without a zone, in UTC", "shift them: x + INTERVAL 2 HOUR"),
    "Lateral": _LATERAL,
    "Unnest": _TABLE_FUNCTION,
    "TableFromRows": _TABLE_FUNCTION,
    "Anonymous": _TABLE_FUNCTION,
    "Cube": _GROUPING,
    "Rollup": _GROUPING,
    "GroupingSets": _GROUPING,
    "PositionalColumn": Lesson("A column by its position (#1)", NO_RULE, "write the name of the column"),
    "BitwiseXor": _BITS,
    "Overlaps": Lesson("OVERLAPS", NO_RULE, "compare both ends: a.start < b.stop AND b.start < a.stop"),
    "DistanceND": Lesson("A distance", NO_RULE, "write it with arithmetic"),
    "Pivot": _PIVOT,
    "Insert": Lesson("INSERT", _NOT_A_QUESTION, "ask with SELECT"),
    "Var": Lesson("ALL here", _COLUMNS, "name the columns"),
}

CLAUSES: Final[Mapping[tuple[str, str], Lesson]] = {
    ("", "sample"): _SAMPLE,
    ("", "pivots"): _PIVOT,
    ("", "into"): Lesson("INTO", _NOT_A_QUESTION, "leave it out and keep the answer yourself"),
    ("", "locks"): Lesson("FOR UPDATE or FOR SHARE", _NOT_A_QUESTION, "leave it out"),
    ("", "laterals"): _LATERAL,
    ("", "recursive"): Lesson(
        "WITH RECURSIVE", "how far one person's rows reach is then unknown", "write a plain WITH"
    ),
    ("", "unnest"): _LIST,
    ("", "hint"): Lesson("A hint", "hints never reach the engine", "leave it out"),
    ("", "hints"): Lesson("A hint", "hints never reach the engine", "leave it out"),
    ("Distinct", "on"): Lesson("DISTINCT ON", _ROWS, "use GROUP BY with an aggregate"),
    ("Select", "kind"): Lesson("SELECT AS STRUCT or VALUE", NO_RULE, "select plain columns"),
    ("Group", "all"): Lesson("GROUP BY ALL", _COLUMNS, "name the columns, or give their numbers: GROUP BY 1, 2"),
    ("Group", "rollup"): _GROUPING,
    ("Group", "cube"): _GROUPING,
    ("Group", "grouping_sets"): _GROUPING,
    ("Group", "totals"): _GROUPING,
    ("Join", "method"): Lesson(
        "A NATURAL, ASOF or POSITIONAL join", _COLUMNS, "write JOIN … ON a.id = b.id, or USING (id)"
    ),
    ("Join", "nearest"): Lesson("A NEAREST join", NO_RULE, "write JOIN … ON a.id = b.id, or USING (id)"),
    ("Join", "kind"): Lesson(
        "A SEMI, ANTI or ARRAY join", _ONE_WAY, "write WHERE x IN (SELECT …), x NOT IN (SELECT …), or EXISTS (SELECT …)"
    ),
    ("Star", "except_"): Lesson("* EXCLUDE", _COLUMNS, "name the columns"),
    ("Star", "replace"): Lesson("* REPLACE", _COLUMNS, "name the columns"),
    ("Star", "rename"): Lesson("* RENAME", _COLUMNS, "name the columns"),
    ("Star", "ilike"): Lesson("* ILIKE", _COLUMNS, "name the columns"),
    ("Union", "by_name"): Lesson("UNION ALL BY NAME", _COLUMNS, "put the columns in the same order in every branch"),
    ("In", "field"): Lesson("IN without a list", NO_RULE, "list the values: x IN (a, b)"),
    ("Between", "symmetric"): Lesson("BETWEEN SYMMETRIC", NO_RULE, "write the smaller bound first"),
    ("Limit", "limit_options"): Lesson("LIMIT with a share or ties", _ROWS, "give a number of rows"),
    ("Fetch", "limit_options"): Lesson("FETCH with ties or a share", _ROWS, "give a number of rows: LIMIT 10"),
    ("TableAlias", "columns"): Lesson("Renaming the columns of a table", NO_RULE, "rename them in a subquery with AS"),
    ("WindowSpec", "exclude"): Lesson("EXCLUDE in a window", NO_RULE, "leave it out"),
    ("WindowSpec", "kind"): Lesson("A window of GROUPS", NO_RULE, "use ROWS or RANGE"),
    ("Cast", "format"): Lesson("CAST with a format", NO_RULE, "write dates as 'YYYY-MM-DD'"),
    ("Table", "joins"): Lesson(
        "A join inside a join", NO_RULE, "put the condition right after each JOIN, or use a subquery"
    ),
    ("Table", "when"): Lesson("AS OF", NO_RULE, "ask about the table as it is"),
    ("Window", "alias"): Lesson(
        "A window that extends another", NO_RULE, "write it out: OVER (PARTITION BY … ORDER BY …)"
    ),
}

SIGNS: Final[Mapping[str, Lesson]] = {
    **dict.fromkeys(("?", "$", "@", ":", "#", "??"), _PARAMETER),
    **dict.fromkeys(("[", "]", "{", "}"), _LIST),
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
            f"{_NAMES} lists tables and columns, for free",
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
SET_OPERATION: Final = _SET_OPERATION
FROM_FIRST: Final = STATEMENTS["FROM"]
