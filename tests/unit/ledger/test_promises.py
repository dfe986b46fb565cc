"""What an anchor knows of and the ledger has lost counts as spent."""

from dataclasses import replace
from fractions import Fraction

from dpsql.accounting.triple import Triple
from dpsql.ledger.ledger import Head
from dpsql.ledger.memory import MemoryLedger
from dpsql.ledger.promises import write_off
from tests.kits.ledger_cases import SMALL, TENTH, asking, promised


def test_what_was_lost_is_the_larger_of_both_in_every_part():
    """What is infinite stays so."""
    ledger = MemoryLedger()
    promised(ledger)
    ledger.grant("ana", epsilon=Fraction(1))
    ledger.charge(asking("a"))
    lost = Head(number=99, hash=bytes(32), spent=Triple(epsilon=TENTH * 3, delta=SMALL / 4, rho=Fraction(1, 1000)))
    with ledger.writing() as page:
        write_off(page, lost)
    assert ledger.account().spent == Triple(epsilon=TENTH * 3, delta=SMALL / 4, rho=TENTH * TENTH / 2)
    with ledger.writing() as page:
        write_off(page, replace(lost, spent=replace(lost.spent, epsilon=None)))
    assert ledger.account().spent.epsilon is None
    ledger.verify()
