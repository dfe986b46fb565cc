"""Tables of texts, as text: `tests/fixtures/rows/unit/sql/parse.txt` holds those of `tests/unit/sql/test_parse.py`.

A table starts with `== name`; each line is a row, its cells apart by ` │ `; a line that starts with `# ` is a comment.
"""

from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]


@cache
def _tables(file: Path) -> dict[str, list[tuple[str, ...]]]:
    tables: dict[str, list[tuple[str, ...]]] = {}
    for line in file.read_text(encoding="utf-8").split("\n"):
        if line.startswith("== "):
            table = tables[line[3:]] = []
        elif line and not line.startswith("# "):
            table.append(tuple(line.split(" │ ")))
    return tables


def read_rows(test: str, name: str) -> list[tuple[str, ...]]:
    """The rows of the table `name` of a test file, which passes its `__file__`."""
    file = Path(test).relative_to(TESTS)
    return _tables(TESTS / "fixtures" / "rows" / file.parent / f"{file.stem.removeprefix('test_')}.txt")[name]


def read_texts(test: str, name: str) -> list[str]:
    """The rows of a table of one column."""
    return [text for (text,) in read_rows(test, name)]


def listed(text: str) -> list[str]:
    """The parts of a text that are apart by commas, on as few lines as they take."""
    return [part.strip() for part in text.split(",")]
