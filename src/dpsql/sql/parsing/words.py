"""Words that DuckDB keeps for itself."""

from __future__ import annotations

from typing import Final

RESERVED: Final = frozenset(
    {
        "ALL", "ANALYSE", "ANALYZE", "AND", "ANTI", "ANY", "ARRAY", "AS", "ASC", "ASOF", "ASYMMETRIC", "AT",
        "AUTHORIZATION", "BINARY", "BOTH", "BY", "CASE", "CAST", "CHECK", "COLLATE", "COLLATION", "COLUMN", "COLUMNS",
        "CONCURRENTLY", "CONSTRAINT", "CREATE", "CROSS", "DEFAULT", "DEFERRABLE", "DESC", "DESCRIBE", "DISTINCT",
        "DO", "ELSE", "END", "EXCEPT", "FALSE", "FETCH", "FOR", "FOREIGN", "FREEZE", "FROM", "FULL", "GENERATED",
        "GLOB", "GROUP", "HAVING", "ILIKE", "IN", "INITIALLY", "INNER", "INTERSECT", "INTO", "IS", "ISNULL", "JOIN",
        "LAMBDA", "LATERAL", "LEADING", "LEFT", "LIKE", "LIMIT", "MAP", "NATURAL", "NOT", "NOTNULL", "NULL", "OFFSET",
        "ON", "ONLY", "OR", "ORDER", "OUTER", "OVERLAPS", "PIVOT", "PIVOT_LONGER", "PIVOT_WIDER", "PLACING",
        "POSITIONAL", "PRIMARY", "QUALIFY", "REFERENCES", "RETURNING", "RIGHT", "SELECT", "SEMI", "SHOW", "SIMILAR",
        "SOME", "STRUCT", "SUMMARIZE", "SYMMETRIC", "TABLE", "TABLESAMPLE", "THEN", "TO", "TRAILING", "TRUE",
        "TRY_CAST", "TUPLE", "UNION", "UNIQUE", "UNPACK", "UNPIVOT", "USING", "VARIADIC", "VERBOSE", "WHEN", "WHERE",
        "WINDOW", "WITH",
    }
)  # fmt: skip
"""They name nothing unless they are quoted: DuckDB's reserved keywords and those of types and functions."""
