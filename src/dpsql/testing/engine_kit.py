"""The laws every engine obeys, as tests to inherit.

Subclass `EngineKit` in a test file, say how to build an engine that holds given tables, and pytest runs the laws.
Where an engine writes something differently (a wide integer, a test for finite numbers, its ways out), it says so in a
class variable.
"""

from __future__ import annotations

import gc
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from math import inf, nan
from typing import Any, ClassVar, Final, TypeAlias

from dpsql.catalog.model import Cells, Parameter
from dpsql.catalog.types import SqlType
from dpsql.engines.engine import Engine, Rows
from dpsql.errors import DpsqlError, EngineFailed
from dpsql.mechanisms.mechanism import opened
from dpsql.privacy.exact import Exact

Tables: TypeAlias = Mapping[str, Mapping[str, tuple[SqlType, Sequence[object]]]]
"""By table and column: a type and the values, top to bottom."""

SECRET: Final = "canary8675309"  # a text in a row, which must appear in no error
SECRET_NUMBER: Final = 8675309867530986753  # an integer in a row, whose square does not fit 64 bits

PEOPLE: Final[Tables] = {
    "people": {
        "name": (SqlType.TEXT, [SECRET, "Bob", None]),
        "size": (SqlType.INTEGER, [SECRET_NUMBER, 2**62, None]),
        "born": (SqlType.DATE, [date(1980, 2, 29), date(1, 1, 1), None]),
        "seen": (SqlType.TIMESTAMP, [datetime(2024, 5, 6, 7, 8, 9, 10), datetime(9999, 12, 31), None]),
        "well": (SqlType.BOOLEAN, [True, False, None]),
        "height": (SqlType.DOUBLE, [1.5, -0.25, None]),
    }
}


