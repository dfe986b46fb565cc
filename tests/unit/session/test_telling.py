"""What is said about released numbers follows from them: counts below 0 are explained where there are any."""

from dpsql.session.render import is_doubtful
from dpsql.testing.fixed import fixed_noise

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


def test_a_count_below_zero_is_doubtful_even_where_its_whole_interval_is_below_zero():
    """At a confidence of 1 % the margin is 1 at most, so that the interval of nearly every such count is below 0."""
    seen = set()
    with fixed_noise(seed=3, i_know_this_is_not_private=True) as ana:
        for age in range(6):
            rows = f"FROM patients WHERE name = 'nobody' AND age > {age}"
            answer = ana.sql(f"SELECT COUNT(*) AS n, COUNT(*) - 5000 AS less {rows}", confidence=0.01)
            ((count, less),) = answer.rows
            if count.low > 0 or count.high < 0:
                assert is_doubtful(count) == (count.high < 0)
                seen.add(count.high < 0)
            assert not is_doubtful(less)  # a difference may be below 0
    assert seen == {True, False}


def test_what_is_computed_from_noisy_numbers_and_shows_no_margin_is_named():
    with fixed_noise(seed=3, i_know_this_is_not_private=True) as ana:
        rows = "SELECT city, COUNT(*) AS n, COUNT(*) > 3 AS big, CAST(COUNT(*) AS VARCHAR) AS text FROM patients"
        told = ana.sql(f"{rows} GROUP BY city").notes
        exact = ana.sql("SELECT COUNT(*) > 3 AS big FROM wards").notes
    said = "is computed from noisy numbers and shows no margin"
    assert [note for note in told if said in note] == [f"big {said}", f"text {said}"]
    assert exact == ()
