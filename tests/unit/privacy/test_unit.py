"""The protected entity is named, keyed and complete."""

import pytest

from dpsql.errors import BadParameter
from dpsql.privacy.unit import Neighbours, PrivacyUnit, Unit, require_neighbours
from tests.kits.cases import cases
from tests.kits.refusals import raised

PERSON = {"entity": "patient", "table": "visits", "columns": ("country", "patient_id"), "unit": Unit.PERSON}


def test_the_two_relations_are_distinct_and_named():
    """C002, C003: add/remove and change-one are the two neighbour relations."""
    assert [relation.value for relation in Neighbours] == ["add_remove", "change_one"]
    assert Neighbours("add_remove") is Neighbours.ADD_REMOVE
    assert Neighbours.ADD_REMOVE is not Neighbours.CHANGE_ONE


@pytest.mark.parametrize("bad", ["add_remove", None, True, 1, Unit.ROW])
def test_a_relation_is_stated_as_such(bad):
    raised(BadParameter, lambda: require_neighbours(bad))


def test_a_person_is_found_by_one_or_more_columns():
    """C005: the protected entity and its key columns."""
    unit = PrivacyUnit(**PERSON, group_size=4)
    assert unit.columns == ("country", "patient_id")
    assert unit.group_size == 4


def test_a_row_is_its_own_entity():
    """C005: the protected entity may be one row."""
    unit = PrivacyUnit(entity="reading", table="sensors", columns=(), unit=Unit.ROW)
    assert (unit.table, unit.columns, unit.group_size) == ("sensors", (), 1)


@cases(__file__, "change=")
def test_an_incomplete_or_contradictory_unit_is_refused(change):
    raised(BadParameter, lambda: PrivacyUnit(**{**PERSON, **change}))


def test_the_unit_of_protection_has_no_default():
    with pytest.raises(TypeError):
        PrivacyUnit(entity="patient", table="visits", columns=("id",))  # type: ignore[call-arg]
