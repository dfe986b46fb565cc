"""EXPLAIN PRIVACY: what a query would promise, cost and be worth. Free: it reads a plan, never a row.

The very plan that would run is explained; nothing is planned a second time. An explanation is one value, and text,
HTML and JSON are three ways to print it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.account import Account, admitted_by_all
from dpsql.codec import Json
from dpsql.plan.caveats import caveats
from dpsql.plan.expected import Expectation, expected
from dpsql.plan.explanation.json import explained_json
from dpsql.plan.explanation.promise import assumes, cost, not_covered, promise
from dpsql.plan.explanation.rules import RULES, Rule
from dpsql.plan.explanation.text import explained_html, explained_text
from dpsql.plan.explanation.tree import Node, derivation
from dpsql.plan.price import Plan

__all__ = ["RULES", "Explanation", "Rule", "Together", "explain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """What is charged for a statement and its PRIVATE questions."""

    priced: int
    """How many questions share the price, the statement itself among them; one that is asked twice is one."""
    cost: Fraction
    """In ε of the account."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation:
    """A plan, the accounts that would pay for it (the analyst's grant and the promise it belongs to), and what people
    need to know of both."""

    plan: Plan
    accounts: tuple[Account, ...]
    dialect: str
    promise: tuple[str, ...]
    derivation: Node
    expected: tuple[Expectation, ...]
    notes: tuple[str, ...]
    cost: tuple[str, ...]
    assumes: tuple[str, ...]
    not_covered: tuple[str, ...]
    private: tuple[Explanation, ...] = ()
    """Those of its PRIVATE questions, in the order they are asked; each pays from what those before it leave."""
    together: Together | None = None

    @property
    def rules(self) -> dict[str, Rule]:
        """The theorems that the derivation uses, and that of the promise to groups where it is made."""
        used = {rule for node in self.derivation.walk() for rule in node.rules}
        used |= {"T9" for said in self.promise if "[T9]" in said}
        return {rule: RULES[rule] for rule in sorted(used)}

    def text(self, ascii: bool = False) -> str:  # noqa: A002  # the word for it
        """For people: at most a hundred columns; with `ascii`, in letters every terminal has."""
        return explained_text(self, ascii_only=ascii)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__  # never the plan itself: it names the receipts and prices of other analysts

    def _repr_html_(self) -> str:
        return explained_html(self)

    def as_json(self) -> dict[str, Json]:
        """For programs: everything, with exact numbers as text."""
        return explained_json(self)


def explain(
    plan: Plan,
    *,
    accounts: Sequence[Account],
    dialect: str,
    private: Sequence[Plan] = (),
    together: Together | None = None,
) -> Explanation:
    """The explanation of a plan, and of the PRIVATE questions before it. Pure: it depends on plans, policy and
    accounts, and changes none of them."""
    left, before = tuple(accounts), []
    for each in private:
        before.append(explain(each, accounts=left, dialect=dialect))
        event = each.charged
        if event is not None and admitted_by_all(event, left):
            left = tuple(account.charged(event) for account in left)
    return Explanation(
        plan=plan,
        accounts=left,
        dialect=dialect,
        promise=promise(plan, left),
        derivation=derivation(plan),
        expected=expected(plan),
        notes=caveats(plan),
        cost=cost(plan, left),
        assumes=assumes(plan),
        not_covered=not_covered(plan),
        private=tuple(before),
        together=together,
    )
