"""A small hospital: tables with foreign keys, a policy, and rows that are well behaved or as bad as rows can be."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb

import dpsql

CITIES = ("Aarau", "Basel", "Bern", "Geneva")
DIAGNOSES = ("asthma", "covid", "flu", "fracture", "migraine")
WARDS = ((1, "north", 1), (2, "south", 1), (3, "east", 2), (4, "west", None))

Row = tuple[object, ...]

COLUMNS = {
    "patients": "patient_id BIGINT, name VARCHAR, age INTEGER, city VARCHAR, flu BOOLEAN, weight DOUBLE, born DATE",
    "visits": "patient_id BIGINT, ward_id INTEGER, charge DOUBLE, points BIGINT, diagnosis VARCHAR, day DATE, "
    "moment TIMESTAMP",
    "beds": "bed_id BIGINT, patient_id BIGINT",
    "stays": "bed_id BIGINT, nights INTEGER, bill DOUBLE, fee DECIMAL(9, 2)",
    "teams": "team INTEGER, bed_id BIGINT",
    "rounds": "team INTEGER, minutes INTEGER",
    "wards": "id INTEGER, name VARCHAR, floor INTEGER",
    "readings": "site VARCHAR, level DOUBLE, steps INTEGER",
}


@dataclass(frozen=True)
class Hospital:
    """Rows by table. `without` is the neighbour in which one person is missing."""

    tables: dict[str, list[Row]] = field(default_factory=dict)

    def without(self, person: object) -> Hospital:
        """Everything that holds the person is gone: their rows, and the beds that lead to them."""
        keep = dict(self.tables)
        for name, place in (("patients", 0), ("visits", 0), ("beds", 1)):
            keep[name] = [row for row in self.tables[name] if row[place] != person]
        return Hospital(keep)

    def without_row(self, table: str, number: int) -> Hospital:
        rows = self.tables[table]
        return Hospital({**self.tables, table: rows[:number] + rows[number + 1 :]})

    def shuffled(self, seed: int) -> Hospital:
        chance = random.Random(seed)
        return Hospital({name: chance.sample(rows, len(rows)) for name, rows in self.tables.items()})

    @property
    def people(self) -> list[object]:
        return sorted(
            {row[0] for row in self.tables["patients"]} | {r[0] for r in self.tables["visits"] if r[0] is not None}
        )

    def connection(self) -> duckdb.DuckDBPyConnection:
        """The tables in a database of their own, for plain SQL."""
        connection = duckdb.connect()
        for name, columns in COLUMNS.items():
            rows = self.tables.get(name, [])
            connection.execute(f"CREATE TABLE {name} ({columns})")
            if rows:  # by columns: one parameter each, not one for every cell
                types = connection.execute(f"SELECT * FROM {name}").description
                lists = ", ".join(f"unnest(CAST(? AS {kind}[]))" for _, kind, *_ in types)
                connection.execute(
                    f"INSERT INTO {name} SELECT {lists}", [list(column) for column in zip(*rows, strict=True)]
                )
        return connection


def well_behaved() -> Hospital:
    """Forty people inside every bound and cap. Every fourth one has two beds, and one team visits both."""
    chance = random.Random(7)
    patients: list[Row] = []
    visits: list[Row] = []
    beds: list[Row] = []
    stays: list[Row] = []
    for person in range(1, 41):
        born = date(1940, 1, 1) + timedelta(days=chance.randrange(25_000))
        weight = None if person % 13 == 0 else round(chance.uniform(45, 110), 2)
        age = None if person % 11 == 0 else chance.randrange(0, 100)
        patients.append((person, f"name {person}", age, chance.choice(CITIES), chance.random() < 0.3, weight, born))
        for _ in range(chance.randrange(0, 5)):
            day = date(2025, 1, 1) + timedelta(days=chance.randrange(365))
            at = datetime(day.year, day.month, day.day, chance.randrange(24), chance.randrange(60))
            charge = None if chance.random() < 0.1 else round(chance.uniform(0, 1900), 2)
            ward = chance.randrange(1, 5)
            visits.append((person, ward, charge, chance.randrange(-50, 50), chance.choice(DIAGNOSES), day, at))
        beds.append((100 + person, person))
        stays.extend(
            (100 + person, chance.randrange(1, 9), round(chance.uniform(10, 90), 2), _fee(person, stay))
            for stay in range(person % 3)
        )
    beds += [(200 + person, person) for person in range(4, 41, 4)]
    teams: list[Row] = [(bed % 7, bed) for bed, _ in beds] + [
        ((100 + person) % 7, 200 + person) for person in range(4, 41, 4)
    ]
    rounds: list[Row] = [(number % 9, number) for number in range(30)]
    readings = [(chance.choice("ab"), round(chance.uniform(0, 10), 3), chance.randrange(0, 50)) for _ in range(30)]
    return Hospital(
        {
            "patients": patients,
            "visits": visits,
            "beds": beds,
            "stays": stays,
            "teams": teams,
            "rounds": rounds,
            "wards": list(WARDS),
            "readings": readings,
        }
    )


def _fee(person: int, stay: int) -> Decimal | None:
    """Cents that no double holds, up to 500; none now and then."""
    return None if person % 17 == 0 else Decimal(person * 1237 % 49_999 + stay) / 100


def badly_behaved() -> Hospital:
    """The same hospital, with a person of a thousand rows, one of NULL and NaN, one with keys nobody else has, values
    beyond all bounds, rows without a person, beds that two people share, and teams that
    reach one person by several beds."""
    good = well_behaved().tables
    day, at = date(2025, 3, 3), datetime(2025, 3, 3, 3, 3)
    many = [
        (41, 1 + n % 4, float(n), n % 90 - 45, DIAGNOSES[n % 5], day + timedelta(days=n % 300), at) for n in range(1000)
    ]
    strange = [
        (42, None, None, None, None, None, None),
        (42, 1, float("nan"), 3, "flu", day, at),
        (42, 1, float("inf"), -9, "flu", date(1, 1, 1), datetime(9999, 12, 31, 23, 59)),
        (42, 2, float("-inf"), 2**62, "", day, at),
        (43, 1, 1e300, -(2**63), "nobody else has this", day, at),
        (43, 9, -1e300, 2**63 - 1, "nor this", date(2031, 5, 5), datetime(2031, 5, 5)),
        (44, 1, 0.0, 0, "Flu", day, at),
        (44, 1, -0.0, 0, "flu ", day, at),
        (None, 1, 500.0, 1, "flu", day, at),
        (None, 2, 600.0, 1, "covid", day, at),
    ]
    patients = [
        (41, "many", 50, "Bern", True, 70.0, date(1970, 1, 1)),
        (42, None, None, None, None, float("nan"), None),
        (43, "huge", 2**31 - 1, "Atlantis", False, 1e300, date(1800, 1, 1)),
        (44, "twice", 30, "Basel", True, 60.0, date(1990, 2, 2)),
        (44, "twice", 31, "Bern", False, 61.0, date(1990, 2, 2)),
    ]
    beds = [(141, 41), (142, 42), (143, 43), (143, 44), (144, 44), (144, 44), (None, 41), (141, None)]
    fees = [Decimal("0.01"), Decimal("-9999999.99"), Decimal("9999999.99"), None, Decimal("500.01")]
    amounts = [(141, 3, 30.0)] * 20 + [(143, 5, 1e300), (144, 2, float("nan")), (None, 4, 40.0), (999, 1, 10.0)]
    stays = [(*amount, fees[number % 5]) for number, amount in enumerate(amounts)]
    teams = [(1, 141), (1, 143), (1, 143), (1, 144), (None, 141), (99, 144), (99, 143), (2, None), (2, 999)]
    rounds = [(1, 2**31 - 1)] * 20 + [(99, -5), (99, None), (None, 3), (1000, 4)]
    readings = [("a", 1e300, 2**31 - 1), ("b", float("nan"), None), (None, float("inf"), 3), ("c", -5.0, -7)]
    return Hospital(
        {
            "patients": good["patients"] + patients,
            "visits": good["visits"] + many + strange,
            "beds": good["beds"] + beds,
            "stays": good["stays"] + stays,
            "teams": good["teams"] + teams,
            "rounds": good["rounds"] + rounds,
            "wards": good["wards"],
            "readings": good["readings"] + readings,
        }
    )


def opened(hospital: Hospital, **options: Any) -> dpsql.Analyst:
    """An analyst of the hospital."""
    return owned(hospital, **options).grant("ana", budget=200)


def owned(
    hospital: Hospital,
    *,
    rows: int = 6,
    per_group: int = 4,
    groups: int = 3,
    relation: str = "add_remove",
    delta: float = 1e-6,
    threads: int = 2,
    mode: str | None = None,
    noise: str | None = None,
    unique: bool = False,
    ledger: str = ":memory:",
    **limits: Any,
) -> dpsql.Owner:
    """The owner of the hospital, with caps that may or may not bite."""
    owner = dpsql.open(ledger, threads=threads, **limits)
    plain = hospital.connection()
    caps = {"rows_per_person": rows, "rows_per_group": per_group, "groups_per_person": groups}
    owner.person(name="patient", relation=relation)
    bounds: dict[str, Any] = {"age": (0, 110), "weight": (0, 200), "born": ("1900-01-01", "2025-12-31")}
    words: dict[str, Any] = {"hidden": ["patient_id", "name"], "keys": {"city": list(CITIES)}, "columns": ["flu"]}
    words |= {"unique": True} if unique else caps
    owner.register("patients", plain, person="patient_id", bounds=bounds, **words)
    owner.register(
        "visits",
        plain,
        person="patient_id",
        columns=["patient_id"],
        bounds={"charge": (0, 2000), "points": (-50, 50), "day": ("2025-01-01", "2025-12-31"),
                "moment": ("2025-01-01", "2025-12-31"), "ward_id": (1, 4)},
        keys={"diagnosis": "private", "day": "calendar"},
        **caps,
    )  # fmt: skip
    owner.register("beds", plain, person="patient_id", columns=["bed_id"], **caps)
    owner.register(
        "stays",
        plain,
        person_via="bed_id -> beds.bed_id -> patient_id",
        columns=["bed_id"],
        bounds={"nights": (0, 30), "bill": (0, 100), "fee": (0, 500)},
        **caps,
    )
    owner.register("teams", plain, person_via="bed_id -> beds.bed_id", columns=["team"], **caps)
    owner.register("rounds", plain, person_via="team -> teams.team", bounds={"minutes": (0, 60)}, **caps)
    owner.register("wards", plain, public=True, columns="all", unique=["id"])
    owner.register(
        "readings", plain, unit="row", bounds={"level": (0, 10), "steps": (0, 50)}, keys={"site": ["a", "b"]}
    )
    plain.close()
    owner.promise(epsilon=200, delta=delta)
    shares = {"selection_share": 0.25, "delta_per_query": delta / 1000 or None}
    owner.defaults(cost_per_query=1, max_keys=5000, mode=mode, noise=noise, **shares)
    return owner
