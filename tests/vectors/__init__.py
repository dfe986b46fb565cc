"""Golden values: how each topic's inputs become outputs, by the library and by formulas known to be wrong."""
