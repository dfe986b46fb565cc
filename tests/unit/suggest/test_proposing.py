"""What a catalogue suggests: the rule behind each line, and that nothing is suggested where nobody could know."""

import tomllib

import pytest

import dpsql
from dpsql.catalog.lines import WORD
from dpsql.catalog.load import loads
from dpsql.errors import BadParameter, NoSource
from tests.kits.refusals import raised


def suggested(address, folder, **words):
    """The file as TOML reads it, and each line by what it says before its mark."""
    path = folder / "p.toml"
    found = dpsql.suggest_policy(address, output=path, force=True, **words)
    text = path.read_text()
    reasons = dict(line.split(f"  # {WORD} ") for line in text.split("\n") if f"# {WORD}" in line)
    return tomllib.loads(text), {said.strip(): reason for said, reason in reasons.items()}, found


@pytest.fixture(scope="module")
def clinics(clinic, tmp_path_factory):
    return suggested(clinic, tmp_path_factory.mktemp("policy"))


def test_the_person_and_the_ways_to_it(clinics):
    tables = clinics[0]["table"]
    assert clinics[0]["person"]["name"] == "patient"
    assert (tables["patients"]["person"], tables["patients"]["unique"]) == ("patient_id", True)
    assert tables["visits"]["person"] == "patient_id"
    assert "unique" not in tables["visits"]
    assert tables["prescriptions"]["person_via"] == "visit_id -> visits.visit_id"
    assert tables["wards"] == {"public": True}
    assert tables["log"] == {}  # nobody knows whose its rows are, and so it is not called public


def test_columns_by_check_enum_type_and_name(clinics):
    columns = clinics[0]["table"]["patients"]["columns"]
    assert columns == {
        "patient_id": {"hidden": True},
        "name": {"hidden": True},
        "age": {"bounds": [0, 110]},
        "city": {"keys": ["Basel", "Bern"]},
        "sex": {"keys": ["f", "m", "x"]},
        "flu": {"keys": [False, True]},
        "bmi": {"bounds": [5, 90.5]},
    }
    assert clinics[0]["table"]["prescriptions"]["columns"]["days"] == {"bounds": [1, 90]}  # days > 0


def test_what_nobody_could_know_is_left_to_the_owner(clinics):
    data, reasons, _ = clinics
    visits = data["table"]["visits"]["columns"]
    assert visits["charge"] == visits["day"] == visits["diagnosis"] == visits["ward_id"] == {}
    for said in ("charge = {}", "day = {}", "diagnosis = {}", "epsilon = 1.0", "delta = 1e-6", "cost_per_query = 0.05"):
        assert reasons[said].startswith("needs "), said
    assert "in francs" in reasons["charge = {}"]
    assert reasons["[table.log]"].startswith("needs a person")
    assert 'unit = "row"' in reasons["[table.log]"]
    assert reasons["[table.log]"].endswith("public = true protects no row, and says: nobody is in this table")


@pytest.mark.parametrize(("line", "taken"), [('unit = "row"', {"unit": "row"}), ("public = true", {"public": True})])
def test_a_table_without_a_person_offers_lines_that_can_be_taken_as_they_stand(clinics, line, taken):
    """Commented out: the table cannot be queried until its owner takes one of them, and the mark away."""
    text = clinics[2].path.read_text()
    header = next(each for each in text.split("\n") if each.startswith("[table.log]"))
    assert f"{header}\n# " in text
    own = text[text.index(header) :].replace(header, "[table.log]", 1).replace(f"# {line} ", f"{line} ", 1)
    assert tomllib.loads(own)["table"]["log"] == taken
    assert "# public = true  # protects no row, and says: nobody is in this table" in text


def test_every_line_that_decides_something_is_marked(clinics):
    found = clinics[2]
    lines = found.path.read_text().split("\n")
    for line in lines:
        decides = "=" in line and not line.startswith("#") and not line.startswith(("version", "url"))
        assert (f"# {WORD} " in line) == (decides or line.startswith("[table.log]")), line
    assert found.marks == sum(f"# {WORD} " in line for line in lines)
    with pytest.raises(dpsql.DpsqlError, match=r"not confirmed yet|no person column"):
        loads("\n".join(lines), name="p.toml")


