"""SIMULATE: the plan that would run, on rows made from the policy. No engine, no ledger, and a label nobody loses."""

import csv
from fractions import Fraction

import pandas as pd
import pytest

import dpsql
from dpsql import dbapi
from dpsql.serve.methods import served
from dpsql.serve.wire import WIRE, ServedAnswer, decoded, encoded
from tests.kits.cases import cases
from tests.kits.refusals import raised
from tests.kits.rows import read_texts
from tests.kits.untouchable import untouched

from fixtures import ALL
from hospital import opened, well_behaved

CITIES = ["Basel", "Bern", "Geneva"]
BY_CITY = "SELECT city, COUNT(*) AS n FROM patients GROUP BY city"
ACCEPTED = (
    BY_CITY,
    "SELECT AVG(age) AS a, SUM(age) AS s, COUNT(DISTINCT city) AS c FROM patients",
    "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis COST 4",
    "SELECT w.ward, SUM(v.charge) AS s FROM visits v JOIN wards w ON v.ward_id = w.ward_id GROUP BY w.ward",
    "SELECT COUNT(*) AS n FROM patients p JOIN visits v ON p.patient_id = v.patient_id WHERE v.charge > 100 WITHIN 900",
    "SELECT COUNT(*) AS n FROM patients WHERE age > PRIVATE (SELECT AVG(age) FROM patients)",
    "WITH w AS PRIVATE (SELECT city, COUNT(*) AS n FROM patients GROUP BY city) SELECT MAX(n) AS m FROM w",
    "SELECT ward, beds FROM wards ORDER BY beds",
    "SELECT COUNT(*) AS n FROM patients JOIN wards ON age = beds WHERE beds > (SELECT AVG(beds) FROM wards)",
)
REFUSED = tuple(read_texts(__file__, "refused"))


@pytest.fixture(scope="module")
def owner():
    """A hospital whose rows are all alike, and nowhere near what is invented."""
    with dpsql.open(":memory:", threads=1) as owner:
        owner.register(
            "patients",
            pd.DataFrame({"patient_id": range(20), "name": "Bob", "age": 110, "city": "Basel"}),
            person="patient_id", unique=True, bounds={"age": (0, 110)}, keys={"city": CITIES}, hidden=["name"],
        )  # fmt: skip
        owner.register(
            "visits",
            pd.DataFrame({"patient_id": range(20), "ward_id": 7, "charge": 2000, "diagnosis": "rare"}),
            person="patient_id", rows_per_person=6, groups_per_person=3, rows=3000, columns=["ward_id"],
            bounds={"charge": (0, 2000)}, keys={"diagnosis": "private"},
        )  # fmt: skip
        wards = pd.DataFrame({"ward_id": [7], "ward": ["heart"], "beds": [9]})
        owner.register("wards", wards, public=True, unique=["ward_id"], columns="all")
        owner.register("secrets", pd.DataFrame({"who": [1]}), person="who", unique=True)
        owner.promise(epsilon=50, delta=1e-5)
        owner.defaults(cost_per_query=2, max_keys=100, selection_share=0.25, delta_per_query=1e-9)
        yield owner


@pytest.fixture(scope="module")
def ana(owner):
    """Ana, who asked once while the engine lived. From here on every statement on it fails."""
    ana = owner.grant("ana", budget=20, max_per_query=5, tables=["patients", "visits", "wards"])
    ana.sql(BY_CITY)
    owner._engine.close()
    assert raised(dpsql.DpsqlError, lambda: ana.sql("SELECT COUNT(*) FROM visits")).code == "DP601"
    return ana


def standing(owner, ana):
    return owner.keeper.rows(), ana.budget.spent, owner.budget.spent


@pytest.mark.parametrize("sql", ACCEPTED)
def test_a_question_is_simulated_without_the_engine_and_without_the_ledger(owner, ana, sql):
    before = standing(owner, ana)
    told = ana.sql(f"SIMULATE {sql}")
    assert standing(owner, ana) == before
    assert (told.cost.epsilon, told.cost.delta, told.release, told.head, told.budget) == (0, 0, None, None, None)
    assert told.columns[-1] == "invented"
    assert len(told) > 0
    assert set(told["invented"]) == {True}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_refused_is_refused_alike_and_not_even_written_down(owner, ana, sql):
    asked = raised(dpsql.DpsqlError, lambda: ana.sql(sql))
    before = standing(owner, ana)
    simulated = raised(dpsql.DpsqlError, lambda: ana.sql(f"SIMULATE {sql}"))
    assert simulated.code == asked.code
    assert standing(owner, ana) == before


