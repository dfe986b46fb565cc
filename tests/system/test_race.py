"""One budget, many processes: spent exactly to its limit, and not a digit more.

`make test` races 8 clients of 25 charges each, `make audit` 64 clients with more than 10 000 granted in all, by
DPSQL_RACERS and DPSQL_RACER_CHARGES: a head that is read without its lock ends the first of these races. The server of
these tests lies in memory where there is room, and waits at every commit for what it takes for its disk: fsync and
synchronous_commit are on, as the ledger requires.
"""

import os
from fractions import Fraction

import pytest

from dpsql.errors import BudgetExhausted
from dpsql.privacy.events import Pure
from tests.kits.ledger_cases import asking, charges_of, promised

from crashing import STATEMENTS, looked, written
from racing import STORES, ask_all, at_once, spend

RACERS = int(os.environ.get("DPSQL_RACERS", "8"))
CHARGES = int(os.environ.get("DPSQL_RACER_CHARGES", "25"))


@pytest.fixture
def address(request, store, tmp_path):
    """Where a fresh ledger of a store lies."""
    if store == "postgres":
        return request.getfixturevalue("postgres").room(), str(tmp_path / "ledger.key")
    return (str(tmp_path / "ledger.db"),)


@pytest.mark.parametrize("store", STORES)
def test_clients_spend_exactly_to_the_limit(address, store):
    granted = RACERS * CHARGES * 9 // 10  # the rest must be refused
    ledger = promised(STORES[store](*address), delta=Fraction(0))
    ledger.grant("ana", epsilon=Fraction(1))
    price = Fraction(1, granted)
    got = at_once(spend, [(store, address, name, CHARGES, price) for name in range(RACERS)])
    numbers = [number for one in got for number in one]
    assert len(numbers) == len(set(numbers)) == granted
    assert all(one == sorted(one) for one in got)
    assert {number for number, _ in charges_of(ledger)} == set(numbers)  # from a ledger that verifies
    assert ledger.account().spent.epsilon == ledger.account("ana").spent.epsilon == 1
    with pytest.raises(BudgetExhausted):
        ledger.charge(asking("one more", event=Pure(epsilon=Fraction(1, 10**30))))
    ledger.close()


def test_clients_that_ask_the_same_pay_once_and_are_told_the_same(tmp_path):
    """Eight processes ask three statements at once, each beginning with another one, and one question of its own."""
    folder, same = written(tmp_path / "0"), [statement.sql for statement in STATEMENTS.values()]
    clients = []
    for name in range(8):
        own = f"SELECT COUNT(*) FROM people WHERE age > {30 + name}"
        clients.append((folder, [*same[name % 3 :], own, *same[: name % 3]]))
    told = at_once(ask_all, clients)
    by_question: dict[str, list] = {}
    for (_, statements), answers in zip(clients, told, strict=True):
        for sql, answer in zip(statements, answers, strict=True):
            by_question.setdefault(sql, []).append(answer)
    assert len(by_question) == 8 + 3
    for sql, answers in by_question.items():
        assert len({str(rows) for _, rows in answers}) == 1, sql
        assert sum(cost for cost, _ in answers) == 1, sql
    payments, spent, _ = looked(folder)
    assert spent == 8 + 3
    assert len(payments) == 8 + 4  # one statement is two questions
    assert all(paid.attempts == 1 for paid in payments)
