"""Every error dpsql raises, in one tree.

DpsqlError                      what happened, why it matters, how to fix it, a stable code
├── BadParameter   DP410        a number, bound or list outside its range (also a ValueError)
├── Refused        DP300        a question that has no private answer as asked
│   ├── Unbounded     DP102     a value without limits: one person could move the answer by any amount
│   ├── NotRandomised DP310     a release that would print a function of the data without noise
│   ├── NoTheorem     DP311     a query, join or function for which no sensitivity is known
│   └── UnsupportedEvent DP312  an accountant is asked to price something it has no theorem for
├── BudgetExhausted   DP201     the account cannot pay
├── MissingExtra      DP420     an optional dependency is not installed
├── TestsOnly         DP430     a predictable source of chance was used outside a test
└── InternalError     DP900     a bug in dpsql: two derivations disagree

Messages never contain a value computed from private rows.
"""

from __future__ import annotations

from typing import ClassVar


class DpsqlError(Exception):
    """What happened, why it matters, how to fix it. `code` is stable; the wording is not."""

    code: ClassVar[str] = "DP000"

    def __init__(
        self, what: str, *, why: str, fix: str, try_sql: str | None = None, at: tuple[int, int] | None = None
    ) -> None:
        super().__init__(what)
        self.what, self.why, self.fix, self.try_sql, self.at = what, why, fix, try_sql, at

    def __str__(self) -> str:
        lines = [f"{self.code}  {self.what}", f"  Why   {self.why}", f"  Fix   {self.fix}"]
        if self.try_sql is not None:
            lines.append(f"  Try   {self.try_sql}")
        return "\n".join(lines)

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
            "docs": f"errors#{self.code}",
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


class Unbounded(Refused):
    code = "DP102"


class NotRandomised(Refused):
    code = "DP310"


class NoTheorem(Refused):
    code = "DP311"


class UnsupportedEvent(Refused):
    code = "DP312"


class BudgetExhausted(DpsqlError):
    code = "DP201"


class MissingExtra(DpsqlError):
    code = "DP420"


class TestsOnly(DpsqlError):
    __test__ = False  # the name starts with Test; pytest must not collect it
    code = "DP430"


class InternalError(DpsqlError):
    code = "DP900"
