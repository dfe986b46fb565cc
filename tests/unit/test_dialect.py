"""SQLAlchemy over dpsql: URLs, reflection from the policy, Core, text with parameters."""

import math
import threading
from datetime import UTC, datetime
from decimal import Decimal

import duckdb
import numpy
import pandas
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry

import dpsql
from dpsql import dbapi
from dpsql.dialect import DpsqlDialect, UnixDialect
from tests.kits.cases import cases
from tests.kits.refusals import raised
from tests.kits.rows import read_texts

POLICY = """
version = 1
source.url = "duckdb://clinic.duckdb"
promise = { epsilon = 100, delta = 0 }
defaults = { cost_per_query = 1, max_keys = 10, noise = "laplace" }
grant = [{ to = "ana", budget = 40 }, { to = "bob", budget = 40 }]
[table.people]
person = "id"
unique = true
columns.age = { bounds = [0, 110] }
columns.city = { keys = ["Basel", "Bern", "it's"] }
columns.id = { hidden = true }
columns.since = {}
[table.wards]
public = true
columns = { ward = {}, beds = {} }
"""
BY_CITY = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"


@pytest.fixture(scope="module", autouse=True)
def known_to_sqlalchemy():
    """As the entry points of the installed package say it."""
    registry.register("dpsql", "dpsql.dialect", "DpsqlDialect")
    registry.register("dpsql.unix", "dpsql.dialect", "UnixDialect")


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clinic")
    with duckdb.connect(str(folder / "clinic.duckdb")) as database:
        city = "CASE WHEN range % 2 = 0 THEN 'Basel' ELSE 'Bern' END"
        day = "DATE '2025-01-01' + CAST(range % 100 AS INTEGER)"
        database.execute(
            f"CREATE TABLE people AS SELECT range AS id, 40 AS age, {city} AS city, {day} AS since FROM range(1000)"
        )
        database.execute("CREATE TABLE wards AS SELECT 'eyes' AS ward, 12 AS beds")
    path = folder / "dpsql.toml"
    path.write_text(POLICY)
    return path


@pytest.fixture(scope="module")
def engine(policy):
    engine = sa.create_engine(f"dpsql:///{policy}?user=ana")
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def people(engine):
    return sa.Table("people", sa.MetaData(), autoload_with=engine)


def asked(engine, statement, **values):
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(statement, values)]


def texts(engine):
    """The questions in the ledger, as they were asked."""
    return [sql for (sql,) in asked(engine, sa.text("SELECT sql FROM dp.ledger ORDER BY number"))]


def test_the_package_names_its_dialects_to_sqlalchemy():
    import tomllib
    from pathlib import Path

    root = Path(__file__).parents[2]
    named = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]["sqlalchemy.dialects"]
    assert named == {"dpsql": "dpsql.dialect:DpsqlDialect", "dpsql.unix": "dpsql.dialect:UnixDialect"}


def test_tables_and_columns_are_those_of_the_policy_and_none_is_hidden(engine):
    told = sa.inspect(engine)
    assert told.get_table_names() == ["people", "wards"]
    assert {column["name"]: type(column["type"]) for column in told.get_columns("people")} == {
        "age": sa.BigInteger, "city": sa.Text, "since": sa.Date,
    }  # fmt: skip
    assert told.get_pk_constraint("people")["constrained_columns"] == []
    assert (told.get_foreign_keys("people"), told.get_indexes("people"), told.get_view_names()) == ([], [], [])
    assert told.has_table("wards")
    assert not told.has_table("nobody")
    assert told.get_table_names(schema="main") == []
    raised(sa.exc.NoSuchTableError, lambda: told.get_columns("nobody"))


def test_pandas_reads_an_answer(engine):
    frame = pandas.read_sql(BY_CITY, engine)
    assert list(frame.columns) == ["city", "n"]
    assert list(frame["city"]) == ["Basel", "Bern", "it's"]
    # Laplace noise of scale 1 is beyond 60 with a probability below 1e-25.
    assert frame["n"].sub([500, 500, 0]).abs().max() < 60
    again = pandas.read_sql(sa.text(BY_CITY), engine)
    assert again.equals(frame)


def test_core_asks_and_a_clause_of_ours_follows(engine, people):
    statement = (
        sa.select(people.c.city, sa.func.count().label("n"), sa.func.avg(people.c.age).label("age"))
        .where(people.c.age.between(18, 65), people.c.city.in_(["Basel", "it's"]))
        .group_by(people.c.city)
        .order_by(sa.desc("n"))
        .limit(1)
    )
    ((city, n, age),) = asked(engine, statement)
    assert city == "Basel"
    assert abs(n - 500) < 200
    assert 0 <= age <= 110
    assert "'it''s'" in texts(engine)[-1]
    statement = sa.select(sa.func.count().label("n")).select_from(people).suffix_with("WITHIN 40")
    with engine.connect() as connection:
        answer = connection.execute(statement).cursor.answer
    assert answer["n"][0].margin <= 40


def test_each_value_is_another_question(engine):
    """Also where SQLAlchemy has compiled the statement before."""
    statement = sa.text("SELECT COUNT(*) AS n FROM people WHERE age > :least")
    before = len(texts(engine))
    for least in (1, 2, 1):
        asked(engine, statement, least=least)
    assert [text[-3:] for text in texts(engine)[before:]] == ["> 1", "> 2"]


