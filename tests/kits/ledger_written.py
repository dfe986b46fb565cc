"""The laws of grants that stand in a policy file: it is opened again and again, and the owner says other things too."""

from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Final

from dpsql.accounting.account import Account
from dpsql.errors import BadParameter, NotPermitted
from dpsql.ledger.facts import Adopted, Granted
from dpsql.ledger.ledger import Conditions, GrantedBy, Role, User
from dpsql.privacy.window import Window
from tests.kits.ledger_cases import OWNED, SMALL, TENTH, LedgerCase, asking, promised, refused
from tests.kits.refusals import raised

_HALF: Final = Fraction(1, 2)


def _written(holder: str, epsilon: Fraction) -> Granted:
    return Granted(analyst=holder, epsilon=epsilon, by=GrantedBy.FILE)


class WrittenGrants(LedgerCase):
    """What opening a policy file does to grants, and never does."""

    def test_a_file_never_gives_again_what_was_revoked(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.adopt_grants([_written("ana", _HALF), _written("bob", _HALF)])
        ledger.revoke("ana")
        for epsilon in (_HALF, TENTH):
            ledger.adopt_grants([_written("ana", epsilon), _written("bob", _HALF)])
            raised(NotPermitted, lambda: ledger.charge(asking("a")))
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
        ledger.adopt_grants([_written("ana", _HALF), _written("bob", _HALF)])
        assert ledger.charge(asking("a")).paid
        assert ledger.charge(asking("b", analyst="bob")).paid
        entries = ledger.head().number
        ledger.adopt_grants([_written("ana", _HALF), _written("bob", _HALF)])
        assert ledger.head().number == entries
        ledger.adopt_grants([_written("ana", TENTH * 3)])
        assert ledger.account("ana").epsilon == TENTH * 3
        raised(NotPermitted, lambda: ledger.charge(asking("c", analyst="bob")))
        assert ledger.charge(asking("c", analyst="eve")).paid  # the file never spoke of her
        ledger.adopt_grants([_written("ana", TENTH * 3), _written("bob", _HALF)])
        assert ledger.charge(asking("c", analyst="bob")).paid
        ledger.verify()

    def test_a_file_that_grants_too_much_changes_nothing(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.adopt_grants([_written("bob", _HALF)])
        before = ledger.entries()
        raised(BadParameter, lambda: ledger.adopt_grants([_written("ana", _HALF), _written("eve", Fraction(2))]))
        assert ledger.entries() == before

    def test_a_policy_is_applied_wholly_or_not_at_all(self, tmp_path: Path) -> None:
        """Label, promise, owners, declarations and grants are one transaction, and again they are nothing; under a
        promise that was closed the label alone is written."""
        ledger = self.fresh(tmp_path)
        account = Account.opened(epsilon=Fraction(1), delta=SMALL, delta_prime=SMALL / 2)
        declared, fits, before = Adopted(digest="d1", text="{}"), _written("ana", _HALF), ledger.entries()

        def applied(grant: Granted, *, version: str) -> bool:
            return ledger.apply(
                account,
                per=Window.FOREVER,
                anew=False,
                ownership=OWNED,
                declarations=declared,
                granted=[grant],
                version=version,
            )

        raised(BadParameter, lambda: applied(_written("ana", Fraction(2)), version="2"))
        assert ledger.entries() == before
        assert applied(fits, version="2")
        whole = ledger.entries()
        assert applied(fits, version="2")
        assert ledger.entries() == whole
        assert (ledger.data_version(), ledger.adopted(), ledger.account("ana").epsilon) == ("2", "{}", _HALF)
        ledger.close_promise("a new start")
        assert not applied(fits, version="3")
        assert ledger.data_version() == "3"
        assert ledger.head().number == len(whole) + 2
        ledger.verify()

    def test_somebody_without_a_grant_has_none_to_lose(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        before = ledger.entries()
        raised(NotPermitted, lambda: ledger.revoke("eve"), match="eve has no grant")
        assert ledger.entries() == before

    def test_a_name_has_no_blank_at_either_end(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        before = ledger.entries()
        for name in (" ana", "ana ", "ana\t", "ana\n", "\u00a0ana", "\u200bana"):
            with refused(BadParameter):
                ledger.grant(name, epsilon=_HALF)
            with refused(BadParameter):
                ledger.adopt_grants([_written(name, _HALF)])
            with refused(BadParameter):
                ledger.issue(User(name=name, role=Role.ANALYST), b"a" * 32)
        assert ledger.entries() == before
        ledger.grant("ana b. smith", epsilon=_HALF)

    def test_a_grant_that_has_ended_is_not_given(self, tmp_path: Path) -> None:
        """A file may name it for years; in a call it is a mistake."""
        ledger = self.opened(tmp_path)
        past = Conditions(expires=date(2020, 1, 1))
        before = ledger.entries()
        with refused(BadParameter, saying="2020-01-01 has ended already"):
            ledger.grant("bob", epsilon=_HALF, conditions=past)
        assert ledger.entries() == before
        ledger.adopt_grants([replace(_written("bob", _HALF), conditions=past)])
        raised(NotPermitted, lambda: ledger.charge(asking("a", analyst="bob")))
        ledger.verify()
