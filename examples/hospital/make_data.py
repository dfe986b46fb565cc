"""Makes hospital.duckdb beside this file: invented patients, the same ones each time."""

from __future__ import annotations

import random
import sys
from datetime import date, timedelta
from pathlib import Path

import duckdb

TABLES = """
CREATE TABLE patients (
    patient_id BIGINT PRIMARY KEY, name VARCHAR, age INTEGER, city VARCHAR, sex VARCHAR, flu BOOLEAN
);
CREATE TABLE visits (
    visit_id BIGINT PRIMARY KEY, patient_id BIGINT, ward INTEGER, charge DOUBLE, diagnosis VARCHAR, day DATE
);
CREATE TABLE prescriptions (visit_id BIGINT, drug VARCHAR, days INTEGER);
CREATE TABLE wards (ward INTEGER PRIMARY KEY, title VARCHAR);
INSERT INTO wards VALUES (1, 'surgery'), (2, 'medicine'), (3, 'maternity');
"""
PATIENTS = 6000
FIRST_DAY = date(2024, 1, 1)


def make(path: Path) -> None:
    """A new database at `path`, in place of an old one."""
    path.unlink(missing_ok=True)
    chance = random.Random(1)
    patients: list[tuple[object, ...]] = []
    visits: list[tuple[object, ...]] = []
    prescriptions: list[tuple[object, ...]] = []
    for patient in range(PATIENTS):
        city = chance.choices(["Basel", "Bern", "Geneva", "Aarau"], weights=[5, 3, 2, 1])[0]
        sex = chance.choice(["f", "m", None])
        patients.append((patient, f"patient {patient}", chance.randrange(100), city, sex, chance.random() < 0.1))
        for _ in range(chance.randrange(5)):
            visit = len(visits)
            diagnosis = chance.choices(["flu", "asthma", "fracture", "kuru"], weights=[600, 250, 150, 0.1])[0]
            day = FIRST_DAY + timedelta(days=chance.randrange(1000))
            charge = round(chance.lognormvariate(5, 1), 2)
            visits.append((visit, patient, chance.randrange(1, 4), charge, diagnosis, day))
            if chance.random() < 0.5:
                prescriptions.append((visit, chance.choice(["ibuprofen", "salbutamol"]), chance.randrange(1, 30)))
    with duckdb.connect(str(path)) as database:
        database.execute(TABLES)
        for name, rows in (("patients", patients), ("visits", visits), ("prescriptions", prescriptions)):
            with database.appender(name) as appender:
                appender.append_rows(rows)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("hospital.duckdb"))
