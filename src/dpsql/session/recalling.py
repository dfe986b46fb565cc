"""recall: the ledger's stored releases of the same question. Rewritten -> Recalled."""

from __future__ import annotations

from dataclasses import replace

from dpsql.ledger.ledger import FIRST_VERSION, Ledger, Question, Release
from dpsql.plan.question import identity
from dpsql.plan.recall import Recalled, Stored
from dpsql.plan.record import stored_noises, stored_people
from dpsql.sql.rewrite import Rewritten


def recall(rewritten: Rewritten, ledger: Ledger, *, seen_by: str | None = None) -> Recalled:
    """What was asked, and the stored releases that hold every slot of it: all, or those this analyst has paid for."""
    data_version = rewritten.bounded.query.catalog.policy.data_version or FIRST_VERSION
    asked = Recalled(rewritten=rewritten, identity=identity(rewritten), data_version=data_version)
    known = [release for release in ledger.recall(question_of(asked)) if seen_by in (None, release.analyst)]
    found = (_stored(release, asked.identity.slots) for release in known)
    return replace(asked, stored=tuple(each for each in found if each is not None))


def _stored(release: Release, slots: tuple[str, ...]) -> Stored | None:
    """Where a release has these slots; None where it lacks one of them."""
    noises = stored_noises(release.record)
    there = {slot: place for place, (slot, _) in enumerate(noises)}
    if not there.keys() >= set(slots):
        return None
    places = tuple(there[slot] for slot in slots)
    return Stored(
        receipt=release.receipt,
        noises=tuple(noises[place][1] for place in places),
        places=places,
        people=stored_people(release.record),
    )


def question_of(recalled: Recalled) -> Question:
    """The question in the words of the ledger: the slots of a release are told by its record."""
    return Question(plan=recalled.identity.frame, policy=recalled.identity.policy, data_version=recalled.data_version)
