"""`dpsql serve --socket PATH`: answer clients who hold neither the data nor the ledger."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from dpsql import Owner, SocketServer, open  # noqa: A004 - dpsql.open, as everywhere
from dpsql.cli.ending import MEANINGS
from dpsql.cli.place import Commands

_SECONDS = 60.0


def add_to(commands: Commands) -> None:
    """The command and its options."""
    parser = commands.add_parser("serve", help="answer clients on a UNIX socket", epilog=MEANINGS)
    parser.add_argument("--socket", required=True, type=Path, metavar="PATH", help="where clients connect")
    parser.add_argument("--policy", default="dpsql.toml", help="the policy file (default: dpsql.toml)")
    parser.add_argument("--mode", type=_mode, default=0o600, metavar="0660", help="of the socket file (default: 0600)")
    parser.add_argument(
        "--connections", type=int, default=16, metavar="N", help="at most so many at once (default: 16)"
    )
    parser.add_argument(
        "--patience", type=float, default=10.0, metavar="SECONDS", help="for one request to arrive (10)"
    )
    parser.add_argument("--idle", type=float, default=600.0, metavar="SECONDS", help="for a silent connection (600)")
    parser.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="for one statement (default: the policy's, else 60)"
    )
    parser.set_defaults(run=run)


def _mode(text: str) -> int:
    try:
        return int(text, 8)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no mode: write it as 0660") from None


def run(chosen: argparse.Namespace) -> int:
    """Until SIGTERM or Ctrl-C; requests that are being answered are finished."""
    with _opened(chosen.policy, chosen.timeout) as owner:
        owner.keeper.verify()
        server = SocketServer(
            owner,
            chosen.socket,
            mode=chosen.mode,
            connections=chosen.connections,
            patience=chosen.patience,
            idle=chosen.idle,
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: server.stop())
        server.serve(ready=lambda: print(f"listening at {chosen.socket}", file=sys.stderr, flush=True))
    return 0


def _opened(policy: str, timeout: float | None) -> Owner:
    """No statement runs for ever: what nobody limits ends after a minute."""
    owner = open(policy, timeout=timeout, on_failure=_say)
    if timeout is not None or owner.catalog.policy.timeout is not None:
        return owner
    owner.close()
    return open(policy, timeout=_SECONDS, on_failure=_say)


def _say(trace: str, kind: str) -> None:
    """For the owner's log; a client is told the trace id alone."""
    print(f"{trace} {kind}", file=sys.stderr, flush=True)
