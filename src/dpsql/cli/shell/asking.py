"""One statement from the prompt to the screen: its price, a question back where it is dear, the answer, the rest."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Final, TypeVar

import dpsql
from dpsql import Client, Cost, DpsqlError, in_hundredths
from dpsql.cli.asking import is_dear
from dpsql.cli.manner import Manner, stages_shown
from dpsql.cli.shell.asker import Offer, offered, shown_margin
from dpsql.cli.shell.pieces import first_word, has_margin_wish
from dpsql.cli.shell.state import Shell, show
from dpsql.errors import EngineFailed, NoSource

T = TypeVar("T")

_QUESTIONS: Final = frozenset({"SELECT", "WITH", "("})
"""How a statement begins that may be paid for."""
_TICK: Final = 0.1
"""Seconds: how often a signal is looked for, and an interrupt repeated."""
_YES: Final = frozenset({"y", "yes"})


class Stopped(Exception):
    """They pressed Ctrl-C while it ran."""


def ask(shell: Shell, sql: str) -> None:
    """Answer one statement on the screen. What was not agreed to is not paid: the price that was told is the limit."""
    is_question = first_word(sql) in _QUESTIONS
    if is_question:
        shell.last_sql = sql
    offer = _offer(shell, sql) if is_question else None
    if offer is not None and _is_dear(shell, sql, offer) and not agreed(shell, _costs(shell, offer), default=True):
        shell.screen.say("Not asked. Nothing was spent.")
        return
    bought(shell, sql, limit=Fraction(0) if offer is None else offer.cost)


def ask_all(shell: Shell, text: str) -> None:
    """Answer the statements of a text; the first that fails is the last."""
    for statement in dpsql.script(text):
        ask(shell, statement.sql)


def bought(shell: Shell, sql: str, *, limit: Fraction) -> None:
    """The answer, for at most this price, and what is left after it."""
    before = shell.asker.budget.spent
    began = time.monotonic()
    try:
        with stages_shown(Manner(plain=shell.screen.ascii)):
            told = interruptible(shell, lambda: shell.asker.sql(sql, max_cost=limit), paid=True)
    except Stopped:
        _say_stopped(shell, before)
        return
    if not told.is_text:
        shell.last = told
    show(shell, told)
    if shell.timing:
        shell.screen.say(f"time {time.monotonic() - began:.1f} s")


def interruptible(shell: Shell, work: Callable[[], T], *, paid: bool = False) -> T:
    """What the work gives. It is done by a thread of its own, so that Ctrl-C is heard: it stops the engine, or ends the
    connection, and nothing is cut off in the middle of a payment. Stopped where it was pressed; what was `paid` for and
    came all the same is told."""
    results: list[T] = []
    failures: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # whatever it is, it belongs to whoever waits
            failures.append(error)
        finally:
            done.set()

    asker = shell.asker
    with _ctrl_c_noted() as pressed:
        threading.Thread(target=run, daemon=True).start()
        while not done.wait(_TICK):
            if pressed.is_set():
                asker.interrupt()  # one that comes before the engine is asked is lost, so it is repeated
    if results and (paid or not pressed.is_set()):
        return results[0]
    if pressed.is_set() and (results or isinstance(failures[0], EngineFailed | NoSource)):
        raise Stopped
    raise failures[0]


@contextmanager
def _ctrl_c_noted() -> Iterator[threading.Event]:
    """Set once Ctrl-C was pressed. It raises nothing inside the block: wherever it came, what runs would be left
    alone."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    before = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def agreed(shell: Shell, question: str, *, default: bool) -> bool:
    """What they say to a question; Enter says what stands in capitals, and leaving says no."""
    screen = shell.screen
    lines = screen.wrapped(screen.letters(f"{question} {'[Y/n]' if default else '[y/N]'}"))
    try:
        said = screen.key("\n".join(lines) + " ").strip().lower()
    except (EOFError, KeyboardInterrupt):
        shell.screen.say("")
        return False
    return said in _YES or (default and not said)


def connect_again(shell: Shell) -> bool:
    """Whether there is a connection once more, where there can be."""
    if shell.reconnect is None or not isinstance(shell.asker, Client):
        return False
    with suppress(DpsqlError):
        lost, shell.asker = shell.asker, shell.reconnect()
        lost.close()
        shell.screen.say("Connected again. What you SET in this shell holds no longer.")
        return True
    shell.screen.say("The server cannot be reached now.")
    return False


def _offer(shell: Shell, sql: str) -> Offer | None:
    """None where it is refused: asking it says why, and the refusal is written down once."""
    with suppress(DpsqlError):
        return interruptible(shell, lambda: offered(shell.asker, sql))
    return None


def _is_dear(shell: Shell, sql: str, offer: Offer) -> bool:
    left = shell.asker.budget.left
    return is_dear(offer.cost, left, above=shell.ask_above, looked_for=has_margin_wish(sql))


def _costs(shell: Shell, offer: Offer) -> str:
    known = {name: margin for name, margin in offer.margins.items() if margin is not None}
    said = ", ".join(
        f"{name} {shown_margin(margin)}" if len(known) > 1 else shown_margin(margin) for name, margin in known.items()
    )
    margins = f" (margin {said})" if said else ""
    left = in_hundredths(shell.asker.budget.left)
    return f"Costs {Cost(epsilon=offer.cost)} of your budget{margins}; {left} is left. Run?"


def _say_stopped(shell: Shell, before: Fraction) -> None:
    if isinstance(shell.asker, Client):
        shell.screen.say(
            "Stopped waiting. The server may go on: what it charges stays charged, and asked again it is told for "
            "nothing."
        )
        connect_again(shell)
        return
    spent = shell.asker.budget.spent - before
    if spent > 0:
        shell.screen.say(f"Stopped. {Cost(epsilon=spent)} stays spent: ask the same again, and it costs nothing more.")
    else:
        shell.screen.say("Stopped. Nothing was spent.")
