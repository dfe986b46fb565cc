"""Client processes that spend one budget at once."""

from collections.abc import Callable, Sequence
from contextlib import closing
from fractions import Fraction
from multiprocessing.connection import Connection, wait
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from dpsql.errors import BudgetExhausted
from dpsql.ledger.book import Ledger
from dpsql.ledger.postgres import PostgresLedger
from dpsql.ledger.sqlite import SqliteLedger
from dpsql.privacy.events import Pure
from tests.kits.ledger_cases import asking

from crashing import PROCESSES, opened

STORES: dict[str, Callable[..., Ledger]] = {
    "sqlite": lambda path: SqliteLedger(path, wait_ms=600_000),
    "postgres": lambda url, key: PostgresLedger(url, key=key, wait_ms=600_000),
}
"""How a process opens the ledger at an address. A new store is one line here and one in the test that makes it."""


def spend(
    start: Barrier, tell: Connection, store: str, address: Sequence[str], name: int, times: int, price: Fraction
) -> None:
    """Pays for `times` different questions; tells the numbers of the receipts it got."""
    with closing(STORES[store](*address)) as ledger:
        start.wait()
        got = []
        for number in range(times):
            try:
                got.append(ledger.charge(asking(f"{name} {number}", event=Pure(epsilon=price))).number)
            except BudgetExhausted:
                continue
        tell.send(got)


def ask_all(start: Barrier, tell: Connection, folder: Path, statements: list[str]) -> None:
    """Asks in order; tells what each cost and said."""
    analyst = opened(folder).analyst("ana")
    start.wait()
    told = []
    for sql in statements:
        answer = analyst.sql(sql)
        told.append((answer.cost.epsilon, [tuple(getattr(cell, "value", cell) for cell in row) for row in answer]))
    tell.send(told)


def at_once(target: Callable[..., None], clients: list[tuple[Any, ...]]) -> list[Any]:
    """What each of the processes tells, one for each list of arguments; they start together."""
    start, ends, running = PROCESSES.Barrier(len(clients)), [], []
    for values in clients:
        hear, tell = PROCESSES.Pipe(duplex=False)
        process = PROCESSES.Process(target=target, args=(start, tell, *values))
        process.start()
        tell.close()
        ends.append(hear)
        running.append(process)
    told: dict[Connection, Any] = {}
    while len(told) < len(ends):
        for end in wait([end for end in ends if end not in told]):
            try:
                told[end] = end.recv()  # type: ignore[index, union-attr]
            except EOFError:
                start.abort()
                raise
    for process in running:
        process.join()
        assert process.exitcode == 0
    return [told[end] for end in ends]