@cases(__file__, "value=", "written")
def test_how_a_value_is_written(value, written):
    statement = sa.text("SELECT :x").bindparams(x=value)
    compiled = statement.compile(dialect=DpsqlDialect(), compile_kwargs={"render_postcompile": True})
    assert str(compiled) == f"SELECT {written}"


class Odd(str):
    def replace(self, *_):
        return "x' OR 'x'='x"


@pytest.mark.parametrize("value", [1e-07, 1e22, Decimal("1E+5"), Decimal("0.000000001"), -(2**62), -0.0])
def test_a_number_arrives_as_it_is(engine, value):
    """In digits that are read: what is not would be refused."""
    with engine.connect() as connection:
        priced = sa.text("DRY RUN SELECT COUNT(*) AS n FROM people WHERE age > :x")
        assert dict(connection.execute(priced, {"x": value}).fetchall())["allowed"] == "yes"


@pytest.mark.parametrize(
    "value", [numpy.array([1, 2]), math.inf, math.nan, b"x", [1], Odd("x"), datetime(2025, 3, 1, tzinfo=UTC)]
)
def test_what_cannot_be_written_is_refused(engine, value):
    with pytest.raises(sa.exc.StatementError, match="cannot be written") as refused:
        asked(engine, sa.text("SELECT COUNT(*) FROM people WHERE age = :x"), x=value)
    assert isinstance(refused.value.orig, dpsql.BadParameter)


@pytest.mark.parametrize(
    "change",
    [
        lambda people: sa.insert(people).values(age=3),
        lambda people: sa.update(people).values(age=3),
        lambda people: sa.delete(people),
        lambda people: sa.schema.CreateTable(sa.Table("new", sa.MetaData(), sa.Column("x", sa.Integer))),
    ],
)
def test_nothing_is_changed(engine, people, change):
    with pytest.raises(sa.exc.DBAPIError) as refused, engine.begin() as connection:
        connection.execute(change(people))
    assert refused.value.orig.code == "DP104"
    assert "everybody may only ask" in str(refused.value)


def test_a_refusal_keeps_its_code_and_its_words_and_rolling_back_takes_nothing_back(engine):
    error = raised(sa.exc.DBAPIError, lambda: asked(engine, sa.text("SELECT id FROM people")))
    assert isinstance(error.orig, dbapi.NotSupportedError)
    assert error.orig.code in {"DP101", "DP301"}
    assert "Fix" in str(error)
    before = len(texts(engine))
    with engine.connect() as connection:
        connection.execute(sa.text("SELECT COUNT(*) FROM people WHERE age > 90"))
        connection.rollback()
    assert len(texts(engine)) == before + 1


def test_the_connections_of_an_engine_are_sessions_of_one_analyst(engine):
    with engine.connect() as first, engine.connect() as second:
        first.exec_driver_sql("SET dp.epsilon = 0.25")
        costs = [
            dict(connection.exec_driver_sql("DRY RUN SELECT AVG(age) FROM people").fetchall())["cost"]
            for connection in (first, second)
        ]
    assert costs == ["0.25", "1"]


def test_the_demo_of_an_engine_is_one_hospital():
    engine = sa.create_engine("dpsql://demo", pool_pre_ping=True)
    spent = sa.text("SELECT spent FROM dp.budget")
    with engine.connect() as first, engine.connect() as second:
        first.execute(sa.text("SELECT COUNT(*) FROM patients"))
        ((paid,),) = second.execute(spent)
    assert paid > 0
    engine.dispose()
    assert asked(engine, spent) == [(0,)]  # it was closed, and is another one
    engine.dispose()


@pytest.mark.parametrize(
    "url",
    read_texts(__file__, "other urls are refused"),
)
def test_other_urls_are_refused(url):
    raised(dpsql.BadParameter, lambda: sa.create_engine(url).connect(), match="nothing to connect to")


def test_a_token_is_not_shown():
    error = raised(dpsql.BadParameter, lambda: sa.create_engine("dpsql+unix://:secret@host/run/door").connect())
    assert "secret" not in str(error)


def test_a_server_behind_a_socket(policy, tmp_path, monkeypatch):
    with dpsql.open(policy) as owner:
        token, ready = owner.keeper.admit("bob", role="analyst"), threading.Event()
        server = dpsql.SocketServer(owner, tmp_path / "door")
        serving = threading.Thread(target=server.serve, kwargs={"ready": ready.set})
        serving.start()
        try:
            assert ready.wait(60)
            monkeypatch.setenv("DPSQL_TOKEN", token)
            engine = sa.create_engine(f"dpsql+unix://{tmp_path}/door")
            assert isinstance(engine.dialect, UnixDialect)
            assert "people" in sa.inspect(engine).get_table_names()
            frame = pandas.read_sql(BY_CITY, engine)
            assert list(frame["city"]) == ["Basel", "Bern", "it's"]
            assert frame["n"].sub([500, 500, 0]).abs().max() < 60  # as above
            engine.dispose()
            with_password = sa.create_engine(sa.URL.create("dpsql+unix", password=token, database=f"{tmp_path}/door"))
            monkeypatch.delenv("DPSQL_TOKEN")
            assert pandas.read_sql(BY_CITY, with_password).equals(frame)
            with_password.dispose()
        finally:
            server.stop()
            serving.join()
