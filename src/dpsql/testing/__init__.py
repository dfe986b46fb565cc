"""For those who build upon dpsql or extend it: noise from a seed, and the laws that every engine obeys."""

from dpsql.testing.fixed import fixed_noise

__all__ = ["fixed_noise"]
