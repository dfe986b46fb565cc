"""Every error dpsql raises, in one tree.

DpsqlError                      what happened, why it matters, how to fix it, a stable code
├── BadParameter   DP410        a number, bound or list outside its range (also a ValueError)
├── NotUnderstood  DP100        text that is not one SQL statement
├── BadName        DP401        an unknown or ambiguous table, column or function
├── BadType        DP405        an expression whose types do not fit
├── BadPolicy      DP501        a policy file that is wrong or incomplete, with its line and key
├── Incomparable   DP502        a change after which stored answers mean something else
├── Refused        DP300        a question that has no private answer as asked
│   ├── RowLevel      DP101     rows about people instead of a statistic
│   ├── Unbounded     DP102     a value without limits: one person could move the answer by any amount
│   ├── OnePersonsValue DP103   an aggregate that is one person's value: MIN, MAX, ANY_VALUE, …
│   ├── NotSupported  DP104     a construct no rule names
│   ├── Hidden        DP301     a hidden column selected, grouped or filtered on
│   ├── NeedsDelta    DP302     private groups without a delta to find them
│   ├── TwoPeople     DP303     a join that pairs rows of different people
│   ├── NobodyLeft    DP304     a result that no person owns any more
│   ├── BadKey        DP305     a group that cannot be a key, or too many of them
│   ├── NotPermitted  DP402     something the owner has not granted, or that this source does not allow
│   ├── NotRandomised DP310     a release that would print a function of the data without noise
│   ├── NoTheorem     DP311     a query, join or function for which no sensitivity is known
│   └── UnsupportedEvent DP312  an accountant is asked to price something it has no theorem for
├── BudgetExhausted   DP201     the account cannot pay
├── OverLimit         DP202     the price is above the limit set for this query
├── NothingStored     DP203     only stored answers were asked for, and none answers this
├── FrozenLedger      DP204     the owner lets nobody ask for now
├── EngineFailed      DP601     the engine did not finish; details would tell about rows
├── NoSource          DP602     the source cannot be opened
├── TooLarge          DP603     an exact answer with more rows or bytes than are returned
├── OutOfTime         DP604     a request past its deadline, or a time budget that is used up
├── LedgerBroken      DP901     the ledger cannot be trusted or written
├── MissingExtra      DP420     an optional dependency is not installed
├── TestsOnly         DP430     something that undoes the noise was used outside a test
└── InternalError     DP900     a bug in dpsql: a check of its own failed

Messages never contain a value computed from private rows.
"""

from __future__ import annotations

from typing import ClassVar, Final, Self

from dpsql.safe_text import printable


class DpsqlError(Exception):
    """What happened, why it matters, how to fix it. `code` is stable; the wording is not."""

    code: ClassVar[str] = "DP000"
    or_else: tuple[str, ...] = ()
    """Rewrites to consider where `try_sql` has no plan, the nearest first."""
    instead: str | None = None
    """What might stand at the marked place; {} is what stands there now."""

    def __init__(
        self, what: str, *, why: str, fix: str, try_sql: str | None = None, at: tuple[int, int] | None = None
    ) -> None:
        super().__init__(what)
        self.what, self.why, self.fix, self.try_sql, self.at = what, why, fix, try_sql, at
        self.sql: str | None = None

    def proposing(self, *rewrites: str | None) -> Self:
        """The same error with these rewrites, the best one first; what does not plan is never shown."""
        found = [each for each in rewrites if each is not None]
        self.try_sql, self.or_else = (found[0], tuple(found[1:])) if found else (None, ())
        return self

    def instead_of(self, text: str | None) -> Self:
        """The same error, with a text that might stand at the marked place; None: with none."""
        self.instead = text
        return self

    def within(self, sql: str) -> DpsqlError:
        """The same error, knowing the text it speaks of; it then shows the line and a caret."""
        self.sql = sql
        return self

    def moved_to(self, text: str, *, start: int, end: int, prefix: int = 0) -> Self:
        """The same error, located in `text`, where the statement it is about stands from `start` to `end`; `prefix`
        characters were put before the statement and are not part of `text`."""
        if self.at is not None:
            first, last = (min(max(start, start - prefix + place), end) for place in self.at)
            self.at = (first, last)
        self.sql = text
        return self

    def __str__(self) -> str:
        """For a terminal, which prints it in a traceback too. `what`, `sql` and `as_json` keep the text as it was."""
        lines = [f"{self.code}  {self.what}", *self._caret(), f"  Why   {self.why}", f"  Fix   {self.fix}"]
        if self.try_sql is not None:
            lines.append(f"  Try   {self.try_sql}")
        return "\n".join(printable(line.expandtabs()) for line in "\n".join(lines).split("\n"))

    def _caret(self) -> list[str]:
        """The line of the text where the trouble is, and what of it."""
        if self.sql is None or self.at is None:
            return []
        start, end = self.at
        begin = self.sql.rfind("\n", 0, start) + 1
        line = self.sql[begin:].partition("\n")[0]
        width = max(1, min(end, begin + len(line)) - start)
        shown = max(0, start - begin - 60)
        before, marked = line[shown : start - begin], line[start - begin : start - begin + width]
        indent, carets = len(printable(before.expandtabs())), len(printable(marked.expandtabs())) or 1
        text = before.expandtabs() + line[start - begin : shown + 100]
        return [f"    {text}", "    " + " " * indent + "^" * min(carets, 40)]

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.why, self.fix, self.try_sql, self.at))

    def as_json(self) -> dict[str, object]:
        """The one shape of an error outside Python: command line, HTTP and console."""
        return {
            "code": self.code,
            "title": self.what,
            "where": self.at,
            "why": self.why,
            "fix": self.fix,
            "try": self.try_sql,
            "docs": f"dpsql help {self.code}",
        }


