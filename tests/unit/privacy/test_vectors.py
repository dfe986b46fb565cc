"""The golden vectors about the promise itself, and readings that compute rather than remember."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from dpsql.audit.vectors import judge

import_module("dpsql.audit.readings.privacy")

TOPICS = ("definition", "divergence", "group_privacy", "prob_tools", "seed_example")
FILE = Path(__file__).parents[2] / "vectors.json"
VECTORS = [vector for vector in json.loads(FILE.read_text(encoding="utf-8")) if vector["topic"] in TOPICS]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_golden_value(vector):
    verdict = judge(vector)
    assert verdict.passed, str(verdict)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_a_changed_expectation_is_noticed(vector):
    def changed(value):
        if isinstance(value, bool) or value is None:
            return not value
        if isinstance(value, (int, float)):
            return value * 1.01 + 0.5
        if isinstance(value, list):
            return [*value[:-1], changed(value[-1])]
        return {**value, next(iter(value)): changed(value[next(iter(value))])} if isinstance(value, dict) else 0.5

    for key, value in vector["expected"].items():
        if key != "rule" and not key.endswith("_do_not_use"):
            assert not judge({**vector, "expected": {**vector["expected"], key: changed(value)}}).passed, key
