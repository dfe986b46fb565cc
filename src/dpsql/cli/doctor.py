"""`dpsql doctor`: whether everything that dpsql needs is here. No row is read, and nothing is made or changed."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import dpsql
from dpsql import DpsqlError
from dpsql.cli.manner import MEANINGS, add_plain, exit_code, is_plain, say
from dpsql.cli.registry import COMMANDS, POLICY, Commands
from dpsql.errors import LedgerBroken, NoSource

EXTRAS: Final = {
    "pandas": "pandas",
    "polars": "polars",
    "arrow": "pyarrow",
    "postgres": "psycopg",
    "plots": "matplotlib",
    "notebook": "IPython",
    "sqlalchemy": "sqlalchemy",
    "pld": "dp_accounting",
    "opendp": "opendp",
}
"""What can be installed beside dpsql, and the module each extra brings."""
_PACKAGES: Final = {
    "psycopg": "'psycopg[binary]'",
    "IPython": "ipython",
    "dp_accounting": "dp-accounting",
}
"""Modules that are installed under another name."""
_SLACK: Final = timedelta(minutes=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    found: str
    error: DpsqlError | None = None
    """Why it cannot stay so."""
    is_doubtful: bool = False
    """It works, and is worth a look."""


def add_to(commands: Commands) -> None:
    """The command and its options."""
    parser = commands.add_parser(
        "doctor",
        help=COMMANDS["doctor"],
        description="Look at Python, libraries, the terminal, the policy, its ledger, who else can read or write its "
        "files, and the clock. No row is read.",
        epilog=f"It ends with the code of the first thing that is wrong. {MEANINGS}",
    )
    parser.add_argument("--policy", help=f"the policy file (default: {POLICY}, if it is there)")
    add_plain(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """A line for each thing on standard output; what is wrong is explained on standard error."""
    plain = is_plain(chosen)
    wrong: dict[str, DpsqlError] = {}
    for finding in (*_machine(), *_data(chosen.policy)):
        if str(finding.error) in wrong:
            continue  # the same keeps several things from being looked at
        mark = "NO" if finding.error is not None else "??" if finding.is_doubtful else "ok"
        line = dpsql.printable(f"{mark}  {finding.what:<11} {finding.found}")
        print(dpsql.without_symbols(line) if plain else line)
        if finding.error is not None:
            wrong[str(finding.error)] = finding.error
    for error in wrong:
        say(error, plain=plain)
    return next(map(exit_code, wrong.values()), 0)


def _machine() -> Iterator[Finding]:
    yield Finding(what="python", found=platform.python_version())
    yield Finding(what="dpsql", found=dpsql.__version__)
    yield Finding(what="duckdb", found=version("duckdb"))
    encoding = sys.stdout.encoding or "none"
    symbols = "" if encoding.lower() in ("utf-8", "utf8") else ": no symbols, as with --plain"
    yield Finding(what="terminal", found=f"{encoding}{symbols}")
    for extra, module in EXTRAS.items():
        there = find_spec(module) is not None
        package = _PACKAGES.get(module, module)
        yield Finding(what=extra, found="installed" if there else f"not installed; pip install {package}")


def _data(named: str | None) -> Iterator[Finding]:
    policy = named or POLICY
    if named is None and not Path(policy).exists():
        yield Finding(what="policy", found=f"no {POLICY} in this folder; try the demo: dpsql demo")
        return
    yield _looked("policy", lambda: _policy(policy))
    yield _looked("ledger", lambda: _ledger(policy))
    yield from _files(policy)
    yield _looked("clock", lambda: _clock(policy))


def _looked(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what=what, found=look())
    except DpsqlError as error:
        return Finding(what=what, found=error.what, error=error)


def _policy(policy: str) -> str:
    with dpsql.Planner(policy):
        return f"{policy} fits the source it names"


def _ledger(policy: str) -> str:
    try:
        with dpsql.open_ledger(policy) as keeper:
            return f"{keeper.verify()} entries, verified"
    except NoSource:  # of this ledger: the data are not opened for it
        return "not made yet: dpsql policy apply"


def _files(policy: str) -> Iterator[Finding]:
    """What others can read is said; what they can write is wrong."""
    try:
        found = dpsql.exposed_files(policy)
    except DpsqlError:  # of the policy, which was looked at already
        return
    for exposure in found:
        error = LedgerBroken(
            str(exposure),
            why="whoever writes there can put other data, or an older ledger, in the place of these",
            fix="take the right away, as shown above; whoever needs answers asks dpsql serve",
        )
        yield Finding(what="files", found=str(exposure), error=error if exposure.writable else None, is_doubtful=True)
    if not found:
        yield Finding(what="files", found="ledger, key, anchors and data are open to their owner alone")


def _clock(policy: str) -> str:
    """A clock that stands before the last entry makes grants last longer than they were given."""
    now = datetime.now(UTC)
    try:
        with dpsql.open_ledger(policy) as keeper:
            times = [row.at for row in keeper.rows()]
    except NoSource:
        times = []
    if times and max(times) > now + _SLACK:
        raise LedgerBroken(
            f"it is {now:%Y-%m-%d %H:%M} UTC here, and the ledger was written {max(times):%Y-%m-%d %H:%M} UTC",
            why="grants that end on a day would last longer than they were given",
            fix="set the clock of this machine",
        )
    return f"{now:%Y-%m-%d %H:%M} UTC"
