"""Elastic sensitivity: how far one row moves a count over equal-key joins, from the largest frequency of each key.

`algebra` holds the questions; `stability` follows one changed row through them, its frequencies first, and turns the
result into a bound that noise may depend on. Measured frequencies, and all that is computed from them, are
private: they have no printed form. The unit is a row; a person with several rows needs bounded contributions.
"""
