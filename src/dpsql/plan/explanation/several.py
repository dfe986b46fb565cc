"""The explanation of a statement with PRIVATE questions: each in its turn, then the statement that reads them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpsql.accounting.account import Account
from dpsql.plan.explanation.json import Json, explained_json
from dpsql.plan.explanation.rules import RULES
from dpsql.plan.explanation.text import WIDTH, explained_text, in_letters
from dpsql.plan.price import Plan
from dpsql.plan.wording import amount, counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The PRIVATE questions of a statement in the order they are asked, and what is charged for all of it."""

    plans: tuple[Plan, ...]
    priced: int
    """How many questions share the price, the statement itself among them; one that is asked twice is one."""
    cost: Fraction
    """In ε of the account."""


def several_text(before: Before, plan: Plan, accounts: Sequence[Account], *, ascii_only: bool) -> str:
    """What holds for all questions together, then each by itself."""
    plans = (*before.plans, plan)
    pages = [f"{_title(place, plans)}\n\n" for place in range(len(plans))]
    texts = [explained_text(each, paying, ascii_only=ascii_only) for each, paying in _in_turn(plans, accounts)]
    head = "\n".join(line for part in _together(before) for line in textwrap.wrap(part, WIDTH))
    return in_letters(head, ascii_only=ascii_only) + "\n\n" + "\n".join(map("".join, zip(pages, texts, strict=True)))


def several_json(before: Before, plan: Plan, accounts: Sequence[Account], *, dialect: str) -> dict[str, Json]:
    """The explanation of the statement itself, with those of its PRIVATE questions, and what all cost together."""
    plans = (*before.plans, plan)
    told = [explained_json(each, paying, dialect=dialect) for each, paying in _in_turn(plans, accounts)]
    together: dict[str, Json] = {
        "cost": str(before.cost),
        "priced": before.priced,
        "text": list(_together(before)),
        "rules": {rule: {"title": RULES[rule].title, "page": RULES[rule].path} for rule in ("T6", "T7")},
    }
    return {**told[-1], "private": list(told[:-1]), "together": together}


def _title(place: int, plans: Sequence[Plan]) -> str:
    if place == len(plans) - 1:
        return "THE STATEMENT, which reads what they released"
    start, end = plans[place].bounded.query.at or (0, 0)
    words = " ".join(plans[place].bounded.query.text[start:end].split())
    return f"PRIVATE QUESTION {place + 1}: {textwrap.shorten(words, WIDTH - 24, placeholder=' …')}"


def _together(before: Before) -> Iterator[str]:
    """The price of the statement, and why it is enough."""
    priced, cost, asked = before.priced, amount(before.cost), counted(len(before.plans) + 1, "question")
    shares = f"{priced} of them read rows of people and have even shares of the price" if priced > 1 else ""
    shares = shares or f"{'one of them reads' if priced else 'none of them reads'} rows of people"
    yield (
        f"This statement asks {asked}, one after the other; {shares}. It costs {cost}, and all of that must be there "
        "before the first is asked."
    )
    yield (
        "A later question is planned and priced before an earlier one is asked, and reads what was released: that is "
        "post-processing [T6], and each release is paid for from one account that holds for questions chosen one "
        "after the other [T7]."
    )


def _in_turn(plans: Sequence[Plan], accounts: Sequence[Account]) -> Iterator[tuple[Plan, tuple[Account, ...]]]:
    """Each plan with the accounts as those before it leave them."""
    left = tuple(accounts)
    for plan in plans:
        yield plan, left
        event = plan.charged
        if event is not None and all(account.admits(event) for account in left):
            left = tuple(account.charged(event) for account in left)
