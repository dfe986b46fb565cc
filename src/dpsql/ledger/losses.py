"""What a ledger has lost that an anchor knows of, counted as spent: never less than it was.

The ledger may be an older state of what the anchor has seen, or a state that went on from an older one by itself. The
newest entry that both have tells how much they have in common; everything after it is counted on both sides.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Final

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.ledger import grants, promises, sayings
from dpsql.ledger.anchor import Anchored, Place
from dpsql.ledger.page import SOURCE
from dpsql.ledger.replay import replay
from dpsql.ledger.sql_page import SqlPage
from dpsql.ledger.unusable import Unusable

WHY_STOPPED: Final = "entries were lost: what was frozen, revoked or withdrawn in them is not known any more"
_FIRST_ENTRY: Final = 1
"""All states of a ledger have it."""


def held(page: SqlPage, place: Place) -> bool:
    """Whether the ledger has this entry, and so all before it."""
    return place.number <= page.head()[0] and place.is_of(page.hash_of(place.number))


def write_off_lost(page: SqlPage, known: Anchored) -> None:
    """Count as spent what the anchor knows of and the ledger, which verifies, has lost.

    Within one period: what the source has spent here, and what it has spent there since the newest entry both have.
    Where the promise was renewed or closed since then, what is lost is of periods of which nothing is known but that
    none of them has spent more than the promise: each is counted as one whole period. An older state of the same ledger
    has lost the rest of its own period too, which is then filled up.
    """
    source = _source(page, known)
    common = next((place.number for place in known.places if held(page, place)), _FIRST_ENTRY)
    before, period = _as_of(page, common)
    here, older = page.snapshot.periods, common == page.head()[0]
    if here == period == known.period:
        spent, periods = source.spent + _more(known.head.spent, before), 0
    elif older:
        spent, periods = _filled(source), known.period - period
    else:
        spent, periods = source.spent, known.period - period + 1
    promises.write_off(page, replace(known.head, spent=spent), periods=periods)


def stop_until_looked_at(page: SqlPage) -> None:
    """Entries were lost, and with them perhaps a freeze, a revoked grant or a withdrawn token: nothing is told, and
    nobody connects, until the owner has looked."""
    for user in sayings.users(page):
        sayings.withdraw(page, user.name)
    grants.freeze(page, WHY_STOPPED)


def _source(page: SqlPage, known: Anchored) -> Account:
    """The account of the promise from which it was spent."""
    source, promise = page.account(SOURCE), known.promise
    if source is None or (
        promise is not None and (page.latest("promise") != promise.number or not held(page, promise))
    ):
        raise Unusable(
            "this state of the ledger is older than its promise",
            why="what was spent can only be written off under the promise it was spent from",
            fix="restore a later backup",
        )
    return source


def _as_of(page: SqlPage, number: int) -> tuple[Triple | None, int]:
    """What the source had spent once the entry was written, and how many periods had ended."""
    snapshot = replay(page, until=number)
    source = snapshot.account(SOURCE)
    return None if source is None else source.spent, snapshot.periods


def _more(spent: Triple, before: Triple | None) -> Triple:
    """What was spent since."""
    if before is None:
        return spent
    return Triple(
        epsilon=_less(spent.epsilon, before.epsilon),
        delta=max(Fraction(0), spent.delta - before.delta),
        rho=_less(spent.rho, before.rho),
    )


def _less(after: Fraction | None, before: Fraction | None) -> Fraction | None:
    return None if after is None or before is None else max(Fraction(0), after - before)


def _filled(source: Account) -> Triple:
    """All that the promise allows: it is kept, and admits nothing more in its period."""
    return Triple(epsilon=source.epsilon, delta=source.delta - source.delta_prime, rho=source.rho)
