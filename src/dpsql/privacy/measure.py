"""The currencies of privacy loss."""

from __future__ import annotations

from dataclasses import dataclass

from dpsql.require import require_delta, require_non_negative


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyParams:
    """An (ε, δ) guarantee: Pr[M(D) in S] <= exp(ε) Pr[M(D') in S] + δ for all neighbours and all events S."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        require_non_negative(epsilon=self.epsilon)
        require_delta(delta=self.delta)

    @property
    def pure(self) -> bool:
        """True where δ = 0: the ratio is bounded for every output, without exception."""
        return self.delta == 0
