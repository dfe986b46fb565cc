"""Every statement of docs/guide/how-to-ask.md is answered by the demo and, without noise, answers as plain SQL does.

The latter on some of its patients, and with caps that nobody reaches: a cap changes an answer, and is told in a note.
"""

import math
import re
from datetime import datetime
from functools import cache
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import dpsql
from dpsql.demonstration import hospital
from dpsql.session.noisy import Noisy
from dpsql.sql.parse import parse
from tests.kits.noiseless import without_noise
from tests.kits.owners import owner_of

from sentence_parts import PLAIN_MACROS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "how-to-ask.md"
STATEMENTS = [text.strip() for text in re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)]
FREE = ("DRY RUN", "EXPLAIN PRIVACY")
ASKED = [sql for sql in STATEMENTS if not sql.startswith(FREE)]
QUESTIONS = re.findall(r"^### (.*)$", PAGE.read_text(encoding="utf-8"), re.M)


@cache
def analyst():
    shares = {"cost_per_query": 1, "max_keys": 1000, "selection_share": 0.25, "delta_per_query": 1e-9}
    keys = {"city": hospital.CITIES, "sex": hospital.SEXES}
    words = {"unique": True, "bounds": {"age": (0, 110)}, "hidden": ["patient_id", "name"], "columns": ["flu"]}
    owner = owner_of(plain(), "patients", person="patient_id", keys=keys, **words, epsilon=200, delta=1e-6, **shares)
    owner.register("wards", plain(), public=True, unique=["ward_id"], columns="all")
    bounds = {"charge": (0, 2000), "day": (hospital.FIRST_DAY, hospital.LAST_DAY)}
    caps = {
        "rows_per_person": 400,
        "groups_per_person": 400,
        "hidden": ["visit_id"],
        "columns": ["patient_id", "ward_id"],
    }
    keys = {"diagnosis": "private", "day": "calendar"}
    owner.register("visits", plain(), person="patient_id", bounds=bounds, keys=keys, **caps)
    return owner.grant("ana", budget=200)


@cache
def demo():
    return dpsql.demo()


@cache
def plain():
    connection = duckdb.connect(":memory:")
    connection.execute(hospital.SCHEMA)
    for name, rows in hospital.invented().items():
        frame = pd.DataFrame(rows if name == "wards" else [row for row in rows if row[name == "visits"] <= 300])
        connection.execute(f"INSERT INTO {name} SELECT * FROM frame")
        assert len(frame) > 4
    for macro in PLAIN_MACROS:
        connection.execute(macro)
    return connection


def cell(value):
    value = value.value if isinstance(value, Noisy) else value
    return value.date() if isinstance(value, datetime) else value


def close(ours, theirs):
    if isinstance(ours, float) or isinstance(theirs, float):
        return math.isclose(float(ours), float(theirs), rel_tol=1e-4, abs_tol=0.01)
    return ours == theirs


def test_every_question_has_its_statement():
    assert len(QUESTIONS) == len(ASKED) == len(set(ASKED)) >= 20
    assert len(STATEMENTS) == len(ASKED) + 2


@pytest.mark.parametrize("sql", ASKED, ids=QUESTIONS)
def test_the_answer_is_that_of_plain_sql(sql):
    ours = [tuple(map(cell, row)) for row in without_noise(analyst(), sql)]
    theirs = [tuple(map(cell, row)) for row in plain().execute(sql.replace("PRIVATE ", "")).fetchall()]
    if not parse(sql, dialect="duckdb").query.order_by:
        assert len(theirs) == 1
    assert len(ours) == len(theirs), (ours, theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert all(map(close, mine, other)), (mine, other)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_it_is_answered_end_to_end(sql):
    answer = demo().sql(sql, epsilon=0.01)
    assert answer.cost.epsilon <= (0 if sql.startswith(FREE) else 0.06)  # a WITHIN of its own may cost more
    assert answer.rows or "diagnosis" in sql  # noise for so little may hide every diagnosis