class EngineKit:
    """Say how to build the engine; the laws follow."""

    wide: ClassVar[str] = "HUGEINT"
    """A type that holds 2^100 exactly."""
    finite: ClassVar[str] = "isfinite(x)"
    """True where x is a number: neither NaN nor infinite nor NULL."""
    failures: ClassVar[tuple[str, ...]] = (
        "SELECT COUNT(CAST(name AS INTEGER)) FROM people",
        "SELECT SUM(size * size) FROM people",
        "SELECT COUNT(*) FROM nowhere",
        "SELECT COUNT(* FROM people",
        "SELECT ?",
    )
    """Statements that fail: because of a row where the engine can be brought to it, and otherwise."""
    writes: ClassVar[tuple[str, ...]] = (
        "INSERT INTO people SELECT * FROM people",
        "UPDATE people SET size = 0",
        "DELETE FROM people",
        "DROP TABLE people",
        "CREATE TABLE copied AS SELECT * FROM people",
        "CREATE TEMPORARY TABLE copied AS SELECT * FROM people",
        "SELECT 1; DELETE FROM people",
        "WITH gone AS (DELETE FROM people RETURNING 1) SELECT COUNT(*) FROM gone",
    )
    escapes: ClassVar[tuple[str, ...]] = (
        "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
        "SELECT COUNT(*) FROM read_text('/etc/passwd')",
        "SELECT COUNT(*) FROM '/etc/passwd'",
        "SELECT COUNT(*) FROM glob('/etc/*')",
        "COPY people TO '/tmp/dpsql-kit-copied.csv'",
        "ATTACH ':memory:' AS elsewhere",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET threads = 1",
    )
    slow: ClassVar[str] = (
        "SELECT COUNT(*) FROM many AS a CROSS JOIN many AS b CROSS JOIN many AS c CROSS JOIN many AS d "
        "WHERE a.n * b.n + c.n * d.n = 7"
    )
    """A statement over `many`, whose column n counts from 0 to 1999, that would run for hours."""
    patience: ClassVar[float] = 20
    """Seconds until an interrupted statement must have ended."""

    def engine_with(self, tables: Tables) -> Engine:
        """An engine that holds these tables and no others."""
        raise NotImplementedError

    def _rows(self, engine: Engine, sql: str, **parameters: Parameter) -> Rows:
        return opened(engine.run(sql, parameters=parameters))

    def _failures(self, engine: Engine, sql: str) -> list[BaseException | None]:
        """How the statement fails by the private and by the public door; None where it does not."""
        return [_failure(self._rows, engine, sql), _failure(engine.run_public, sql)]

    def test_the_schema_says_names_and_types(self) -> None:
        schema = self.engine_with(PEOPLE).schema()
        assert list(schema) == ["people"]
        assert {column.name: column.type for column in schema["people"].columns} == {
            name: type_ for name, (type_, _) in PEOPLE["people"].items()
        }
        size = next(column for column in schema["people"].columns if column.name == "size")
        assert (size.low, size.high) == (-(2**63), 2**63 - 1)

    def test_the_schema_is_the_same_without_rows(self) -> None:
        empty: Tables = {"people": {name: (type_, []) for name, (type_, _) in PEOPLE["people"].items()}}
        assert self.engine_with(PEOPLE).schema() == self.engine_with(empty).schema()

    def test_values_come_as_python_values_and_wrapped(self) -> None:
        engine = self.engine_with(PEOPLE)
        for name, (type_, values) in PEOPLE["people"].items():
            if type_ is SqlType.DOUBLE:
                continue
            result = engine.run(f"SELECT {name} FROM people", parameters={})
            assert isinstance(result, Exact)
            found = [value for (value,) in opened(result)]
            assert sorted(map(repr, found)) == sorted(map(repr, values)), name

    def test_no_rows_is_an_empty_list(self) -> None:
        assert self._rows(self.engine_with(PEOPLE), "SELECT name FROM people WHERE size < 0") == []

    def test_integers_are_exact_to_two_to_the_hundred(self) -> None:
        engine = self.engine_with(PEOPLE)
        for number in (2**53 + 1, 2**63, 2**64 + 1, 2**100, -(2**100) - 1):
            sql = f"SELECT CAST({number} AS {self.wide}) + COUNT(*) FROM people"
            assert self._rows(engine, sql) == [(number + 3,)]
        ((total,),) = self._rows(engine, "SELECT SUM(size) FROM people")
        assert total == SECRET_NUMBER + 2**62  # above 2^63
        assert type(total) is int

    def test_a_fraction_is_not_given(self) -> None:
        """No floating point between the data and the noise. The type decides: an empty result is refused too."""
        engine = self.engine_with(PEOPLE)
        for sql in ("SELECT SUM(height) FROM people", "SELECT height FROM people WHERE size < 0"):
            assert isinstance(_failure(self._rows, engine, sql), DpsqlError)

    def test_a_public_statement_gives_naked_rows(self) -> None:
        found = self.engine_with(PEOPLE).run_public("SELECT name FROM people WHERE size = 4611686018427387904")
        assert found == [("Bob",)]

    def test_parameters_are_bound_by_name(self) -> None:
        engine = self.engine_with(PEOPLE)
        sql = "SELECT COUNT(*) FROM people WHERE size >= $low AND size <= $high"
        assert self._rows(engine, sql, low=2**62, high=2**62) == [(1,)]
        assert self._rows(engine, sql, high=2**62, low=2**62 + 1) == [(0,)]
        assert self._rows(engine, sql, low=-(2**63), high=2**63 - 1) == [(2,)]

    def test_a_list_is_bound_as_one_array(self) -> None:
        engine = self.engine_with(PEOPLE)
        texts = ["a'b", 'a"b', "$1", "\u00fc\U0001f600", "a\0b", "", None, "NULL"]
        lists: Mapping[str, Cells] = {
            "VARCHAR": texts,
            "BIGINT": [None, 2**63 - 1, -(2**63), 0],
            "BOOLEAN": [True, None, False],
            "DATE": [date(1, 1, 1), date(9999, 12, 31), None],
            "TIMESTAMP": [datetime(1, 1, 1), None, datetime(9999, 12, 31, 23, 59, 59, 999999)],
        }
        for type_, values in lists.items():
            sql = f"SELECT unnest(CAST($list1 AS {type_}[])) AS x"
            for some in (values, values[:1], []):
                assert sorted(map(repr, self._rows(engine, sql, list1=some))) == sorted(repr((each,)) for each in some)
        floats = [0.1, None, 1e300]
        sql = "SELECT unnest(CAST($list1 AS DOUBLE[])) AS x"
        assert engine.run_public(sql, parameters={"list1": floats}) == [(each,) for each in floats]

    def test_what_is_no_number_is_told_from_numbers(self) -> None:
        engine = self.engine_with({"t": {"x": (SqlType.DOUBLE, [nan, inf, -inf, None, 1.5, -0.0])}})
        assert self._rows(engine, f"SELECT COUNT(*) FROM t WHERE {self.finite}") == [(2,)]
        assert self._rows(engine, "SELECT COUNT(*) FROM t") == [(6,)]

    def test_text_is_compared_by_its_bytes(self) -> None:
        texts = ["a", "A", "á", "a\u0301", "a ", " a", "ß", "ss", "Z"]
        engine = self.engine_with({"t": {"x": (SqlType.TEXT, texts)}})
        assert self._rows(engine, "SELECT COUNT(DISTINCT x) FROM t") == [(len(texts),)]
        assert sorted(self._rows(engine, "SELECT x FROM t GROUP BY x")) == sorted((text,) for text in texts)
        assert self._rows(engine, "SELECT COUNT(*) FROM t WHERE x = 'A'") == [(1,)]
        by_bytes = sorted(texts, key=lambda text: text.encode())
        assert self._rows(engine, "SELECT x FROM t ORDER BY x") == [(text,) for text in by_bytes]

    def test_nothing_is_written(self) -> None:
        engine = self.engine_with(PEOPLE)
        before = engine.schema()
        for sql in self.writes:
            for error in self._failures(engine, sql):
                assert isinstance(error, EngineFailed), sql
        assert self._rows(engine, "SELECT COUNT(*), SUM(size) FROM people") == [(3, SECRET_NUMBER + 2**62)]
        assert engine.schema() == before

    def test_there_is_no_way_out(self) -> None:
        engine = self.engine_with(PEOPLE)
        for sql in self.escapes:
            for error in self._failures(engine, sql):
                assert isinstance(error, EngineFailed), sql

    def test_all_failures_sound_the_same(self) -> None:
        engine = self.engine_with(PEOPLE)
        heard, numbers = set(), set()
        for sql in self.failures:
            for error in self._failures(engine, sql):
                assert isinstance(error, EngineFailed), sql
                assert len(error.trace_id) >= 16, sql
                heard.add(str(error).replace(error.trace_id, ""))
                numbers.add(error.trace_id)
        assert len(heard) == 1
        assert len(numbers) == 2 * len(self.failures)

    def test_a_failure_repeats_nothing_of_the_rows(self) -> None:
        engine = self.engine_with(PEOPLE)
        for sql in self.failures:
            for error in self._failures(engine, sql):
                assert error is not None
                assert traces_of((SECRET, str(SECRET_NUMBER)), error) == [], sql

    def test_an_engine_works_on_after_a_failure(self) -> None:
        engine = self.engine_with(PEOPLE)
        for sql in self.failures:
            _failure(self._rows, engine, sql)
            assert self._rows(engine, "SELECT COUNT(*) FROM people") == [(3,)]

    def test_several_threads_get_the_same_integers(self) -> None:
        numbers = [(-1) ** n * n**3 for n in range(50_000)]
        engine = self.engine_with(
            {"t": {"x": (SqlType.INTEGER, numbers), "g": (SqlType.INTEGER, [n % 7 for n in range(50_000)])}}
        )
        sql = "SELECT g, COUNT(*), SUM(x) FROM t GROUP BY g"
        right = [(g, len(numbers[g::7]), sum(numbers[g::7])) for g in range(7)]
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(lambda _: sorted(self._rows(engine, sql)), range(12)):
                assert found == right

    def test_a_statement_can_be_interrupted(self) -> None:
        engine = self.engine_with({"many": {"n": (SqlType.INTEGER, list(range(2000)))}})
        ended: list[BaseException | None] = []
        asking = threading.Thread(target=lambda: ended.append(_failure(self._rows, engine, self.slow)), daemon=True)
        asking.start()
        limit = time.monotonic() + self.patience
        time.sleep(0.2)
        while asking.is_alive() and time.monotonic() < limit:
            engine.interrupt()
            asking.join(0.2)
        assert ended, "the statement runs on"
        assert isinstance(ended[0], EngineFailed)
        assert self._rows(engine, "SELECT COUNT(*) FROM many") == [(2000,)]

    def test_a_closed_engine_answers_nothing(self) -> None:
        engine = self.engine_with(PEOPLE)
        engine.close()
        assert isinstance(_failure(self._rows, engine, "SELECT COUNT(*) FROM people"), EngineFailed)


