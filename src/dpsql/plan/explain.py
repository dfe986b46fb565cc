"""EXPLAIN PRIVACY: what a query would promise, cost and be worth. Free: it reads a plan, never a row.

The very plan that would run is explained; nothing is planned a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpsql.accounting.account import Account
from dpsql.plan.explanation.html import explained_html
from dpsql.plan.explanation.json import Json, explained_json
from dpsql.plan.explanation.rules import RULES, Rule
from dpsql.plan.explanation.several import Before, several_json, several_text
from dpsql.plan.explanation.text import explained_text
from dpsql.plan.price import Plan

__all__ = ["RULES", "Before", "Explanation", "Rule", "explain"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation:
    """A plan, and the accounts that would pay for it: the analyst's grant and the promise it belongs to."""

    plan: Plan
    accounts: tuple[Account, ...]
    dialect: str
    before: Before | None = None
    """Where the statement has PRIVATE questions."""

    def text(self, ascii: bool = False) -> str:  # noqa: A002  # the word for it
        """For people: at most a hundred columns; with `ascii`, in letters every terminal has."""
        if self.before is not None:
            return several_text(self.before, self.plan, self.accounts, ascii_only=ascii)
        return explained_text(self.plan, self.accounts, ascii_only=ascii)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__  # never the plan itself: it names the receipts and prices of other analysts

    def _repr_html_(self) -> str:
        return explained_html(self.text())

    def as_json(self) -> dict[str, Json]:
        """For programs: everything, with exact numbers as text."""
        if self.before is not None:
            return several_json(self.before, self.plan, self.accounts, dialect=self.dialect)
        return explained_json(self.plan, self.accounts, dialect=self.dialect)


def explain(plan: Plan, *, accounts: Sequence[Account], dialect: str, before: Before | None = None) -> Explanation:
    """The explanation of a plan. Pure: it depends on plan, policy and accounts, and changes none of them."""
    return Explanation(plan=plan, accounts=tuple(accounts), dialect=dialect, before=before)
