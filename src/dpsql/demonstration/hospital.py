"""The demo hospital: invented patients, the same ones each time, under a whole policy. The noise is the real one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

import duckdb

from dpsql import Analyst, Owner
from dpsql import open as open_owner

T = TypeVar("T")
Rows: TypeAlias = tuple[tuple[object, ...], ...]

PATIENTS: Final = 6000
BOB: Final = 1204
"""Where Bob stands among the patients."""
BOBS_OWN: Final = "Wilson disease"
"""A diagnosis that nobody else in the hospital has."""
CITIES: Final = ("Basel", "Bern", "Geneva", "Aarau")
SEXES: Final = ("f", "m", "x")
FIRST_DAY, LAST_DAY = date(2025, 1, 1), date(2025, 12, 31)
VISITS_PER_PERSON: Final = 6
COST_PER_QUERY, GRANT = 0.05, 1.0

SCHEMA: Final = """
CREATE TABLE wards (ward_id INTEGER PRIMARY KEY, ward VARCHAR, beds INTEGER);
CREATE TABLE patients (
    patient_id BIGINT PRIMARY KEY, name VARCHAR, age INTEGER, city VARCHAR, sex VARCHAR, flu BOOLEAN
);
CREATE TABLE visits (
    visit_id BIGINT PRIMARY KEY, patient_id BIGINT REFERENCES patients, ward_id INTEGER REFERENCES wards,
    day DATE, charge INTEGER, diagnosis VARCHAR
);
"""

_WARDS: Final = ((1, "medicine", 48), (2, "surgery", 36), (3, "emergency", 20), (4, "children", 24), (5, "eyes", 12))
_CITY: Final = ((0.44, "Basel"), (0.77, "Bern"), (0.95, "Geneva"), (1.0, "Aarau"))
_SEX: Final = ((0.495, "f"), (0.985, "m"), (1.0, "x"))
_VISITS: Final = ((0.12, 0), (0.37, 1), (0.62, 2), (0.8, 3), (0.9, 4), (0.96, 5), (1.0, VISITS_PER_PERSON))
_DIAGNOSIS: Final = ((0.3, "asthma"), (0.52, "fracture"), (0.7, "migraine"), (0.86, "diabetes"), (1.0, "cataract"))
_FIRST: Final[Mapping[str, Sequence[str]]] = {
    "f": ("Alice", "Anna", "Carla", "Elena", "Julia", "Lea", "Mia", "Nina", "Nora", "Sofia", "Vera", "Zoe"),
    "m": ("Adam", "Ben", "Eric", "Felix", "Frank", "Hugo", "Jan", "Leo", "Luca", "Max", "Noah", "Tim"),
    "x": ("Alex", "Charlie", "Kim", "Robin", "Sam", "Toni"),
}
_LAST: Final = ("Berger", "Brunner", "Frei", "Graf", "Huber", "Keller", "Meier", "Moser", "Roth", "Steiner", "Weber")


def demo(*, timeout: float | None = None) -> Analyst:
    """Ana, an analyst of the demo hospital: nothing to set up, everything in memory, gone with the process.

    Tables: patients, visits, wards. The people are invented and the same each time; the noise is drawn anew. `name`
    may be filtered on here, so that you can attack somebody by name and see that the noise alone protects them. The
    owner of real data hides such a column. `timeout`: seconds for each statement.
    """
    owner = opened(timeout=timeout)
    return replace(owner.grant("ana", budget=GRANT), on_close=owner.close)


def opened(*, name_hidden: bool = False, timeout: float | None = None) -> Owner:
    """The owner of the demo hospital, with the whole policy and no grant yet."""
    owner = open_owner(":memory:", timeout=timeout)
    owner.person(name="patient", label="one patient, with all of their visits", relation="add_remove")
    with duckdb.connect(":memory:") as source:
        with suppress(duckdb.InvalidInputException):  # a notebook without ipywidgets, where DuckDB draws none
            source.execute("SET enable_progress_bar = false")  # it would be drawn over the terminal
        _fill(source)
        _register(owner, source, hidden=["patient_id", "name"] if name_hidden else ["patient_id"])
    owner.promise(epsilon=5, delta=1e-6)
    owner.defaults(cost_per_query=COST_PER_QUERY, max_keys=1000, selection_share=0.25, delta_per_query=1e-9)
    return owner


def _fill(database: duckdb.DuckDBPyConnection) -> None:
    """The tables with their keys, which the database checks as rows come in."""
    database.execute(SCHEMA)
    for name in ("wards", "patients", "visits"):
        database.execute(f"INSERT INTO {name} SELECT * FROM read_parquet(?)", [str(rows_file(name))])


def rows_file(table: str) -> Path:
    """The file that holds the rows of a table. `tools/demo_rows.py` writes it."""
    return Path(__file__).with_name(f"{table}.parquet")


def _register(owner: Owner, source: duckdb.DuckDBPyConnection, *, hidden: list[str]) -> None:
    owner.register(
        "patients",
        source,
        person="patient_id",
        unique=True,
        rows=f"about {PATIENTS}",
        bounds={"age": (0, 110)},
        keys={"city": CITIES, "sex": SEXES},
        hidden=hidden,
        columns=["name", "flu"],  # name: filterable on purpose, see `demo`
    )
    owner.register("wards", source, public=True, unique=["ward_id"], columns="all")
    owner.register(
        "visits",
        source,
        person="patient_id",
        rows_per_person=VISITS_PER_PERSON,
        groups_per_person=3,
        bounds={"charge": (0, 2000), "day": (FIRST_DAY, LAST_DAY)},
        keys={"diagnosis": "private", "day": "calendar"},
        hidden=["visit_id"],
        columns=["patient_id", "ward_id"],
    )


@cache
def invented() -> Mapping[str, Rows]:
    """The rows of every table, in an order in which each names only rows that are there already.

    This is data, never noise: a known seed, so that everybody sees the same hospital. Of `random` only `random()` is
    used, the one method whose numbers Python keeps from version to version.
    """
    chance = random.Random(1204)
    patients = [_patient(number, chance) for number in range(1, PATIENTS + 1)]
    visits = [visit for patient in patients for visit in _visits(patient, chance)]
    rows: dict[str, Rows] = {
        "wards": _WARDS,
        "patients": tuple(patients),
        "visits": tuple((number, *visit) for number, visit in enumerate(visits, start=1)),
    }
    return MappingProxyType(rows)


def _patient(number: int, chance: random.Random) -> tuple[object, ...]:
    sex, city = _drawn(_SEX, chance), _drawn(_CITY, chance)
    name = f"{_one_of(_FIRST[sex], chance)} {_one_of(_LAST, chance)}"
    age, flu = int(100 * chance.random() ** 1.2), chance.random() < 0.2
    return (number, "Bob", 42, "Basel", "m", True) if number == BOB else (number, name, age, city, sex, flu)


def _visits(patient: tuple[object, ...], chance: random.Random) -> Iterator[tuple[object, ...]]:
    number, flu = patient[0], patient[-1]
    if number == BOB:
        yield number, 1, date(2025, 2, 3), 180, "flu"
        yield number, 1, date(2025, 6, 11), 950, BOBS_OWN
        return
    for visit in range(_drawn(_VISITS, chance)):
        day = FIRST_DAY + timedelta(days=int(365 * chance.random()))
        charge = 40 + int(1960 * chance.random() ** 3)
        diagnosis = _drawn(_DIAGNOSIS, chance)
        yield number, _one_of(_WARDS, chance)[0], day, charge, "flu" if flu and visit == 0 else diagnosis


def _drawn(shares: Sequence[tuple[float, T]], chance: random.Random) -> T:
    """One of the values, by their shares added up."""
    drawn = chance.random()
    return next(value for share, value in shares if drawn < share)


def _one_of(values: Sequence[T], chance: random.Random) -> T:
    return values[int(len(values) * chance.random())]
