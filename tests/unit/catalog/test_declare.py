"""A table declared in Python is the table the policy file declares."""

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpsql.catalog.declare import declared
from dpsql.catalog.load import loads
from dpsql.catalog.model import Bounds, KeyKind, PublicKeys
from dpsql.catalog.types import SqlType
from dpsql.errors import BadPolicy
from tests.kits.cases import cases
from tests.kits.refusals import raised


def written(body: str, name: str = "t"):
    return loads(f'version = 1\nsource.url = "memory:"\n{body}', name="p.toml").tables[name]


def refusal(**said) -> str:
    error = raised(BadPolicy, lambda: declared("T", **{"person": "p", **said}))
    assert error.why
    assert error.fix
    return error.what


class TestTheSameAsTheFile:
    def test_everything_about_a_table(self):
        python = declared(
            "Visits",
            person="Patient_ID",
            bounds={
                "charge": (0, 2000.5),
                "day": ("2024-01-01", date(2026, 12, 31)),
                "AT": (datetime(2024, 1, 1), "2024-01-02T00:00"),
            },
            keys={"ward": ["a", "b", None], "diagnosis": "private", "day": "calendar", "sex": ("f", "m")},
            hidden=["visit_id"],
            types={"charge": "double", "flu": SqlType.BOOLEAN},
            columns=["note"],
            rows="about 6000",
            rows_per_person=6,
            rows_per_group=2,
            groups_per_person=3,
            nulls={"charge": "never", "flu": "ignore"},
        )
        file = written(
            """
            [table.Visits]
            person = "patient_id"
            rows = 6000
            rows_per_person = 6
            rows_per_group = 2
            groups_per_person = 3
            [table.Visits.columns]
            note = {}
            charge = { type = "float", bounds = [0, 2000.5], nulls = "never" }
            day = { bounds = [2024-01-01, 2026-12-31], keys = "calendar" }
            at = { bounds = [2024-01-01T00:00:00, "2024-01-02 00:00:00"] }
            ward = { keys = ["a", "b"], null_key = true }
            sex = { keys = ["f", "m"] }
            diagnosis = { keys = "private" }
            visit_id = { hidden = true }
            flu = { type = "bool" }
            """,
            "visits",
        )
        assert python == file

    @cases(__file__, "said=", "body")
    def test_each_way_to_a_person(self, said, body):
        assert declared("t", **said) == written(f"[table.t]\n{body}")

    def test_a_path(self):
        others = '[table.u]\nperson = ["x", "y"]\n'
        python = declared("t", person_via="(a, b) -> u.(c, d) -> (x, y)", bounds={"z": (0, 1)})
        assert python == written(others + '[table.t]\nperson_via = "(a, b) -> u.(c, d)"\ncolumns.z.bounds = [0, 1]')

    def test_public_row_counts(self):
        file = written('person.relation = "change_one"\n[table.t]\nunit = "row"\nrows = 4\nrows_public = true')
        assert declared("t", unit="row", rows=4, rows_public=True) == file


class TestColumns:
    def test_only_named_columns_are_declared(self):
        table = declared("t", person="p", bounds={"b": (0, 1)}, keys={"k": ["x"]}, hidden={"h"}, types={"y": "text"})
        assert set(table.columns) == {"p", "b", "k", "h", "y"}

    def test_all_columns_are_an_explicit_wish(self):
        table = declared("t", person="p", columns="all", engine_columns=["P", "q", "R"], bounds={"r": (0, 1)})
        assert set(table.columns) == {"p", "q", "r"}
        assert table.columns["r"].bounds == Bounds(low=0, high=1)
        assert set(declared("t", person="p", columns=["all"]).columns) == {"p", "all"}
        assert refusal(columns="all").startswith("table.t.columns: all columns are meant")

    def test_a_float_stands_for_the_decimal_it_prints_as(self):
        table = declared("t", person="p", bounds={"x": (0.1, np.float64(0.3)), "y": (Decimal("0.1"), Fraction(1, 3))})
        assert table.columns["x"].bounds == Bounds(low=Fraction(1, 10), high=Fraction(3, 10))
        assert table.columns["y"].bounds == Bounds(low=Fraction(1, 10), high=Fraction(1, 3))

    def test_null_is_the_last_key(self):
        assert declared("t", person="p", keys={"k": [None, 1, 2]}).columns["k"].keys == PublicKeys(values=(1, 2, None))
        assert declared("t", person="p", keys={"k": "private"}).columns["k"].keys is KeyKind.PRIVATE

    @cases(__file__, "bounds=")
    def test_bounds_refused(self, bounds):
        assert refusal(bounds={"Age": bounds}).startswith("table.t.columns.age.bounds: ")

    @cases(__file__, "keys=")
    def test_keys_refused(self, keys):
        assert refusal(keys={"city": keys}).startswith("table.t.columns.city.keys: ")

    @cases(__file__, "said=", "place=")
    def test_refused(self, said, place):
        assert refusal(**said).startswith(place)

    @pytest.mark.parametrize("name", ["", " ", None, 3, "dp", "DP.budget", "a\0b"])
    def test_a_name_that_is_none(self, name):
        raised(BadPolicy, lambda: declared(name, person="p"), match=r"^DP501  table")
