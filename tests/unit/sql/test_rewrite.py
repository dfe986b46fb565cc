"""What is asked of the engine: one of three things, the same for the same question, whatever was asked before."""

import pytest

from dpsql.sql.bound import Bounded
from dpsql.sql.emit import engine_text, statement_text
from dpsql.sql.keys import PrivateKey
from dpsql.sql.relations import Numbers, Relation, Scan
from dpsql.sql.rewrite import Builder, Measuring, Selecting, Statement, Unprotected, filled, rewrite
from tests.kits.cases import cases

from stages import bounded, rewritten


def scans(relation: Relation) -> set[str]:
    if isinstance(relation, Scan):
        return {relation.table}
    below = [getattr(relation, name) for name in ("input", "left", "right") if hasattr(relation, name)]
    return set().union(*map(scans, below)) if below else set()


@cases(__file__, "sql", "kind=")
def test_three_kinds(sql: str, kind: type) -> None:
    assert type(rewritten(sql)) is kind


@pytest.mark.parametrize(
    "sql", ["SELECT ward FROM visits GROUP BY ward", "SELECT 1 FROM wards", "SELECT 1 FROM visits HAVING TRUE"]
)
def test_what_is_free_reads_no_private_table(sql: str) -> None:
    made = rewritten(sql)
    assert isinstance(made, Unprotected)
    assert made.statement is None or scans(made.statement.relation) <= {"wards"}


def test_keys_of_public_tables_are_counted_before_anything_is_paid() -> None:
    made = rewritten("SELECT w.name, ward, COUNT(*) FROM visits v JOIN wards w ON v.ward = w.id GROUP BY 1, 2")
    assert isinstance(made, Measuring)
    assert made.key_count is not None
    assert scans(made.key_count.relation) == {"wards"}
    listed = rewritten("SELECT ward, COUNT(*) FROM visits GROUP BY ward")
    assert isinstance(listed, Measuring)
    assert listed.key_count is None


def texts(value: Bounded) -> list[str]:
    made = rewrite(value)
    found = [getattr(made, name, None) for name in ("statement", "selection", "measurement", "key_count")]
    return [statement_text(each, dialect="duckdb") for each in found if isinstance(each, Statement)]


@cases(__file__, "sql")
def test_a_stage_leaves_what_it_was_given_as_it_was(sql: str) -> None:
    """Rewriting twice gives the same relations, to the number of each column: nothing is counted on elsewhere."""
    value = bounded(sql)
    columns, free = dict(value.query.findings.columns), value.query.findings.free
    assert rewrite(value) == rewrite(value)
    assert texts(value) == texts(value)
    assert (dict(value.query.findings.columns), value.query.findings.free) == (columns, free)
    with pytest.raises(TypeError):
        value.query.findings.columns[1] = value.query.findings.columns[1]  # type: ignore[index]


def test_columns_of_later_stages_have_numbers_of_their_own() -> None:
    value = bounded("SELECT illness, AVG(points), SUM(points) FROM visits GROUP BY illness")
    slots = [placed.column.id for placed in value.slots]
    assert min(slots) == value.query.findings.free
    assert max(slots) < value.free
    assert Builder(value, Numbers(value.free)).column().id == value.free
    assert not set(slots) & set(value.query.findings.columns)


def test_released_keys_are_put_where_they_belong() -> None:
    made = rewritten("SELECT illness, SUM(points) FROM visits GROUP BY illness")
    assert isinstance(made, Selecting)
    assert made.measurement is not None
    assert ":released" in statement_text(made.measurement, dialect="duckdb")
    text = engine_text(filled(made.measurement, (("flu",), ("it's",), (None,))), dialect="duckdb")
    assert ":released" not in text.sql
    assert "flu" not in text.sql
    assert text.lists == {"list1": ["flu", "it's", None]}


def test_the_public_part_of_a_mixed_key_stays_inside_its_list() -> None:
    made = rewritten("SELECT ward, illness, COUNT(*) FROM visits GROUP BY ward, illness")
    assert isinstance(made, Selecting)
    assert [type(each) for each in made.bounded.domains][1] is PrivateKey
    assert "SELECT CAST(1 AS BIGINT) + n AS c6 FROM range(4)" in statement_text(made.selection, dialect="duckdb")


def test_a_list_of_no_keys_is_a_relation_of_no_rows() -> None:
    made = rewritten("SELECT illness, COUNT(*) FROM visits WHERE illness IN (NULL) GROUP BY illness")
    assert isinstance(made, Measuring)
    assert engine_text(made.measurement, dialect="duckdb").lists == {"list1": []}
