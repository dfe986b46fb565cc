"""The door of the owner: an empty database with a ledger, or a policy file with the source and the ledger it names."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from dpsql.catalog.load import load
from dpsql.catalog.model import Defaults, Person, Policy
from dpsql.engines.duckdb import DuckdbEngine
from dpsql.engines.registry import open_source
from dpsql.errors import NotPermitted
from dpsql.ledger.ledger import Ledger
from dpsql.ledger.memory import MemoryLedger
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.randomness import SYSTEM
from dpsql.session.owner import Owner


def open_owner(
    path: str | PathLike[str],
    *,
    ledger: str | PathLike[str] | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
) -> Owner:
    """A ledger with an empty database in memory, or a policy file with the source it names.

    `path` is `:memory:`, the path of a ledger file, or that of a policy file that ends in .toml; its ledger is kept
    beside it unless `ledger` says where. `threads` and `memory_limit` are those of the database in memory.
    """
    text = fspath(path)
    if not text.endswith(".toml"):
        policy = Policy(
            source="memory:",
            ledger=None,
            data_version="1",
            person=Person(),
            promise=None,
            defaults=Defaults(),
            tables={},
        )
        kept: Ledger = MemoryLedger() if text == ":memory:" else SqliteLedger(Path(text))
        engine = DuckdbEngine.in_memory(threads=threads, memory_limit=memory_limit)
        return Owner(policy=policy, engine=engine, ledger=kept, source=SYSTEM)
    policy = load(Path(text))
    place = Path(fspath(ledger)) if ledger is not None else Path(text).with_suffix(".ledger")
    kept = SqliteLedger(place)
    _require_same_ledger(policy, kept)
    return Owner(policy=policy, engine=open_source(policy.source), ledger=kept, source=SYSTEM)


def _require_same_ledger(policy: Policy, ledger: Ledger) -> None:
    if policy.ledger is not None and policy.ledger != ledger.id:
        raise NotPermitted(
            "the policy names another ledger",
            why="a fresh ledger would forget what was spent, and with it the promise",
            fix="open the ledger the policy names; an owner who means it removes `ledger` from [source]",
        )
