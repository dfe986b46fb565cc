"""Where chance comes from: the operating system's bits, and exact samplers on integers built from them."""

from dpsql.randomness.bernoulli import bernoulli, bernoulli_exp, bernoulli_exp_many
from dpsql.randomness.discrete import discrete_gaussian, discrete_laplace
from dpsql.randomness.source import SYSTEM, OsSource, Source, shuffled, uniform_below

__all__ = [
    "SYSTEM",
    "OsSource",
    "Source",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_exp_many",
    "discrete_gaussian",
    "discrete_laplace",
    "shuffled",
    "uniform_below",
]