def _rebuild(
    kind: type[DpsqlError], what: str, why: str, fix: str, try_sql: str | None, at: tuple[int, int] | None
) -> DpsqlError:
    """Keyword-only constructors do not survive pickling by themselves."""
    return kind(what, why=why, fix=fix, try_sql=try_sql, at=at)


class BadParameter(DpsqlError, ValueError):
    code = "DP410"


class Refused(DpsqlError):
    code = "DP300"


class NotUnderstood(DpsqlError):
    code = "DP100"


class BadName(DpsqlError):
    code = "DP401"
    meant: str | None = None
    """The declared name that is nearest to what was written."""


class BadType(DpsqlError):
    code = "DP405"


class BadPolicy(DpsqlError):
    code = "DP501"


class Incomparable(DpsqlError):
    code = "DP502"


class RowLevel(Refused):
    code = "DP101"


class Unbounded(Refused):
    code = "DP102"


class OnePersonsValue(Refused):
    code = "DP103"


class NotSupported(Refused):
    code = "DP104"


class Hidden(Refused):
    code = "DP301"


class NeedsDelta(Refused):
    code = "DP302"


class TwoPeople(Refused):
    code = "DP303"


class NobodyLeft(Refused):
    code = "DP304"


class BadKey(Refused):
    code = "DP305"


class NotPermitted(Refused):
    code = "DP402"


class NotRandomised(Refused):
    code = "DP310"


class NoTheorem(Refused):
    code = "DP311"


class UnsupportedEvent(Refused):
    code = "DP312"


class BudgetExhausted(DpsqlError):
    code = "DP201"


class OverLimit(DpsqlError):
    code = "DP202"


class NothingStored(DpsqlError):
    code = "DP203"


class FrozenLedger(DpsqlError):
    code = "DP204"


class EngineFailed(DpsqlError):
    code = "DP601"
    trace_id: str = ""


class NoSource(DpsqlError):
    code = "DP602"


class TooLarge(DpsqlError):
    code = "DP603"


class OutOfTime(DpsqlError):
    code = "DP604"


class LedgerBroken(DpsqlError):
    code = "DP901"

    def __init__(
        self,
        what: str,
        *,
        why: str = "the answers given so far can no longer be shown to fit what people were promised",
        fix: str = "stop answering, restore a backup that verifies, and tell the owner of the data: dpsql ledger "
        "restore FILE --replace, dpsql ledger verify, then dpsql audit --report report.html",
        try_sql: str | None = None,
        at: tuple[int, int] | None = None,
    ) -> None:
        """Without a `why` and a `fix` of its own: the ledger is damaged."""
        super().__init__(what, why=why, fix=fix, try_sql=try_sql, at=at)


class MissingExtra(DpsqlError):
    code = "DP420"


class TestsOnly(DpsqlError):
    __test__ = False  # the name starts with Test; pytest must not collect it
    code = "DP430"


class InternalError(DpsqlError):
    code = "DP900"

    def __init__(
        self,
        what: str,
        *,
        why: str = "this is a bug in dpsql; it stopped rather than release something it cannot vouch for",
        fix: str = "report it with the text that led to it; what was charged stays charged and is not charged again",
        try_sql: str | None = None,
        at: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(what, why=why, fix=fix, try_sql=try_sql, at=at)


NO_REFUSALS: Final = (EngineFailed, InternalError, LedgerBroken, MissingExtra, NoSource, OutOfTime, TestsOnly)
"""What does not speak of the question: it may depend on rows or on the machine, and is written down nowhere."""
