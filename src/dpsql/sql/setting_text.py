"""SET dp.x = value, RESET dp.x, SHOW dp.x: statements about a session. Every other SET is refused by `parse`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from dpsql.catalog.model import Mode, Noise
from dpsql.errors import DpsqlError, NotUnderstood
from dpsql.sql.parsing.option_values import confidence, mode, noise, number, price, unknown_option
from dpsql.sql.parsing.refusals import misread
from dpsql.sql.parsing.text import MAX_CHARACTERS, blanked
from dpsql.sql.syntax import At

SETTINGS: Final[Mapping[str, Callable[[str, str, At], Fraction | Noise | Mode]]] = {
    "epsilon": price,
    "confidence": confidence,
    "max_cost": number,
    "noise": noise,
    "mode": mode,
}
"""What can be SET, and how its value is read."""
BUDGET: Final = "budget"

_STATEMENT: Final = re.compile(
    r"\s*(?P<verb>SET|RESET|SHOW)\s+(?:dp\s*\.\s*(?P<name>\w+)|(?P<all>ALL))(?=\W|$)(?P<rest>[^;]*)(?P<end>[;\s]*)",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(r"\s*(?:=|\bTO\b)\s*(?P<value>\S(?:.*\S)?)\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOption:
    name: str
    value: Fraction | Noise | Mode
    at: At


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    name: str | None
    """None: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    name: str | None
    """None: all of them."""


SettingStatement: TypeAlias = SetOption | Reset | Show


def setting_statement(text: str) -> SettingStatement | None:
    """The statement, if it is one about the session; None for everything else. A mistake in one is refused."""
    if len(text) > MAX_CHARACTERS or (_STATEMENT.match(text) is None and "/*" not in text and "--" not in text):
        return None
    try:
        plain, _ = blanked(text)
    except NotUnderstood:
        return None  # `parse` says what is wrong with it
    found = _STATEMENT.match(plain)
    if found is None or (found["verb"].upper() == "SET" and found["all"]):
        return None
    try:
        return _read(found, text, plain)
    except DpsqlError as error:
        raise error.within(text) from None


def _read(found: re.Match[str], text: str, plain: str) -> SettingStatement:
    if found.end() != len(plain):
        raise NotUnderstood(
            "The text holds several statements",
            why="each statement is answered by itself",
            fix="send them one by one",
            at=(found.end(), len(plain)),
        )
    verb, name = found["verb"].upper(), found["name"]
    known = {**SETTINGS, BUDGET: None} if verb == "SHOW" else SETTINGS
    if name is not None and name.lower() not in known:
        raise unknown_option(name, known, found.span("name"))
    if verb == "SET":
        return _set(name.lower(), found, text)
    if found["rest"].strip():
        raise misread(text, found.span("rest"), what="This does not belong here")
    chosen = None if name is None else name.lower()
    return Show(name=chosen) if verb == "SHOW" else Reset(name=chosen)


def _set(name: str, found: re.Match[str], text: str) -> SetOption:
    said = _VALUE.fullmatch(found["rest"])
    if said is None:
        at = found.span("rest") if found["rest"].strip() else found.span("name")
        raise misread(text, at, what=f"SET dp.{name} needs a value: SET dp.{name} = …")
    start = found.start("rest")
    at = (start + said.start("value"), start + said.end("value"))
    return SetOption(name=name, value=SETTINGS[name](f"dp.{name}", said["value"], at), at=at)
