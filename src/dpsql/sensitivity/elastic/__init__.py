"""Elastic sensitivity: how far one row moves a count over equal-key joins, from the largest frequency of each key.

`algebra` holds the questions; `stability` follows one changed row through them, its frequencies first, and turns the
result into a bound that noise may depend on. Measured frequencies, and all that is computed from them, are
private: they have no printed form. The unit is a row; a person with several rows needs bounded contributions.
"""

from dpsql.sensitivity.elastic.algebra import (
    Attribute,
    Column,
    Count,
    GroupedCount,
    Join,
    Project,
    Query,
    Relation,
    Select,
    SemiJoin,
    Table,
    ancestors,
    join_count,
    joined_columns,
    with_frequencies,
)
from dpsql.sensitivity.elastic.stability import (
    ElasticBound,
    elastic_sensitivity,
    frequency_at,
    largest_frequency,
    max_frequency,
    scan_limit,
    smooth_bound,
    smooth_elastic,
    stability,
)

__all__ = [
    "Attribute",
    "Column",
    "Count",
    "ElasticBound",
    "GroupedCount",
    "Join",
    "Project",
    "Query",
    "Relation",
    "Select",
    "SemiJoin",
    "Table",
    "ancestors",
    "elastic_sensitivity",
    "frequency_at",
    "join_count",
    "joined_columns",
    "largest_frequency",
    "max_frequency",
    "scan_limit",
    "smooth_bound",
    "smooth_elastic",
    "stability",
    "with_frequencies",
]