def test_margins_are_those_of_the_question_and_numbers_those_of_invented_rows(ana):
    sql = "SELECT SUM(age) AS s FROM patients"
    promised = ana.query(sql).margins["s"]
    told = ana.sql(f"SIMULATE {sql}")["s"][0]
    assert told.margin == pytest.approx(float(promised), rel=0.01)
    assert told.value > 10_000  # 20 people can be worth 2 200; some 1 000 are worth about 55 000, give or take 100


def test_a_simulation_is_never_told_from_what_is_stored_and_an_answer_has_no_label(ana):
    stored = ana.sql(BY_CITY)
    assert stored.cost.epsilon == 0
    simulated = ana.sql(f"SIMULATE {BY_CITY}")
    assert all(cell.value > 100 for cell in simulated["n"])  # 1 000 people in three cities, and noise of scale 1/2
    assert stored["n"][0].value < 100
    assert ana.sql(BY_CITY)["n"][0].value == stored["n"][0].value
    told = ana.sql(BY_CITY)
    assert "invented" not in told.columns
    assert "INVENTED" not in f"{told}{told.notes}{told._repr_html_()}"


def test_simulating_needs_no_budget(owner):
    poor = owner.grant("poor", budget=Fraction(3), tables=["patients"])
    sql = "SELECT COUNT(*) AS n FROM patients COST 3"
    ledger = poor.place.ledger
    with pytest.raises(dpsql.DpsqlError):
        poor.sql(sql)  # paid, though the engine is gone
    assert poor.budget.left == 0
    before = ledger.head()
    assert poor.sql(f"SIMULATE {sql}")["n"][0].value > 900
    assert ledger.head() == before


def over_the_wire(answer):
    told = WIRE["analyst"].to_json(served(answer))
    return WIRE["analyst"].from_json(decoded(encoded(told)), ServedAnswer)


def test_the_label_is_in_every_form_an_answer_takes(ana, tmp_path):
    told = ana.sql(f"SIMULATE {BY_CITY}")
    label = "INVENTED ROWS: made from the policy, nothing of the data"
    assert str(told).startswith(label)
    assert repr(told).startswith(label)
    assert label in told._repr_html_()
    assert told.notes[0] == label
    assert all(row["invented"] is True for row in told.dicts())
    assert told.df()["invented"].tolist() == [True] * 3
    told.to_csv(tmp_path / "told.csv")
    lines = (tmp_path / "told.csv").read_text().splitlines()
    assert [row["invented"] for row in csv.DictReader(lines)] == ["True"] * 3
    cursor = dbapi.connect(ana).cursor().execute(f"SIMULATE {BY_CITY}")
    assert cursor.description[-1][0] == "invented"
    assert {row[-1] for row in cursor.fetchall()} == {True}
    again = over_the_wire(told)
    assert again["invented"] == [True] * 3
    assert label in again.notes
    assert repr(again).startswith(label)
    assert WIRE["analyst"].to_json(served(told))["columns"][-1] == "invented"


def test_a_picture_is_called_invented_whatever_its_title(ana):
    told = ana.sql(f"SIMULATE {BY_CITY}")
    for picture in (told.plot(), told.plot(title="Patients"), dpsql.plot(over_the_wire(told), kind="dot")):
        assert "INVENTED ROWS" in picture.svg().partition("</title>")[0]
        assert "Basel · true" not in picture.svg()
    assert "INVENTED" not in ana.sql(BY_CITY).plot().svg()


@pytest.mark.parametrize("form", [form for form in dpsql.formats if form not in ("parquet", "arrow")])
def test_every_format_of_the_command_line_says_so(ana, form):
    assert "invented" in str(dpsql.formatted(ana.sql(f"SIMULATE {BY_CITY}"), form))


