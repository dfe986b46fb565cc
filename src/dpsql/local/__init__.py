"""Input perturbation: each person perturbs at the source, the curator de-biases."""

from dpsql.local.debias import Estimate, estimate_share, estimate_shares, randomize_bits, randomize_categories

__all__ = ["Estimate", "estimate_share", "estimate_shares", "randomize_bits", "randomize_categories"]
