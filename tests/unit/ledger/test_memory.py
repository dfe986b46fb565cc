"""The ledger that ends with its process; and what an anchor knows of and the ledger has lost counts as spent."""

from dataclasses import replace
from fractions import Fraction

from counted_calls import counted_calls
from dpsql.accounting.triple import Triple
from dpsql.ledger.facts import Granted
from dpsql.ledger.ledger import NO_CONDITIONS, GrantedBy, Head, Role, User
from dpsql.ledger.memory import MemoryLedger
from dpsql.ledger.promises import write_off
from tests.kits.ledger_cases import SMALL, TENTH, asking, promised
from tests.kits.ledger_kit import LedgerKit


class TestMemoryLedger(LedgerKit):
    def make(self, tmp_path):
        return MemoryLedger()


def test_old_grants_of_files_cost_linear_work_each_time_a_file_is_opened():
    """Writers wait for it: beside 400 tokens, 400 grants of a closed promise took five seconds."""

    def opened(number):
        ledger = promised(MemoryLedger())
        grants = [
            Granted(analyst=f"a{each}", epsilon=TENTH, conditions=NO_CONDITIONS, by=GrantedBy.FILE)
            for each in range(number)
        ]
        ledger.adopt_grants(grants)
        for each in range(number):
            ledger.issue(User(name=f"u{each}", role=Role.ANALYST, grant="ana"), str(each).encode().rjust(32))
        ledger.close_promise("other people")
        ledger.promise(epsilon=Fraction(1), delta=SMALL, delta_prime=SMALL / 2)
        return ledger

    few, more, most = (opened(number) for number in (20, 40, 80))
    one, two, four = (counted_calls(lambda ledger=ledger: ledger.adopt_grants([])) for ledger in (few, more, most))
    assert (four - two) / (two - one) < 2.2


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
