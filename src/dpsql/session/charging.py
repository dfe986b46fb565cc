"""recall: the ledger's stored releases of the same question. Rewritten -> Recalled.

charge: pay for a sealed plan before the engine is asked anything about people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dpsql.engines.engine import Engine
from dpsql.errors import InternalError
from dpsql.ledger.book import Ledger
from dpsql.ledger.ledger import FIRST_VERSION, Charge, Question, Receipt, Release
from dpsql.plan.question import identity
from dpsql.plan.recall import Measured, Recalled, Stored, averaged_noises
from dpsql.plan.record import KeptUpon, kept, plan_record
from dpsql.plan.seal import Sealed
from dpsql.points import Point, reached
from dpsql.session.declared import ownership_of
from dpsql.sql.emit import engine_text
from dpsql.sql.keys import too_many_keys
from dpsql.sql.rewrite import Measuring, Rewritten


def recall(
    rewritten: Rewritten, ledger: Ledger, *, analyst: str, sees_others: bool = False, fresh: bool = False
) -> Recalled:
    """What was asked, and the stored releases that hold every slot of it: the analyst's own, and those of others where
    the grant lets them be seen. None where `fresh` noise is asked for."""
    data_version = rewritten.bounded.query.catalog.policy.data_version or FIRST_VERSION
    asked = Recalled(rewritten=rewritten, identity=identity(rewritten), data_version=data_version)
    found = ledger.recall(question_of(asked), told=())  # a plan needs none of their numbers
    if fresh:
        return replace(asked, fresh=sum(release.analyst == analyst for release in found))
    seen = [release for release in found if sees_others or release.analyst == analyst]
    return replace(asked, stored=_answers(seen, asked.identity.slots, analyst))


def _answers(releases: Sequence[Release], slots: tuple[str, ...], analyst: str) -> tuple[Stored, ...]:
    """The answers that releases of one question give: each by itself, or averaged with those it makes finer."""
    found: dict[int, Stored] = {}
    for release in releases:  # oldest first: what is made finer comes before what makes it finer
        stored = _stored(release, slots, found)
        if stored is not None:
            found[release.receipt] = replace(stored, own=stored.own and release.analyst == analyst)
    return tuple(found.values())


def _stored(release: Release, slots: tuple[str, ...], before: Mapping[int, Stored]) -> Stored | None:
    """Where a release has these slots; None where it lacks one of them, or rests on a release that is not seen."""
    told = kept(release.record)
    there = {slot: place for place, (slot, _) in enumerate(told.noises)}
    if not there.keys() >= set(slots) or (told.upon is not None and told.upon.receipt not in before):
        return None
    places = tuple(there[slot] for slot in slots)
    own = Measured(receipt=release.receipt, noises=tuple(told.noises[place][1] for place in places), places=places)
    stored = Stored(
        receipt=release.receipt,
        noises=own.noises,
        places=places,
        people=told.people,
        alone=len(there) == len(slots) and bool(slots),
        rho=told.rho,
        paid=told.cost,
    )
    return stored if told.upon is None else _finer(stored, own, before[told.upon.receipt], told.upon)


def _finer(stored: Stored, own: Measured, upon: Stored, told: KeptUpon) -> Stored:
    releases = (*upon.measured, own)
    return replace(
        stored,
        noises=averaged_noises(releases),
        releases=releases,
        people=told.people,
        answers=told.answers,
        paid=stored.paid + told.paid,
        own=upon.own,
        first=upon.first or upon.receipt,
    )


def question_of(recalled: Recalled) -> Question:
    """The question in the words of the ledger: the slots of a release are told by its record."""
    return Question(plan=recalled.identity.frame, policy=recalled.identity.policy, data_version=recalled.data_version)


def charge(sealed: Sealed, ledger: Ledger, engine: Engine, *, analyst: str, grant: str) -> Receipt:
    """A durable receipt, or BudgetExhausted and nothing spent."""
    require_few_keys(sealed, engine, ledger)
    asked = charge_of(sealed, analyst=analyst, grant=grant, dialect=engine.capabilities.dialect)
    reached(Point.CHARGING)
    return ledger.charge(asked, under=ownership_of(sealed.plan.bounded.query.catalog))


def charge_of(sealed: Sealed, *, analyst: str, grant: str, dialect: str) -> Charge:
    """What the ledger is asked to write down for a plan."""
    plan = sealed.plan
    if plan.charged is None:
        raise InternalError("a free plan would be charged")
    return Charge(
        analyst=analyst,
        grant=grant,
        question=question_of(plan.recalled),
        event=plan.charged,
        cost=plan.cost,
        steps=len(plan.steps),
        sql=plan.bounded.query.text,
        record=plan_record(plan, dialect=dialect),
        upon=None if plan.finer is None else plan.finer.upon.first or plan.finer.upon.receipt,
    )


def require_few_keys(sealed: Sealed, engine: Engine, ledger: Ledger) -> None:
    """Keys of public tables are counted before anything is paid: they are public, and may be too many."""
    rewritten = sealed.plan.rewritten
    count = rewritten.key_count if isinstance(rewritten, Measuring) else None
    limit = sealed.plan.bounded.query.catalog.policy.defaults.max_keys
    if count is None:
        return
    if limit is None:
        raise InternalError("public keys without a limit")
    ledger.require_owned(ownership_of(sealed.plan.bounded.query.catalog))  # public to this day
    text = engine_text(count, dialect=engine.capabilities.dialect)
    ((number,),) = engine.run_public(text.sql, parameters=text.parameters())
    if not isinstance(number, int) or number > limit:
        raise too_many_keys(number, limit)
