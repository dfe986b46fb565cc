"""SET, RESET and SHOW: what a session says about all of its questions. Free, exact, and about no row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from threading import Lock
from typing import Any, Final

from dpsql.catalog.model import Defaults, Grant, Mode, Noise
from dpsql.session.answer_value import Answer
from dpsql.session.budget import Budget
from dpsql.session.digits import NO_COST, shown_amount
from dpsql.session.permits import over_the_limit
from dpsql.session.release import Cell
from dpsql.session.terms import UNSET, Session
from dpsql.sql.setting_text import SETTINGS, Reset, SetOption, SettingStatement, Show


class Settings:
    """What one session has SET. Several threads may ask; each question sees one state of it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._now = UNSET

    @property
    def now(self) -> Session:
        with self._lock:
            return self._now

    def change(self, change: Callable[[Session], Session]) -> None:
        with self._lock:
            self._now = change(self._now)


def obeyed(
    statement: SettingStatement, settings: Settings, *, grant: Grant, defaults: Defaults, budget: Budget
) -> Answer:
    """What the statement does, and then the settings it speaks of, as a table."""
    match statement:
        case SetOption():
            _require_allowed(statement, grant)
            said: dict[str, Any] = {statement.name: statement.value}
            settings.change(lambda now: replace(now, **said))
        case Reset():
            names = tuple(SETTINGS) if statement.name is None else (statement.name,)
            settings.change(lambda now: replace(now, **dict.fromkeys(names)))
        case Show(name="budget"):
            cells = tuple(map(shown_amount, (budget.total, budget.spent, budget.left)))
            return _table(("total", "spent", "remaining"), (cells,))
    chosen = tuple(SETTINGS) if statement.name is None else (statement.name,)
    return _table(("name", "value", "said_by"), tuple(_row(name, settings.now, defaults) for name in chosen))


def _require_allowed(statement: SetOption, grant: Grant) -> None:
    price, limit = statement.value, grant.max_per_query
    if statement.name == "epsilon" and isinstance(price, Fraction) and limit is not None and price > limit:
        raise over_the_limit(price, limit, at=statement.at, try_sql=f"SET dp.epsilon = {shown_amount(limit)}")


_POLICY: Final[Mapping[str, Callable[[Defaults], Fraction | Noise | Mode | None]]] = {
    "epsilon": lambda defaults: defaults.cost_per_query,
    "confidence": lambda defaults: defaults.confidence,
    "max_cost": lambda defaults: None,
    "noise": lambda defaults: defaults.noise,
    "mode": lambda defaults: defaults.mode,
}
"""What the policy says where the session is silent."""


def _row(name: str, session: Session, defaults: Defaults) -> tuple[Cell, ...]:
    own: Fraction | Noise | Mode | None = getattr(session, name)
    value = _POLICY[name](defaults) if own is None else own
    said_by = "nobody" if value is None else "policy" if own is None else "session"
    return (f"dp.{name}", _shown(value), said_by)


def _shown(value: Fraction | Noise | Mode | None) -> str | None:
    if value is None:
        return None
    return shown_amount(value) if isinstance(value, Fraction) else value.value


def _table(columns: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...]) -> Answer:
    """Exact and free: nothing of it comes from rows."""
    return Answer(columns=columns, rows=rows, cost=NO_COST, confidence=Fraction(19, 20))
