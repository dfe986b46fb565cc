"""The law, for extenders: kits that a new mechanism or accountant must pass, and doubles that only tests may use."""

from dpsql.testing.fixed import fixed_noise

__all__ = ["fixed_noise"]
