"""How a story is told in a terminal: page by page, in eighty columns, in plain letters where asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from textwrap import wrap
from typing import Final, TypeAlias

from dpsql import Analyst, Answer, DpsqlError, Noisy, formatted, in_ascii, summary
from dpsql.errors import InternalError

WIDTH: Final = 80
_LABEL: Final = re.compile(r"note: | *\S+ {2,}| *")
"""What a long line begins with that is not repeated when it goes on: it goes on below the first word behind it."""

_ENOUGH: Final = ("q", "\\q", "quit", "exit")

Hear: TypeAlias = Callable[[str], str | None]
"""Waits for what somebody types after some words; None: nobody is there, or nobody wants to be waited for."""


class _EnoughError(Exception):
    """Somebody wants to see no more pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Something the reader may try as often as they like, and what comes of it."""

    asks: str
    tell: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One step of a story. A block of one line is prose, and wrapped; one of several is shown line by line."""

    title: str
    blocks: tuple[str, ...]
    trial: Trial | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where a story is told: in which letters, and who is heard."""

    plain: bool = False
    bold: bool = False
    hear: Hear = lambda words: None

    def tell(self, pages: Iterable[Page]) -> None:
        """Page after page on standard output, until the last one or until somebody has seen enough."""
        with suppress(_EnoughError):
            self._tell(pages)

    def _tell(self, pages: Iterable[Page]) -> None:
        for number, page in enumerate(pages, start=1):
            if number > 1:
                self._heard("[Enter] next page, q skips the rest: ")
            title = f"{number}. {page.title}"
            print("\n" + (f"\x1b[1m{title}\x1b[0m" if self.bold else self.lettered(title)) + "\n")
            print("\n\n".join(self.fitted(block) for block in page.blocks), flush=True)
            while page.trial is not None and (heard := self._heard(page.trial.asks)):
                print("\n" + self.fitted(page.trial.tell(heard)), flush=True)

    def _heard(self, words: str) -> str:
        """What is typed; nothing where nobody is there."""
        heard = (self.hear(words) or "").strip()
        if heard.lower() in _ENOUGH:
            raise _EnoughError
        return heard

    def lettered(self, text: str) -> str:
        """The text in the letters of this stage."""
        return in_ascii(text) if self.plain else text

    def fitted(self, block: str) -> str:
        """A block in these letters and in eighty columns: a line that is longer goes on below its first word."""
        lines = self.lettered(block).split("\n")
        return "\n".join(part for line in lines for part in (_wrapped(line) if len(line) > WIDTH else [line]))

    def asked(self, analyst: Analyst, sql: str) -> str:
        """A question as it is typed, and its answer."""
        return f"{typed(analyst, sql)}\n{self.answer(analyst.sql(sql))}"

    def answer(self, answer: Answer) -> str:
        """The table, and what belongs to it."""
        return str(formatted(answer, "table", plain=self.plain)) + "\n".join(summary(answer, plain=self.plain))


def typed(analyst: Analyst, sql: str) -> str:
    """A question behind the prompt of whoever asks it."""
    first, *more = wrap(sql, WIDTH - len(analyst.name) - 3)
    return "\n".join([f"{analyst.name}> {first}", *(" " * (len(analyst.name) + 2) + line for line in more)])


def refusal(analyst: Analyst, sql: str) -> DpsqlError:
    """How a question is refused that is known to be."""
    try:
        analyst.sql(sql)
    except DpsqlError as error:
        return error
    raise InternalError(f"this was answered: {sql}")


def only_cell(answer: Answer) -> Noisy:
    """The number of an answer that is one noisy number."""
    ((cell,),) = answer.rows
    if not isinstance(cell, Noisy):
        raise InternalError("an answer of the demo has no noise")
    return cell


def _wrapped(line: str) -> Iterator[str]:
    label = _LABEL.match(line)
    indent = " " * (label.end() if label else 0)
    return iter(wrap(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False))
