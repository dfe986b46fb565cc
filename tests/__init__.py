"""Every test, and what only tests need: vectors, kits and oracles, imported as `tests.…` from the root."""
