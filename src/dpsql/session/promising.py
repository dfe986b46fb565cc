"""Promises in words: how far a guess about one person can move, and what several promises add up to."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpsql.accounting.account import Account
from dpsql.catalog.model import Promise
from dpsql.session.digits import shown_amount
from dpsql.session.odds import odds


def promised_in_words(made: Sequence[tuple[Account, int]], promise: Promise, person: str) -> str:
    """What holds now; with every promise and period before it, which people have not forgotten."""
    told = [f"Whatever is asked, for ever: {odds(epsilon=promise.epsilon, delta=promise.delta, person=person)}"]
    if promise.per.renewals:
        times, window = promise.per.renewals, promise.per.value
        told.append(
            f"You mean to renew it each {window}: that promises {times} × {shown_amount(promise.epsilon)} ="
            f" {shown_amount(times * promise.epsilon)} a year. Nothing is renewed by itself."
        )
    if len(made) > 1 or any(periods > 1 for _, periods in made):
        told.append(f"With what was promised before: {_sum(made)}.")
    return " ".join(told)


def closed_in_words(made: Sequence[tuple[Account, int]], reason: str) -> str:
    """What stays promised after the end of a promise."""
    return f"Closed: {reason}. People stay promised {_sum(made)}; another promise adds to it."


def _sum(made: Sequence[tuple[Account, int]]) -> str:
    """Every promise by its periods, and all of them together."""
    parts = [f"{_times(periods)}(ε = {_shown(each.epsilon)}, δ = {_shown(each.delta)})" for each, periods in made]
    epsilon = sum((periods * each.epsilon for each, periods in made), Fraction(0))
    delta = sum((periods * each.delta for each, periods in made), Fraction(0))
    whole = f"ε = {_shown(epsilon)}, δ = {_shown(delta)} in all"
    return whole if len(made) == 1 and made[0][1] == 1 else f"{' + '.join(parts)}, which is {whole}"


def _times(periods: int) -> str:
    return "" if periods == 1 else f"{periods} × "


def _shown(value: Fraction) -> str:
    return f"{float(value):g}"