def test_confirmed_and_decided_it_is_a_policy_that_opens(clinic, tmp_path):
    suggested(clinic, tmp_path)
    path = tmp_path / "p.toml"
    path.write_text(path.read_text().replace("[table.log]", "[table.log]\npublic = true"))
    names = tomllib.loads(path.read_text())["table"]
    assert dpsql.PolicyFile(path).confirm(*names, "promise", "defaults", everything=True).left == 0
    review = dpsql.PolicyFile(path).review()
    assert review.tasks == ()
    assert "5 tables, 1 unit of protection: one patient, with all their rows" in review.complete
    with dpsql.Planner(path) as planner:
        for sql in (
            "SELECT city, COUNT(*) AS n, AVG(age) AS a FROM patients GROUP BY city",
            "SELECT flu, COUNT(*) AS n FROM patients GROUP BY flu",
            "SELECT COUNT(*) AS n FROM prescriptions WHERE days > 30",
        ):
            assert planner.verdict(sql).error is None, sql
        assert planner.verdict("SELECT SUM(charge) FROM visits").error.code == "DP102"
        assert planner.verdict("SELECT name, COUNT(*) FROM patients GROUP BY name").error.code == "DP301"


def test_it_says_what_it_read(clinics):
    read = clinics[2].lines[0]
    assert "names of tables (5)" in read
    assert "names, types and NOT NULL of columns (23)" in read
    assert "FOREIGN KEY (2)" in read
    assert "CHECK (3)" in read
    assert "comments (1)" in read
    assert clinics[2].lines[1] == "No rows, no statistics and no row counts were read."


def test_types_that_are_not_read_are_named(clinics):
    text = clinics[2].path.read_text()
    assert "# photo: BLOB is not read; read it through a view" in text
    assert "# size: HUGEINT holds numbers beyond 64 bits" in text
    assert "# shown is a view" in text


def test_two_tables_of_people_are_a_question_for_the_owner(made, tmp_path):
    address = made(
        "CREATE TABLE customers (customer_id BIGINT PRIMARY KEY);"
        "CREATE TABLE employees (employee_id BIGINT PRIMARY KEY, boss BIGINT REFERENCES employees (employee_id));"
        "CREATE TABLE orders (order_id BIGINT PRIMARY KEY, customer_id BIGINT REFERENCES customers (customer_id),"
        " employee_id BIGINT REFERENCES employees (employee_id));"
        "CREATE TABLE baskets (customer_id BIGINT REFERENCES customers (customer_id))"
    )
    data, reasons, _ = suggested(address, tmp_path)
    assert data["person"]["name"] == "customer"
    assert data["table"]["orders"]["person"] == "customer_id"
    assert "employee_id may lead to a person too" in reasons['person = "customer_id"']
    assert "needs your decision: customers are people too" in reasons['person = "employee_id"']


def test_where_nobody_is_called_like_people_nothing_is_public(made, tmp_path):
    address = made(
        "CREATE TABLE accounts (nr BIGINT PRIMARY KEY);"
        "CREATE TABLE moves (id BIGINT PRIMARY KEY, nr BIGINT REFERENCES accounts (nr))"
    )
    data, reasons, _ = suggested(address, tmp_path)
    assert data["table"] == {"accounts": {}, "moves": {}}
    assert 'if a row of it is a person, write person = "nr"' in reasons["[table.accounts]"]


def test_a_column_may_be_all_that_speaks_of_people(made, tmp_path):
    data, _, _ = suggested(made("CREATE TABLE clicks (user_id BIGINT, page VARCHAR)"), tmp_path)
    assert data["person"]["name"] == "user"
    assert data["table"]["clicks"]["person"] == "user_id"
    assert data["table"]["clicks"]["columns"] == {"user_id": {"hidden": True}, "page": {}}


def test_a_table_with_somebodys_address_is_not_called_public(made, tmp_path):
    address = made(
        "CREATE TABLE homes (home_id BIGINT PRIMARY KEY, street VARCHAR);"
        "CREATE TABLE tenants (tenant_id BIGINT PRIMARY KEY, home_id BIGINT REFERENCES homes (home_id))"
    )
    assert suggested(address, tmp_path)[0]["table"]["homes"] == {}


