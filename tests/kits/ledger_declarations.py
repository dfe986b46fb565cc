"""The laws of what a ledger keeps of the owner's words: the promise, whom it is about, and the data version."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from dpsql.errors import BadParameter, BadPolicy, NotPermitted
from dpsql.ledger.ledger import Ownership
from dpsql.privacy.window import Window
from tests.kits.ledger_cases import OWNED, PERSON, PUBLIC, SMALL, TENTH, LedgerCase, asking, refused
from tests.kits.refusals import each_raises, raised

HOUSEHOLD: Final = 'person = "household"'


class DeclarationLaws(LedgerCase):
    """A promise, and who owns rows under it once it is spent from, do not change; the data version does when said."""

    def test_the_same_promise_again_is_nothing(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.charge(asking())
        before = self.states(ledger, "ana")
        ledger.promise(epsilon=Fraction(1), delta=SMALL, delta_prime=SMALL / 2)
        assert self.states(ledger, "ana") == before
        assert ledger.account().spent.epsilon == TENTH

    def test_another_promise_is_refused(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        before = self.states(ledger, "ana")
        right: dict[str, Any] = {"epsilon": Fraction(1), "delta": SMALL, "delta_prime": SMALL / 2}
        month = {"per": Window.MONTH}
        for change in ({"epsilon": Fraction(2)}, {"delta": SMALL * 2}, {"delta_prime": SMALL / 4}, month):
            with refused(BadParameter):
                ledger.promise(**{**right, **change})
        assert self.states(ledger, "ana") == before

    def test_the_window_of_a_promise_does_not_change(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path, per=Window.MONTH)
        before = self.states(ledger, "ana")
        right: dict[str, Any] = {"epsilon": Fraction(1), "delta": SMALL, "delta_prime": SMALL / 2}
        for per in (Window.FOREVER, Window.YEAR, Window.DAY):
            for anew in (False, True):
                with refused(BadParameter, saying=f'per was "month" and is now "{per.value}"'):
                    ledger.promise(**right, per=per, anew=anew)
        assert ledger.promise(**right, per=Window.MONTH)
        assert self.states(ledger, "ana") == before
        ledger.close_promise("for ever from now on")
        ledger.promise(**right)
        assert [made.per for made in ledger.promises()] == [Window.MONTH, Window.FOREVER]
        ledger.verify()

    def test_a_promise_for_ever_is_not_renewed(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.charge(asking())
        before = self.states(ledger, "ana")
        raised(NotPermitted, lambda: ledger.renew(), match="for ever")
        assert self.states(ledger, "ana") == before

    def test_owners_need_a_promise(self, tmp_path: Path) -> None:
        ledger = self.fresh(tmp_path)
        raised(BadParameter, lambda: ledger.own(OWNED))
        ledger.verify()

    def test_the_same_owners_again_are_nothing(self, tmp_path: Path) -> None:
        """Receipts are numbered by entries: nothing came between the two."""
        ledger = self.opened(tmp_path)
        ledger.own(OWNED)
        first = ledger.charge(asking("a"))
        ledger.own(OWNED)
        ledger.own(replace(OWNED, tables=OWNED.tables[1:]))
        ledger.own(replace(OWNED, tables=()))
        assert ledger.charge(asking("b")).number == first.number + 1
        ledger.verify()

    def test_other_owners_are_refused_once_something_was_charged(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.own(OWNED)
        ledger.charge(asking())
        for change in (
            replace(OWNED, relation="change_one"),
            replace(OWNED, tables=(("people", 'person = "household"'),)),
            replace(OWNED, tables=(("people", PUBLIC),)),
            replace(OWNED, tables=(("people", 'unit = "row"'),)),
            replace(OWNED, tables=(("wards", PERSON),)),
            replace(OWNED, tables=(("beds", PERSON), ("people", PUBLIC))),
        ):
            with refused(BadPolicy):
                ledger.own(change)
        ledger.own(replace(OWNED, tables=(("beds", PUBLIC),)))  # nothing of what was refused is kept
        ledger.verify()

    def test_a_way_is_corrected_while_nothing_was_charged(self, tmp_path: Path) -> None:
        """The correction is one more entry, and from the first charge on it stays."""
        ledger = self.opened(tmp_path)
        ledger.own(OWNED)
        right = replace(OWNED, tables=(("people", HOUSEHOLD), ("wards", PUBLIC)))
        ledger.own(right)
        ledger.own(right)
        ledger.charge(asking(), under=right)
        ledger.own(right)
        raised(BadPolicy, lambda: ledger.own(OWNED))
        ledger.verify()

    def test_a_renewal_does_not_let_owners_change(self, tmp_path: Path) -> None:
        """The accounts start again from nothing; what was told about people as they were declared stays told."""
        ledger = self.opened(tmp_path, per=Window.MONTH)
        ledger.own(OWNED)
        ledger.charge(asking())
        ledger.renew()
        each_raises(BadPolicy, lambda way: ledger.own(replace(OWNED, tables=(("people", way),))), (HOUSEHOLD, PUBLIC))
        ledger.close_promise("people are households now")
        ledger.promise(epsilon=Fraction(1), delta=SMALL, delta_prime=SMALL / 2)
        ledger.own(OWNED)
        ledger.own(replace(OWNED, tables=(("people", HOUSEHOLD),)))  # nothing was charged under this promise
        ledger.verify()

    def test_neither_the_relation_nor_what_was_public_is_corrected(self, tmp_path: Path) -> None:
        """Exact answers from a public table leave no charge."""
        ledger = self.opened(tmp_path)
        ledger.own(OWNED)
        ledger.own(replace(OWNED, tables=(("people", PUBLIC),)))
        for change in (
            replace(OWNED, relation="change_one"),
            replace(OWNED, tables=(("wards", PERSON),)),
            replace(OWNED, tables=(("people", PERSON),)),  # private, public, and now private again
            replace(OWNED, tables=(("beds", PERSON), ("wards", PERSON))),
        ):
            with refused(BadPolicy):
                ledger.own(change)
        ledger.verify()

    def test_a_plan_under_an_older_declaration_is_not_charged(self, tmp_path: Path) -> None:
        """Somebody else corrects a way between the plan and the charge."""
        ledger = self.opened(tmp_path)
        ledger.own(OWNED)
        ledger.own(replace(OWNED, tables=(("people", HOUSEHOLD),)))
        raised(BadPolicy, lambda: ledger.charge(asking(), under=OWNED))
        assert ledger.account().spent.epsilon == 0
        ledger.charge(asking(), under=replace(OWNED, tables=(("people", HOUSEHOLD),)))
        assert ledger.account().spent.epsilon == TENTH

    def test_nobody_pays_before_it_is_said_whom_the_promise_is_about(self, tmp_path: Path) -> None:
        """Neither a question nor a batch, under the first promise nor under the next one."""
        ledger = self.fresh(tmp_path)
        for name in ("a", "b"):
            ledger.promise(epsilon=Fraction(1), delta=SMALL, delta_prime=SMALL / 2)
            ledger.grant("ana", epsilon=Fraction(1))
            before = self.states(ledger, "ana")
            for under in (None, OWNED):
                with refused(BadPolicy, saying="nobody has said"):
                    ledger.charge(asking(), under=under)
                with refused(BadPolicy, saying="nobody has said"):
                    ledger.charge_together([asking()], under=[] if under is None else [under])
            raised(BadPolicy, lambda: ledger.require_owned(OWNED), match="nobody has said")
            assert self.states(ledger, "ana") == before
            ledger.own(OWNED)
            assert ledger.charge(asking(name), under=OWNED).paid
            assert [each.paid for each in ledger.charge_together([asking(f"{name}2")], under=[OWNED])] == [True]
            ledger.verify()
            ledger.close_promise("a new start")

    def test_a_plan_about_a_table_nobody_spoke_of_is_not_charged(self, tmp_path: Path) -> None:
        """Of a process that was opened under an earlier promise, with tables the present one does not know."""
        ledger = self.opened(tmp_path)
        more = replace(OWNED, tables=(*OWNED.tables, ("beds", PUBLIC)))
        for unheard in (more, replace(OWNED, tables=(("beds", PERSON),))):
            with refused(BadPolicy, saying="beds"):
                ledger.charge(asking(), under=unheard)
            with refused(BadPolicy, saying="beds"):
                ledger.require_owned(unheard)
        assert ledger.account().spent.epsilon == 0
        ledger.own(more)
        ledger.require_owned(more)
        assert ledger.charge(asking(), under=more).paid
        ledger.require_owned(OWNED)
        ledger.verify()

    def test_a_table_that_comes_back_is_owned_as_it_was(self, tmp_path: Path) -> None:
        """A policy that leaves a table out for a while does not make anybody forget whose its rows are."""
        ledger = self.opened(tmp_path)
        ledger.charge(asking(), under=OWNED)
        without = replace(OWNED, tables=OWNED.tables[1:])
        ledger.own(without)
        ledger.charge(asking("b"), under=without)
        for way in (HOUSEHOLD, PUBLIC, 'unit = "row"'):
            with refused(BadPolicy, saying="people"):
                ledger.own(replace(OWNED, tables=(("people", way),)))
        ledger.own(OWNED)
        ledger.verify()

    def test_tables_are_added_and_then_stay(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.own(OWNED)
        ledger.charge(asking())
        ledger.own(replace(OWNED, tables=(*OWNED.tables, ("visits", PERSON))))
        for table in ("people", "visits"):
            with refused(BadPolicy):
                ledger.own(replace(OWNED, tables=((table, PUBLIC),)))
        raised(BadPolicy, lambda: ledger.own(Ownership(relation="change_one", tables=(("beds", PERSON),))))
        ledger.verify()

    def test_the_data_version_stays_until_another_one_is_said(self, tmp_path: Path) -> None:
        ledger = self.fresh(tmp_path)
        assert ledger.data_version() == ledger.data_version("1") == "1"
        assert ledger.data_version("2026-11") == ledger.data_version() == "2026-11"
        assert ledger.data_version("2026-12") == ledger.data_version() == "2026-12"
        for used in ("1", "2026-11"):  # the answers stored under it are not of these data
            with refused(NotPermitted):
                ledger.data_version(used)
        each_raises(BadParameter, ledger.data_version, ("", "\n", "x" * 300))
        assert ledger.data_version() == "2026-12"
        ledger.verify()

    def test_the_same_data_version_again_is_nothing(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.data_version("2")
        first = ledger.charge(asking("a"))
        ledger.data_version("2")
        ledger.data_version()
        assert ledger.charge(asking("b")).number == first.number + 1
