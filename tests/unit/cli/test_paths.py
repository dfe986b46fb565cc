"""A name of a file is read, or refused in words."""

from pathlib import Path

import pytest

from dpsql.cli.profiles import named_path
from dpsql.errors import BadParameter


def test_a_name_and_a_name_in_ones_own_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/h")
    assert (named_path("a b"), named_path("~/x")) == (Path("a b"), Path("/h/x"))


@pytest.mark.parametrize("text", ["~nobody-is-called-so/x", "a\0b", "~/a\0b", "\ud800", ""])
def test_what_names_no_file(text):
    with pytest.raises(BadParameter, match=r"names no file|no file is named"):
        named_path(text)
