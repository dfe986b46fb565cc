"""Text pairs: a question, and plain SQL with the same answer when there is no noise, or the code that refuses it.

# title
question
---
plain SQL (left out: the question itself)          or:    --- DP104  the part of the text the caret marks

PRIVATE is no word of plain SQL: without noise, a statement with it means what it means without it.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "fixtures" / "sql"


@dataclass(frozen=True)
class Fixture:
    file: str
    title: str
    sql: str
    plain: str
    code: str | None = None
    marked: str | None = None

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"


def _read(path: Path) -> list[Fixture]:
    found = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        title, _, rest = block.strip().removeprefix("# ").partition("\n")
        before, mark, after = rest.partition("\n---")
        refusal, _, plain = after.partition("\n")
        code, _, marked = refusal.strip().partition(" ")
        found.append(
            Fixture(
                file=path.stem,
                title=title,
                sql=before.strip(),
                plain=plain.strip() or before.strip().replace("PRIVATE (", "("),
                code=code if mark and code else None,
                marked=marked.strip() or None,
            )
        )
    return found


ALL = [fixture for path in sorted(FOLDER.glob("*.sql")) for fixture in _read(path)]
ACCEPTED = [fixture for fixture in ALL if fixture.code is None]
REFUSED = [fixture for fixture in ALL if fixture.code is not None]
