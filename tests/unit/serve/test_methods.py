"""The table of methods: no method without a role, no word that nobody reads, and the guide says the same."""

import re
from pathlib import Path

import pytest

from dpsql.errors import NotPermitted, NotUnderstood
from dpsql.serve.methods import METHODS, Visit, answered

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "serve.md"


def rows_of(heading):
    section = GUIDE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("|")][2:]
    return [[re.findall(r"`(\w+)`", row[0]), *map(str.strip, row[1:])] for row in rows]


def test_the_guide_says_who_may_do_what():
    told = {
        name: {role for role, may in zip(("analyst", "auditor", "owner"), cells, strict=False) if may}
        for names, *cells in rows_of("Roles")
        for name in names
    }
    assert told == {name: set(method.roles) for name, method in METHODS.items()}


def test_the_guide_says_every_word():
    told = {name: set(re.findall(r"`(\w+)`", words)) for names, words, _ in rows_of("The protocol") for name in names}
    assert told == {name: {*method.needs, *method.takes} for name, method in METHODS.items()}


def visit(owner, role):
    return Visit(owner=owner, name="ana", role=role)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("role", ["nobody", "", "OWNER", "owner "])
def test_a_role_that_is_none_may_do_nothing(clinic, method, role):
    with pytest.raises(NotPermitted):
        answered(visit(clinic, role), {"do": method})


@pytest.mark.parametrize("method", METHODS)
def test_words_that_are_missing_or_too_many_are_no_request(clinic, method):
    role = min(METHODS[method].roles)
    words = dict.fromkeys(METHODS[method].needs, "x")
    with pytest.raises(NotUnderstood):
        answered(visit(clinic, role), {"do": method, **words, "more": 1})
    for left_out in words:
        with pytest.raises(NotUnderstood):
            answered(visit(clinic, role), {"do": method, **{word: 7 for word in words if word == left_out}})
        with pytest.raises(NotUnderstood):
            answered(visit(clinic, role), {"do": method})
