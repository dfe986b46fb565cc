"""Every test, and what only tests need: vectors, kits and oracles, imported as `tests.…` from the root."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
