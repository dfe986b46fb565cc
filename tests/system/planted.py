"""Classic mistakes, the question that each of them spoils, and who must notice."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.kits.rows import listed, read_rows

import planters
from hospital import badly_behaved

NOBODY_HERE = next(person for person in range(1, 41) if person not in {v[0] for v in badly_behaved().tables["visits"]})
"""Somebody who is a patient without a visit."""
TOO_FAR = "more than their noise was priced for"


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A mistake, a question it spoils, and who catches it."""

    title: str
    plant: planters.Planter
    sql: str
    seal: bool
    """`seal` refuses the plan."""
    audit: str | None
    """What the audit says when `seal` does not look."""
    people: tuple[int, ...]
    options: Mapping[str, object]
    refused: str | None
    """The code with which the question is refused where the bug is not."""

    def __str__(self) -> str:
        return self.title


def _bug(title: str, planter: str, seal: str, audit: str, more: str, sql: str) -> Bug:
    said = dict(each.split("=") for each in listed(more) if each != "-")
    people, refused = said.pop("people", "41 43 44"), said.pop("refused", None)
    return Bug(
        title=title,
        plant=getattr(planters, planter),
        sql=sql,
        seal=seal == "seal",
        audit=None if audit == "-" else audit,
        people=(NOBODY_HERE,) if people == "nobody" else tuple(map(int, people.split())),
        options={name: int(value) if value.isdecimal() else value for name, value in said.items()},
        refused=refused,
    )


BUGS = [_bug(*row) for row in read_rows(__file__, "bugs")]
BY_WARD, FIRST = (
    next(bug.sql for bug in BUGS if bug.title == title)
    for title in ("one group too many", "tied rows of a person numbered as the engine likes")
)