def _failure(ask: Callable[..., object], *arguments: object) -> BaseException | None:
    try:
        ask(*arguments)
    except Exception as error:
        return error
    return None


def traces_of(secrets: Sequence[str], error: BaseException) -> list[str]:
    """Where a secret can be read off an error: its texts, what it is chained to, the variables of the frames it came
    through (except those of the tests), and any other exception that somebody still holds."""
    found = []
    for place, text in _texts(error):
        found += [f"{secret} in {place}" for secret in secrets if secret in text]
    gc.collect()
    for kept in gc.get_objects():
        if isinstance(kept, BaseException) and any(secret in str(kept) for secret in secrets):
            found.append(f"a {type(kept).__name__} is kept")
    return found


def _texts(error: BaseException) -> Iterator[tuple[str, str]]:
    yield "str", str(error)
    yield "repr", repr(error)
    yield "args", repr(error.args)
    yield "notes", repr(getattr(error, "__notes__", ""))
    yield "attributes", repr(vars(error))
    yield "traceback", "".join(traceback.format_exception(error))
    for chain, other in (("cause", error.__cause__), ("context", error.__context__)):
        if other is not None:
            yield from ((f"{place} of the {chain}", text) for place, text in _texts(other))
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == __file__:
            continue
        for name, value in frame.f_locals.items():
            yield f"variable {name}", repr(value)
            yield f"attributes of variable {name}", repr(_attributes(value))


def _attributes(value: Any) -> dict[str, object]:
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()) if hasattr(value, name)]
    return {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in slots if isinstance(name, str)}}
