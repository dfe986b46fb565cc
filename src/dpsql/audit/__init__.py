"""Proof by attack and by golden values."""
