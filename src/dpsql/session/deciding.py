"""Promises in words, and what is decided about them by whoever holds the ledger, with the data at hand or without.

The words say how far a guess about one person can move, and what several promises add up to. `Deciding` renews and
closes a promise, revokes a grant, freezes and unfreezes: `Owner` and `Keeper` have it in common.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise

from dpsql.closing import Closing
from dpsql.ledger.book import Ledger
from dpsql.ledger.ledger import Made
from dpsql.privacy.measure import even_guess
from dpsql.privacy.window import YEAR_DAYS, Window
from dpsql.session.digits import shown_amount


def promised_in_words(made: Sequence[Made], person: str) -> str:
    """What holds now; with every promise and period before it, which people have not forgotten."""
    now = made[-1]
    until = "for ever" if now.per is Window.FOREVER else "until you renew it"
    told = [f"Whatever is asked, {until}: {odds(epsilon=now.account.epsilon, delta=now.account.delta, person=person)}"]
    if now.per is not Window.FOREVER:
        told.append(_renewals(now))
    if len(made) > 1 or now.periods > 1:
        epsilon, delta = _whole(made)
        told.append(f"With what was promised before: {_sum(made)}; for ever,")
        told.append(odds(epsilon=epsilon, delta=delta, person=person))
    return " ".join(told)


def _renewals(now: Made) -> str:
    """What the window means in a year, as long as it is kept to."""
    times, epsilon = now.per.renewals, now.account.epsilon
    if is_ahead_of_its_window(now):
        return (
            f"It was renewed sooner than each {now.per.value}: it has {now.periods} periods by now, and nobody can say "
            "what it promises a year. Nothing is renewed by itself."
        )
    return (
        f"You mean to renew it each {now.per.value}: that promises {times} × {shown_amount(epsilon)} ="
        f" {shown_amount(times * epsilon)} a year. Nothing is renewed by itself."
    )


def is_ahead_of_its_window(made: Made) -> bool:
    """A period was shorter than the window, or a year had more of them than it can, or nobody knows."""
    if made.periods == 1:
        return False
    days = [datetime.fromtimestamp(time, UTC).date() for time in made.begun if time is not None]
    if len(days) < made.periods:
        return True
    soon = any((later - sooner).days < made.per.days for sooner, later in pairwise(days))
    years = zip(days, days[made.per.renewals :], strict=False)
    return soon or any((later - sooner).days < YEAR_DAYS for sooner, later in years)


def closed_in_words(made: Sequence[Made], reason: str) -> str:
    """What stays promised after the end of a promise."""
    return f"Closed: {reason}. People stay promised {_sum(made)}; another promise adds to it."


def _sum(made: Sequence[Made]) -> str:
    """Every promise by its periods, and all of them together."""
    parts = [
        f"{_times(each.periods)}(ε = {_shown(each.account.epsilon)}, δ = {_shown(each.account.delta)})" for each in made
    ]
    epsilon, delta = _whole(made)
    whole = f"ε = {_shown(epsilon)}, δ = {_shown(delta)} in all"
    return whole if len(made) == 1 and made[0].periods == 1 else f"{' + '.join(parts)}, which is {whole}"


def _whole(made: Sequence[Made]) -> tuple[Fraction, Fraction]:
    """All promises with all their periods: what each of them tells adds up."""
    epsilon = sum((each.periods * each.account.epsilon for each in made), Fraction(0))
    return epsilon, sum((each.periods * each.account.delta for each in made), Fraction(0))


def _times(periods: int) -> str:
    return "" if periods == 1 else f"{periods} × "


def _shown(value: Fraction) -> str:
    return f"{float(value):g}"


def odds(*, epsilon: Fraction, delta: Fraction, person: str) -> str:
    """What (ε, δ) means to somebody who has to decide about it."""
    guess, slack = even_guess(epsilon=epsilon, person=person), ", apart from δ" if delta else ""
    return f"{guess}{slack} (ε = {_shown(epsilon)}, δ = {_shown(delta)})."


class Deciding(Closing):
    """Whoever holds the ledger of the promise."""

    _ledger: Ledger

    @property
    @abstractmethod
    def _person(self) -> str:
        """Whom the promise protects, in a word."""

    def renew(self) -> str:
        """Begin a new period of the promise: every budget starts again from nothing. Returns what people are promised
        from here on, in words: what was told before is not forgotten by anybody."""
        self._ledger.renew()
        return promised_in_words(self._ledger.promises(), self._person)

    def close_promise(self, reason: str) -> str:
        """End the promise and every grant under it. What was promised stays promised: another promise, about people as
        they are declared then, adds to it. A policy file that is opened again does not make it. Returns the promises so
        far in words."""
        self._ledger.close_promise(reason)
        return closed_in_words(self._ledger.promises(), reason)

    def revoke(self, name: str) -> None:
        """End the grant and the tokens that name it. What was spent stays spent."""
        self._ledger.revoke(name)

    def freeze(self, reason: str, *, by: str | None = None) -> None:
        """Nothing is answered from here on, stored answers neither; the reason is told to whoever asks. `by` is written
        down: who says so, where it is not simply the owner."""
        self._ledger.freeze(reason, by=by)

    def unfreeze(self, reason: str, *, by: str | None = None) -> None:
        """Questions are answered again."""
        self._ledger.unfreeze(reason, by=by)
