"""`dpsql COMMAND …`: one command, one file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from dpsql.cli import plan


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    parser = argparse.ArgumentParser(prog="dpsql", description="Differentially private SQL.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    plan.add_to(commands)
    chosen = parser.parse_args(arguments)
    return int(chosen.run(chosen))


if __name__ == "__main__":
    sys.exit(main())
