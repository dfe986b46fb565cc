"""What a grant allows: which tables may be named, until when, at which price.

A limit, not a protection: that is the account's and the plan's part.
"""

from __future__ import annotations

from datetime import date

from dpsql.catalog.model import Catalog, Grant
from dpsql.errors import NotPermitted, OverLimit
from dpsql.plan.terms import Terms
from dpsql.session.digits import shown_amount
from dpsql.sql.check import Checked


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


def permit(checked: Checked, terms: Terms, grant: Grant) -> None:
    """Raises where the grant caps the price of one query below this one."""
    if grant.max_per_query is not None and terms.cost > grant.max_per_query and checked.query.private:
        raise OverLimit(
            f"the query would cost {shown_amount(terms.cost)}, more than {shown_amount(grant.max_per_query)} per query",
            why="the owner limits what one answer may cost",
            fix=f"ask for at most epsilon={shown_amount(grant.max_per_query)}",
        )
