"""The kit must be able to fail: each planted bug is caught by the law that names it."""

import traceback
from dataclasses import replace

import duckdb
import polars as pl
import pytest

from dpsql.catalog.types import SqlType
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.engine import NO_PARAMETERS, Limits, engine_failed
from dpsql.errors import EngineFailed
from dpsql.mechanisms.mechanism import opened
from dpsql.privacy.exact import Exact
from dpsql.testing.engine_kit import PEOPLE, SECRET, EngineKit, traces_of

POLARS = {
    SqlType.BOOLEAN: pl.Boolean,
    SqlType.INTEGER: pl.Int64,
    SqlType.DOUBLE: pl.Float64,
    SqlType.TEXT: pl.String,
    SqlType.DATE: pl.Date,
    SqlType.TIMESTAMP: pl.Datetime("us"),
}


class Honest:
    """A right engine, held by one that may spoil it. `plain` is the same data in a DuckDB without any care."""

    settings = {"default_collation": ""}  # noqa: RUF012

    def __init__(self, tables):
        self.right = DuckdbEngine.in_memory(Limits(threads=2))
        self.plain = duckdb.connect(config=self.settings)
        for name, columns in tables.items():
            frame = pl.DataFrame({n: pl.Series(values, dtype=POLARS[kind]) for n, (kind, values) in columns.items()})
            self.right.add(name, frame)
            self.plain.register("frame", frame)
            self.plain.execute(f"CREATE TABLE {name} AS FROM frame")
        self.capabilities = self.right.capabilities

    def schema(self):
        return self.right.schema()

    def run(self, sql, /, *, parameters):
        return self.right.run(sql, parameters=parameters)

    def run_public(self, sql, /, *, parameters=NO_PARAMETERS):
        return self.right.run_public(sql, parameters=parameters)

    def interrupt(self):
        self.right.interrupt()

    def close(self):
        self.right.close()

    def careless(self, sql, parameters=NO_PARAMETERS):
        return self.plain.cursor().execute(sql, dict(parameters)).fetchall()


class Kit(EngineKit):
    kind = Honest

    def engine_with(self, tables):
        self.engine = self.kind(tables)
        return self.engine


class TestHonest(Kit):
    pass


class Failing(Honest):
    """Runs where there is no care, and fails with what `failure` makes of the error."""

    def run_public(self, sql, /, *, parameters=NO_PARAMETERS):
        failed = None
        try:
            return self.careless(sql, parameters)
        except duckdb.Error as error:
            failed = self.failure(error)
        raise failed


class Quoting(Failing):
    def failure(self, error):
        return EngineFailed(str(error), why="it said so", fix="look at the row")


class Naming(Failing):
    def failure(self, error):
        failed = engine_failed()
        failed.why = type(error).__name__
        return failed


class Noting(Failing):
    def failure(self, error):
        failed = engine_failed()
        failed.add_note(str(error))
        return failed


class Attaching(Failing):
    def failure(self, error):
        failed = engine_failed()
        failed.detail = str(error)
        return failed


class Remembering(Failing):
    def failure(self, error):
        self.last = error.with_traceback(None)
        return engine_failed()


class Chaining(Honest):
    def run_public(self, sql, /, *, parameters=NO_PARAMETERS):
        try:
            return self.careless(sql, parameters)
        except duckdb.Error as error:
            raise engine_failed() from error


class Hiding(Honest):
    """`from None` hides the original when it is printed, and keeps it."""

    def run_public(self, sql, /, *, parameters=NO_PARAMETERS):
        try:
            return self.careless(sql, parameters)
        except duckdb.Error:
            raise engine_failed() from None


class Holding(Honest):
    """The original lies in a variable of a frame the error came through."""

    def run_public(self, sql, /, *, parameters=NO_PARAMETERS):
        held = None
        try:
            return self.careless(sql, parameters)
        except duckdb.Error as error:
            held = str(error)
        raise engine_failed() if held else KeyError


