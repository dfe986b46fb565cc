"""Mistakes with PRIVATE questions, planted one at a time: each is refused before anything is paid for it, or seen.

What a later question reads of an earlier one must be what was released, must be public, and must decide about nothing
but values. Every check is also made without the bug, and passes.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from dpsql.errors import InternalError
from dpsql.session import answer
from dpsql.sql import sources
from dpsql.sql.scans import scanned
from tests.kits.ledger_cases import charges_of
from tests.kits.refusals import raised
from tests.kits.replay import excesses, replayed

from hospital import badly_behaved, opened

SALT = 4242
PEOPLE = (41, 43, 44)
ABOVE = "SELECT COUNT(*) FROM visits WHERE charge > PRIVATE (SELECT AVG(charge) FROM visits)"
SUMMED = "WITH w AS PRIVATE (SELECT ward_id, COUNT(*) AS n FROM visits GROUP BY ward_id) SELECT SUM(n) FROM w"
BESIDE = (
    "WITH w AS PRIVATE (SELECT ward_id AS k, COUNT(*) AS n FROM visits GROUP BY ward_id) "
    "SELECT w.k, COUNT(*) FROM visits JOIN w ON visits.ward_id = w.k GROUP BY w.k"
)


@cache
def analyst(person):
    return opened(badly_behaved() if person is None else badly_behaved().without(person), mode="choose")


def complaints(sql):
    whole = replayed(analyst(None), sql, salt=SALT)
    assert whole.sealed is not None, whole.verdict
    return [
        complaint
        for person in PEOPLE
        for complaint in excesses(whole, replayed(analyst(person), sql, salt=SALT, forced=whole.recorded))
    ]


@pytest.mark.parametrize("sql", [ABOVE, SUMMED, BESIDE])
def test_nobody_complains_without_a_bug(sql):
    assert complaints(sql) == []
    assert len(replayed(analyst(None), sql, salt=SALT).steps) == (1 if sql == SUMMED else 2)


@pytest.mark.parametrize("sql", [ABOVE, BESIDE])
def test_a_price_that_depends_on_what_was_released_is_never_charged(sql, monkeypatch):
    """The noise of the second question is chosen when the first has been answered."""
    honest = answer.sealed_with

    def planted(draft, known, ask, terms, place, *, finer=True):
        dearer = replace(terms, cost=2 * terms.cost, gaussian_rho=2 * terms.gaussian_rho)
        return honest(draft, known, ask, dearer if known else terms, place, finer=finer)

    monkeypatch.setattr(answer, "sealed_with", planted)
    ana = opened(badly_behaved())
    raised(InternalError, lambda: ana.sql(sql), match="changed with what was released")
    charges = charges_of(ana.place.ledger)
    assert [charge.cost for _, charge in charges] == [Fraction(1, 2)]  # the first question, which is stored


def test_rows_of_people_that_pass_for_released_ones_are_sealed_by_nobody(monkeypatch):
    """The rows that an inner question counts, instead of the counts it releases."""

    def planted(query, names, alias, notes):
        source = scanned(notes.catalog.policy.tables["visits"], notes)
        return replace(source, private=False, owner=(), tables=())

    monkeypatch.setattr(sources, "_awaited", planted)
    monkeypatch.setattr(answer, "require_all_read", lambda inquiry: None)
    ana = opened(badly_behaved())
    with pytest.raises(InternalError, match="a private table would be read for nothing"):
        ana.sql(SUMMED.replace("SUM(n)", "SUM(points)"))
    assert ana.budget.spent == 0


def test_released_rows_that_pass_for_rows_of_people_are_sealed_by_nobody(monkeypatch):
    """Nobody is in them: noise would be added for no one, and a price paid for nothing."""
    honest = sources._awaited

    def planted(query, names, alias, notes):
        return replace(honest(query, names, alias, notes), private=True, tables=("readings",))

    monkeypatch.setattr(sources, "_awaited", planted)
    ana = opened(badly_behaved())
    raised(InternalError, lambda: ana.sql(SUMMED.replace("SUM(n)", "COUNT(*)")), match="cannot be derived")
    assert ana.budget.spent == 0


def test_exact_numbers_in_the_place_of_released_ones_are_seen(monkeypatch):
    """The second question is asked with an average as it is, not as it was released."""
    honest = answer.with_released

    def planted(draft, known):
        everybody = [analyst(person) for person in (None, *PEOPLE)]
        (here,) = (ana for ana in everybody if ana.place.catalog is draft.bounded.query.catalog)
        ((exact,),) = here.place.engine.run("SELECT count(*) FROM visits", parameters={}).open()
        return honest(draft, dict.fromkeys(known, ((Fraction(exact),),)))

    monkeypatch.setattr(answer, "with_released", planted)
    assert any("the verdict, the price or the plan differs" in complaint for complaint in complaints(ABOVE))


def quieter(law):
    """A millionth of the noise."""
    name = "sigma_squared" if hasattr(law, "sigma_squared") else "scale"
    return replace(law, **{name: getattr(law, name) / 10**6})


def test_too_little_noise_in_the_inner_question_alone_is_seen(monkeypatch):
    """The audit looks at every question, not only at the last one."""
    honest = answer.sealed_with

    def planted(draft, known, ask, terms, place, *, finer=True):
        sealed = honest(draft, known, ask, terms, place, finer=finer)
        if draft.bounded.query.aggregates[0].function != "avg":
            return sealed
        (step,) = sealed.plan.steps
        noises = tuple(
            replace(noise, carried=replace(noise.carried, law=quieter(noise.carried.law))) for noise in step.noises
        )
        return replace(sealed, plan=replace(sealed.plan, steps=(replace(step, noises=noises),)))

    monkeypatch.setattr(answer, "sealed_with", planted)
    assert any("more than their noise was priced for" in complaint for complaint in complaints(ABOVE))
