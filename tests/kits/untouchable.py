"""An engine that must not be asked: of what is decided from the declaration alone."""

from dataclasses import replace

from dpsql.engines.engine import Engine
from dpsql.session.analyst import Analyst


class Untouchable:
    """Says what it is, and fails as soon as it is asked anything."""

    def __init__(self, engine: Engine) -> None:
        self.capabilities = engine.capabilities

    def run(self, sql: str, /, **_: object) -> None:
        raise AssertionError(f"the engine was asked {sql}")

    run_public = run

    def schema(self) -> None:
        raise AssertionError("the schema is known already")


def untouched(analyst: Analyst) -> Analyst:
    """The same analyst, whose engine must not be asked."""
    return replace(analyst, place=replace(analyst.place, engine=Untouchable(analyst.place.engine)))  # type: ignore[arg-type]
