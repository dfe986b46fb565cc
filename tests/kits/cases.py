"""Tests that are rows: the cases of a test as the table of its name, in `tests/fixtures/rows` beside its file."""

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, Final

import pytest

from dpsql import errors
from dpsql.catalog import model
from dpsql.ledger import facts
from dpsql.privacy import events
from dpsql.sql import scalars
from tests.kits.rows import read_rows

NAMES: Final[dict[str, Any]] = {}
for words in (events, facts, model, scalars, errors):  # `Refused` is the error
    NAMES.update(vars(words))
NAMES.update(UTC=UTC, date=date, datetime=datetime, math=math, Fraction=Fraction)


def cases(file: str, *columns: str) -> Callable[[Any], Any]:
    """Run a test for every row of its table, which is called as the test is; the row is the name of the case.

    Cells are texts in which ⏎ ends a line. Those of a column whose name ends in `=` are Python: values, errors, and
    names of the test's own file.
    """

    def decorate(test: Any) -> Any:
        known = {**NAMES, **test.__globals__}
        rows = read_rows(file, test.__name__.removeprefix("test_").replace("_", " "))
        found = []
        for row in rows:
            cells = zip(columns, row, strict=True)
            values = [eval(cell, known) if name.endswith("=") else cell.replace("⏎", "\n") for name, cell in cells]
            found.append(pytest.param(*values, id=" │ ".join(row)))
        return pytest.mark.parametrize([name.removesuffix("=") for name in columns], found)(test)

    return decorate
