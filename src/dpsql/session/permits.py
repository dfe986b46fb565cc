"""What a grant allows: which tables may be named, until when, at which price.

A limit, not a protection: that is the account's and the plan's part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from fractions import Fraction
from math import floor
from typing import Final

from dpsql.accounting.account import Account
from dpsql.catalog.model import Catalog, Grant
from dpsql.errors import BadParameter, DpsqlError, NotPermitted
from dpsql.plan.price import Terms
from dpsql.plan.seal import Sealed
from dpsql.privacy.events import Event
from dpsql.require import Number, require_epsilon, require_positive
from dpsql.session.digits import shown_amount, shown_up
from dpsql.session.terms import Ask, stated
from dpsql.sql.check import Checked
from dpsql.sql.parse import parse
from dpsql.sql.syntax import At


def today() -> date:
    """The day in UTC: the one place of a session that reads the clock."""
    return datetime.now(UTC).date()


def readable_tables(grant: Grant, catalog: Catalog, *, today: date) -> frozenset[str]:
    """The tables the analyst may name, settled before anything is said about one. Raises where the grant has ended."""
    if grant.expires is not None and today >= grant.expires:
        raise NotPermitted(
            f"the grant of {grant.to} ended on {grant.expires.isoformat()}",
            why="the owner gave access for a limited time",
            fix="ask the owner for a new grant",
        )
    declared = frozenset(catalog.policy.tables)
    return declared if grant.tables is None else declared & frozenset(grant.tables)


def permit(checked: Checked, terms: Terms, grant: Grant, *, ask: Ask) -> None:
    """Raises where the grant caps the price of one query below this one: the price of the whole answer, also where less
    is missing in a stored one.

    What is stored has no price any more, and a margin is looked for below the cap.
    """
    limit = grant.max_per_query
    if limit is None or terms.cost <= limit or not checked.query.private or ask.only_stored or ask.within:
        return
    if ask.total is not None:
        raise _share_over_the_limit(terms.cost, limit, total=ask.total)
    text = checked.query.text
    raise over_the_limit(terms.cost, limit, at=ask.priced_at, try_sql=at_price(text, limit, priced_at=ask.priced_at))


def over_the_limit(price: Fraction, limit: Fraction, *, at: At, try_sql: str | None) -> NotPermitted:
    """A cap of the grant is never raised from SQL."""
    return NotPermitted(
        f"epsilon = {shown_amount(price)} is above your limit of {shown_amount(limit)} per query",
        why="the owner limits what one answer may cost, bought at once or in parts",
        fix=f"ask for at most {shown_amount(limit)}",
        try_sql=try_sql,
        at=at,
    )


def weight(event: Event | None, account: Account) -> Fraction:
    """What a charge takes of an account that counts in ρ after it, as it counts: noise of ε, such as Laplace noise, may
    weigh more there than its price. 0 where sums of ε are ahead, in which it weighs its price, or it is not granted."""
    if event is None or not account.admits(event):
        return Fraction(0)
    after = account.charged(event)
    return after.spent_epsilon - account.spent_epsilon if after.counted_in == "ρ" else Fraction(0)


WEIGHS_MORE: Final = "your budget counts in ρ by now, where Laplace noise weighs more than its price"
OTHER_NOISE: Final = "ask the same with noise 'gaussian', which takes no more than its price"


def permit_weights(plans: Iterable[Sealed], grant: Grant, account: Account) -> None:
    """Raises where one of these, which are charged, takes more of the grant than the cap of one query."""
    limit = grant.max_per_query
    for sealed in plans:
        taken = weight(sealed.plan.charged, account)
        if limit is not None and taken > limit:
            raise NotPermitted(
                f"epsilon = {shown_amount(sealed.plan.cost)} would take {shown_up(taken)} of your budget with this"
                f" noise, above your limit of {shown_amount(limit)} per query",
                why=f"the owner limits what one answer may cost; {WEIGHS_MORE}",
                fix=f"{OTHER_NOISE}; or ask for less",
            )


def _share_over_the_limit(share: Fraction, limit: Fraction, *, total: Fraction) -> NotPermitted:
    """Of a question in a batch, whose caller has said no epsilon."""
    return NotPermitted(
        f"the share of this question of total={shown_amount(total)} is {shown_amount(share)},"
        f" above your limit of {shown_amount(limit)} per query",
        why="the owner limits what one answer may cost, also in a batch",
        fix=f"lower the total, or the weight of this question, until its share is at most {shown_amount(limit)}",
    )


def at_price(text: str, price: Fraction, *, priced_at: At) -> str | None:
    """The same statement for this price; None where there is no simple way to write it."""
    amount = shown_amount(price)
    if priced_at is not None:
        changed = f"{text[: priced_at[0]]}{amount}{text[priced_at[1] :]}"
    else:
        changed = f"{text.rstrip().rstrip(';').rstrip()}{chr(10) if '--' in text else ' '}COST {amount}"
    try:
        said = parse(changed, dialect="duckdb").options.epsilon
    except DpsqlError:
        return None
    return changed if said is not None and said.value == price else None


_PLACES: Final = 12
_CLAUSE: Final = re.compile(r"\b(?:COST|WITHIN)\s+\Z", re.IGNORECASE)


def repriced(text: str, *, within: Number | None = None, epsilon: Number | None = None) -> str:
    """The same statement with another margin, or another price, said at its end, in place of what was said there. What
    a hint says stays: the end goes first."""
    clause = _clause(within, epsilon)
    options = parse(text, dialect="duckdb").options
    priced = options.epsilon or options.within
    if priced is not None and priced.at is not None:
        said = _CLAUSE.search(text, 0, priced.at[0])
        text = text if said is None else f"{text[: said.start()]}{text[priced.at[1] :]}"
    return f"{text.rstrip().rstrip(';').rstrip()}{chr(10) if '--' in text else ' '}{clause}"


def _clause(within: Number | None, epsilon: Number | None) -> str:
    """What is asked for, in the words of SQL."""
    if within is not None and epsilon is None:
        require_positive(within=within)
        return f"WITHIN {_digits(stated(within))}"
    if epsilon is not None and within is None:
        require_epsilon(epsilon=epsilon)
        return f"COST {_digits(stated(epsilon))}"
    raise BadParameter(
        "a better answer is asked for by its margin or by its price",
        why="each of them decides the other",
        fix="pass within=5, or epsilon=0.5: one of them",
    )


def _digits(amount: Fraction) -> str:
    """In plain digits, rounded down: never more than was said."""
    whole, rest = divmod(floor(amount * 10**_PLACES), 10**_PLACES)
    return f"{whole}.{rest:0{_PLACES}d}".rstrip("0").rstrip(".")
