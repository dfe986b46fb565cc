"""recall: the ledger's stored releases of the same question. Rewritten -> Recalled."""

from __future__ import annotations

from dpsql.catalog.digest import digest
from dpsql.ledger.ledger import FIRST_VERSION, Ledger, Question
from dpsql.plan.recall import Recalled, Stored
from dpsql.plan.record import plan_digest, stored_noises, stored_people
from dpsql.sql.rewrite import Rewritten


def recall(rewritten: Rewritten, ledger: Ledger, *, dialect: str) -> Recalled:
    """What was asked, and what is stored of it."""
    query = rewritten.bounded.query
    asked = Recalled(
        rewritten=rewritten,
        plan=plan_digest(rewritten, dialect=dialect),
        policy=digest(query.catalog, query.tables),
        data_version=query.catalog.policy.data_version or FIRST_VERSION,
    )
    stored = tuple(
        Stored(receipt=release.receipt, noises=stored_noises(release.record), people=stored_people(release.record))
        for release in ledger.recall(question_of(asked))
    )
    return Recalled(
        rewritten=rewritten, plan=asked.plan, policy=asked.policy, data_version=asked.data_version, stored=stored
    )


def question_of(recalled: Recalled) -> Question:
    """The question in the words of the ledger."""
    return Question(plan=recalled.plan, policy=recalled.policy, data_version=recalled.data_version)
