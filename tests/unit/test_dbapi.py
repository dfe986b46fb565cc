"""PEP 249 over an analyst."""

import warnings
from enum import Enum

import pandas
import pytest

import dpsql
from dpsql import Estimate, dbapi, errors
from tests.kits.cases import cases
from tests.kits.owners import owner_of
from tests.kits.refusals import each_raises, raised

CITIES = ["Basel", "Bern"]
QUESTION = "SELECT city, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY city ORDER BY city"


@pytest.fixture
def analyst():
    frame = pandas.DataFrame({"id": range(40), "age": [30] * 40, "city": CITIES * 20, "name": ["x"] * 40})
    words = {"person": "id", "hidden": ["id", "name"], "bounds": {"age": (0, 100)}, "keys": {"city": CITIES}}
    caps = {"rows_per_person": 1, "groups_per_person": 1, "max_keys": 10}
    return owner_of(frame, **words, **caps, epsilon=100, cost_per_query=10).grant("ana", budget=30)


@pytest.fixture
def cursor(analyst):
    return dbapi.connect(analyst).cursor()


def test_the_module_says_what_the_standard_asks():
    assert (dbapi.apilevel, dbapi.paramstyle) == ("2.0", "qmark")
    assert dbapi.threadsafety in (0, 1, 2, 3)
    tree = {
        dbapi.InterfaceError: dbapi.Error,
        dbapi.DatabaseError: dbapi.Error,
        dbapi.DataError: dbapi.DatabaseError,
        dbapi.OperationalError: dbapi.DatabaseError,
        dbapi.IntegrityError: dbapi.DatabaseError,
        dbapi.InternalError: dbapi.DatabaseError,
        dbapi.ProgrammingError: dbapi.DatabaseError,
        dbapi.NotSupportedError: dbapi.DatabaseError,
    }
    for kind, parent in tree.items():
        assert kind.__bases__ == (parent,)
        assert getattr(dbapi.Connection, kind.__name__) is kind
    assert not issubclass(dbapi.Warning, dbapi.Error)


def test_pandas_reads_an_answer(analyst):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="pandas only supports SQLAlchemy", category=UserWarning)
        frame = pandas.read_sql(QUESTION, dbapi.connect(analyst))
    assert list(frame.columns) == ["city", "n", "mean"]
    assert list(frame["city"]) == CITIES
    assert frame["n"].dtype.kind in "if"
    # ε is 10 for three slots of one group: 20 people are counted within 20 with all but a probability below 1e-20.
    assert frame["n"].between(0, 40).all()
    assert frame["mean"].between(0, 100).all()


def test_only_of_a_released_number_is_a_part_taken():
    """Whatever else has a `value` is a key, and stays as it is."""

    class Key(Enum):
        BERN = "Bern"

    assert dbapi._plain(Estimate(value=7, margin=2, low=5, high=9)) == 7
    assert dbapi._plain(Key.BERN) is Key.BERN


def test_cells_are_plain_and_the_answer_keeps_the_margins(cursor):
    assert cursor.description is None
    assert cursor.rowcount == -1
    assert cursor.execute(QUESTION) is cursor
    assert [column[0] for column in cursor.description] == ["city", "n", "mean"]
    assert all(len(column) == 7 for column in cursor.description)
    assert [column[1] for column in cursor.description] == [dbapi.STRING, dbapi.NUMBER, dbapi.NUMBER]
    assert cursor.rowcount == 2
    rows = cursor.fetchall()
    assert [type(cell) for cell in rows[0]][:1] == [str]
    assert all(type(cell) in (str, int, float) for row in rows for cell in row)
    assert rows == [tuple(getattr(cell, "value", cell) for cell in row) for row in cursor.answer]
    assert cursor.answer.cost.epsilon == 10
    cursor.execute("SELECT city, COUNT(*) AS n FROM people GROUP BY city HAVING n < -1000000")
    assert [column[:2] for column in cursor.description] == [("city", None), ("n", None)]


