"""Metadata of SmartNoise and CSVW-EO: what carries over with its place in the file, and what is said not to."""

import json
import sys
import tomllib

import pytest

import dpsql
from dpsql.catalog.marks import WORD
from dpsql.errors import BadParameter, MissingExtra
from dpsql.suggest.csvw import csvw_tables
from dpsql.suggest.smartnoise import smartnoise_tables

TABLE = """
CREATE TABLE pums (age INTEGER, sex VARCHAR, educ VARCHAR, income DOUBLE, married BOOLEAN, pid BIGINT);
"""
YAML = """\
"":
  PUMS:
    PUMS:
      row_privacy: False
      rows: 1000
      max_ids: 3
      censor_dims: True
      clamp_counts: False
      age:
        type: int
        lower: 0
        upper: 100
      sex:
        type: string
      income:
        type: float
        lower: 0.5
        upper: 500000
        sensitivity: 9
      pid:
        type: int
        private_id: True
      height:
        type: int
        lower: 1
        upper: 2
    OTHER:
      x: {type: int, private_id: true}
"""
CSVW = {
    "@context": ["http://www.w3.org/ns/csvw"],
    "@type": "Table",
    "url": "data/pums.csv",
    "privacyUnit": "person",
    "maxContributions": 2,
    "maxLength": 1000,
    "tableSchema": {
        "columns": [
            {"name": "pid", "datatype": "integer", "eo:privacyId": True},
            {"name": "age", "datatype": "integer", "minimum": 0, "maximum": 120, "nullableProportion": 0.1},
            {
                "name": "sex",
                "datatype": "string",
                "maxGroupsPerUnit": 1,
                "partitions": [{"predicate": {"partitionValue": "f"}}, {"predicate": {"partitionValue": "m"}}],
            },
            {"name": "educ", "datatype": "string", "csvw-eo:publicKeysValues": ["low", "high"], "maxGroupsPerUnit": 2},
            {"name": "income", "partitions": [{"predicate": {"lowerBound": 0, "upperBound": 9}}]},
        ]
    },
}


@pytest.fixture
def policy(made, tmp_path):
    """What is suggested with a file of another system: the policy, its reasons, what was said."""
    address = made(TABLE)

    def suggested(name, text):
        (tmp_path / name).write_text(text)
        path = tmp_path / "p.toml"
        found = dpsql.suggest_policy(address, output=path, imported=tmp_path / name, force=True)
        lines = [line.split(f"  # {WORD} ") for line in path.read_text().split("\n") if f"# {WORD}" in line]
        return tomllib.loads(path.read_text()), {said.strip(): reason for said, reason in lines}, "\n".join(found.lines)

    return suggested


def test_smartnoise(policy):
    data, reasons, told = policy("smartnoise.yaml", YAML)
    table = data["table"]["pums"]
    assert table["person"] == "pid"
    assert (table["rows_per_person"], table["groups_per_person"], table["rows"]) == (3, 3, "about 1000")
    assert table["columns"]["age"] == {"bounds": [0, 100]}
    assert table["columns"]["income"] == {"bounds": [0.5, 500000]}
    assert table["columns"]["sex"] == {}
    assert reasons['person = "pid"'] == "from smartnoise.yaml:20"
    assert reasons["age = { bounds = [0, 100] }"] == "from smartnoise.yaml:11"
    assert reasons["rows_per_person = 3"] == "from smartnoise.yaml:6"
    assert "smartnoise.yaml:7: censor_dims does not carry over" in told
    assert "smartnoise.yaml:8: clamp_counts does not carry over" in told
    assert "sensitivity of income does not carry over" in told
    assert "pums has no column height" in told.lower()
    assert "the source has no table PUMS.OTHER" in told


def test_every_imported_line_waits_and_the_whole_is_a_policy(policy, tmp_path):
    policy("smartnoise.yaml", YAML)
    file = dpsql.PolicyFile(tmp_path / "p.toml")
    assert {"pums.person", "pums.age", "pums.rows"} <= {task.place for task in file.review().tasks}
    file.confirm("person", "pums", "promise", "defaults")
    assert file.review().tasks == ()


def test_rows_that_are_people_of_their_own(policy):
    data, reasons, _ = policy(
        "smartnoise.yml", YAML.replace("row_privacy: False", "row_privacy: True").replace("private_id: True", "x: 1")
    )
    assert data["table"]["pums"]["unit"] == "row"
    assert "person" not in data["table"]["pums"]
    assert reasons['unit = "row"'].startswith("from smartnoise.yml:3")


def test_csvw(policy):
    data, reasons, told = policy("csvw-eo.json", json.dumps(CSVW, indent=1))
    table = data["table"]["pums"]
    assert table["person"] == "pid"
    assert (table["rows_per_person"], table["groups_per_person"]) == (2, 2)
    columns = table["columns"]
    assert columns["age"] == {"bounds": [0, 120]}
    assert columns["sex"] == {"keys": ["f", "m"]}
    assert columns["educ"] == {"keys": ["low", "high"]}
    assert columns["income"] == {}  # ranges are no keys
    at = json.dumps(CSVW, indent=1).split("\n").index('    "name": "age",') + 1
    assert reasons["age = { bounds = [0, 120] }"] == f"from csvw-eo.json:{at}"
    assert "maxLength does not carry over" in told
    assert "nullableProportion of age does not carry over" in told


def test_a_table_without_a_name_is_the_only_one(policy):
    nameless = {key: value for key, value in CSVW.items() if key != "url"}
    assert policy("x.json", json.dumps(nameless))[0]["table"]["pums"]["person"] == "pid"
    assert "the source has no table other" in policy("x.json", json.dumps({**CSVW, "url": "other.csv"}))[2]


@pytest.mark.parametrize(
    "text", ["{", "[]", "3", '{"tables": 3}', '{"tables": [3]}', '{"tableSchema": []}', "[" * 100_000]
)
def test_what_is_no_csvw_is_refused(text):
    with pytest.raises(BadParameter, match="not metadata of CSVW-EO"):
        list(csvw_tables(text, "x.json"))


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "a: !!python/object:os.system {}\nb: *x",
        "a: &x {b: 1}\nc: *x",
        "? {a: 1}\n: 2\n? *y\n: 3",
        "\x00",
        "a: 1\n---\nb: 2",
    ],
)
def test_what_is_no_yaml_is_refused(text):
    with pytest.raises(BadParameter, match="not metadata in YAML"):
        list(smartnoise_tables(text, "x.yaml"))


@pytest.mark.parametrize("text", ["", "3", "[1, 2]", "a: 1", "a: {b: 1}", "a: {b: {c: 1}}", "a: {b: {c: {lower: 1}}}"])
def test_yaml_without_a_table_is_refused(text):
    with pytest.raises(BadParameter, match=r"x\.yaml: not metadata of SmartNoise"):
        list(smartnoise_tables(text, "x.yaml"))


def test_a_column_without_bounds_says_nothing():
    (table,) = smartnoise_tables("a: {b: {c: {x: {lower: .nan, upper: 1}}}}", "x.yaml")
    assert not table.columns
    assert not table.person


def test_other_files_and_a_missing_library_are_named(policy, monkeypatch):
    with pytest.raises(BadParameter, match="no metadata that is known"):
        policy("x.txt", "")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtra, match="not installed") as caught:
        policy("x.yaml", YAML)
    assert "pip install pyyaml" in caught.value.fix
