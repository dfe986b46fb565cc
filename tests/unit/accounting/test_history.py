"""Histories that are long, deep or shared are priced quickly or refused; numbers of every kind are understood."""

import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpsql.accounting import adaptive, advanced, basic, filters, heterogeneous, pld, rdp, zcdp
from dpsql.accounting.account import Account
from dpsql.accounting.advanced import compose_advanced, per_query_epsilon
from dpsql.accounting.optimal import compose_optimal
from dpsql.accounting.spend import releases
from dpsql.accounting.subsampling import Scheme, amplify
from dpsql.accounting.triple import triple
from dpsql.errors import BadParameter, DpsqlError
from dpsql.privacy.events import Composed, Event, Pure

F = Fraction
PRICES = (basic, advanced, adaptive, filters, heterogeneous, zcdp, rdp)


def nested(depth: int) -> Event:
    event: Event = Pure(epsilon=F(1, 1000))
    for _ in range(depth):
        event = Composed((event,))
    return event


def doubled(times: int) -> Event:
    event: Event = Pure(epsilon=F(1, 10**6))
    for _ in range(times):
        event = Composed((event, event))
    return event


def test_releases_come_out_in_order() -> None:
    a, b, c = (Pure(epsilon=F(x)) for x in (1, 2, 3))
    assert releases(Composed((a, Composed((b, Composed(()))), c))) == [a, b, c]
    assert releases(a) == [a]


@pytest.mark.parametrize("module", PRICES, ids=lambda module: module.__name__)
def test_deep_nesting_is_no_problem(module: object) -> None:
    assert module.epsilon_of(nested(5000), delta=F(1, 10**6)) > 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", PRICES, ids=lambda module: module.__name__)
def test_a_history_that_would_not_end_is_refused(module: object) -> None:
    start = time.perf_counter()
    with pytest.raises(BadParameter, match="releases"):
        module.epsilon_of(doubled(60), delta=F(1, 100))  # type: ignore[attr-defined]
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize("module", PRICES, ids=lambda module: module.__name__)
def test_many_releases_are_priced_in_reasonable_time(module: object) -> None:
    start = time.perf_counter()
    history = Composed((Pure(epsilon=F(1, 1000)), Pure(epsilon=F(1, 2000))) * 10_000)
    try:
        assert module.epsilon_of(history, delta=F(1, 100)) < 16  # type: ignore[attr-defined]
    except DpsqlError:
        assert module is heterogeneous
    assert time.perf_counter() - start < 20


def test_numbers_may_be_decimals_fractions_floats_or_numpy() -> None:
    same = [
        compose_advanced(k=k, epsilon=e, delta=d, delta_prime=s).tight
        for k, e, d, s in (
            (10, F(1, 8), 0, F(1, 1024)),
            (10, 0.125, Decimal(0), Decimal("0.0009765625")),
            (10, np.float64(0.125), 0.0, np.float64(2.0**-10)),
        )
    ]
    assert len(set(same)) == 1
    assert (
        amplify(epsilon=Decimal("0.5"), delta=Decimal("0.1"), rate=Decimal("0.5"), scheme=Scheme.POISSON).delta == 0.05
    )
    assert per_query_epsilon(k=4, total_epsilon=Decimal(1), delta_prime=Decimal("0.01")).basic == 0.25
    assert compose_optimal(k=4, epsilon=Decimal(1), delta=Decimal(0), i=1).epsilon == 2
    account = Account.opened(epsilon=Decimal(1), delta=Decimal("0.01"), delta_prime=0.005)
    assert account.epsilon == 1
    assert basic.epsilon_of(Pure(epsilon=F(1)), delta=Decimal("0.1")) == 1


def test_whole_numbers_that_wrap_around_are_refused() -> None:
    """numpy's integers overflow in silence: a count that went through one is not a count."""
    for call in (
        lambda: compose_advanced(k=np.int64(10), epsilon=1, delta=0, delta_prime=F(1, 100)),
        lambda: compose_optimal(k=4, epsilon=1, delta=0, i=np.int64(1)),
    ):
        with pytest.raises(BadParameter, match="whole number"):
            call()


@pytest.mark.parametrize("module", [*PRICES, pld], ids=lambda module: module.__name__)
def test_a_list_of_events_is_told_to_compose_itself(module: object) -> None:
    with pytest.raises(BadParameter) as refusal:
        module.epsilon_of([Pure(epsilon=1), Pure(epsilon=1)], delta=F(1, 100))  # type: ignore[attr-defined]
    assert "Composed(" in refusal.value.fix


def test_a_list_of_events_is_never_charged() -> None:
    account = Account.opened(epsilon=3, delta=0, delta_prime=0)
    for call in (account.admits, account.charged, triple, releases):
        with pytest.raises(BadParameter, match="list"):
            call([Pure(epsilon=1)])  # type: ignore[arg-type]


def test_numbers_python_will_not_print_are_still_refused_properly() -> None:
    huge, tiny = F(10**5000), F(1, 10**5000)
    for call in (
        lambda: compose_advanced(k=1, epsilon=huge, delta=0, delta_prime=tiny),
        lambda: compose_advanced(k=1, epsilon=1, delta=0, delta_prime=tiny),
        lambda: Account.opened(epsilon=1, delta=tiny, delta_prime=2 * tiny),
        lambda: basic.epsilon_of(Composed((Pure(epsilon=F(1)),)), delta=1 + huge),
        lambda: zcdp.optimal_epsilon(rho=huge, delta=tiny),
    ):
        with pytest.raises(DpsqlError):
            call()


def test_sums_of_many_equal_prices_stay_exact() -> None:
    assert triple(doubled(12)).epsilon == F(2**12, 10**6)
