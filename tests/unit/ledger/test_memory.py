"""The ledger that ends with its process."""

from dpsql.ledger.memory import MemoryLedger
from tests.kits.ledger_kit import LedgerKit


class TestMemoryLedger(LedgerKit):
    def make(self, tmp_path):
        return MemoryLedger()
