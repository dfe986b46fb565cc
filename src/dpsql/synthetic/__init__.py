"""Rows that nobody lives in: made from the policy and the engine's names and types, never from a row."""
