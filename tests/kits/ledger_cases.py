"""Questions, answers and a fresh ledger: what the laws of the ledger are tried on."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from dpsql.errors import DpsqlError
from dpsql.ledger.book import Ledger
from dpsql.ledger.ledger import Charge, Ownership, Question, ReleasedStep
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


PERSON: Final = 'person = "id"'
PUBLIC: Final = "public = true"
OWNED: Final = Ownership(relation="add_remove", tables=(("people", PERSON), ("wards", PUBLIC)))


def promised(
    ledger: Ledger,
    *,
    epsilon: Fraction = Fraction(1),
    delta: Fraction = SMALL,
    delta_prime: Fraction | None = None,
    per: Window = Window.FOREVER,
) -> Ledger:
    """The ledger under a promise, and whom it is about: from here on grants can be paid from."""
    kept = delta / 2 if delta_prime is None else delta_prime
    ledger.promise(epsilon=epsilon, delta=delta, delta_prime=kept, per=per)
    ledger.own(OWNED)
    return ledger


def asking(
    name: str = "how many",
    *,
    analyst: str = "ana",
    grant: str | None = None,
    event: Event | None = None,
    steps: int = 1,
) -> Charge:
    """A charge of ε = 1/10 unless an event is given, from the analyst's own grant unless another is named; another name
    is another question."""
    return Charge(
        analyst=analyst,
        grant=analyst if grant is None else grant,
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
        self, tmp_path: Path, *, delta: Fraction = SMALL, per: Window = Window.FOREVER, budget: Fraction = Fraction(1)
    ) -> Ledger:
        """A ledger with a promise of ε = 1, and a grant for ana."""
        ledger = promised(self.fresh(tmp_path), delta=delta, per=per)
        ledger.grant("ana", epsilon=budget)
        return ledger

    def states(self, ledger: Ledger, *analysts: str) -> list[Any]:
        """What a refusal must leave as it was."""
        ledger.verify()
        return [ledger.account(), *map(ledger.account, analysts)]
