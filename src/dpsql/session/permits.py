"""permit: what a grant allows. A limit, not a protection: that is the account's and the plan's part."""

from __future__ import annotations

from datetime import date

from dpsql.catalog.model import Grant
from dpsql.errors import NotPermitted, OverLimit
from dpsql.plan.price import Terms
from dpsql.sql.check import Checked


def permit(checked: Checked, terms: Terms, grant: Grant, *, today: date) -> None:
    """Raises where the grant has ended, names other tables, or caps the price of one query below this one."""
    if grant.expires is not None and today >= grant.expires:
        raise NotPermitted(
            f"the grant of {grant.to} ended on {grant.expires.isoformat()}",
            why="the owner gave access for a limited time",
            fix="ask the owner for a new grant",
        )
    for table in checked.query.named_tables:
        if grant.tables is not None and table not in grant.tables:
            raise NotPermitted(
                f"{table} is not among the tables granted to {grant.to}",
                why="the owner decides who may ask about which table",
                fix=f"use one of: {', '.join(grant.tables)}; or ask the owner",
            )
    if grant.max_per_query is not None and terms.cost > grant.max_per_query and checked.query.private:
        raise OverLimit(
            f"the query would cost {float(terms.cost):g}, more than {float(grant.max_per_query):g} per query",
            why="the owner limits what one answer may cost",
            fix=f"ask for at most epsilon={float(grant.max_per_query):g}",
        )
