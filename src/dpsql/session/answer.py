"""Text in, private answer out: the only place where all stages meet.

    parse ─▶ resolve ─▶ check ─▶ bound ─▶ rewrite ─▶ recall ─▶ price ─▶ seal
          ─▶ ▌charge▐ ─▶ ▌run▐ ─▶ ▌draw▐ ─▶ ▌store▐ ─▶ release

Everything up to `seal` is pure: `plan_of` alone serves EXPLAIN PRIVACY, DRY RUN, cost and margins. A statement with
PRIVATE questions goes this way once for each of them: all to `seal` first, then each in its turn to the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from dpsql.accounting.account import Account, admitted_by_all
from dpsql.catalog.model import Catalog, Grant
from dpsql.engines.engine import Engine
from dpsql.errors import BudgetExhausted, DpsqlError, InternalError, NotPermitted, NotSupported
from dpsql.ledger.book import Ledger
from dpsql.ledger.ledger import Balance, Receipt
from dpsql.plan.expected import COMPUTED, expected
from dpsql.plan.price import Terms, price, topped_up
from dpsql.plan.seal import Sealed, seal
from dpsql.points import Point, reached
from dpsql.randomness import Source
from dpsql.session.accuracy import chosen_plan, good_enough, require_a_person
from dpsql.session.answer_value import Answer, labelled, require_apart
from dpsql.session.charging import charge, question_of, recall
from dpsql.session.declared import Declared, ownership_of
from dpsql.session.digits import Cost
from dpsql.session.granting import under
from dpsql.session.inquiry import Inquiry, Part, require_few_keys_each
from dpsql.session.noisy import Noisy
from dpsql.session.permits import permit, readable_tables
from dpsql.session.permits import today as current_day
from dpsql.session.refusing import RefusalsIgnored
from dpsql.session.settings import Settings
from dpsql.session.steps import perform
from dpsql.session.telling import (
    PublicRows,
    found_keys,
    told,
    told_again,
    told_before,
    told_exactly,
)
from dpsql.session.terms import UNSET, Ask, Session, settled, terms_of, wishes_of
from dpsql.session.views import VIEWS, Standing, ViewDesk, about_a_view, is_of_views, views_under
from dpsql.sql.apart import Question, apart, unsaid
from dpsql.sql.bound import bound
from dpsql.sql.check import Checked, check
from dpsql.sql.notes import Outcome, Outcomes
from dpsql.sql.parse import parse
from dpsql.sql.released import Known, Rows, Told, awaits, outcome, released_rows, with_released
from dpsql.sql.resolve import resolve
from dpsql.sql.rewrite import Rewritten, rewrite
from dpsql.sql.syntax import NO_OPTIONS, At, Parsed, Purpose

_GIVEN: Final = "± takes the released numbers of PRIVATE questions as they are; they carry noise of their own"


def plain_rows(answer: Answer) -> tuple[tuple[Told, ...], ...]:
    """The cells of an answer without their margins."""
    return tuple(tuple(cell.value if isinstance(cell, Noisy) else cell for cell in row) for row in answer.rows)


def for_inner(ask: Ask) -> Ask:
    """What is asked of each inner question: caps at the end of a statement are those of the statement itself."""
    return replace(ask, rows_per_person=None, groups_per_person=None)


def require_no_margin(ask: Ask) -> None:
    """WITHIN is about the numbers that are told, and they rest on released ones too."""
    if ask.within is not None:
        raise NotSupported(
            "WITHIN is not possible in a statement with PRIVATE questions",
            why="its numbers rest on released ones, and how far off those are is not in their own margin",
            fix="say what all of it may cost instead: COST 0.1; or ask the inner question by itself, WITHIN its margin",
            at=ask.priced_at,
        )


def require_all_read(inquiry: Inquiry) -> None:
    """A PRIVATE question that no other reads would be paid for and never told."""
    awaited = frozenset().union(*(awaits(part.draft) for part in inquiry.parts))
    for number, part in enumerate(inquiry.inner):
        if number not in awaited:
            raise NotSupported(
                "a PRIVATE question whose answer nothing reads",
                why="it would be paid for, and its answer would not be shown",
                fix="leave it out, or read it: SELECT … FROM w",
                at=part.draft.bounded.query.at,
            )


def require_payable(inquiry: Inquiry, accounts: Sequence[Account], engine: Engine, ledger: Ledger) -> None:
    """Every account admits all questions at once: half a statement would be paid for and not told."""
    require_few_keys_each(inquiry.payments, engine, ledger)
    if not admitted_by_all(inquiry.event, accounts):
        raise BudgetExhausted(
            "the questions of this statement cost more together than is left",
            why="a statement that ends in the middle would be paid for in part and told in part; nothing was spent",
            fix="ask for less accuracy, or ask the inner question by itself",
        )


@contextmanager
def saying_what_is_paid(answers: Sequence[Answer]) -> Iterator[None]:
    """A failure between two questions leaves what was paid for in the store, and says so."""
    try:
        yield
    except DpsqlError as error:
        if any(answer.cost.epsilon for answer in answers):
            error.fix = (
                f"{error.fix}. The PRIVATE questions before it are answered and stored: asked again, they are free"
            )
        raise


def with_inner(last: Answer, answers: Sequence[Answer], inquiry: Inquiry) -> Answer:
    """The answer of a statement: its cost is that of all its questions, its notes say what the inner ones are worth."""
    costs = [answer.cost for answer in (*answers, last)]
    notes = [_GIVEN if inquiry.outer.is_priced else COMPUTED] if any(part.is_priced for part in inquiry.inner) else []
    for number, (part, answer) in enumerate(zip(inquiry.inner, answers, strict=True), start=1):
        notes += _about(number, part, answer)
    return replace(
        last,
        cost=Cost(
            epsilon=sum((cost.epsilon for cost in costs), Fraction(0)),
            delta=sum((cost.delta for cost in costs), Fraction(0)),
        ),
        notes=(*last.notes, *dict.fromkeys(notes)),
    )


def _about(number: int, part: Part, answer: Answer) -> Iterator[str]:
    """What is known about the numbers of one inner question."""
    release = "" if answer.release is None else f", release #{answer.release}"
    noisy = [column.text for column in expected(part.sealed.plan, read_further=True) if column.noisy]
    if noisy:
        yield f"PRIVATE question {number}{release}: {'; '.join(noisy)}"
    yield from (f"PRIVATE question {number}: {note}" for note in answer.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an analyst stands: what is declared, the engine, the ledger, who asks, whose grant pays, and the source of
    chance."""

    declared: Declared
    engine: Engine
    ledger: Ledger
    analyst: str
    grant: Grant
    source: Source
    settings: Settings = field(default_factory=Settings)
    """What was SET in this session."""
    invented: bool = False
    """Engine and ledger are those of a simulation (`session.inventing`); `planned_under` are the accounts outside."""
    planned_under: tuple[Account, Account] | None = None

    def as_granted_now(self) -> Place:
        """The same place under what the owner says by now; raises where nothing may be asked from it any more."""
        said = self.ledger.conditions(self.analyst, grant=self.grant.to)
        return replace(self, grant=under(self.grant, said))

    @property
    def catalog(self) -> Catalog:
        """What holds now; a plan is made under one catalogue from its first stage to its last."""
        return self.declared.catalog

    @property
    def accounts(self) -> tuple[Account, Account]:
        """The promise to everybody, then the limit of the grant: both must grant."""
        return self.planned_under or self.ledger.accounts(self.grant.to)

    @property
    def balance(self) -> Balance:
        """How the grant stands by now."""
        now = self.ledger.balance(self.grant.to, analyst=self.analyst)
        return now if self.planned_under is None else replace(now, accounts=self.planned_under)

    @property
    def dialect(self) -> str:
        return self.engine.capabilities.dialect


