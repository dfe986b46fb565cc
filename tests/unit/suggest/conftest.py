"""A clinic whose catalogue says as much as a catalogue can, and in which nobody has a row."""

import duckdb
import pytest

TABLES = """
CREATE TYPE sex AS ENUM ('f', 'm', 'x');
CREATE TABLE wards (ward_id INTEGER PRIMARY KEY, ward VARCHAR, beds INTEGER);
CREATE TABLE patients (
    patient_id BIGINT PRIMARY KEY, name VARCHAR, age INTEGER, city VARCHAR CHECK (city IN ('Basel', 'Bern')), sex sex,
    flu BOOLEAN, photo BLOB, size HUGEINT, bmi DOUBLE CHECK (bmi BETWEEN 5 AND 90.5)
);
CREATE TABLE visits (
    visit_id BIGINT PRIMARY KEY, patient_id BIGINT REFERENCES patients (patient_id),
    ward_id INTEGER REFERENCES wards (ward_id), day DATE, charge INTEGER, diagnosis VARCHAR
);
CREATE TABLE prescriptions (visit_id BIGINT, drug VARCHAR, days INTEGER CHECK (days > 0 AND days <= 90));
CREATE TABLE log (moment TIMESTAMP, what VARCHAR);
COMMENT ON COLUMN visits.charge IS 'in francs';
CREATE VIEW shown AS SELECT * FROM visits;
"""


@pytest.fixture(scope="session")
def clinic(tmp_path_factory):
    """The address of the clinic."""
    path = tmp_path_factory.mktemp("clinic") / "clinic.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(TABLES)
    return f"duckdb://{path}"


@pytest.fixture
def made(tmp_path):
    """A database of other tables: its address."""

    def make(tables):
        path = tmp_path / "made.duckdb"
        path.unlink(missing_ok=True)
        with duckdb.connect(str(path)) as database:
            database.execute(tables)
        return f"duckdb://{path}"

    return make
