"""Words the laws share: names and texts people can read, and what holds now of what was said."""

from __future__ import annotations

from typing import Final

from dpsql.errors import BadParameter
from dpsql.ledger.page import F, Page

LONGEST_NAME: Final = 200


def latest_fact(page: Page, what: str, kind: type[F]) -> F | None:
    """What holds now of what was said about this; None: nothing was, or something else holds."""
    number = page.latest(what)
    fact = None if number is None else page.fact(number)
    return fact if isinstance(fact, kind) else None


def about_grant(holder: str) -> str:
    """Under which words the last entry about a grant is kept."""
    return f"grant {holder}"


def about_user(name: str) -> str:
    """Under which words the last entry about a token of this name is kept."""
    return f"user {name}"


def require_name(analyst: str) -> str:
    """The name of an analyst, checked: text that looks the same to everybody who reads it."""
    return readable(
        analyst, "the name of an analyst", "spending is kept by name; an empty or invisible one could stand for anybody"
    )


def require_new_name(name: str) -> None:
    """A name nobody takes for another one, where it comes in."""
    if require_name(name) != name.strip():
        raise BadParameter(
            f"the name {name!r} begins or ends with a blank",
            why="spending is kept by name, and this one looks like another",
            fix=f"write {name.strip()!r}",
        )


def require_reason(reason: str, what: str) -> None:
    """Why the owner does something, in words."""
    readable(reason, f"the reason for {what}", "whoever is refused, or reads the ledger later, must understand why")


def readable(text: str, what: str, why: str) -> str:
    """Text that looks the same to everybody who reads it."""
    if isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and text.isprintable():
        return text
    raise BadParameter(
        f"{what} must be printable text of 1 to {LONGEST_NAME} characters",
        why=why,
        fix="choose a short word without line breaks",
    )