class Numbered(Honest):
    def run(self, sql, /, *, parameters):
        try:
            return self.right.run(sql, parameters=parameters)
        except EngineFailed as error:
            text = error.fix.replace(error.trace_id, "1" * 16)
        failed = EngineFailed("the engine did not finish this statement", why=engine_failed().why, fix=text)
        failed.trace_id = "1" * 16
        raise failed


class Naked(Honest):
    def run(self, sql, /, *, parameters):
        return opened(self.right.run(sql, parameters=parameters))


class Floating(Honest):
    def run(self, sql, /, *, parameters):
        rows = opened(self.right.run(sql, parameters=parameters))
        return Exact([tuple(int(float(v)) if type(v) is int else v for v in row) for row in rows])


class Careless(Honest):
    def run(self, sql, /, *, parameters):
        failed = False
        try:
            return Exact(self.careless(sql, parameters))
        except duckdb.Error:
            failed = True
        raise engine_failed() if failed else KeyError


class Folding(Careless):
    settings = {"default_collation": "nocase"}  # noqa: RUF012


class Reversing(Honest):
    def run(self, sql, /, *, parameters):
        return self.right.run(sql, parameters=dict(zip(parameters, [*parameters.values()][::-1], strict=True)))


class Deaf(Honest):
    def interrupt(self):
        pass


class Curious(Honest):
    """The largest value of a column, where its type's would do."""

    def schema(self):
        table = self.right.schema()["people"]
        ((most,),) = self.right.run_public("SELECT MAX(size) FROM people")
        columns = tuple(replace(c, high=most) if c.name == "size" else c for c in table.columns)
        return {"people": replace(table, columns=columns)}


class Undying(Honest):
    def close(self):
        pass


PLANTED = [
    (Quoting, "test_all_failures_sound_the_same"),
    (Quoting, "test_a_failure_repeats_nothing_of_the_rows"),
    (Naming, "test_all_failures_sound_the_same"),
    (Chaining, "test_a_failure_repeats_nothing_of_the_rows"),
    (Hiding, "test_a_failure_repeats_nothing_of_the_rows"),
    (Noting, "test_a_failure_repeats_nothing_of_the_rows"),
    (Attaching, "test_a_failure_repeats_nothing_of_the_rows"),
    (Holding, "test_a_failure_repeats_nothing_of_the_rows"),
    (Remembering, "test_a_failure_repeats_nothing_of_the_rows"),
    (Numbered, "test_all_failures_sound_the_same"),
    (Naked, "test_values_come_as_python_values_and_wrapped"),
    (Floating, "test_integers_are_exact_to_two_to_the_hundred"),
    (Careless, "test_a_fraction_is_not_given"),
    (Careless, "test_nothing_is_written"),
    (Careless, "test_there_is_no_way_out"),
    (Folding, "test_text_is_compared_by_its_bytes"),
    (Reversing, "test_parameters_are_bound_by_name"),
    (Deaf, "test_a_statement_can_be_interrupted"),
    (Curious, "test_the_schema_is_the_same_without_rows"),
    (Undying, "test_a_closed_engine_answers_nothing"),
]


@pytest.mark.parametrize(("kind", "law"), PLANTED, ids=[f"{kind.__name__}-{law}" for kind, law in PLANTED])
def test_a_planted_bug_is_caught(kind, law):
    kit = Kit()
    kit.kind, kit.patience = kind, 0.5
    try:
        with pytest.raises(Exception) as caught:
            getattr(kit, law)()
        assert isinstance(caught.value, AssertionError) or kind in (Naked, Curious)
        where = [frame.name for frame in traceback.extract_tb(caught.tb)]
        assert law in where
    finally:
        kit.engine.right.close()  # also ends the statement that a deaf engine runs on


def test_a_planted_bug_is_the_only_thing_that_is_caught():
    """The text of the statement and the names of columns are no secrets."""
    error = None
    try:
        Honest(PEOPLE).run("SELECT COUNT(CAST(name AS INTEGER)) FROM people", parameters={})
    except EngineFailed as failed:
        error = failed
    found = traces_of((SECRET,), error)
    assert found == []
    found = traces_of((error.trace_id,), error)
    assert found != []
