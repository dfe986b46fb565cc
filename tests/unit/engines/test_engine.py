"""The one error of every adapter."""

from dpsql.engines.engine import engine_failed


def test_every_failure_has_its_own_number_and_the_same_words():
    errors = [engine_failed() for _ in range(100)]
    assert len({error.trace_id for error in errors}) == 100
    assert len({str(error).replace(error.trace_id, "") for error in errors}) == 1
    assert all(error.trace_id in error.fix for error in errors)
    assert all(error.code == "DP601" for error in errors)
