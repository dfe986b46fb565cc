"""Every statement of docs/guide/how-to-ask.md is answered and, without noise, gives the answer of plain SQL."""

from __future__ import annotations

import math
import re
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

from dpsql.session.noisy import Noisy
from dpsql.sql.parse import parse
from dpsql.testing.noiseless import without_noise

from hospital import opened, well_behaved
from sentence_parts import PLAIN_MACROS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "how-to-ask.md"
STATEMENTS = [text.strip() for text in re.findall(r"^```sql\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)]
FREE = ("DRY RUN", "EXPLAIN PRIVACY")
ASKED = [sql for sql in STATEMENTS if not sql.startswith(FREE)]
QUESTIONS = re.findall(r"^### (.*)$", PAGE.read_text(encoding="utf-8"), re.M)


@cache
def analyst():
    return opened(well_behaved(), rows=400, per_group=400, groups=400)


@cache
def plain():
    connection = well_behaved().connection()
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
    answer = analyst().sql(sql, epsilon=1)
    assert answer.cost.epsilon <= (0 if sql.startswith(FREE) else 1)
    assert answer.rows or "diagnosis" in sql  # so few people may hide every diagnosis
