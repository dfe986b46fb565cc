"""`dpsql COMMAND …`: one command, one file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from os import open as open_descriptor

from dpsql import DpsqlError
from dpsql.cli import audit, budget, freeze, grant, help_, ledger, plan, policy, serve, user
from dpsql.cli.ending import INTERRUPTED, exit_code

_COMMANDS = (plan, policy, serve, audit, ledger, freeze, grant, user, budget, help_)


def parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    found = argparse.ArgumentParser(prog="dpsql", description="Differentially private SQL.")
    commands = found.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_to(commands)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    try:
        chosen = parser().parse_args(arguments)
        code = int(chosen.run(chosen))
        sys.stdout.flush()
    except DpsqlError as error:
        print(error, file=sys.stderr)
        return exit_code(error)
    except BrokenPipeError:  # whoever reads has read enough
        os.dup2(open_descriptor(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


if __name__ == "__main__":
    sys.exit(main())
