"""Questions, answers and a fresh ledger: what the laws of the ledger are tried on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from dpsql.errors import DpsqlError
from dpsql.ledger.facts import Batched
from dpsql.ledger.ledger import Charge, Ledger, Question, ReleasedStep
from dpsql.privacy.events import Event, Pure
from dpsql.privacy.window import Window

TENTH: Final = Fraction(1, 10)
SMALL: Final = Fraction(1, 10**6)

TOLD: Final = ReleasedStep(
    keys=((None, "", True), (0, "0", False), (-(2**70), "ü \x00 '; --", None)), values=((0, -1), (7, 2**190), (-5, 5))
)
"""A release with every kind of key, and numbers from one end of their width to the other."""
FIRST: Final = ReleasedStep(keys=(("a",), ("b",)), values=((1,), (-1,)))
SECOND: Final = ReleasedStep(keys=((),), values=((17, -3),))


def asking(name: str = "how many", *, analyst: str = "ana", event: Event | None = None, steps: int = 1) -> Charge:
    """A charge of ε = 1/10 unless an event is given; another name is another question."""
    return Charge(
        analyst=analyst,
        question=Question(plan=f"plan {name}", policy="policy 1", data_version="1"),
        event=Pure(epsilon=TENTH) if event is None else event,
        cost=TENTH,
        steps=steps,
        sql=f"SELECT COUNT(*) FROM people -- {name}",
        record='{"steps":[]}',
    )


@contextmanager
def refused(*kinds: type[DpsqlError], saying: str = "") -> Iterator[None]:
    """The block raises one of these errors, with these words."""
    try:
        yield
    except kinds as error:
        if saying not in error.what:
            raise
        return
    raise AssertionError(f"none of {[kind.__name__ for kind in kinds]} was raised")


def charges_of(ledger: Ledger) -> tuple[tuple[int, Charge], ...]:
    """Every payment under the number of its receipt, oldest first, from a ledger that verifies."""
    return tuple((entry.number, entry.fact) for entry in ledger.entries() if isinstance(entry.fact, Charge))


def batches_of(ledger: Ledger) -> tuple[Batched, ...]:
    """Every batch that was paid for, oldest first."""
    return tuple(entry.fact for entry in ledger.entries() if isinstance(entry.fact, Batched))


def at_once(work: Iterable[Callable[[], None]]) -> None:
    """Run everything in threads that start together; an error in one of them is an error here."""
    tasks, errors = list(work), []
    start = threading.Barrier(len(tasks))

    def run(task: Callable[[], None]) -> None:
        start.wait()
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class LedgerCase:
    """Says how a fresh ledger is made, and closes it after the test."""

    def make(self, tmp_path: Path) -> Ledger:
        """A new ledger, with nothing in it."""
        raise NotImplementedError

    def fresh(self, tmp_path: Path) -> Ledger:
        """What `make` makes; closed after the test."""
        ledger = self.make(tmp_path)
        self._made = [*getattr(self, "_made", ()), ledger]
        return ledger

    def teardown_method(self) -> None:
        for ledger in getattr(self, "_made", ()):
            ledger.close()

    def opened(
        self,
        tmp_path: Path,
        *,
        delta: Fraction = SMALL,
        per: Window = Window.FOREVER,
        budget: Fraction = Fraction(1),
    ) -> Ledger:
        """A ledger with a promise of ε = 1, and a grant for ana."""
        ledger = self.fresh(tmp_path)
        ledger.promise(epsilon=Fraction(1), delta=delta, delta_prime=delta / 2, per=per)
        ledger.grant("ana", epsilon=budget)
        return ledger

    def states(self, ledger: Ledger, *analysts: str) -> list[Any]:
        """What a refusal must leave as it was."""
        ledger.verify()
        return [ledger.account(), *map(ledger.account, analysts)]
