"""Every mechanism by name: its class, the event it charges, the page of docs/theorems that proves it.

Adding a mechanism is adding its file, a line here, a theorem page and a row of docs/guide/mechanisms.md; a test notices
a missing one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dpsql.mechanisms.discrete_gaussian import DiscreteGaussianMechanism, VectorDiscreteGaussianMechanism
from dpsql.mechanisms.discrete_laplace import LaplaceMechanism, VectorLaplaceMechanism
from dpsql.mechanisms.elastic_noise import ElasticLaplace
from dpsql.mechanisms.exponential import ExponentialMechanism
from dpsql.mechanisms.mechanism import Mechanism
from dpsql.mechanisms.noisy_max import NoisyMax
from dpsql.mechanisms.partition_threshold import GaussianThresholdSelection
from dpsql.mechanisms.partitions import PartitionSelection
from dpsql.mechanisms.permute_and_flip import PermuteAndFlip
from dpsql.mechanisms.quantile import QuantileMechanism
from dpsql.mechanisms.randomized_response import KaryResponse, RandomizedResponse
from dpsql.mechanisms.smooth_noise import SmoothCauchy, SmoothLaplace
from dpsql.mechanisms.sparse_vector import SparseVector
from dpsql.privacy import events
from dpsql.privacy.events import Event


class Entry(NamedTuple):
    mechanism: type[Mechanism[Any, Any]]
    event: type[Event]
    theorem: str


MECHANISMS: Final[Mapping[str, Entry]] = {
    "laplace": Entry(LaplaceMechanism, events.Pure, "discrete_laplace"),
    "vector_laplace": Entry(VectorLaplaceMechanism, events.Pure, "discrete_laplace"),
    "discrete_gaussian": Entry(DiscreteGaussianMechanism, events.DiscreteGaussian, "discrete_gaussian"),
    "vector_discrete_gaussian": Entry(VectorDiscreteGaussianMechanism, events.DiscreteGaussian, "discrete_gaussian"),
    "clip_and_noise": Entry(VectorDiscreteGaussianMechanism, events.DiscreteGaussian, "clip_and_noise"),
    "smooth_laplace": Entry(SmoothLaplace, events.Approximate, "smooth_noise_laplace"),
    "smooth_cauchy": Entry(SmoothCauchy, events.Pure, "smooth_noise_cauchy"),
    "elastic_laplace": Entry(ElasticLaplace, events.Approximate, "elastic_sensitivity"),
    "exponential": Entry(ExponentialMechanism, events.BoundedRange, "exponential_mechanism"),
    "report_noisy_max": Entry(NoisyMax, events.Pure, "report_noisy_max"),
    "permute_and_flip": Entry(PermuteAndFlip, events.Pure, "permute_and_flip"),
    "sparse_vector": Entry(SparseVector, events.Pure, "sparse_vector"),
    "randomized_response": Entry(RandomizedResponse, events.Pure, "randomized_response"),
    "kary_randomized_response": Entry(KaryResponse, events.Pure, "randomized_response"),
    "quantile": Entry(QuantileMechanism, events.BoundedRange, "quantile"),
    "partition_selection": Entry(PartitionSelection, events.KeySelection, "partition_selection"),
    "gaussian_threshold": Entry(GaussianThresholdSelection, events.GaussianThreshold, "partition_threshold"),
}
