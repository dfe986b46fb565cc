"""The laws of who may spend: renewals and closings, freezes, tokens, batches, and releases made finer."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from dpsql.errors import BadParameter, BadPolicy, BudgetExhausted, FrozenLedger, InternalError, NotPermitted
from dpsql.ledger.facts import Adopted, Frozen, Granted, Promised, Renewed, Unfrozen
from dpsql.ledger.ledger import NO_CONDITIONS, Conditions, GrantedBy, Paid, Role, User
from dpsql.ledger.snapshot import MOST_OPEN
from dpsql.privacy.events import Pure
from dpsql.privacy.window import Window
from tests.kits.ledger_cases import (
    FIRST,
    OWNED,
    SECOND,
    SMALL,
    TENTH,
    LedgerCase,
    asking,
    charges_of,
    promised,
    refused,
)
from tests.kits.refusals import each_raises, raised

_HALF: Final = Fraction(1, 2)


class StandingLaws(LedgerCase):
    """Who may pay, from which account, and when nobody may."""

    # Freezes

    def test_a_frozen_source_is_not_charged(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        assert ledger.frozen() is None
        ledger.freeze("a review")
        assert ledger.frozen() == "a review"
        before = self.states(ledger, "ana")
        raised(FrozenLedger, lambda: ledger.charge(asking()))
        raised(FrozenLedger, lambda: ledger.charge_together([asking("a")]))
        assert self.states(ledger, "ana") == before
        ledger.unfreeze("it is over")
        assert ledger.frozen() is None
        assert ledger.charge(asking()).paid
        ledger.verify()

    def test_freezing_again_is_nothing(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        first = ledger.head().number
        ledger.unfreeze("it never was", by="olga")
        ledger.freeze("a review")
        ledger.freeze("a review")
        assert ledger.head().number == first + 1
        raised(BadParameter, lambda: ledger.freeze(""))
        ledger.verify()

    def test_it_is_written_down_who_froze(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.freeze("a review", by="dominik")
        raised(FrozenLedger, lambda: ledger.charge(asking()), match="dominik has frozen this source: a review")
        ledger.unfreeze("seen", by="olga")
        ledger.freeze("another look")
        raised(FrozenLedger, lambda: ledger.charge(asking()), match="the owner has frozen this source: another look")
        words = [entry.fact for entry in ledger.entries() if isinstance(entry.fact, (Frozen, Unfrozen))]
        assert [word.by for word in words] == ["dominik", "olga", None]
        raised(BadParameter, lambda: ledger.freeze("once more", by=""))
        ledger.verify()

    # Grants

    def test_a_revoked_grant_pays_nothing_and_its_spending_stays(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.charge(asking("a"))
        ledger.revoke("ana")
        ledger.revoke("ana")
        raised(NotPermitted, lambda: ledger.charge(asking("b")))
        raised(NotPermitted, lambda: ledger.revoke("nobody"))
        ledger.grant("ana", epsilon=Fraction(1, 5))
        assert ledger.account("ana").spent.epsilon == TENTH
        ledger.charge(asking("b"))
        raised(BudgetExhausted, lambda: ledger.charge(asking("c")))
        ledger.verify()

    def test_a_grant_names_what_it_is_for_readably(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        with refused(BadParameter, saying="the name of a table"):
            ledger.grant("bob", epsilon=TENTH, conditions=Conditions(tables=("",)))

    def test_a_grant_caps_the_price_of_one_question(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.grant("ana", epsilon=Fraction(1), conditions=Conditions(max_per_query=TENTH))
        ledger.charge(asking("a"))
        dear = replace(asking("b", event=Pure(epsilon=TENTH * 2)), cost=TENTH * 2)
        raised(NotPermitted, lambda: ledger.charge(dear))
        raised(NotPermitted, lambda: ledger.charge_together([asking("c"), dear]))
        assert ledger.account("ana").spent.epsilon == TENTH
        ledger.verify()

    def test_a_token_names_the_grant_that_pays(self, tmp_path: Path) -> None:
        """Withdrawn, or made anew for another grant, it stops one name; revoking the grant stops all of them."""
        ledger = self.opened(tmp_path)
        ledger.grant("lab", epsilon=_HALF)
        for place, name in enumerate(("cyn", "bob")):
            ledger.issue(User(name=name, role=Role.ANALYST, grant="lab"), bytes([place]) * 32)
        for name in ("cyn", "bob", "lab"):
            assert ledger.charge(asking("a", analyst=name, grant="lab")).paid
        assert [charge.analyst for _, charge in charges_of(ledger)] == ["cyn", "bob", "lab"]
        assert ledger.account("lab").spent.epsilon == ledger.account().spent.epsilon == TENTH * 3
        assert ledger.account("ana").spent.epsilon == 0
        for name, grant in (("eve", "lab"), ("ana", "lab"), ("bob", "ana"), ("bob", "bob")):
            with refused(NotPermitted):
                ledger.charge(asking("b", analyst=name, grant=grant))
        ledger.withdraw("cyn")
        assert ledger.grant_end("lab", analyst="cyn") == "not for cyn any more"
        ledger.issue(User(name="bob", role=Role.ANALYST, grant="ana"), b"b" * 32, instead=True)
        for name in ("cyn", "bob"):
            with refused(NotPermitted, saying=f"{name} does not pay from the budget of lab"):
                ledger.charge(asking("b", analyst=name, grant="lab"))
            with refused(NotPermitted):
                ledger.conditions(name, grant="lab")
        assert ledger.charge(asking("b", analyst="bob", grant="ana")).paid
        ledger.revoke("ana")
        for name in ("ana", "bob"):
            with refused(NotPermitted, saying="the grant of ana was revoked"):
                ledger.charge(asking("c", analyst=name, grant="ana"))
        ledger.grant("ana", epsilon=_HALF)
        assert ledger.holder_of(b"b" * 32) is None  # a new grant does not bring its old tokens back
        assert ledger.charge(asking("c", analyst="ana", grant="ana")).paid
        ledger.verify()

    def test_revoking_a_grant_ends_the_tokens_that_name_it_and_no_others(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.grant("lab", epsilon=_HALF)
        held = {
            "ana": User(name="ana", role=Role.ANALYST),
            "lab": User(name="lab", role=Role.OWNER),
            "cyn": User(name="cyn", role=Role.ANALYST, grant="ana"),
            "bob": User(name="bob", role=Role.ANALYST, grant="lab"),
        }
        for name, user in held.items():
            ledger.issue(user, name.encode().ljust(32))
        ledger.revoke("ana")
        assert [user.name for user in ledger.users()] == ["bob", "lab"]
        ledger.revoke("lab")
        assert [user.name for user in ledger.users()] == ["lab"]
        ledger.verify()

    def test_revoking_a_grant_that_ended_with_its_promise_ends_its_tokens(self, tmp_path: Path) -> None:
        """Else the first grant under the next promise would arm a stolen one again."""
        ledger = self.opened(tmp_path)
        ledger.issue(User(name="bob", role=Role.ANALYST, grant="ana"), b"b" * 32)
        ledger.close_promise("a new study")
        ledger.revoke("ana")
        assert ledger.users() == ()
        with refused(NotPermitted, saying="ana has no grant"):
            ledger.revoke("ana")
        ledger.verify()

    def test_a_grant_that_the_file_names_no_more_ends_its_tokens(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        written = [Granted(analyst="eve", epsilon=Fraction(1), conditions=NO_CONDITIONS, by=GrantedBy.FILE)]
        ledger.adopt_grants(written)
        ledger.issue(User(name="eve", role=Role.ANALYST), b"e" * 32)
        ledger.issue(User(name="lab", role=Role.ANALYST, grant="eve"), b"l" * 32)
        ledger.issue(User(name="ana", role=Role.ANALYST), b"a" * 32)
        ledger.adopt_grants([])
        ledger.adopt_grants(written)
        assert [user.name for user in ledger.users()] == ["ana"]
        ledger.issue(User(name="eve", role=Role.ANALYST), b"f" * 32)
        ledger.close_promise("other people")
        ledger.promise(epsilon=Fraction(1), delta=SMALL, delta_prime=SMALL / 2)
        ledger.adopt_grants([])  # a new promise and another file at once
        ledger.issue(User(name="lab", role=Role.ANALYST, grant="eve"), b"n" * 32)
        ledger.adopt_grants([])
        assert [user.name for user in ledger.users()] == ["ana", "lab"]  # what was given since stays
        ledger.withdraw("lab")
        ledger.adopt_grants(written)
        assert [user.name for user in ledger.users()] == ["ana"]
        ledger.verify()

    def test_a_token_names_a_grant_where_an_analyst_pays_from_another(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        before = ledger.entries()
        for user in (
            User(name="bob", role=Role.ANALYST, grant=""),
            User(name="bob", role=Role.ANALYST, grant=" lab"),
            User(name="bob", role=Role.ANALYST, grant="bob"),
            User(name="bob", role=Role.AUDITOR, grant="lab"),
            User(name="bob", role=Role.OWNER, grant="lab"),
        ):
            with refused(BadParameter):
                ledger.issue(user, b"b" * 32)
        assert ledger.entries() == before

    # The promise

    def test_a_renewal_starts_every_account_again(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path, per=Window.DAY, budget=TENTH)
        ledger.charge(asking("a"))
        raised(BudgetExhausted, lambda: ledger.charge(asking("b")))
        assert ledger.renew() == 2
        assert ledger.account().spent.epsilon == ledger.account("ana").spent.epsilon == 0
        ledger.charge(asking("b"))
        assert ledger.renew() == 3
        ledger.verify()

    def test_a_closed_promise_takes_its_grants_with_it(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.charge(asking("a"))
        ledger.close_promise("another person column")
        raised(NotPermitted, lambda: ledger.charge(asking("b")))
        raised(NotPermitted, lambda: ledger.account("ana"))
        raised(NotPermitted, lambda: ledger.renew())
        promised(ledger, epsilon=Fraction(2))
        raised(NotPermitted, lambda: ledger.charge(asking("b")))
        ledger.grant("ana", epsilon=_HALF)
        ledger.charge(asking("b"))
        assert ledger.account().spent.epsilon == ledger.account("ana").spent.epsilon == TENTH
        ledger.verify()

    def test_a_closed_promise_is_made_again_on_purpose_only(self, tmp_path: Path) -> None:
        ledger = self.fresh(tmp_path)
        same: dict[str, Any] = {"epsilon": Fraction(1), "delta": SMALL, "delta_prime": SMALL / 2}
        assert ledger.promise(**same, anew=False)  # none was closed
        assert ledger.promise(**same, anew=False)
        ledger.close_promise("done")
        before = ledger.head()
        assert not ledger.promise(**same, anew=False)
        assert ledger.head() == before
        raised(NotPermitted, lambda: ledger.account())
        assert ledger.promise(**same)
        assert ledger.promise(**same, anew=False)
        assert len(ledger.promises()) == 2
        ledger.verify()

    def test_promises_are_told_with_their_periods(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path, per=Window.MONTH)
        ledger.renew()
        ledger.renew()
        ledger.close_promise("a new start")
        ledger.promise(epsilon=_HALF, delta=Fraction(0), delta_prime=Fraction(0), per=Window.YEAR)
        assert ledger.renew() == 2
        told = [(made.account.epsilon, made.account.delta, made.per, made.periods) for made in ledger.promises()]
        assert told == [(1, SMALL, Window.MONTH, 3), (_HALF, 0, Window.YEAR, 2)]
        written = [entry.time for entry in ledger.entries() if isinstance(entry.fact, (Promised, Renewed))]
        assert [time for made in ledger.promises() for time in made.begun] == written
        ledger.verify()

    # Tokens

    def test_a_new_token_replaces_the_old_one(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ana, olga = User(name="ana", role=Role.ANALYST), User(name="olga", role=Role.OWNER)
        ledger.issue(ana, b"a" * 32)
        ledger.issue(olga, b"o" * 32)
        ledger.issue(ana, b"b" * 32)
        assert [ledger.holder_of(each * 32) for each in (b"a", b"b", b"o", b"x")] == [None, ana, olga, None]
        assert ledger.users() == (ana, olga)
        for digest in (b"a" * 32, b"b" * 32, b"short", "text"):
            with refused(BadParameter):
                ledger.issue(ana, digest)  # type: ignore[arg-type]
        ledger.verify()

    def test_a_token_is_given_first_or_instead_of_another(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ana, king = User(name="ana", role=Role.ANALYST), User(name="ana", role=Role.OWNER)
        raised(NotPermitted, lambda: ledger.issue(ana, b"a" * 32, instead=True))
        ledger.issue(ana, b"a" * 32, instead=False)
        for user, instead in ((ana, False), (king, False), (king, True)):
            with refused(NotPermitted):
                ledger.issue(user, b"b" * 32, instead=instead)
        assert ledger.holder_of(b"a" * 32) == ana
        ledger.issue(ana, b"b" * 32, instead=True)
        ledger.withdraw("ana")
        raised(NotPermitted, lambda: ledger.issue(ana, b"c" * 32, instead=True))
        ledger.issue(king, b"c" * 32, instead=False)
        assert ledger.users() == (king,)
        ledger.verify()

    def test_a_withdrawn_token_is_nobodys(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.issue(User(name="ana", role=Role.AUDITOR), b"a" * 32)
        ledger.withdraw("ana")
        ledger.withdraw("ana")
        assert (ledger.holder_of(b"a" * 32), ledger.users()) == (None, ())
        ledger.verify()

    # Batches

    def test_a_batch_is_paid_for_question_by_question_and_all_or_none(self, tmp_path: Path) -> None:
        """The last of them, whichever it is, does not fit, is too dear or has no grant: nothing is kept of the others,
        and what was paid before stands."""
        ledger = self.opened(tmp_path)
        ledger.grant("ana", epsilon=_HALF, conditions=Conditions(max_per_query=_HALF))
        receipts = ledger.charge_together([asking(name) for name in "abc"])
        assert len({receipt.number for receipt in receipts}) == 3
        assert all(receipt.paid for receipt in receipts)
        assert ledger.account().spent.epsilon == ledger.account("ana").spent.epsilon == TENTH * 3
        assert [charge.question.plan for _, charge in charges_of(ledger)] == ["plan a", "plan b", "plan c"]
        before, head = self.states(ledger, "ana"), ledger.head()
        dear = asking("f", event=Pure(epsilon=TENTH * 2))
        for last, kind in (
            (dear, BudgetExhausted),
            (replace(dear, cost=TENTH * 6), NotPermitted),
            (asking("f", analyst="eve"), NotPermitted),
            (replace(asking("f"), cost=Fraction(0)), BadParameter),
        ):
            each_raises(kind, ledger.charge_together, ([asking("d"), asking("a"), last], [last, asking("d")]))
            assert self.states(ledger, "ana") == before
            assert ledger.head() == head
        ledger.store(receipts[0], 0, FIRST)
        assert ledger.charge_together([]) == ()

    def test_a_batch_is_continued_question_by_question(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        asked = [asking("a"), asking("b")]
        first = ledger.charge_together(asked)
        ledger.store(first[0], 0, FIRST)
        again = ledger.charge_together(asked)
        assert [receipt.number for receipt in again] == [receipt.number for receipt in first]
        assert [receipt.stored for receipt in again] == [(FIRST,), ()]
        assert ledger.charge(asking("b")).number == first[1].number  # the third attempt
        anew = ledger.charge_together(asked)
        assert [receipt.paid for receipt in anew] == [False, True]
        assert ledger.account().spent.epsilon == TENTH * 3
        ledger.verify()

    def test_a_batch_is_no_larger_than_what_may_wait_for_an_answer(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        before = self.states(ledger, "ana")
        tiny = Pure(epsilon=Fraction(1, 10**4))
        with refused(BadParameter, saying="at most"):
            ledger.charge_together([asking(f"{number}", event=tiny) for number in range(MOST_OPEN + 1)])
        assert self.states(ledger, "ana") == before

    def test_a_batch_with_answers_that_are_stored_is_charged_whole(self, tmp_path: Path) -> None:
        """What is told again opens no payment: every question has its receipt all the same."""
        ledger = self.opened(tmp_path)
        ledger.store(ledger.charge(asking("0")), 0, FIRST)
        receipts = ledger.charge_together([asking(f"{number}") for number in range(4)])
        assert [receipt.paid for receipt in receipts] == [False, True, True, True]
        ledger.verify()

    def test_a_batch_closes_none_of_its_own_charges(self, tmp_path: Path) -> None:
        """One is open from before and is the oldest of all: the last of the others would close it."""
        ledger = self.opened(tmp_path)
        tiny = Pure(epsilon=Fraction(1, 10**4))
        ledger.charge(asking("0", event=tiny))
        ledger.charge(asking("other", event=tiny))
        before = self.states(ledger, "ana")
        with refused(BadParameter, saying="at most"):
            ledger.charge_together([asking(f"{number}", event=tiny) for number in range(MOST_OPEN)])
        assert self.states(ledger, "ana") == before

    # Releases made finer

    def test_a_finer_release_has_the_salt_of_the_first(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        first = ledger.charge(asking())
        ledger.store(first, 0, FIRST)
        finer = replace(asking(), upon=first.number)
        second, again = ledger.charge(finer), ledger.charge(finer)
        assert (second.paid, again.paid, again.number) == (True, False, second.number)
        assert second.number != first.number
        assert second.salt == again.salt == first.salt
        ledger.store(second, 0, SECOND)
        assert [release.receipt for release in ledger.recall(asking().question)] == [first.number, second.number]
        ledger.verify()

    def test_only_a_complete_release_of_the_same_question_is_made_finer(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        first = ledger.charge(asking())
        other = ledger.charge(asking("other"))
        ledger.store(other, 0, FIRST)
        finer = replace(asking("other"), upon=other.number)
        second = ledger.charge(finer)
        ledger.store(second, 0, SECOND)
        before = self.states(ledger, "ana")
        for asked in (
            replace(asking(), upon=first.number),  # not complete
            replace(asking(), upon=other.number),  # another question
            replace(asking("other"), upon=second.number),  # makes something finer itself
            replace(asking(), upon=1),
            replace(asking(), upon=99),
        ):
            with refused(InternalError):
                ledger.charge(asked)
        assert self.states(ledger, "ana") == before

    # What is written down

    def test_refusals_and_policies_are_written_down(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        before = ledger.head().number
        assert ledger.adopted() is None
        ledger.declare(OWNED, Adopted(digest="d1", text="{}"))
        ledger.declare(OWNED, Adopted(digest="d1", text="{}"))
        assert ledger.adopted() == "{}"
        ledger.refuse("ana", code="DP101", sql="SELECT * FROM people" * 1000)
        ledger.declare(OWNED, Adopted(digest="d2", text="{ }"))
        assert ledger.adopted() == "{ }"
        assert ledger.head().number == before + 3
        ledger.verify()

    def test_what_is_declared_of_other_people_is_not_kept_either(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.charge(asking())
        before = self.states(ledger, "ana")
        with refused(BadPolicy):
            ledger.declare(replace(OWNED, relation="change_one"), Adopted(digest="d1", text="{}"))
        assert self.states(ledger, "ana") == before
        assert ledger.adopted() is None

    def test_owners_are_not_kept_without_what_is_declared(self, tmp_path: Path) -> None:
        """A ledger that knew them alone would take other columns for declared ones."""
        ledger = self.opened(tmp_path)
        before = ledger.entries()
        more = replace(OWNED, tables=(*OWNED.tables, ("beds", 'person = "id"')))
        raised(BadParameter, lambda: ledger.declare(more, Adopted(digest="", text="{}")))
        assert ledger.entries() == before

    def test_the_head_moves_with_every_entry(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        before = ledger.head()
        ledger.charge(asking())
        after = ledger.head()
        assert (after.number, after.spent.epsilon) == (before.number + 1, TENTH)
        assert after.hash != before.hash
        assert ledger.head() == after
        assert str(after) == f"#{after.number}:{after.hash.hex()[:8]}"

    def test_everybody_is_told_what_they_have_paid_for_themselves(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.grant("bob", epsilon=_HALF)
        first = ledger.charge(asking("a"))
        ledger.charge(asking("b", analyst="bob"))
        second = ledger.charge(asking("c", steps=2))
        ledger.store(first, 0, FIRST)
        ledger.store(second, 0, FIRST)
        expected = (
            Paid(receipt=first.number, charge=asking("a"), complete=True),
            Paid(receipt=second.number, charge=asking("c", steps=2), complete=False),
        )
        assert ledger.paid_by("ana") == expected
        assert ledger.paid_by("ana", last=5) == expected
        assert ledger.paid_by("ana", last=1) == expected[1:]
        assert [paid.charge.analyst for paid in ledger.paid_by("bob")] == ["bob"]
        assert ledger.paid_by("eve") == ()
        each_raises(BadParameter, lambda last: ledger.paid_by("ana", last=last), (0, -1, 2**70, True))
