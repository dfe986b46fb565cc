"""Readings of the golden vectors: how each topic's inputs become outputs, by the library's own functions."""
