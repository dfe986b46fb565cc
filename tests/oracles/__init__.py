"""Independent ways to the same numbers: closed forms, integrals, enumerations and grids that no release uses."""
