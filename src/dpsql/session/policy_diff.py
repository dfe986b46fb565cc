"""The policy file against what the ledger has applied: the lines that differ, and what applying them means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from dpsql.catalog.check import checked
from dpsql.catalog.digest import declarations
from dpsql.catalog.load import load
from dpsql.catalog.model import Catalog, Policy
from dpsql.engines.registry import file_of, located, open_source
from dpsql.errors import Incomparable
from dpsql.ledger.book import Ledger
from dpsql.ledger.facts import Adopted, Entry, Versioned
from dpsql.ledger.ledger import FIRST_VERSION, Charge
from dpsql.plan.record import scanned_tables
from dpsql.require import shown
from dpsql.session.granting import grant_changes
from dpsql.session.opening import bound_ledger, is_there, ledger_place
from dpsql.session.policy_changes import changed_lines, changed_tables, names_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDiff:
    """What applying a policy file would change."""

    changes: tuple[str, ...]
    """Declarations as a text diff: - what was, + what is."""
    grants: tuple[str, ...]
    """Grants, in words."""
    promise: tuple[str, ...] = ()
    """The promise, in words: one that holds is not changed by applying."""
    answers: int
    """Stored answers about tables with changed declarations: those that used one are paid again when asked again."""
    is_first: bool = False
    """There is no ledger yet, or nothing was applied to it."""

    def lines(self) -> Iterator[str]:
        """In words, a line each."""
        if self.is_first:
            yield "nothing is applied yet: dpsql policy apply makes the ledger and the promise"
            return
        yield from (*self.changes, *self.grants, *self.promise)
        if not (self.changes or self.grants or self.promise):
            yield "the ledger has applied what the file says"
        if self.answers:
            yield self.meaning()

    def meaning(self) -> str:
        """What becomes of stored answers."""
        number = f"{self.answers} stored answer{'s' if self.answers > 1 else ''}"
        return (
            f"{number} about these tables: what used a changed line is not comparable with what is answered then, "
            "and is paid again when it is asked again. What was answered stays in the ledger as it was"
        )

    def require_comparable(self) -> None:
        """Incomparable where stored answers would not be told again: that is for the owner to say."""
        if not self.answers:
            return
        raise Incomparable(
            f"changing {names_of(self.changes)} makes up to {self.answers} stored "
            f"answer{'s' if self.answers > 1 else ''} incomparable",
            why="numbers that were made under other limits mean something else, and asking again is paid again",
            fix="look at it: dpsql policy diff; then dpsql policy apply --new-version LABEL (all answers so far are of "
            "the version before), or --keep-version (only what used a changed line is asked anew)",
        )


def policy_diff(policy: str | PathLike[str], *, ledger: str | PathLike[str] | None = None) -> PolicyDiff:
    """What applying a policy file would change. Names and types of the source are read, no row; nothing is written."""
    path = Path(fspath(policy))
    read = load(path)
    address = located(read.source, folder=path.parent)
    with closing(open_source(address)) as engine:
        catalog = checked(read, engine.schema(), views=engine.views())
    data = file_of(address)
    source = None if data is None else data.resolve()
    place = Path(fspath(ledger)) if ledger is not None else ledger_place(read, path, source)
    if not is_there(place):
        return PolicyDiff(changes=(), grants=(), answers=0, is_first=True)
    with closing(bound_ledger(place, named=read.ledger, source=None)) as kept:
        return _compared(catalog, kept)


def _compared(catalog: Catalog, ledger: Ledger) -> PolicyDiff:
    policy = catalog.policy
    entries = ledger.entries()
    applied = [entry.fact.text for entry in entries if isinstance(entry.fact, Adopted)]
    if not applied:
        return PolicyDiff(changes=(), grants=(), answers=0, is_first=True)
    declared = declarations(catalog)
    touched = changed_tables(applied[-1], declared)
    version = _version(entries)
    moved = policy.data_version not in (None, version)  # then all answers so far are of the version before
    charges = (entry.fact for entry in entries if isinstance(entry.fact, Charge))
    return PolicyDiff(
        changes=tuple(changed_lines(applied[-1], declared)),
        grants=tuple(grant_changes(ledger, policy)),
        promise=tuple(_promise_changes(policy, ledger)),
        answers=0
        if moved
        else sum(_is_about(charge, touched) for charge in charges if charge.question.data_version == version),
    )


def _promise_changes(policy: Policy, ledger: Ledger) -> Iterator[str]:
    made = ledger.promises()
    if not made or policy.promise is None:
        return
    for name in ("epsilon", "delta", "delta_prime"):
        was, now = getattr(made[-1].account, name), getattr(policy.promise, name)
        if was != now:
            yield (
                f"promise.{name}: {shown(was)} → {shown(now)}, which applying refuses: a promise that was made holds; "
                "dpsql budget close ends it, and apply --new-promise makes another"
            )


def _version(entries: Iterable[Entry]) -> str:
    """The data version that holds."""
    return ([entry.fact.label for entry in entries if isinstance(entry.fact, Versioned)] or [FIRST_VERSION])[-1]


def _is_about(charge: Charge, tables: set[str | None]) -> bool:
    """Its plan reads one of these tables; None among them stands for all."""
    if not tables or None in tables:
        return bool(tables)
    return bool(tables.intersection(scanned_tables(charge.record)))