def test_fetching_in_pieces_and_a_repeat_costs_nothing(cursor, analyst):
    cursor.execute(QUESTION)
    first = cursor.fetchone()
    assert first[0] == "Basel"
    assert [row[0] for row in cursor.fetchmany(5)] == ["Bern"]
    assert cursor.fetchone() is None
    assert cursor.fetchmany() == []
    assert cursor.fetchall() == []
    cursor.execute(QUESTION)
    assert cursor.fetchmany() == [first]
    cursor.arraysize = 2
    cursor.execute(QUESTION)
    assert len(cursor.fetchmany()) == 2
    cursor.execute(QUESTION)
    assert [row[0] for row in cursor] == CITIES
    cursor.execute(QUESTION)
    rows = cursor.fetchall()
    cursor.execute(QUESTION)
    assert cursor.fetchall() == rows
    assert analyst.budget.spent == 10


@cases(__file__, "sql", "kind=", "code")
def test_errors_are_those_of_the_standard(cursor, analyst, sql, kind, code):
    error = raised(dbapi.Error, lambda: cursor.execute(sql))
    assert type(error) is kind
    assert error.code == code
    assert isinstance(error.__cause__, errors.DpsqlError)
    assert "Fix" in str(error)
    assert analyst.budget.spent == 0


def test_an_empty_account_is_operational(cursor):
    for least in range(3):
        cursor.execute(f"SELECT COUNT(*) FROM people WHERE age > {least}")
    error = raised(dbapi.OperationalError, lambda: cursor.execute("SELECT COUNT(*) FROM people WHERE age > 9"))
    assert error.code == "DP201"


def test_a_failed_question_leaves_no_answer_of_the_one_before(cursor):
    cursor.execute(QUESTION)
    raised(dbapi.Error, lambda: cursor.execute("SELECT * FROM people"))
    assert cursor.description is None
    raised(dbapi.ProgrammingError, lambda: cursor.fetchall())


def test_nothing_asked_yet_and_no_parameters(cursor, analyst):
    raised(dbapi.NotSupportedError, lambda: cursor.execute("SELECT COUNT(*) FROM people WHERE age > ?", [3]))
    raised(dbapi.NotSupportedError, lambda: cursor.executemany("SELECT COUNT(*) FROM people", [[]]))
    assert analyst.budget.spent == 0
    each_raises(dbapi.ProgrammingError, lambda fetch: fetch(), (cursor.fetchone, cursor.fetchmany, cursor.fetchall))


def test_closed_also_by_the_connection(analyst):
    with dbapi.connect(analyst) as connection:
        cursor = connection.cursor()
        cursor.setinputsizes([])
        cursor.setoutputsize(1)
        cursor.execute(QUESTION)
        cursor.close()
        for use in (cursor.fetchone, cursor.fetchall, lambda: cursor.execute(QUESTION)):
            with pytest.raises(dbapi.InterfaceError):
                use()
        connection.commit()
        raised(dbapi.NotSupportedError, lambda: connection.rollback())
    each_raises(dbapi.InterfaceError, lambda use: use(), (connection.commit, connection.rollback, connection.cursor))
    connection = dbapi.connect(analyst)
    cursor = connection.cursor().execute(QUESTION)
    connection.close()
    for use in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, lambda: list(cursor)):
        with pytest.raises(dbapi.InterfaceError, match="connection is closed"):
            use()


@pytest.mark.parametrize("wrong", ["dpsql.toml", None, "owner"])
def test_a_connection_is_over_an_analyst(wrong):
    with dpsql.open(":memory:") as owner, pytest.raises(dbapi.InterfaceError, match="analyst") as caught:
        dbapi.connect(owner if wrong == "owner" else wrong)
    assert caught.value.code == "DP410"
    assert "owner.grant(" in str(caught.value)
