"""Every family of attacks has questions that stand for it, and none of them is answered."""

from functools import cache

import pytest

import dpsql
from dpsql.plan.question import identity
from tests.kits.refusals import each_raises

from families import FAMILIES, HARMLESS, members
from fixtures import REFUSED
from hospital import opened, well_behaved

ATTACKS = [fixture for fixture in REFUSED if fixture.file == "attacks__refused"]


@cache
def analyst() -> dpsql.Analyst:
    return opened(well_behaved())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_questions_and_all_are_refused(family):
    found = members(family)
    assert found, f"nobody has tried {family}"
    each_raises(dpsql.DpsqlError, lambda fixture: analyst().query(fixture.sql), found)


@pytest.mark.parametrize("fixture", ATTACKS, ids=str)
def test_an_attack_belongs_to_a_family(fixture):
    assert fixture.title.partition(": ")[0] in FAMILIES


@pytest.mark.parametrize(("family", "sql"), [(family, sql) for family, texts in HARMLESS.items() for sql in texts])
def test_what_is_dropped_changes_nothing(family, sql):
    plain = analyst().query("SELECT COUNT(*) FROM patients").sealed.plan
    asked = analyst().query(sql).sealed.plan
    assert identity(asked.rewritten) == identity(plain.rewritten)
    assert asked.cost == plain.cost
