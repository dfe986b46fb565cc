"""The golden vectors of the accounting topics, through the readings."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from dpsql.audit.vectors import judge

import_module("dpsql.audit.readings.accounting")
TOPICS = {"composition_basic", "composition_advanced", "composition_kov", "zcdp", "rdp", "pld", "subsampling"}
FILE = Path(__file__).parents[2] / "vectors.json"
VECTORS = [vector for vector in json.loads(FILE.read_text(encoding="utf-8")) if vector["topic"] in TOPICS]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_golden_vector(vector: dict[str, Any]) -> None:
    verdict = judge(vector)
    assert verdict.passed, str(verdict)
