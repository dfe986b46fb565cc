"""Every mechanism by name: what it releases, the event it charges, the page that proves it.

Adding a mechanism is adding its file, one entry here, one theorem page and one row of docs/guide/mechanisms.md; a
test notices a missing one. No mechanism is imported until it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any, TypeVar

from dpsql.errors import BadParameter
from dpsql.mechanisms.mechanism import Mechanism, require_exact
from dpsql.privacy import events
from dpsql.privacy.events import Event
from dpsql.privacy.exact import Exact
from dpsql.privacy.unit import Neighbours
from dpsql.randomness import Source
from dpsql.sensitivity.elastic import Count, Table

Input = TypeVar("Input")
Output = TypeVar("Output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One mechanism: where it lives, what it charges, where it is proved, and parameters to try it with.

    `door` names a function that prepares raw values for the mechanism and releases them in one call, if there is one.
    """

    where: str
    door: str = ""
    event: type[Event]
    theorem: str
    releases: str
    summary: str
    example: Mapping[str, Any]

    def load(self) -> type[Mechanism[Any, Any]]:
        """The class, imported now."""
        loaded: type[Mechanism[Any, Any]] = _resolve(self.where)
        return loaded

    def load_door(self) -> Callable[..., Any] | None:
        """The function behind `door`, imported now."""
        function: Callable[..., Any] | None = _resolve(self.door) if self.door else None
        return function

    def with_example(self) -> Mechanism[Any, Any]:
        """The mechanism with its example parameters."""
        return self.load()(**self.example)


def _resolve(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)


_CHOICE: Mapping[str, Any] = {
    "candidates": ("red", "green", "blue"),
    "sensitivity": 1,
    "epsilon": Fraction(1, 2),
    "monotonic": False,
    "max_candidates": 100,
}

