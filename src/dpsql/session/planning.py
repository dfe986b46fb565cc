"""What a file of questions would cost, without a ledger and without data: names and types of the source are enough."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path

from dpsql.catalog.load import load
from dpsql.catalog.model import Grant
from dpsql.closing import Closing
from dpsql.engines.registry import located, open_source
from dpsql.errors import BadPolicy, DpsqlError
from dpsql.ledger.memory import MemoryLedger
from dpsql.randomness import SYSTEM
from dpsql.session.analyst import Analyst
from dpsql.session.owner import Owner
from dpsql.session.script import Statement, script
from dpsql.sql.parse import compared
from dpsql.sql.setting_text import setting_statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What would become of one statement."""

    index: int
    sql: str
    error: DpsqlError | None
    cost: Fraction | None
    delta: Fraction | None
    margins: dict[str, Fraction | None]

    def as_json(self) -> dict[str, object]:
        return {
            "index": self.index,
            "verdict": "accepted" if self.error is None else "refused",
            "code": None if self.error is None else self.error.code,
            "cost": None if self.cost is None else float(self.cost),
            "delta": None if self.delta is None else float(self.delta),
            "margins": {name: None if margin is None else float(margin) for name, margin in self.margins.items()},
            "error": None if self.error is None else self.error.as_json(),
        }


class Planner(Closing):
    """Prices questions under a policy, on an account of its own that is never charged."""

    def __init__(self, policy: str | PathLike[str]) -> None:
        loaded = load(Path(policy))
        if loaded.promise is None:
            raise BadPolicy(
                "the policy makes no promise",
                why="a price is a share of what is promised",
                fix="add [promise] with epsilon and delta",
            )
        with ExitStack() as opened:
            engine = opened.enter_context(closing(open_source(located(loaded.source, folder=Path(policy).parent))))
            owner = Owner(policy=loaded, engine=engine, ledger=MemoryLedger(), source=SYSTEM)
            self._analyst: Analyst = owner.admit(Grant(to="planner", budget=loaded.promise.epsilon))
            opened.pop_all()
        self._owner = owner

    def close(self) -> None:
        """Give the source back."""
        self._owner.close()

    @property
    def promised(self) -> Fraction:
        """All that can ever be spent, in ε."""
        return self._owner.budget.total

    def verdicts(self, text: str) -> Iterator[Verdict]:
        """One per statement; text that cannot be read at all is one refused statement."""
        session = self._analyst.new_session()  # what a file SETs holds to its end
        for index, statement in enumerate(script(text)):
            yield _verdict(session, statement, index=index)

    def verdict(self, sql: str, *, index: int = 0) -> Verdict:
        """What would become of this statement."""
        statement = Statement(sql=sql, text=sql, offset=0, is_setting=False, has_result=True)
        return _verdict(self._analyst.new_session(), statement, index=index)


def _verdict(analyst: Analyst, statement: Statement, *, index: int) -> Verdict:
    """SET, RESET and SHOW are obeyed, EXPLAIN PRIVACY DIFF is planned; all of them cost nothing."""
    sql = statement.sql
    try:
        with statement.locating_errors():
            if setting_statement(sql) is not None or compared(sql) is not None:
                analyst.sql(sql)
                return Verdict(index=index, sql=sql, error=None, cost=Fraction(0), delta=Fraction(0), margins={})
            query = analyst.query(sql)
            query.require_allowed()
    except DpsqlError as error:
        return Verdict(index=index, sql=sql, error=error, cost=None, delta=None, margins={})
    cost = query.cost
    return Verdict(index=index, sql=sql, error=None, cost=cost.epsilon, delta=cost.delta, margins=dict(query.margins))
