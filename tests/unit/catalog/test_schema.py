"""The schema of the policy: every policy that loads is valid, and what the loader refuses by its shape is not."""

import json
import re
import tomllib
from copy import deepcopy
from datetime import date, datetime
from pathlib import Path

import jsonschema
import pytest

from dpsql.catalog.load import KEYS, loads
from dpsql.catalog.schema import SHAPES, policy_schema
from dpsql.errors import BadPolicy
from tests.kits.cases import cases
from tests.kits.refusals import raised

ROOT = Path(__file__).parents[3]
REFERENCE = (ROOT / "docs" / "reference" / "policy.md").read_text(encoding="utf-8")
EXAMPLE = re.search(r"```toml\n(.*?)```", REFERENCE, re.S)[1]
POLICIES = [EXAMPLE, *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").rglob("*.toml")))]
FOLDERS = {"CLINIC_FOLDER": "/x", "TPCH_FOLDER": "/x"}
VALID = jsonschema.Draft202012Validator(policy_schema())


def as_json(value):
    """TOML as an editor holds it against the schema: dates are texts."""
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_json(each) for each in value]
    return value.isoformat() if isinstance(value, date | datetime) else value


def test_it_is_a_schema_and_says_nothing_but_json():
    jsonschema.Draft202012Validator.check_schema(policy_schema())
    assert json.loads(json.dumps(policy_schema())) == policy_schema()


def test_every_key_the_loader_knows_is_in_it_and_no_other():
    assert {name: set(shapes) for name, shapes in SHAPES.items()} == {name: set(keys) for name, keys in KEYS.items()}


@pytest.mark.parametrize("text", POLICIES, ids=range(len(POLICIES)))
def test_every_policy_of_the_documents_is_valid(text):
    assert len(POLICIES) >= 3
    loads(text, name="p.toml", environment=FOLDERS)
    assert list(VALID.iter_errors(as_json(tomllib.loads(text)))) == []


def places(data, path=()):
    """Every key of a policy, by its path."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(data, dict) or isinstance(value, dict):
            yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def changed(data, path, value):
    copy = deepcopy(data)
    holder = copy
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return copy


def toml(value):
    """Enough TOML to write a policy with another value in it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool) or not isinstance(value, date):
        return json.dumps(value)
    return value.isoformat()


def refused(data):
    text = "\n".join(f"{json.dumps(key)} = {toml(value)}" for key, value in data.items())
    try:
        loads(text, name="p.toml", environment=FOLDERS)
    except BadPolicy:
        return True
    return False


SMALL = """
version = 1
source = { url = "memory:", timeout = 60, memory_limit = "4GB", threads = 2 }
person = { name = "patient", relation = "add_remove", group_size = 4 }
promise = { epsilon = 5.0, delta = 1e-6, per = "forever", accounting = "full" }
defaults = { cost_per_query = 0.05, confidence = 0.95, max_keys = 9, mode = "choose" }
[table.t]
person = "id"
unique = true
rows = "about 6000"
[table.t.columns]
age = { type = "integer", bounds = [0, 110], nulls = "never" }
city = { keys = ["Basel", "Bern"], null_key = true }
day = { bounds = [2024-01-01, 2026-12-31], keys = "calendar" }
name = { hidden = true }
[[grant]]
to = "ana"
tables = ["t"]
budget = 1.0
expires = 2027-01-01
"""
WRONG = [[], True, "", "x", -1, ["a", 1]]
SEVERAL_KINDS = ("person", "keys", "bounds", "rows", "tables", "expires")


def test_where_the_loader_takes_a_value_the_schema_does_and_a_wrong_shape_is_refused_by_both():
    data = tomllib.loads(SMALL)
    assert not refused(data)
    shapes = 0
    for path in places(data):
        for value in WRONG:
            other = changed(data, path, value)
            is_valid = VALID.is_valid(as_json(other))
            if not refused(other):
                assert is_valid, (path, value)
            elif not is_valid:
                shapes += 1
            else:  # a question of meaning: the shape is that of a good value
                was = data
                for step in path:
                    was = was[step]
                assert of_one_kind(was, value) or path[-1] in SEVERAL_KINDS, (path, value)
    assert shapes > 150


def of_one_kind(one, other):
    numbers = (int, float)
    same = type(one) is type(other) or (isinstance(one, numbers) and isinstance(other, numbers))
    return same and isinstance(one, bool) == isinstance(other, bool)


@cases(__file__, "before", "after=")
def test_a_mistake_of_shape_is_seen_by_both(before, after):
    assert before in EXAMPLE
    text = EXAMPLE.replace(before, after, 1)
    raised(BadPolicy, lambda: loads(text, name="p.toml", environment=FOLDERS))
    assert not VALID.is_valid(as_json(tomllib.loads(text)))


def test_the_command_prints_it(command):
    assert json.loads(command(["policy", "schema"]).out) == policy_schema()