MECHANISMS: Mapping[str, Entry] = {
    "laplace": Entry(
        where="dpsql.mechanisms.discrete_laplace:LaplaceMechanism",
        door="dpsql.mechanisms.dp_sum:dp_sum",
        event=events.Pure,
        theorem="discrete_laplace",
        releases="a whole number",
        summary="discrete Laplace noise of scale l1/ε",
        example={"l1": 1, "epsilon": Fraction(1, 2)},
    ),
    "vector_laplace": Entry(
        where="dpsql.mechanisms.discrete_laplace:VectorLaplaceMechanism",
        event=events.Pure,
        theorem="discrete_laplace",
        releases="a vector of whole numbers",
        summary="independent discrete Laplace noise of scale l1/ε on every coordinate",
        example={"l1": 2, "epsilon": Fraction(1, 2), "dimensions": 3},
    ),
    "discrete_gaussian": Entry(
        where="dpsql.mechanisms.discrete_gaussian:DiscreteGaussianMechanism",
        event=events.DiscreteGaussian,
        theorem="discrete_gaussian",
        releases="a whole number",
        summary="discrete Gaussian noise of parameter σ²",
        example={"sigma_squared": Fraction(25), "l2": 1},
    ),
    "vector_discrete_gaussian": Entry(
        where="dpsql.mechanisms.discrete_gaussian:VectorDiscreteGaussianMechanism",
        event=events.DiscreteGaussian,
        theorem="discrete_gaussian",
        releases="a vector of whole numbers",
        summary="independent discrete Gaussian noise on every coordinate",
        example={"sigma_squared": Fraction(25), "l2_squared": 2, "dimensions": 3},
    ),
    "clip_and_noise": Entry(
        where="dpsql.mechanisms.discrete_gaussian:VectorDiscreteGaussianMechanism",
        door="dpsql.mechanisms.clipping:clip_and_noise",
        event=events.DiscreteGaussian,
        theorem="clip_and_noise",
        releases="the sum of one vector per person",
        summary="vectors clipped to an L2 norm, then discrete Gaussian noise on every coordinate",
        example={"sigma_squared": Fraction(2**40), "l2_squared": 2**40, "dimensions": 3},
    ),
    "smooth_laplace": Entry(
        where="dpsql.mechanisms.smooth_noise:SmoothLaplace",
        event=events.Approximate,
        theorem="smooth_noise_laplace",
        releases="numbers with a smooth bound",
        summary="Laplace noise of scale 2S/ε, rounded to a grain",
        example={"epsilon": Fraction(1), "delta": Fraction(1, 10**6), "dimensions": 1, "grain": Fraction(1)},
    ),
    "smooth_cauchy": Entry(
        where="dpsql.mechanisms.smooth_noise:SmoothCauchy",
        event=events.Pure,
        theorem="smooth_noise_cauchy",
        releases="a number with a smooth bound",
        summary="noise of density 1/(1 + |z|^γ) and scale 2(γ+1)S/ε, rounded to a grain",
        example={"epsilon": Fraction(1), "gamma": Fraction(4), "grain": Fraction(1)},
    ),
    "elastic_laplace": Entry(
        where="dpsql.mechanisms.elastic_noise:ElasticLaplace",
        event=events.Approximate,
        theorem="elastic_sensitivity",
        releases="counts over joins",
        summary="smooth Laplace noise with the elastic sensitivity of a counting query",
        example={
            "query": Count(Table(name="rides")),
            "neighbours": Neighbours.ADD_REMOVE,
            "epsilon": Fraction(1),
            "delta": Fraction(1, 10**6),
            "dimensions": 1,
        },
    ),
    "exponential": Entry(
        where="dpsql.mechanisms.exponential:ExponentialMechanism",
        event=events.BoundedRange,
        theorem="exponential_mechanism",
        releases="one of a public list",
        summary="a candidate with probability proportional to exp(ε·score/2Δ)",
        example=_CHOICE,
    ),
    "report_noisy_max": Entry(
        where="dpsql.mechanisms.noisy_max:NoisyMax",
        event=events.Pure,
        theorem="report_noisy_max",
        releases="one of a public list",
        summary="the candidate whose score is largest after noise",
        example={**_CHOICE, "noise": "laplace"},
    ),
    "permute_and_flip": Entry(
        where="dpsql.mechanisms.permute_and_flip:PermuteAndFlip",
        event=events.Pure,
        theorem="permute_and_flip",
        releases="one of a public list",
        summary="candidates in random order, the first whose coin exp(−ε·gap/2Δ) shows heads",
        example=_CHOICE,
    ),
    "sparse_vector": Entry(
        where="dpsql.mechanisms.sparse_vector:SparseVector",
        event=events.Pure,
        theorem="sparse_vector",
        releases="a stream of above/below answers",
        summary="which queries lie above a noisy threshold, up to c positive answers",
        example={
            "threshold": 100,
            "positives": 3,
            "sensitivity": 1,
            "epsilon": Fraction(1),
            "numeric_epsilon": Fraction(1, 2),
            "monotonic": True,
            "split": "optimal",
        },
    ),
    "randomized_response": Entry(
        where="dpsql.mechanisms.randomized_response:RandomizedResponse",
        event=events.Pure,
        theorem="randomized_response",
        releases="one perturbed bit",
        summary="a bit reported truthfully with a known probability",
        example={"yes_given_yes": Fraction(3, 4), "yes_given_no": Fraction(1, 4)},
    ),
    "kary_randomized_response": Entry(
        where="dpsql.mechanisms.randomized_response:KaryResponse",
        event=events.Pure,
        theorem="randomized_response",
        releases="one perturbed category",
        summary="a category kept with probability e^ε/(e^ε + k − 1), else another one",
        example={"categories": ("red", "green", "blue"), "epsilon": Fraction(1)},
    ),
    "quantile": Entry(
        where="dpsql.mechanisms.quantile:QuantileMechanism",
        event=events.BoundedRange,
        theorem="quantile",
        releases="a point between declared bounds",
        summary="the exponential mechanism on the ranks of an integer grid",
        example={
            "q": Fraction(1, 2),
            "lower": 0,
            "upper": 100,
            "epsilon": Fraction(1),
            "neighbours": Neighbours.ADD_REMOVE,
            "values_per_unit": 1,
        },
    ),
    "partition_selection": Entry(
        where="dpsql.mechanisms.partitions:PartitionSelection",
        event=events.KeySelection,
        theorem="partition_selection",
        releases="private keys",
        summary="each key with the largest probability its number of people allows",
        example={
            "epsilon": Fraction(1),
            "delta": Fraction(1, 1000),
            "keys_per_unit": 2,
            "neighbours": Neighbours.ADD_REMOVE,
        },
    ),
    "gaussian_threshold": Entry(
        where="dpsql.mechanisms.partition_threshold:GaussianThresholdSelection",
        event=events.GaussianThreshold,
        theorem="partition_threshold",
        releases="private keys with noisy numbers of people",
        summary="keys whose noisy number of people is strictly above an integer threshold",
        example={
            "sigma_squared": Fraction(25),
            "delta": Fraction(1, 10**6),
            "keys_per_unit": 2,
            "neighbours": Neighbours.ADD_REMOVE,
        },
    ),
}


def find(name: str) -> Entry:
    """The entry called `name`.

    Requires  a registered name.
    """
    if not isinstance(name, str) or name not in MECHANISMS:
        raise BadParameter(
            f"no mechanism is called {name!r}",
            why="only mechanisms with a proof are registered",
            fix=f"choose one of {', '.join(sorted(MECHANISMS))}",
        )
    return MECHANISMS[name]


def execute(
    mechanism: Mechanism[Input, Output],
    value: Exact[Input],
    *,
    charge: Callable[[Event], object],
    source: Source,
) -> Output:
    """One release, paid first: `charge` gets the event and raises if it cannot be paid; then, and only then, one draw.

    Requires  a `charge` that either records the whole event or raises. One that returns a value, as an account
              does that is itself a value, has recorded nothing: that is refused, and nothing is released.
    """
    require_exact(value)  # before anything is paid
    if charge(mechanism.event) is not None:
        raise BadParameter(
            "charge returned a value instead of recording the event",
            why="the value would be thrown away and the release would be free, again and again",
            fix="keep it yourself, then release: account = account.charged(mechanism.event)",
        )
    return mechanism.release(value, source=source)
