"""`dpsql serve --socket PATH`: answer clients who hold neither the data nor the ledger."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import dpsql
from dpsql.cli.manner import MEANINGS, say
from dpsql.cli.registry import COMMANDS, Commands, mode, read_by, seconds
from dpsql.errors import BadParameter
from dpsql.written import count, size

if TYPE_CHECKING:
    from dpsql import Owner, SocketServer, Workers

_SECONDS: Final = 60.0
_DAY: Final = 86_400.0
_PYTHON: Final = 300_000_000  # bytes of one process without statements
_LEAST: Final = 64_000_000  # bytes for statements of one process


def add_to(commands: Commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("serve", help=COMMANDS["serve"], epilog=MEANINGS)
    parser.add_argument("--socket", required=True, type=Path, metavar="PATH", help="where clients connect")
    parser.add_argument("--policy", default="dpsql.toml", help="the policy file (default: dpsql.toml)")
    parser.add_argument(
        "--mode", action=read_by(mode), default=0o600, metavar="0660", help="of the socket file (default: 0600)"
    )
    parser.add_argument(
        "--connections", action=read_by(count), default=16, metavar="N", help="at most so many at once (default: 16)"
    )
    parser.add_argument(
        "--refusals",
        action=read_by(count),
        default=300,
        metavar="N",
        help="written down for one token within an hour (default: 300)",
    )
    parser.add_argument(
        "--memory-limit",
        action=read_by(size),
        metavar="4GB",
        help="for all processes of the server together (default: the policy's, else half the memory)",
    )
    parser.add_argument(
        "--threads",
        action=read_by(count),
        metavar="N",
        help="for one statement (default: the policy's, else all cores)",
    )
    parser.add_argument(
        "--workers", action=read_by(count), metavar="N", help="processes that answer (default: two for each core)"
    )
    for name, default, about in (
        ("--patience", 10, "for one request to arrive, and to end after SIGTERM (default: 10)"),
        ("--idle", 600, "for a silent connection (default: 600)"),
        ("--timeout", None, "for one request (default: the policy's, else 60)"),
        ("--planning", 15, "of processor time within a minute for one token (default: 15)"),
    ):
        parser.add_argument(name, action=read_by(seconds), default=default, metavar="SECONDS", help=about)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Until SIGTERM or Ctrl-C; requests that are being answered are finished, or stopped in time."""
    from dpsql import open as open_owner

    for exposure in dpsql.exposed_files(chosen.policy):
        say(f"warning: {exposure}")
    limits = dpsql.policy_limits(chosen.policy)
    most = chosen.workers or 2 * (os.cpu_count() or 1)
    timeout = float(chosen.timeout or limits.timeout or _SECONDS)
    share = share_of(chosen.memory_limit or size("memory_limit", str(limits.memory_limit)), most)
    statements = f"{(share - _PYTHON) // 1000}KB"

    def opened() -> Owner:
        return open_owner(
            chosen.policy,
            timeout=timeout,
            memory_limit=statements,
            threads=chosen.threads,
            on_failure=_say,
            adopt=False,
        )

    workers = dpsql.Workers(opened, most, memory=share)  # before the first thread
    with closing(workers), opened() as owner:
        owner.keeper.verify()
        workers.start()
        server = server_of(owner, chosen, timeout=timeout, workers=workers)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: server.stop())
        with verified_daily(chosen.policy):
            server.serve(ready=lambda: say(f"listening at {chosen.socket}"))
    return 0


@contextmanager
def verified_daily(policy: str, *, every: float = _DAY) -> Iterator[None]:
    """Verify the ledger once a day, over a connection of its own, so that no request waits. A ledger that does not
    verify is marked in the anchor of this machine: from then on the server refuses every request."""
    ended = threading.Event()

    def verify() -> None:
        while not ended.wait(every):
            try:
                with dpsql.open_ledger(policy) as keeper:
                    keeper.verify()
            except dpsql.DpsqlError as error:
                _say(error.code, error.what)
            except Exception as error:  # the next day it is tried again
                _say("DP900", type(error).__name__)

    threading.Thread(target=verify, name="daily verify", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def share_of(memory: int, workers: int) -> int:
    """The bytes of one worker: its interpreter, and what is left for statements."""
    share = memory // (workers + 1)  # the server itself is one more process
    if share < _PYTHON + _LEAST:
        raise BadParameter(
            f"{memory // 10**6} MB are too few for {workers} workers",
            why=f"each process takes {_PYTHON // 10**6} MB, and {_LEAST // 10**6} MB for statements",
            fix="allow more with --memory-limit, or fewer --workers",
        )
    return share


def server_of(
    owner: Owner, chosen: argparse.Namespace, *, timeout: float | None = None, workers: Workers | None = None
) -> SocketServer:
    """The server that the options ask for."""
    return dpsql.SocketServer(
        owner,
        chosen.socket,
        mode=chosen.mode,
        connections=chosen.connections,
        patience=float(chosen.patience),
        idle=float(chosen.idle),
        refusals=chosen.refusals,
        timeout=timeout,
        planning=float(chosen.planning),
        workers=workers,
    )


def _say(trace: str, kind: str) -> None:
    """For the owner's log; a client is told the trace id alone."""
    say(f"{trace} {kind}")
