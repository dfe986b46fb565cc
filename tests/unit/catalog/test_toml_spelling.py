"""What is written is read back by TOML as the same key or value, and steers nobody who looks at it."""

import tomllib
from datetime import date, datetime
from decimal import Decimal

import pytest

from dpsql.catalog.spelling import toml, toml_key

ODD = ["a", "a.b", "", 'a"]\nx = [1', "\x1b[31m", "back\\slash", "\u202ebidi", "\u2028", "\x85", "\x7f", "😀é", "a b"]


@pytest.mark.parametrize("text", ODD)
def test_texts_and_keys(text):
    written = f"{toml_key(text)} = {toml(text)}"
    assert tomllib.loads(written) == {text: text}
    assert written.isprintable()


@pytest.mark.parametrize(
    "value", [True, False, 0, -5, 10**15, 0.1, Decimal("0.10"), date(2024, 2, 1), datetime(2024, 2, 1, 8, 30)]
)
def test_values(value):
    read = tomllib.loads(f"x = {toml((value, 'a'))}", parse_float=type(value) if isinstance(value, Decimal) else float)
    assert read["x"] == [value, "a"]
    assert type(read["x"][0]) is type(value)
