"""`dpsql serve --socket PATH`: answer clients who hold neither the data nor the ledger."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from dpsql import Owner, SocketServer, open  # noqa: A004 - dpsql.open, as everywhere
from dpsql.cli.ending import MEANINGS
from dpsql.cli.place import Commands
from dpsql.cli.reading import mode, read_by, seconds
from dpsql.written import count

_SECONDS = 60.0


def add_to(commands: Commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("serve", help="answer clients on a UNIX socket", epilog=MEANINGS)
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
    for name, default, about in (
        ("--patience", 10, "for one request to arrive (default: 10)"),
        ("--idle", 600, "for a silent connection (default: 600)"),
        ("--timeout", None, "for one statement (default: the policy's, else 60)"),
    ):
        parser.add_argument(name, action=read_by(seconds), default=default, metavar="SECONDS", help=about)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Until SIGTERM or Ctrl-C; requests that are being answered are finished."""
    with _opened(chosen.policy, None if chosen.timeout is None else float(chosen.timeout)) as owner:
        owner.keeper.verify()
        server = server_of(owner, chosen)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: server.stop())
        server.serve(ready=lambda: print(f"listening at {chosen.socket}", file=sys.stderr, flush=True))
    return 0


def server_of(owner: Owner, chosen: argparse.Namespace) -> SocketServer:
    """The server that the options ask for."""
    return SocketServer(
        owner,
        chosen.socket,
        mode=chosen.mode,
        connections=chosen.connections,
        patience=float(chosen.patience),
        idle=float(chosen.idle),
        refusals=chosen.refusals,
    )


def _opened(policy: str, timeout: float | None) -> Owner:
    """No statement runs for ever: what nobody limits ends after a minute."""
    owner = open(policy, timeout=timeout, on_failure=_say, adopt=False)
    if timeout is not None or owner.catalog.policy.timeout is not None:
        return owner
    owner.close()
    return open(policy, timeout=_SECONDS, on_failure=_say, adopt=False)


def _say(trace: str, kind: str) -> None:
    """For the owner's log; a client is told the trace id alone."""
    print(f"{trace} {kind}", file=sys.stderr, flush=True)
