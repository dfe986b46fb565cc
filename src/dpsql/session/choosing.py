"""Which plan answers a question: one bought at its price, one that is stored, or the cheapest within a margin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

from dpsql.accounting.account import Account
from dpsql.catalog.model import Defaults, Mode
from dpsql.errors import NO_REFUSALS, BadName, DpsqlError, NothingStored, NotSupported
from dpsql.plan.price import Plan
from dpsql.plan.recall import by_precision
from dpsql.plan.terms import Terms, as_if_unspent
from dpsql.session.accuracy import cheapest, largest_margin
from dpsql.session.inquiry import Part
from dpsql.session.refusing import RefusalsIgnored
from dpsql.session.terms import Ask, terms_of
from dpsql.sql.check import Checked
from dpsql.sql.syntax import Options

Planned: TypeAlias = Callable[[Ask, Terms], Part]
"""The stages from a price to the charge, for one question."""


def chosen_plan(
    checked: Checked, ask: Ask, accounts: tuple[Account, ...], limit: Fraction | None, planned: Planned
) -> Part:
    """The plan for what is asked. `limit` is the cap of one query in the grant."""
    defaults = checked.query.catalog.policy.defaults

    def bought(asked: Ask) -> Part:
        return _bought(asked, defaults, accounts, planned)

    if ask.within is None and not ask.only_stored:
        return bought(ask)
    if not checked.query.private:  # exact and free
        return planned(ask, _terms_to_plan_with(ask, defaults, accounts))
    stored = next(_stored(ask, defaults, accounts, planned), None)
    if stored is not None:
        return stored
    if ask.within is None:
        raise NothingStored(
            "nothing stored answers this",
            why="COST 0 asks for answers that were released before, and none of them is this question as it is now",
            fix="leave COST 0 out, or say what it may cost: COST 0.1",
            at=ask.priced_at,
        )
    paid = _paid(ask, defaults, accounts, planned)
    return bought(cheapest(checked.query.text, ask, defaults, accounts, limit, bought, paid=paid))


def _bought(ask: Ask, defaults: Defaults, accounts: tuple[Account, ...], planned: Planned) -> Part:
    """The plan at its price. Where the accounts do not grant Gaussian noise at the whole price, a release that was
    bought with it may still be stored, or be made finer for what they do grant. Where they do not grant that either,
    the cheaper plan is the one that is told, and refused."""
    terms = terms_of(ask, defaults, accounts)
    if terms.gaussian_rho:
        return planned(ask, terms)
    try:
        part = planned(ask, terms)
    except NO_REFUSALS:
        raise
    except DpsqlError as error:
        other = _as_if_unspent(ask, terms, accounts, planned)
        if other is None or (other.is_granted(accounts) and not _is_free_or_finer(other, accounts)):
            raise error from None
        return other  # where it is too dear, that is what is in the way
    other = _as_if_unspent(ask, terms, accounts, planned)
    if other is None or (part.is_stored and (other.is_stored or part.would_be_granted(accounts))):
        return part
    if _is_free_or_finer(other, accounts):  # what is as good as noise that nobody can buy is less than was asked for
        return other
    return part if part.is_granted(accounts) else min(part, other, key=lambda each: each.sealed.plan.cost)


def _as_if_unspent(ask: Ask, terms: Terms, accounts: tuple[Account, ...], planned: Planned) -> Part | None:
    """The plan with the Gaussian noise that the accounts would have granted at first, if they ever did."""
    unspent = as_if_unspent(terms, accounts)
    with RefusalsIgnored():
        return planned(ask, unspent) if unspent.gaussian_rho else None
    return None


def _is_free_or_finer(part: Part, accounts: tuple[Account, ...]) -> bool:
    return part.is_stored or part.is_finer(accounts)


def _paid(ask: Ask, defaults: Defaults, accounts: tuple[Account, ...], planned: Planned) -> Fraction:
    """What was paid for the stored answer that can be made finer."""
    terms = _terms_to_plan_with(ask, defaults, accounts)
    first = planned(ask, terms)
    parts = [first, _as_if_unspent(ask, terms, accounts, planned) or first]
    return max(part.sealed.plan.recalled.paid for part in parts)


def _terms_to_plan_with(ask: Ask, defaults: Defaults, accounts: tuple[Account, ...]) -> Terms:
    price = ask.epsilon or defaults.cost_per_query or accounts[-1].epsilon
    return terms_of(replace(ask, epsilon=price), defaults, accounts)


def _stored(ask: Ask, defaults: Defaults, accounts: tuple[Account, ...], planned: Planned) -> Iterator[Part]:
    """The plans of this question that a stored release answers.

    Nothing is bought, so that the price is only one to plan with. It may decide how a person in many groups is
    bounded, and with it which question it is: each way is looked for.
    """
    terms = _terms_to_plan_with(ask, defaults, accounts)
    first = planned(ask, terms)  # where the question itself is refused, it is refused here
    if first.is_stored:
        yield first
    for mode in (ask.mode,) if ask.mode is not None else (None, Mode.CHOOSE, Mode.SCALE):
        for offered in (terms, as_if_unspent(terms, accounts)):
            with RefusalsIgnored():  # this way is not possible here
                part = planned(replace(ask, mode=mode), offered)
                if part.is_stored:
                    yield part


def good_enough(plan: Plan, ask: Ask) -> Plan:
    """The plan with the stored release that answers what was asked: any, or one within the margin."""
    if not plan.steps or (ask.within is None and not ask.only_stored):
        return plan
    for stored in by_precision(plan.recalled.stored, confidence=plan.terms.confidence):
        told = replace(plan, stored=stored)
        finer = plan.people is None or (stored.people is not None and stored.people <= plan.people)
        if ask.within is None or (finer and largest_margin(told, at=ask.priced_at) <= ask.within):
            return told
    return replace(plan, stored=None)


def require_a_person(checked: Checked, options: Options) -> None:
    """What the text says of a person fits the people the owner has declared."""
    query = checked.query
    if options.rows_in_all is not None and query.keys:
        raise NotSupported(
            "max_rows_contributed with GROUP BY is not available",
            why="rows are capped inside each group, and groups by their number",
            fix="say max_groups_contributed, and LIMIT n PER PERSON for the rows inside one group",
            at=options.rows_in_all.at,
        )
    if options.privacy_unit is not None:
        people = {query.catalog.policy.tables[name].person for name in query.private_tables}
        if people and people != {(options.privacy_unit.value,)}:
            raise BadName(
                f"the person is not in {options.privacy_unit.value}",
                why="the owner of the data says who is protected, and a text cannot change it",
                fix="leave privacy_unit_column out",
                at=options.privacy_unit.at,
            )
    if options.rows_per_person is not None and not checked.query.private:
        raise NotSupported(
            "LIMIT … PER PERSON of a public table is not available",
            why="nobody is in its rows",
            fix="leave it out",
            at=options.rows_per_person.at,
        )
