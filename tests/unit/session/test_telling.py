"""What is said about released numbers follows from them: counts below 0 are explained where there are any."""

from types import SimpleNamespace

from dpsql.errors import InternalError, LedgerBroken
from dpsql.session.render import is_doubtful
from dpsql.session.telling import averaged_table, told_again
from dpsql.testing.fixed import fixed_noise
from tests.kits.ledger_cases import FIRST, SECOND
from tests.kits.refusals import raised

BELOW = "a count below 0 is normal"


def is_told(answer) -> bool:
    return any(note.startswith(BELOW) for note in answer.notes)


def test_a_count_below_zero_is_explained_where_there_is_one():
    seen = set()
    with fixed_noise(seed=3, i_know_this_is_not_private=True) as ana:
        for age in range(4):
            rows = f"FROM patients WHERE name = 'nobody' AND age > {age}"
            answer = ana.sql(f"SELECT COUNT(*) AS n {rows}")
            below = answer["n"][0].value < 0
            assert is_told(answer) == below
            seen.add(below)
        assert not is_told(ana.sql(f"SELECT GREATEST(COUNT(*), 0) AS n {rows}", max_cost=0))
        total = ana.sql("SELECT SUM(age - 110) AS s FROM patients")
    assert seen == {True, False}
    assert total["s"][0].value < 0  # for another reason
    assert not is_told(total)


def test_what_is_made_of_counts_is_marked_below_zero_as_they_are():
    """At a confidence of 1 % nearly every interval of a count below 0 is below 0 as a whole."""
    made = (
        "COUNT(*)",
        "COUNT(*) * 1.0",
        "CAST(COUNT(*) AS DOUBLE)",
        "COUNT(*) / 10",
        "COUNT(*) + COUNT(age)",
        "SUM(age) / 2",
    )
    seen = set()
    with fixed_noise(seed=3, i_know_this_is_not_private=True) as ana:
        for age in range(6):
            rows = f"FROM patients WHERE name = 'nobody' AND age > {age}"
            answer = ana.sql(f"SELECT {', '.join(made)}, COUNT(*) - 5000 AS less {rows}", confidence=0.01)
            ((*cells, less),) = answer.rows
            assert not is_doubtful(less)  # a difference may be below 0
            assert not any(is_doubtful(cell) for cell in cells if cell.low > 0)
            assert [is_doubtful(cell) for cell in cells if cell.value < 0] == [True for c in cells if c.value < 0]
            assert is_told(answer) == any(cell.value < 0 for cell in cells[:-1])
            seen |= {place for place, cell in enumerate(cells) if cell.high < 0}
    assert seen == set(range(len(made)))


def test_windows_behind_a_noisy_having_and_what_shows_no_margin_are_named():
    windows = "COUNT(*) OVER () AS groups, SUM(COUNT(*)) OVER () AS people"
    with fixed_noise(seed=3, i_know_this_is_not_private=True) as ana:
        noisy, exact, none = (
            ana.sql(f"SELECT city, {what} FROM patients GROUP BY city HAVING {kept}").notes
            for what, kept in ((windows, "COUNT(*) > 1000"), (windows, "city <> 'Bern'"), ("COUNT(*)", "COUNT(*) > 9"))
        )
    said = "noisy numbers decide which rows HAVING keeps: groups, people looks at those, not at the true ones"
    assert said in noisy
    assert not any("HAVING keeps" in note for note in (*exact, *none))
    with fixed_noise(seed=3, i_know_this_is_not_private=True) as ana:
        rows = "SELECT city, COUNT(*) AS n, COUNT(*) > 3 AS big, CAST(COUNT(*) AS VARCHAR) AS text FROM patients"
        told = ana.sql(f"{rows} GROUP BY city").notes
        exact = ana.sql("SELECT COUNT(*) > 3 AS big FROM wards").notes
    said = "is computed from noisy numbers and shows no margin"
    assert [note for note in told if said in note] == [f"big {said}", f"text {said}"]
    assert exact == ()


def test_nothing_stored_is_not_told_again():
    sealed = SimpleNamespace(plan=SimpleNamespace(stored=None))
    raised(InternalError, lambda: told_again(sealed, None))


def test_releases_of_other_groups_are_not_averaged():
    raised(
        LedgerBroken, lambda: averaged_table(None, [(None, FIRST), (None, SECOND)], ledger="x"), match="other groups"
    )
