"""A hospital that was invented, to try dpsql on: its patients, a tour, and an attack on one of them."""

from dpsql.demonstration.hospital import demo

__all__ = ["demo"]