def test_names_that_need_quotes_and_comments_that_would_break_the_file(made, tmp_path):
    address = made(
        'CREATE SCHEMA s; CREATE TABLE s."my users" ("user id" BIGINT PRIMARY KEY, "a\nb" INTEGER);'
        'COMMENT ON COLUMN s."my users"."a\nb" IS \'one\ntwo = 1\n[table.x]\x1b[31m\';'
    )
    data, _, found = suggested(address, tmp_path)
    assert list(data["table"]) == ["s.my users"]
    assert data["table"]["s.my users"]["columns"] == {"user id": {"hidden": True}, "a\nb": {}}
    assert "\x1b" not in found.path.read_text()
    dpsql.PolicyFile(found.path).confirm("s.my users", "person", "promise", "defaults")
    assert dpsql.PolicyFile(found.path).review().tasks == ()


def test_a_public_file_suggests_bounds_and_keys(clinic, tmp_path):
    like = tmp_path / "public.csv"
    like.write_text(
        "charge,diagnosis,day,prescriptions.drug,ward\n10,flu,2024-02-01,a,x\n900,asthma,2024-01-01,b,y\n,flu,,a,z\n"
    )
    data, reasons, _ = suggested(clinic, tmp_path, like=like)
    visits = data["table"]["visits"]["columns"]
    assert visits["charge"] == {"bounds": [10, 900]}
    assert visits["diagnosis"] == {"keys": ["asthma", "flu"]}
    assert [str(day) for day in visits["day"]["bounds"]] == ["2024-01-01", "2024-02-01"]
    assert data["table"]["prescriptions"]["columns"]["drug"] == {"keys": ["a", "b"]}
    assert reasons["charge = { bounds = [10, 900] }"].startswith("from public.csv")


def test_files_and_empty_sources_are_refused_with_a_way_out(tmp_path, made):
    for name in ("a.csv", "b.parquet"):
        with pytest.raises(NoSource, match="no source of a policy") as caught:
            dpsql.suggest_policy(str(tmp_path / name), output=tmp_path / "p.toml")
        assert "CREATE TABLE" in caught.value.fix
    for address in ("memory:", made("SELECT 1")):
        with pytest.raises(NoSource, match="no tables"):
            dpsql.suggest_policy(address, output=tmp_path / "p.toml")
    raised(NoSource, lambda: dpsql.suggest_policy("postgres://x", output=tmp_path / "p.toml"))
    with pytest.raises(BadParameter, match=r"none\.csv cannot be read"):
        dpsql.suggest_policy(made("CREATE TABLE t (i INTEGER)"), output=tmp_path / "p.toml", like=tmp_path / "none.csv")
    assert not (tmp_path / "p.toml").exists()


def test_a_file_that_is_there_stays(clinic, tmp_path):
    path = tmp_path / "dpsql.toml"
    path.write_text("mine")
    raised(BadParameter, lambda: dpsql.suggest_policy(clinic, output=path), match="already")
    assert path.read_text() == "mine"
    with pytest.raises(BadParameter, match="cannot be written"):
        dpsql.suggest_policy(clinic, output=tmp_path / "none" / "dpsql.toml")


def test_a_relative_path_is_written_as_the_policy_sees_it(made, tmp_path, monkeypatch):
    made("CREATE TABLE users (user_id BIGINT PRIMARY KEY)")
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path)
    dpsql.suggest_policy("made.duckdb", output="deep/dpsql.toml")
    assert tomllib.loads((tmp_path / "deep" / "dpsql.toml").read_text())["source"]["url"] == "duckdb://../made.duckdb"
    assert dpsql.PolicyFile("deep/dpsql.toml").review().unreachable is None


def test_what_no_policy_can_name_is_told_and_not_passed_over(made, tmp_path):
    address = made('CREATE TABLE people (person_id BIGINT PRIMARY KEY); CREATE TABLE "a.b" (person_id BIGINT)')
    data, _, found = suggested(address, tmp_path)
    assert set(data["table"]) == {"people"}
    assert any("a.b is left out: there is a point in its name" in line for line in found.lines)
    assert any(note.startswith("a.b is left out") for note in dpsql.PolicyFile(found.path).review().notes)
    with pytest.raises(NoSource, match=r"no tables") as error:
        suggested(made('CREATE TABLE "c.d" (person_id BIGINT)'), tmp_path)
    assert "c.d is left out" in error.value.why
