"""Every error code with what a person wants to know of it. docs/errors.md and `dpsql help CODE` are written from here.

An error at hand says what happened to this very question; a page says what its code means in general.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from dpsql import errors
from dpsql.errors import DpsqlError

EXITS: Final[Mapping[int, str]] = MappingProxyType(
    {
        1: "a bug in dpsql",
        2: "bad arguments, or something that is not installed",
        3: "not SQL that can be read, or an unknown name",
        4: "refused: no private answer as asked",
        5: "refused: the budget, a limit of yours, or a freeze",
        6: "not permitted",
        7: "the source or the server cannot be reached",
        8: "the policy cannot be used",
        9: "the ledger does not verify, or could not be written: the message says which",
    }
)
"""What the exit code of a command says where it ended in an error."""


class Page(NamedTuple):
    """What a code means. Code and names stand in backticks, other codes as DP100, other pages as docs/…."""

    kind: type[DpsqlError]
    title: str
    what: str
    why: str
    fix: str
    example: str
    exit: int
    """How a command that ends in it ends."""

    @property
    def code(self) -> str:
        return self.kind.code

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """What follows the first sentence, each under its name."""
        return ("Why", self.why), ("Fix", self.fix), ("Example", self.example)


_PAGES: Final = (
    Page(
        kind=errors.NotUnderstood,
        title="text that is not one SQL statement",
        what="The text is not one SQL statement that can be read: a quotation that never ends, a word too "
        "many, several statements, a character that no language has.",
        why="a text that two programs read differently cannot be checked, and each statement has its own price.",
        fix="look at the marked place; send one statement at a time; save the text as UTF-8.",
        example="`SELECT COUNT(*) FROM patients; SELECT 1` → send them one by one",
        exit=3,
    ),
    Page(
        kind=errors.RowLevel,
        title="rows about people instead of a statistic",
        what="The query would show rows, or a column that is neither grouped nor aggregated.",
        why="rows are about individual people; no amount of noise makes a row safe to show.",
        fix="ask for a statistic, per group if you like.",
        example="`SELECT city FROM patients` → `SELECT city, COUNT(*) FROM patients GROUP BY city`",
        exit=4,
    ),
    Page(
        kind=errors.Unbounded,
        title="a value without limits: one person could move the answer by any amount",
        what="A value, a number of rows or a number of groups has no limit.",
        why="without a limit one person could move the answer by any amount, and no finite noise would hide them.",
        fix="say the largest value that should count; larger ones are counted as that value. The owner can "
        "declare `bounds`, `rows_per_person` and `groups_per_person`.",
        example="`SELECT SUM(charge) FROM visits` → `SELECT SUM(CLAMP(charge, 0, 2000)) FROM visits`",
        exit=4,
    ),
    Page(
        kind=errors.OnePersonsValue,
        title="an aggregate that is one person's value: MIN, MAX, ANY_VALUE, …",
        what="An aggregate that is, or may be, the value of one person: MIN, MAX, MEDIAN, ANY_VALUE, ARRAY_AGG, …",
        why="the largest age is somebody's age.",
        fix="ask for AVG and STDDEV, or count how many lie above a limit.",
        example="`SELECT MAX(age) FROM patients` → `SELECT COUNT(*) FILTER (WHERE age > 90) FROM patients`",
        exit=4,
    ),
    Page(
        kind=errors.NotSupported,
        title="a construct no rule names",
        what="A statement, clause, operator or function that no rule names: UNION without ALL, subqueries that "
        "stand for a value, windows in WHERE, files, settings, the clock, chance, …",
        why="only what a rule has shown to be safe is answered; nothing reaches the engine unread.",
        fix="leave it out, or write it as the message says.",
        example="`SELECT city, COUNT(*) FROM patients GROUP BY ALL` → `… GROUP BY 1`",
        exit=4,
    ),
    Page(
        kind=errors.BudgetExhausted,
        title="the account cannot pay",
        what="The account cannot pay for this release. Nothing was spent.",
        why="the budget caps what anybody can ever learn about one person.",
        fix="ask for less accuracy, reuse an earlier answer (repeats are free), or have the owner of the data "
        "open a new promise. A price is read as it is written, so ten answers at `0.1` fit into 1.",
        example="`analyst.sql(text, epsilon=0.5)` with 0.3 left → `epsilon=0.3`",
        exit=5,
    ),
    Page(
        kind=errors.OverLimit,
        title="the price is above the limit set for this query",
        what="The price is above the limit you have set for one query: `max_cost` of the call, or `SET "
        "dp.max_cost`; or, where your budget counts in ρ, its noise would take more of it than that. Nothing was "
        "spent. The limit of the owner is DP402.",
        why="a limit that is passed over silently is none.",
        fix="allow more, or ask for less accuracy.",
        example="`analyst.sql(text, max_cost=0.1)` for a query of 0.25 → `max_cost=0.25`",
        exit=5,
    ),
    Page(
        kind=errors.NothingStored,
        title="only stored answers were asked for, and none answers this",
        what="The question ends in `COST 0`, and no stored answer answers it.",
        why="an answer for nothing may not depend on the data, unless it was paid for before.",
        fix="leave `COST 0` out, or say what the answer may cost.",
        example="`SELECT COUNT(*) FROM visits COST 0` → `SELECT COUNT(*) FROM visits COST 0.1`",
        exit=5,
    ),
    Page(
        kind=errors.FrozenLedger,
        title="the owner lets nobody ask for now",
        what="The owner of the data, or an auditor, has stopped all answers for now. Nothing was spent.",
        why="while something is being looked into, nothing more is told about anybody, stored answers included.",
        fix="ask the owner of the data, who ends it with `unfreeze`.",
        example="`SELECT COUNT(*) FROM visits` during a review → the same after it",
        exit=5,
    ),
    Page(
        kind=errors.Refused,
        title="a question that has no private answer as asked",
        what="The question has no private answer as asked. The more specific codes say why.",
        why="an answer without a proof would break the promise.",
        fix="see the code of the error at hand: DP101 to DP104, DP301 to DP305, DP310 to DP312, DP402 are all "
        "of this kind.",
        example="`except dpsql.Refused` catches every one of them",
        exit=4,
    ),
    Page(
        kind=errors.Hidden,
        title="a hidden column selected, grouped or filtered on",
        what="A hidden column is shown, grouped, filtered on or computed with, directly or through an alias, a "
        "subquery, a CASE or the condition of a join.",
        why="the owner hides it because it identifies people; a filter on it could single out one person.",
        fix="use another column. Hidden columns may be counted as they are, and joined on as they are where "
        "they hold the person or lead to it. Any other equality in a join is a filter.",
        example="`SELECT COUNT(*) FROM patients WHERE name = 'Bob'` is refused; `SELECT COUNT(DISTINCT "
        "patient_id) FROM patients` is answered",
        exit=4,
    ),
    Page(
        kind=errors.NeedsDelta,
        title="private groups without a delta to find them",
        what="The groups are private, so they must be found with noise, and that needs a δ that nobody has given.",
        why="a group that only one person has would reveal that person just by being listed.",
        fix="list the groups you want; then all are shown, empty ones too. The owner can declare `keys = "
        "[...]` or a `delta`.",
        example="`… GROUP BY diagnosis` → `… WHERE diagnosis IN ('flu', 'asthma') GROUP BY diagnosis`",
        exit=4,
    ),
    Page(
        kind=errors.TwoPeople,
        title="a join that pairs rows of different people",
        what="A join pairs rows of different people, or joins rows that are protected one by one.",
        why="removing one person could then change any number of result rows.",
        fix="join on the person: equal person columns on both sides, without a conversion. Rows protected one "
        "by one meet a public table on a column whose values are all different: the owner says `unique = "
        "true` of that column.",
        example="`… FROM visits a JOIN visits b ON a.ward_id = b.ward_id` → `… ON a.patient_id = b.patient_id AND "
        "a.ward_id = b.ward_id`",
        exit=4,
    ),
    Page(
        kind=errors.NobodyLeft,
        title="a result that no person owns any more",
        what="An inner query groups, sorts out or cuts rows, so that its result belongs to no person any more.",
        why="after an inner GROUP BY a row is a group, touched by many people. (Inner groups by the person "
        "stay rows of one person, and are answered.)",
        fix="aggregate once, in the outer query; or group by the person inside, and ask about people outside; or "
        "write `PRIVATE` before an inner aggregate: it is then asked first, with noise and a price of its own.",
        example="`SELECT COUNT(*) FROM (SELECT * FROM visits LIMIT 10) t` → `SELECT COUNT(*) FROM visits WHERE "
        "charge > 100`",
        exit=4,
    ),
    Page(
        kind=errors.BadKey,
        title="a group that cannot be a key, or too many of them",
        what="A group that cannot be a key: a fractional number, a column whose groups nobody declared, or too "
        "many groups.",
        why="two numbers that print alike may differ in a hidden digit, and so name a person.",
        fix="group by a rounded number or a coarser one, or list the groups you want.",
        example="`… GROUP BY weight` → `… GROUP BY CAST(FLOOR(weight / 10) AS INTEGER)`",
        exit=4,
    ),
    Page(
        kind=errors.NotRandomised,
        title="a release that would print a function of the data without noise",
        what="The release would print a function of the data without noise.",
        why="that is private only if the function is constant.",
        fix="release it through a mechanism.",
        example="`Constant(release=f)` with an `f` that reads the data → `LaplaceMechanism(...)`",
        exit=4,
    ),
    Page(
        kind=errors.NoTheorem,
        title="a query, join or function for which no sensitivity is known",
        what="No sensitivity is known for this query, join or function.",
        why="noise of a guessed size protects nobody.",
        fix="state one that you can prove, or ask another way.",
        example="the local sensitivity of a function outside the list → use one of the list, or state a bound",
        exit=4,
    ),
    Page(
        kind=errors.UnsupportedEvent,
        title="an accountant is asked to price something it has no theorem for",
        what="The accountant has no theorem for this release.",
        why="a price without a theorem is a guess.",
        fix="use an accountant that has one; the table is in docs/guide/accounting.md.",
        example="a Gaussian on a pure ε account → open the account with a δ",
        exit=4,
    ),
    Page(
        kind=errors.BadName,
        title="an unknown or ambiguous table, column or function",
        what="An unknown or ambiguous table, column, alias or function. Suggestions come from declared names, "
        "never from data.",
        why="what the owner has not declared cannot be queried, and a number about the wrong column would "
        "look just as good.",
        fix="use a declared name, or say which table the column is of.",
        example="`SELECT COUNT(*) FROM visits WHERE dianosis = 'flu'` → `diagnosis`",
        exit=3,
    ),
    Page(
        kind=errors.NotPermitted,
        title="something the owner has not granted, or that this source does not allow",
        what="A grant that has ended, or is not there; a price above its `max_per_query`, which no text "
        "raises, or noise that takes more than that of a grant which counts in ρ; a ledger "
        "that belongs to other data. A table outside the grant is one that does not "
        "exist: DP401.",
        why="the owner decides who may ask, and for how long; one source has one ledger.",
        fix="ask the owner for a new grant; open the ledger of the data.",
        example='`owner.grant("ana", budget=1, expires="2026-01-01")`, then a question on that day',
        exit=6,
    ),
    Page(
        kind=errors.BadType,
        title="an expression whose types do not fit",
        what="An expression whose types do not fit, or a call with the wrong arguments.",
        why="a silent conversion could fail on one person's row, and failing would tell about it.",
        fix="compare like with like; write `CAST(x AS …)`, which gives NULL where it fails.",
        example="`WHERE age = 'young'` → `WHERE age < 30`",
        exit=3,
    ),
    Page(
        kind=errors.BadParameter,
        title="a number, bound or list outside its range (also a ValueError)",
        what="A number, bound or list is outside its range: NaN, an infinity, a negative or zero ε, a δ "
        "outside [0, 1), reversed bounds, an empty list. It is also a `ValueError`.",
        why="noise of a wrong size protects nobody.",
        fix="the message names the range.",
        example="`epsilon=0` → `epsilon=0.1`; `CLAMP(x, 10, 0)` → `CLAMP(x, 0, 10)`",
        exit=2,
    ),
    Page(
        kind=errors.MissingExtra,
        title="an optional dependency is not installed",
        what="An optional dependency is not installed.",
        why="drivers are installed only where they are used.",
        fix="the message has the command that installs it.",
        example="`answer.pl()` without polars → `pip install polars`",
        exit=2,
    ),
    Page(
        kind=errors.TestsOnly,
        title="something that undoes the noise was used outside a test",
        what="A predictable source of chance was used outside a test.",
        why="noise from a known seed can be subtracted.",
        fix="use the operating system's source, which is the default.",
        example="`SeededSource(1)` outside pytest → leave the argument out",
        exit=2,
    ),
    Page(
        kind=errors.BadPolicy,
        title="a policy file that is wrong or incomplete, with its line and key",
        what="The policy is wrong or incomplete; the message has the line and the key.",
        why="what the owner did not say must not be guessed: it decides who is protected.",
        fix="correct the key; all of them are in docs/reference/policy.md.",
        example="`bounds = [110, 0]` → `bounds = [0, 110]`",
        exit=8,
    ),
    Page(
        kind=errors.Incomparable,
        title="a change after which stored answers mean something else",
        what="The policy file changes declarations that stored answers were made under, or it was changed and not "
        "applied yet: then `dpsql.connect`, the command line and `dpsql serve` refuse it.",
        why="a sum within other bounds is another number of the same name; and what is asked again is paid again.",
        fix="look at the changes with `dpsql policy diff`; then say `--new-version LABEL`, after which all answers so "
        "far are of the version before, or `--keep-version`, after which only what used a changed declaration is asked "
        "anew.",
        example="`bounds = [0, 20000]` where it was `[0, 2000]` → `dpsql policy apply --keep-version`",
        exit=8,
    ),
    Page(
        kind=errors.EngineFailed,
        title="the engine did not finish; details would tell about rows",
        what="The engine did not finish this statement. The message is the same for every reason, and has a "
        "random number for the owner. A charge stands.",
        why="the reason could tell something about rows: that some text is no number, that somebody's rows are many.",
        fix="ask again: a receipt without an answer is run again without paying, three times in all. If it "
        "goes on, give the owner the number.",
        example="a database that was closed, a full disk, a time limit",
        exit=7,
    ),
    Page(
        kind=errors.NoSource,
        title="the source cannot be opened",
        what="The source cannot be opened: an address nobody reads, a file that is not there or not readable.",
        why="without the source there is no schema to check a question against.",
        fix="correct the address; the forms are in docs/guide/engines.md.",
        example='`url = "hospital.duckdb"` → `url = "duckdb:///srv/hospital.duckdb"`',
        exit=7,
    ),
    Page(
        kind=errors.TooLarge,
        title="an exact answer with more rows or bytes than are returned",
        what="The question reads public tables only, so its answer is exact and free, and it has more than 100 000 "
        "rows or 32 MB of values.",
        why="an answer that costs no budget is limited by its size; otherwise one question fills the memory of all.",
        fix="add `LIMIT` or `WHERE`, aggregate, or select fewer columns.",
        example="`SELECT a.id, b.id FROM wards a, wards b` → `SELECT COUNT(*) FROM wards a, wards b`",
        exit=5,
    ),
    Page(
        kind=errors.OutOfTime,
        title="a request past its deadline, or a time budget that is used up",
        what="A server ended the request at its deadline before anything was charged, or the holder of this token has "
        "used the processor time that the server grants within a minute. Nothing was spent.",
        why="planning and exact answers cost no budget, so their time is limited; otherwise one client takes the time "
        "of all.",
        fix="ask for less at once, or wait for a minute. The owner sets both limits: `--timeout` and `--planning` of "
        "`dpsql serve`.",
        example="`SELECT COUNT(*) FROM wards a, wards b, wards c, wards d` → join fewer tables",
        exit=5,
    ),
    Page(
        kind=errors.InternalError,
        title="a bug in dpsql: a check of its own failed",
        what="A bug in dpsql: two derivations of the same number disagree, or a stage got what it must never "
        "get. Nothing was released.",
        why="a number that cannot be derived twice is not to be trusted.",
        fix="please report the query and the policy, without data.",
        example="none that is known",
        exit=1,
    ),
    Page(
        kind=errors.LedgerBroken,
        title="the ledger cannot be trusted or written",
        what="The ledger is not what was written, or cannot be written. Nothing is answered until the owner "
        "has looked.",
        why="the ledger is the memory of the promise: without it nobody knows what was spent.",
        fix="where it could not be written, make room or look at the disk, and ask again. Where it does not verify, "
        "restore the ledger and its key file together; never start a new one for the same data.",
        example="a ledger file copied without its key file",
        exit=9,
    ),
)

CODES: Final[Mapping[str, Page]] = MappingProxyType({page.code: page for page in _PAGES})
"""The pages by their codes, in order."""
