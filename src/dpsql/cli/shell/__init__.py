"""The shell of `dpsql`: SQL and backslash commands, the price before it is paid, and what is left after it."""

from dpsql.cli.shell.loop import run

__all__ = ["run"]