def plan_of(
    text: str, ask: Ask, place: Place, *, today: date, session: Session = UNSET, instead: Fraction | None = None
) -> Inquiry:
    """What would happen, and its price: free, without data, without chance. With `instead`, at that very price.

    Of a statement with PRIVATE questions all are planned. Its price is the price of all of them, in even shares. The
    place is `as_granted_now`, and the same one that answers.
    """
    reached(Point.ASKED)
    catalog = place.catalog
    readable = readable_tables(place.grant, catalog, today=today)  # nothing is said of other tables
    parsed = parse(text, dialect=place.dialect)  # syntax only
    reached(Point.PARSED)
    view = about_a_view(parsed)
    if view is not None:
        parsed, catalog, readable = view, views_under(catalog.policy), frozenset(VIEWS)
    wanted = settled(parsed.options, ask, session)  # every option once
    if instead is not None:
        wanted = replace(wanted, epsilon=instead, within=None, only_stored=False)
    questions = apart(parsed)
    if len(questions) > 1:
        require_no_margin(wanted)
    asking = _Asking(parsed=parsed, catalog=catalog, readable=readable, today=today, place=place)
    inquiry = inquired(questions, wanted, asking)
    if inquiry.shares > 1 and not wanted.only_stored:
        whole = terms_of(wanted, catalog.policy.defaults, place.accounts).cost
        inquiry = inquired(questions, replace(wanted, epsilon=whole / inquiry.shares), asking)
    if inquiry.inner:
        require_all_read(inquiry)
    return inquiry


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """What is the same for all questions of a statement."""

    parsed: Parsed
    catalog: Catalog
    readable: frozenset[str]
    today: date
    place: Place


