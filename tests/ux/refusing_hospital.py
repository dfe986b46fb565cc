"""A hospital on disk whose policy refuses in every way that a contract of errors names."""

from pathlib import Path

import duckdb

POLICY = """
version = 1
[source]
url = "duckdb://hospital.duckdb"
[person]
name = "patient"
[promise]
epsilon = 100
delta = 0
[defaults]
cost_per_query = 0.5
max_keys = 1000
[table.patients]
person = "patient_id"
unique = true
[table.patients.columns]
patient_id = { hidden = true }
email = { hidden = true }
age = { bounds = [0, 110] }
city = { keys = ["Basel", "Bern", "Geneva", "Aarau"] }
sex = { keys = ["f", "m", "x"] }
[table.visits]
person = "patient_id"
rows_per_person = 6
groups_per_person = 3
[table.visits.columns]
patient_id = {}
ward_id = {}
charge = {}
diagnosis = { keys = "private" }
[table.wards]
public = true
columns = { ward_id = { unique = true }, ward = {} }
[[grant]]
to = "ana"
budget = 50
max_per_query = 1
[[grant]]
to = "eva"
budget = 0.75
"""


def built(folder: Path, *, people: int) -> Path:
    """The path of the policy; `people` may be none."""
    with duckdb.connect(str(folder / "hospital.duckdb")) as database:
        database.execute(
            f"""
            CREATE TABLE patients AS SELECT range AS patient_id, 'p' || range || '@example.org' AS email,
                CAST(range % 100 AS INTEGER) AS age, CASE WHEN range % 3 = 0 THEN 'Bern' ELSE 'Basel' END AS city,
                CASE WHEN range % 2 = 0 THEN 'f' ELSE 'm' END AS sex FROM range({people});
            CREATE TABLE visits AS SELECT patient_id, CAST(patient_id % 4 AS INTEGER) AS ward_id,
                CAST(patient_id * 7 AS INTEGER) AS charge, 'flu' AS diagnosis FROM patients;
            CREATE TABLE wards AS SELECT CAST(range AS INTEGER) AS ward_id, 'ward ' || range AS ward FROM range(4);
            """
        )
    (folder / "dpsql.toml").write_text(POLICY)
    return folder / "dpsql.toml"
