"""The ledger that ends with its process."""

from fractions import Fraction

from counted_calls import counted_calls
from dpsql.ledger.facts import Granted
from dpsql.ledger.ledger import NO_CONDITIONS, GrantedBy, Role, User
from dpsql.ledger.memory import MemoryLedger
from tests.kits.ledger_cases import SMALL, TENTH, promised
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