def inquired(questions: tuple[Question, ...], ask: Ask, asking: _Asking) -> Inquiry:
    """Each question in its turn. The most precise stored answers to the earlier ones are known to the later ones; what
    is not stored is awaited."""
    *inner, last = questions
    of_inner = replace(asking, parsed=replace(asking.parsed, options=NO_OPTIONS))
    parts: list[Part] = []
    known: dict[int, Rows] = {}
    outcomes: dict[At, Outcome] = {}
    for number, question in enumerate(inner):
        part = asked_first(number, question, for_inner(ask), of_inner, outcomes, known)
        parts.append(part)
        outcomes[question.at] = part.outcome
        told = known_already(part.sealed, asking.place)
        if told is not None:
            known[number] = released_rows(part.outcome, plain_rows(told))
    outer = chosen(len(inner), last, ask, asking, outcomes, known)
    return Inquiry(inner=tuple(parts), outer=outer, known=MappingProxyType(known))


def known_already(sealed: Sealed, place: Place) -> Answer | None:
    """What an inner question tells before anything is paid: a stored answer, or an exact one from public tables. The
    latter is looked at only where some answer can be stored that rests on it."""
    if sealed.plan.stored is not None:
        return told_again(sealed, place.ledger)
    waits = bool(sealed.plan.steps) or bool(awaits(sealed.plan.rewritten))
    if waits or not can_be_told_again(place):
        return None
    return told_exactly(sealed, public_rows(sealed, place))


def can_be_told_again(place: Place) -> bool:
    """Whether anything may be stored for this analyst: in any period and under any promise, also a closed one."""
    return place.grant.sees_releases or bool(place.ledger.paid_by(place.analyst, last=1))


def asked_first(number: int, question: Question, ask: Ask, asking: _Asking, outcomes: Outcomes, known: Known) -> Part:
    """An inner question. A value that is not called PRIVATE must be about public tables, where it is free."""
    if question.unsaid is None:
        return chosen(number, question, ask, asking, outcomes, known)
    with RefusalsIgnored():
        part = chosen(number, question, ask, asking, outcomes, known)
        if not part.is_priced:
            return part
    raise unsaid(question, asking.parsed.text)


def chosen(number: int, question: Question, ask: Ask, asking: _Asking, outcomes: Outcomes, known: Known) -> Part:
    """One question: bought at its price, or stored."""
    resolved = resolve(
        replace(asking.parsed, query=question.query),
        asking.catalog,
        readable=asking.readable,
        today=asking.today,
        known=question.known,
        outcomes=outcomes,
    )  # names, types, owners
    checked = check(resolved)  # refuses what has no theorem
    require_a_person(checked, asking.parsed.options)
    place = asking.place
    return chosen_plan(
        checked,
        ask,
        place.accounts,
        place.grant.max_per_query,
        lambda asked, terms: planned(number, checked, asked, terms, known, place),
    )


def planned(number: int, checked: Checked, ask: Ask, terms: Terms, known: Known, place: Place) -> Part:
    """One question at a price that the grant allows, or whatever the price where it is stored: that costs nothing."""
    try:
        permit(checked, terms, place.grant, ask=ask)
    except NotPermitted as refused:
        with RefusalsIgnored():
            part = planned_at(number, checked, ask, terms, known, place)
            if part.is_stored:
                return part
        raise refused from None
    return planned_at(number, checked, ask, terms, known, place)


def planned_at(number: int, checked: Checked, ask: Ask, terms: Terms, known: Known, place: Place) -> Part:
    """The stages from a price to the charge, in their order: no released value is known before the statements are."""
    bounded = bound(checked, wishes_of(ask, checked.query.catalog.policy.defaults, terms))  # contributions
    draft = rewrite(bounded)  # what the engine will run
    sealed = sealed_with(draft, known, ask, terms, place)
    return Part(ask=ask, draft=draft, outcome=outcome(number, bounded), sealed=sealed)


