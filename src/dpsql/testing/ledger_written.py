"""The laws of grants that stand in a policy file: it is opened again and again, and the owner says other things too."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Final

from dpsql.errors import BadParameter, NotPermitted
from dpsql.ledger.facts import Granted
from dpsql.ledger.ledger import Conditions, GrantedBy
from dpsql.testing.ledger_cases import SMALL, TENTH, LedgerCase, asking, promised, refused

_HALF: Final = Fraction(1, 2)


def _written(holder: str, epsilon: Fraction, *, members: tuple[str, ...] = ()) -> Granted:
    return Granted(analyst=holder, epsilon=epsilon, conditions=Conditions(members=members), by=GrantedBy.FILE)


class WrittenGrants(LedgerCase):
    """What opening a policy file does to grants, and never does."""

    def test_a_file_never_gives_again_what_was_revoked(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.adopt_grants([_written("ana", _HALF), _written("bob", _HALF)])
        ledger.revoke("ana")
        for epsilon in (_HALF, TENTH):
            ledger.adopt_grants([_written("ana", epsilon), _written("bob", _HALF)])
            with refused(NotPermitted):
                ledger.charge(asking("a"))
        assert ledger.charge(asking("a", analyst="bob")).paid
        ledger.close_promise("a new start")
        ledger.promise(epsilon=Fraction(1), delta=SMALL, delta_prime=SMALL / 2)
        ledger.adopt_grants([_written("ana", _HALF)])  # it was revoked under another promise
        ledger.verify()
        assert ledger.account("ana").epsilon == _HALF

    def test_a_later_word_of_the_owner_holds_in_place_of_the_file(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.adopt_grants([_written("ana", _HALF)])
        ledger.revoke("ana")
        ledger.grant("ana", epsilon=TENTH, by=GrantedBy.BESIDE)
        for written in ([_written("ana", _HALF)], [_written("ana", Fraction(1))], []):
            ledger.adopt_grants(written)
            assert ledger.account("ana").epsilon == TENTH
            assert isinstance(ledger.grants()["ana"], Granted)
        ledger.verify()

    def test_a_file_changes_and_ends_what_it_granted(self, tmp_path: Path) -> None:
        ledger = promised(self.fresh(tmp_path))
        ledger.grant("eve", epsilon=_HALF)
        ledger.adopt_grants([_written("ana", _HALF), _written("lab", _HALF, members=("bob",))])
        assert ledger.charge(asking("a")).paid
        assert ledger.charge(replace(asking("b", analyst="bob"), payer="lab")).paid
        entries = ledger.head().number
        ledger.adopt_grants([_written("ana", _HALF), _written("lab", _HALF, members=("bob",))])
        assert ledger.head().number == entries
        ledger.adopt_grants([_written("ana", TENTH * 3)])
        assert ledger.account("ana").epsilon == TENTH * 3
        with refused(NotPermitted):
            ledger.charge(replace(asking("c", analyst="bob"), payer="lab"))
        assert ledger.charge(asking("c", analyst="eve")).paid  # the file never spoke of her
        ledger.adopt_grants([_written("ana", TENTH * 3), _written("lab", _HALF, members=("bob",))])
        assert ledger.charge(replace(asking("c", analyst="bob"), payer="lab")).paid
        ledger.verify()

    def test_a_file_that_grants_too_much_changes_nothing(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.adopt_grants([_written("bob", _HALF)])
        before = ledger.entries()
        with refused(BadParameter):
            ledger.adopt_grants([_written("ana", _HALF), _written("eve", Fraction(2))])
        assert ledger.entries() == before
