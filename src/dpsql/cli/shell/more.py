"""`\\more`: what a closer answer to a question costs, and, if they want it, the closer answer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpsql import BadParameter, repriced
from dpsql.cli.price import shown_down, shown_up
from dpsql.cli.shell.asker import Offer, free, offered, shown_margin
from dpsql.cli.shell.asking import agreed, bought, interruptible
from dpsql.cli.shell.state import Shell
from dpsql.written import number

USAGE = "\\more [RELEASE] [--within M | --cost X]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is wanted of which release; None where it is not said."""

    release: int | None = None
    within: Fraction | None = None
    cost: Fraction | None = None


def more(shell: Shell, words: str) -> None:
    """Tell the price of a closer answer, and ask whether to buy it."""
    wish = read_wish(words)
    sql = _question(shell, wish.release)
    known = interruptible(shell, lambda: offered(shell.asker, _for_nothing(sql)))  # DP203 where nothing is stored
    wanted = _closer(shell, sql, wish, known)
    offer = interruptible(shell, lambda: offered(shell.asker, wanted))
    if not offer.cost:
        shell.screen.say("What is stored is as close as that already: ask again, it is free.")
        return
    left = shell.asker.budget.left
    now, then = _said(known.margins), _said(offer.margins)
    change = f"To go from {now} to {then} costs" if now and then else "A closer answer costs"
    question = f"{change} {shown_up(offer.cost)} more; {shown_down(left)} is left. Buy it?"
    if offer.cost > left or agreed(shell, question, default=False):
        bought(shell, wanted, limit=offer.cost)
    else:
        shell.screen.say("Not bought. Nothing was spent.")


def read_wish(words: str) -> Wish:
    """What stands behind the command."""
    try:
        rest = shlex.split(words)
    except ValueError:
        raise _misread(words) from None
    release = within = cost = None
    while rest:
        word = rest.pop(0)
        if word in ("--within", "--cost") and rest and within is None and cost is None:
            amount = _amount(word, rest.pop(0))
            within, cost = (amount, None) if word == "--within" else (None, amount)
        elif word.removeprefix("#").isdecimal() and release is None:
            release = int(word.removeprefix("#"))
        else:
            raise _misread(words)
    return Wish(release=release, within=within, cost=cost)


def _amount(name: str, text: str) -> Fraction:
    found = number(name, text)
    if found <= 0:
        raise _misread(f"{name} {text}")
    return found


def _misread(words: str) -> BadParameter:
    return BadParameter(
        f"\\more {words} is not understood", why="it buys a closer answer to one release", fix=f"write {USAGE}"
    )


def _question(shell: Shell, release: int | None) -> str:
    if release is None:
        if shell.last_sql is None:
            raise BadParameter(
                "nothing was asked yet",
                why="\\more makes the last answer closer",
                fix="ask something, or name a release",
            )
        return shell.last_sql
    rows = free(shell.asker, f"SELECT sql FROM dp.releases WHERE number = {release}")
    if not rows:
        raise BadParameter(
            f"there is no release #{release} of yours",
            why="a closer answer is bought to what you have asked yourself",
            fix="\\history shows the numbers of your releases",
        )
    return str(rows[0][0])


def _for_nothing(sql: str) -> str:
    """The question with COST 0, which only what is stored answers."""
    return repriced(sql, epsilon=1).removesuffix("1") + "0"


def _closer(shell: Shell, sql: str, wish: Wish, known: Offer) -> str:
    """The question as they said; else for half of the margin; where that is not known before, for twice what was
    paid."""
    if wish.within is not None or wish.cost is not None:
        return repriced(sql, within=wish.within, epsilon=wish.cost)
    margins = [margin for margin in known.margins.values() if margin]
    if margins and len(margins) == len(known.margins):
        return repriced(sql, within=max(margins) / 2)
    return repriced(sql, epsilon=2 * _paid(shell))


def _paid(shell: Shell) -> Fraction:
    """What the last answer that is stored was charged."""
    if shell.last is not None and shell.last.release is not None:
        rows = free(shell.asker, f"SELECT cost FROM dp.ledger WHERE number = {shell.last.release}")
        if rows and isinstance(rows[0][0], int | float):
            return Fraction(str(rows[0][0]))
    raise BadParameter(
        "say how close, or at what price",
        why="the margin of this answer depends on what it finds, so that half of it is not known before",
        fix=f"write {USAGE}",
    )


def _said(margins: Mapping[str, Fraction | None]) -> str:
    known = {name: margin for name, margin in margins.items() if margin is not None}
    if len(known) == 1:
        return shown_margin(next(iter(known.values())))
    return ", ".join(f"{name} {shown_margin(margin)}" for name, margin in known.items())