def test_rows_of_a_table_are_shown_as_they_could_be(owner, ana):
    before = standing(owner, ana)
    told = ana.sample("patients", rows=4)
    assert told.columns == ("patient_id", "age", "city", "name", "invented")
    assert told["patient_id"] == [1, 2, 3, 4]
    assert set(told["name"]) == {"(hidden)"}
    assert set(told["city"]) <= {*CITIES, None}
    assert len(ana.sql("SIMULATE SELECT * FROM visits;")) == 5
    assert ana.sql("SIMULATE SELECT Age AS years, city FROM patients LIMIT 2").columns == ("years", "city", "invented")
    assert len(ana.sql("SIMULATE SELECT * FROM patients LIMIT 9 ROWS 3")) == 3
    assert ana.sql("SIMULATE SELECT * FROM patients LIMIT 0").columns[-1] == "invented"
    assert standing(owner, ana) == before


@pytest.mark.parametrize("rows", [0, -3, 1.5, "many", True])
def test_a_sample_has_a_number_of_rows(ana, rows):
    raised(dpsql.BadParameter, lambda: ana.sample("patients", rows=rows))


@pytest.mark.parametrize("table", ["secrets", "nope", "patients; DROP TABLE patients", 'pa"tients'])
def test_a_sample_is_of_a_table_the_analyst_may_name(ana, table):
    assert raised(dpsql.DpsqlError, lambda: ana.sample(table)).code == "DP401"


def test_a_query_simulates_itself_and_words_of_the_statement_stay_names(ana):
    query = ana.query("SELECT COUNT(*) AS n FROM patients /* people */ -- all of them", epsilon=5)
    assert query.cost.epsilon == 5
    told = query.simulate(rows=5000)
    assert told["n"][0].value == pytest.approx(5000, abs=20)  # noise of scale 1/5: beyond 20 once in e^100 runs
    assert ana.query("SIMULATE SELECT COUNT(*) AS n FROM patients ROWS 700", epsilon=5).simulate()["n"][0].value < 720
    assert ana.query("SIMULATE SELECT COUNT(*) FROM patients").cost.epsilon == 0
    told = ana.sql("SIMULATE SELECT COUNT(*) AS rows, COUNT(city) AS simulate FROM patients rows ORDER BY rows ROWS 50")
    assert told.columns == ("rows", "simulate", "invented")


@cases(__file__, "sql", "code")
def test_what_cannot_be_simulated_says_why(ana, sql, code):
    assert raised(dpsql.DpsqlError, lambda: ana.sql(sql)).code == code


def test_a_batch_holds_no_simulation_which_would_take_a_share_of_its_price(owner, ana):
    before = standing(owner, ana)
    assert raised(dpsql.DpsqlError, lambda: ana.run([f"SIMULATE {BY_CITY}"], total=1)).code == "DP104"
    assert standing(owner, ana) == before


def test_nothing_is_simulated_where_nothing_may_be_asked(owner, ana):
    owner.freeze("inspection")
    try:
        for sql in (f"SIMULATE {BY_CITY}", "SIMULATE SELECT * FROM patients LIMIT 5"):
            with pytest.raises(dpsql.DpsqlError) as refused:
                ana.sql(sql)
            assert refused.value.code == "DP204"
    finally:
        owner.unfreeze("over")


@pytest.fixture(scope="module")
def elsewhere():
    """An analyst of the hospital of the fixtures, and the same without an engine."""
    ana = opened(well_behaved())
    return ana, untouched(ana)


@pytest.mark.parametrize("part", range(3))
def test_the_verdict_on_a_question_is_the_verdict_on_its_simulation(elsewhere, part):
    asking, simulating = elsewhere
    fixtures = [each for each in ALL if each.code != "DP101" and "FROM dp." not in each.sql]
    for fixture in fixtures[part::90]:
        verdicts = []
        for ask in (lambda sql: asking.query(sql), lambda sql: simulating.sql(f"SIMULATE {sql}")):
            try:
                ask(fixture.sql)
                verdicts.append(None)
            except dpsql.DpsqlError as refused:
                verdicts.append(refused.code)
        assert verdicts[0] == verdicts[1], fixture
