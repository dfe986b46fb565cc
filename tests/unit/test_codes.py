"""One table of codes: complete, in the words of the tree, and the source of the document."""

import inspect
import re
from pathlib import Path

import pytest

from dpsql import errors
from dpsql.codes import CODES, EXITS
from tests.kits.scripts import script

ROOT = Path(__file__).parents[2]
KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.DpsqlError) and kind is not errors.DpsqlError
]
TOOL = script("error_codes")


def test_every_class_has_its_page_the_titles_are_those_of_the_tree_and_the_document_what_the_table_says():
    assert {code: page.kind for code, page in CODES.items()} == {kind.code: kind for kind in KINDS}
    assert list(CODES) == sorted(CODES)
    drawn = re.findall(r"^[│ ├└─]*\w+ +(DP\d{3})  +(.*)$", errors.__doc__, re.M)
    assert {code: page.title for code, page in CODES.items()} == dict(drawn)
    assert TOOL.PAGE.read_text(encoding="utf-8") == TOOL.page(), "python tools/error_codes.py --write"
    assert TOOL._linked("see DP402 and docs/guide/engines.md.") == (
        "see [DP402](#dp402) and [guide/engines.md](guide/engines.md)."
    )


@pytest.mark.parametrize("page", CODES.values(), ids=lambda page: page.code)
def test_a_page_has_every_part(page):
    assert all((page.title, page.what, page.why, page.fix, page.example))
    assert page.exit in EXITS
    told = " ".join((page.what, page.why, page.fix, page.example))
    assert set(re.findall(r"\bDP\d{3}\b", told)) <= set(CODES)
    assert all((ROOT / link).exists() for link in re.findall(r"\bdocs/[\w/-]+\.md\b", told))
