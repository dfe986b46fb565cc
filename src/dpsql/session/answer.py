"""Text in, private answer out: the only place where all stages meet.

    parse ─▶ resolve ─▶ check ─▶ bound ─▶ rewrite ─▶ recall ─▶ price ─▶ seal
          ─▶ ▌charge▐ ─▶ ▌run▐ ─▶ ▌draw▐ ─▶ ▌store▐ ─▶ release

Everything up to `seal` is pure: `plan_of` alone serves EXPLAIN PRIVACY, DRY RUN, cost and margins.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction

from dpsql.accounting.account import Account
from dpsql.catalog.model import Catalog, Grant
from dpsql.engines.engine import Engine
from dpsql.ledger.ledger import Ledger
from dpsql.plan.price import price
from dpsql.plan.seal import Sealed, seal
from dpsql.plan.terms import Terms
from dpsql.randomness import Source
from dpsql.session.answer_value import Answer
from dpsql.session.charging import charge
from dpsql.session.choosing import chosen_plan, good_enough, require_a_person
from dpsql.session.clock import today as current_day
from dpsql.session.declared import Declared
from dpsql.session.describing import described
from dpsql.session.permits import permit, readable_tables
from dpsql.session.recalling import recall
from dpsql.session.settings import Settings
from dpsql.session.steps import perform
from dpsql.session.telling import PublicRows, told, told_again, told_exactly
from dpsql.session.terms import UNSET, Ask, Session, settled, wishes_of
from dpsql.session.views import VIEWS, Standing, ViewDesk, about_a_view, is_of_views, views_under
from dpsql.sql.bound import bound
from dpsql.sql.check import Checked, check
from dpsql.sql.parse import parse
from dpsql.sql.resolve import resolve
from dpsql.sql.rewrite import rewrite
from dpsql.sql.syntax import Purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an analyst stands: what is declared, the engine, the ledger, whose grant pays, and the source of chance."""

    declared: Declared
    engine: Engine
    ledger: Ledger
    grant: Grant
    source: Source
    settings: Settings = field(default_factory=Settings)
    """What was SET in this session."""

    @property
    def catalog(self) -> Catalog:
        """What holds now; a plan is made under one catalogue from its first stage to its last."""
        return self.declared.catalog

    @property
    def accounts(self) -> tuple[Account, ...]:
        """The promise to everybody, then the analyst's own limit: both must grant."""
        return (self.ledger.account(), self.ledger.account(self.grant.to))

    @property
    def dialect(self) -> str:
        return self.engine.capabilities.dialect


def plan_of(
    text: str, ask: Ask, place: Place, *, today: date, session: Session = UNSET, instead: Fraction | None = None
) -> Sealed:
    """What would happen, and its price: free, without data, without chance. With `instead`, at that very price."""
    catalog = place.catalog
    readable = readable_tables(place.grant, catalog, today=today)  # nothing is said of other tables
    parsed = parse(text, dialect=place.dialect)  # syntax only
    view = about_a_view(parsed)
    if view is not None:
        parsed, catalog, readable = view, views_under(catalog.policy), frozenset(VIEWS)
    resolved = resolve(parsed, catalog, readable=readable, today=today)  # names, types, owners
    checked = check(resolved)  # refuses what has no theorem
    wanted = settled(parsed.options, ask, session)  # every option once
    if instead is not None:
        wanted = replace(wanted, epsilon=instead, within=None, only_stored=False)
    require_a_person(checked, parsed.options)
    return chosen_plan(
        checked,
        wanted,
        place.accounts,
        place.grant.max_per_query,
        lambda asked, terms: planned(checked, asked, terms, place),
    )


def planned(checked: Checked, ask: Ask, terms: Terms, place: Place) -> Sealed:
    """The stages from a price to the charge, in their order."""
    catalog = checked.query.catalog
    permit(checked, terms, place.grant, ask=ask)
    bounded = bound(checked, wishes_of(ask, catalog.policy.defaults, terms))  # contributions
    rewritten = rewrite(bounded)  # what the engine will run
    recalled = recall(rewritten, place.ledger)  # stored releases of the same question
    plan = price(recalled, terms)  # mechanisms, scales, one event
    return seal(good_enough(plan, ask), catalog)  # derived again, independently


def public_rows(sealed: Sealed, place: Place) -> PublicRows:
    """Who answers a question about public tables: the engine, or for views nobody but us."""
    if not is_of_views(sealed.plan.bounded.query.catalog):
        return place.engine
    catalog = place.catalog
    standing = Standing(
        catalog=catalog,
        readable=readable_tables(place.grant, catalog, today=current_day()),
        grant=place.grant,
        accounts=place.accounts,
        ledger=place.ledger,
    )
    return ViewDesk(standing, sealed.plan.bounded.query.tables)


def answer(sealed: Sealed, place: Place) -> Answer:
    """The answer to a sealed plan: paid first, stored before it is told; free where it is stored already."""
    plan, engine, ledger = sealed.plan, place.engine, place.ledger
    if plan.bounded.query.purpose is not Purpose.ANSWER:
        return described(sealed, accounts=place.accounts, dialect=place.dialect)
    if plan.stored is not None:
        return told_again(sealed, ledger, analyst=place.grant.to)
    if not plan.steps:
        return told_exactly(sealed, public_rows(sealed, place))
    receipt = charge(sealed, ledger, engine, analyst=place.grant.to)  # effect 1: pay, durably
    steps = perform(
        plan, receipt, engine=engine, ledger=ledger, source=place.source
    )  # effects 2, 3, 4: run, draw, store; nothing where a twin of this question has done so since it was planned
    return told(sealed, receipt, steps, ledger=ledger.id)  # post-processing only
