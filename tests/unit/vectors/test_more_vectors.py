"""Golden values beside those of the project's own file: other values, edges and spellings, computed independently.

Their expected values come from 40-digit arithmetic, brute force or enumeration, as each vector says, not from here.
"""

import json
from pathlib import Path

import pytest

from tests.vectors import verdicts

DIRECTORY = Path(__file__).parent.parent.parent
VECTORS = json.loads((DIRECTORY / "more_vectors.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_golden_value(vector):
    verdict = verdicts.judge(vector)
    assert verdict.passed, str(verdict)


def test_every_topic_has_other_values():
    golden = json.loads((DIRECTORY / "vectors.json").read_text(encoding="utf-8"))
    assert {vector["topic"] for vector in VECTORS} == {vector["topic"] for vector in golden}


def test_every_vector_says_where_its_values_come_from():
    assert all(vector["source"] and vector["how_checked"] for vector in VECTORS)