def sealed_with(draft: Rewritten, known: Known, ask: Ask, terms: Terms, place: Place, *, finer: bool = True) -> Sealed:
    """The stages up to the charge, in their order, with what earlier questions of the statement have released."""
    rewritten = with_released(draft, known)
    recalled = recall(
        rewritten, place.ledger, analyst=place.analyst, sees_others=place.grant.sees_releases, fresh=ask.fresh
    )  # stored releases of the same question
    plan = good_enough(price(recalled, terms), ask)  # mechanisms, scales, one event
    if finer:
        plan = topped_up(plan)  # or only what is missing in a stored release
    sealed = seal(plan, rewritten.bounded.query.catalog)  # derived again, independently
    reached(Point.SEALED)
    return sealed


def public_rows(sealed: Sealed, place: Place) -> PublicRows:
    """Who answers a question about public tables: the engine, or for views nobody but us."""
    if not is_of_views(sealed.plan.bounded.query.catalog):
        place.ledger.require_owned(ownership_of(sealed.plan.bounded.query.catalog))  # nobody is in them to this day
        return place.engine
    catalog = place.catalog
    standing = Standing(
        catalog=catalog,
        readable=readable_tables(place.grant, catalog, today=current_day()),
        grant=place.grant,
        analyst=place.analyst,
        accounts=place.accounts,
        ledger=place.ledger,
    )
    return ViewDesk(standing, sealed.plan.bounded.query.tables)


def answer(inquiry: Inquiry, place: Place) -> Answer:
    """The answer to a statement: its questions in their order, each with the releases of those before it."""
    outer = inquiry.outer
    purpose = outer.sealed.plan.bounded.query.purpose
    require_apart(simulated=purpose is Purpose.SIMULATE, invented=place.invented)
    if purpose is Purpose.SIMULATE:
        return labelled(answered_all(inquiry, place))
    if purpose is not Purpose.ANSWER:
        from dpsql.session.describing import described  # only explanations need it

        return described(inquiry, accounts=place.accounts, dialect=place.dialect)
    return answered_all(inquiry, place)


def answered_all(inquiry: Inquiry, place: Place) -> Answer:
    """Every question of a statement, in their order."""
    outer = inquiry.outer
    if not inquiry.inner:
        return answered_in_turn(outer.sealed, place)
    require_payable(inquiry, place.accounts, place.engine, place.ledger)
    known: dict[int, Rows] = {}
    answers: list[Answer] = []
    with saying_what_is_paid(answers):
        for number, part in enumerate(inquiry.inner):
            answers.append(answered_in_turn(completed(part, known, place), place))
            rows = inquiry.known.get(number)
            known[number] = released_rows(part.outcome, plain_rows(answers[-1])) if rows is None else rows
            reached(Point.NEXT_QUESTION)
        last = answered_in_turn(completed(outer, known, place), place)
    return with_inner(last, answers, inquiry)


def completed(part: Part, known: Known, place: Place) -> Sealed:
    """The plan of a question once everything it awaits is released. Nothing about it may have changed but values."""
    planned = part.sealed.plan
    sealed = sealed_with(part.draft, known, part.ask, planned.terms, place, finer=planned.finer is not None)
    again = replace(sealed.plan.recalled, fresh=planned.recalled.fresh)  # a twin before it is no release beside it
    stored = sealed.plan.stored if planned.stored is None else planned.stored  # the one its rows were read from
    sealed = replace(sealed, plan=replace(sealed.plan, recalled=again, stored=stored))
    if sealed.plan.stored is None and sealed.plan.event != planned.event:
        raise InternalError("the price of a question has changed with what was released before it")
    return sealed


def answered_in_turn(sealed: Sealed, place: Place) -> Answer:
    """The answer; whoever asks the same at the same time is told the same one, and pays nothing."""
    if sealed.plan.charged is None:
        return answered(sealed, place)
    with place.ledger.turn(place.analyst, question_of(sealed.plan.recalled)):
        return answered(sealed, place)


def answered(sealed: Sealed, place: Place, *, receipt: Receipt | None = None) -> Answer:
    """The answer to a sealed plan: paid first, or before under this receipt, stored before it is told; free where it is
    stored already."""
    plan, engine, ledger = sealed.plan, place.engine, place.ledger
    if plan.stored is not None:
        return told_again(sealed, ledger)
    if not plan.steps:
        return told_exactly(sealed, public_rows(sealed, place))
    before = told_before(plan, ledger)  # what is made finer: released and stored
    if receipt is None:
        receipt = charge(sealed, ledger, engine, analyst=place.analyst, grant=place.grant.to)  # effect 1: pay, durably
    steps = perform(
        plan, receipt, engine=engine, ledger=ledger, source=place.source, found=found_keys(plan, before)
    )  # effects 2, 3, 4: run, draw, store; nothing where a twin of this question has done so since it was planned
    reached(Point.TELLING)
    return told(sealed, receipt, steps, ledger=ledger.id, before=before)  # post-processing only
