"""The laws every ledger obeys, as tests to inherit. Subclass `LedgerKit`, say how to make a ledger, and pytest runs
them.

Nothing here is left to chance except which thread comes first, and the laws hold whichever does.
"""

import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Final

from dpsql.errors import BadParameter, BudgetExhausted, InternalError, LedgerBroken, NotPermitted, UnsupportedEvent
from dpsql.ledger.book import Ledger
from dpsql.ledger.ledger import Question, Receipt, ReleasedStep, Role, User
from dpsql.privacy.events import Composed, ContinuousLaplace, DiscreteGaussian, Pure
from tests.kits.accountant_kit import Mystery
from tests.kits.ledger_cases import FIRST, SECOND, TENTH, TOLD, asking, at_once, charges_of, refused
from tests.kits.ledger_declarations import DeclarationLaws
from tests.kits.ledger_standing import StandingLaws
from tests.kits.ledger_written import WrittenGrants
from tests.kits.refusals import each_raises, raised

_PARTS: Final = ("plan", "policy", "data_version")


class _Disguised(Pure):
    """A subclass prices as its parent, and would be read again as something else."""


def _granted(ledger: Ledger, name: str) -> bool:
    """Whether a charge is granted; the ledger is closed where it refuses to work at all."""
    try:
        ledger.charge(asking(name))
    except BudgetExhausted:
        return False
    except LedgerBroken:
        ledger.close()
        return False
    return True


class LedgerKit(DeclarationLaws, StandingLaws, WrittenGrants):
    """Say how a fresh ledger is made; the laws follow."""

    threads: ClassVar[int] = 16
    charges_per_thread: ClassVar[int] = 20

    # Promise and grants

    def test_every_ledger_has_its_own_id(self, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        one, other = self.fresh(tmp_path), self.fresh(tmp_path / "other")
        assert len(one.id) == 32
        assert int(one.id, 16) != int(other.id, 16)

    def test_nothing_works_without_a_promise(self, tmp_path: Path) -> None:
        ledger = self.fresh(tmp_path)
        ledger.verify()
        raised(BadParameter, lambda: ledger.grant("ana", epsilon=Fraction(1)))
        raised(NotPermitted, lambda: ledger.account())
        raised(NotPermitted, lambda: ledger.charge(asking()))
        assert ledger.recall(asking().question) == ()

    def test_an_analyst_without_a_grant_is_refused(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        raised(NotPermitted, lambda: ledger.account("bob"))
        raised(NotPermitted, lambda: ledger.charge(asking(analyst="bob")))
        assert ledger.account().spent.epsilon == 0

    def test_a_grant_above_the_promise_is_refused(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        raised(BadParameter, lambda: ledger.grant("bob", epsilon=Fraction(11, 10)))
        raised(BadParameter, lambda: ledger.grant("ana", epsilon=Fraction(11, 10)))
        raised(NotPermitted, lambda: ledger.account("bob"))
        assert ledger.account("ana").epsilon == 1
        assert ledger.accounts("ana") == (ledger.account(), ledger.account("ana"))
        assert ledger.balance("ana", analyst="ana").accounts == ledger.accounts("ana")

    def test_a_nameless_analyst_is_refused(self, tmp_path: Path) -> None:
        """The empty name must not stand for the source itself."""
        ledger = self.opened(tmp_path)
        for name in ("", "\n", "a\x00b", "\ud800", "x" * 300):
            with refused(BadParameter):
                ledger.grant(name, epsilon=Fraction(1))
            with refused(BadParameter):
                ledger.account(name)
            with refused(BadParameter):
                ledger.charge(asking(analyst=name))

    def test_a_changed_grant_keeps_the_spending(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path, budget=Fraction(1, 2))
        ledger.charge(asking("first"))
        ledger.grant("ana", epsilon=Fraction(1, 5))
        assert ledger.account("ana").spent.epsilon == TENTH
        ledger.charge(asking("second"))
        raised(BudgetExhausted, lambda: ledger.charge(asking("third")))
        ledger.grant("ana", epsilon=Fraction(1))
        ledger.charge(asking("third"))
        assert ledger.account("ana").spent.epsilon == ledger.account().spent.epsilon == 3 * TENTH
        ledger.verify()

    def test_a_grant_below_what_is_spent_admits_nothing(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.charge(asking("first"))
        ledger.grant("ana", epsilon=TENTH / 2)
        before = self.states(ledger, "ana")
        raised(BudgetExhausted, lambda: ledger.charge(asking("second", event=Pure(epsilon=Fraction(1, 10**9)))))
        assert self.states(ledger, "ana") == before
        assert ledger.account("ana").spent.epsilon == TENTH

    # Charges

    def test_ten_tenths_are_one(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        for number in range(10):
            ledger.charge(asking(str(number)))
        assert ledger.account().spent.epsilon == ledger.account("ana").spent.epsilon == 1
        assert ledger.account().spent.rho == Fraction(10, 200)  # ε²/2 each
        raised(BudgetExhausted, lambda: ledger.charge(asking("eleventh")))
        ledger.verify()

    def test_the_grant_and_the_promise_must_both_admit(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path, budget=Fraction(7, 10))
        ledger.grant("bob", epsilon=Fraction(1))
        ledger.charge(asking("a", event=Pure(epsilon=Fraction(6, 10))))
        before = self.states(ledger, "ana", "bob")
        with refused(BudgetExhausted):  # the promise would, the grant does not
            ledger.charge(asking("b", event=Pure(epsilon=Fraction(2, 10))))
        with refused(BudgetExhausted):  # the grant would, the promise does not
            ledger.charge(asking("b", analyst="bob", event=Pure(epsilon=Fraction(5, 10))))
        assert self.states(ledger, "ana", "bob") == before
        ledger.charge(asking("b", analyst="bob", event=Pure(epsilon=Fraction(4, 10))))
        spent = [account.spent.epsilon for account in self.states(ledger, "ana", "bob")]
        assert spent == [Fraction(1), Fraction(6, 10), Fraction(4, 10)]

    def test_gaussian_noise_closes_the_pure_branch(self, tmp_path: Path) -> None:
        """ρ = l2²/2σ² = 1/2000. ρ* of (1, 5e-7) is below 1/25: Gaussian noise of ρ = 1/25 has δ(1) = 3e-5."""
        ledger = self.opened(tmp_path)
        noise = DiscreteGaussian(sigma_squared=Fraction(1000), l2_squared=Fraction(1))
        assert ledger.account().pure_branch_open
        ledger.charge(asking("gauss", event=noise))
        spent = ledger.account().spent
        assert spent.epsilon is None
        assert spent.delta == 0
        assert spent.rho == Fraction(1, 2000)
        assert not ledger.account().pure_branch_open
        assert not ledger.account("ana").pure_branch_open
        ledger.charge(asking("still in the other branch"))
        with refused(BudgetExhausted):  # ε = 3/10 is ρ = 9/200 > 1/25
            ledger.charge(asking("pure", event=Pure(epsilon=Fraction(3, 10))))
        ledger.verify()

    def test_an_unknown_or_unpriced_event_is_refused(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        before = self.states(ledger, "ana")
        for event in (Mystery(), Composed((Mystery(),)), ContinuousLaplace(epsilon=TENTH), _Disguised(epsilon=TENTH)):
            with refused(UnsupportedEvent, InternalError):
                ledger.charge(asking(event=event))
        assert self.states(ledger, "ana") == before

    def test_a_charge_for_nothing_is_refused(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        for event in (Composed(()), Composed((Composed(()),))):
            with refused(InternalError):
                ledger.charge(asking(event=event))
        raised(BadParameter, lambda: ledger.charge(asking(steps=0)))
        raised(BadParameter, lambda: ledger.charge(replace(asking(), cost=Fraction(0))))
        with refused(InternalError):
            ledger.charge(replace(asking(), cost=0.1))  # type: ignore[arg-type]
        for part in _PARTS:
            with refused(InternalError):
                ledger.charge(replace(asking(), question=replace(asking().question, **{part: ""})))
        assert ledger.account().spent.epsilon == 0

    def test_receipts_are_told_apart(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        receipts = [ledger.charge(asking(str(number))) for number in range(8)]
        numbers = [receipt.number for receipt in receipts]
        assert numbers == sorted(set(numbers))
        assert len({receipt.salt for receipt in receipts}) == 8
        assert all(0 <= receipt.salt < 2**63 and receipt.paid for receipt in receipts)

    # Running again

    def test_what_was_paid_may_be_run_three_times(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        first, second, third, fourth, fifth = (ledger.charge(asking()) for _ in range(5))
        assert [first.paid, second.paid, third.paid] == [True, False, False]
        assert first.number == second.number == third.number
        assert first.salt == second.salt == third.salt
        assert (fourth.paid, fifth.paid) == (True, False)
        assert fourth.number == fifth.number != first.number
        assert fourth.salt != first.salt
        assert ledger.account().spent.epsilon == ledger.account("ana").spent.epsilon == 2 * TENTH
        ledger.verify()

    def test_running_again_is_free_when_nothing_is_left(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path, budget=TENTH)
        first = ledger.charge(asking())
        assert ledger.charge(asking()).number == first.number
        raised(BudgetExhausted, lambda: ledger.charge(asking("another")))
        assert not ledger.charge(asking()).paid
        raised(BudgetExhausted, lambda: ledger.charge(asking()))

    def test_only_the_same_charge_is_continued(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.grant("lab", epsilon=Fraction(1))
        for digest, (name, grant) in enumerate((("ana", "lab"), ("bob", "ana"))):
            ledger.issue(User(name=name, role=Role.ANALYST, grant=grant), bytes([digest]) * 32)
        asked = asking(event=Pure(epsilon=TENTH / 2))
        others = [
            replace(asked, analyst="bob"),
            replace(asked, grant="lab"),
            replace(asked, event=Composed((Pure(epsilon=TENTH / 2),))),
            replace(asked, event=Pure(epsilon=TENTH)),
            replace(asked, cost=TENTH / 2),
            replace(asked, steps=2),
            replace(asked, record='{"version": 2}'),
            *(replace(asked, question=replace(asked.question, **{part: "x"})) for part in _PARTS),
        ]
        receipts = [ledger.charge(charge) for charge in (asked, *others)]
        ledger.store(receipts[0], 0, FIRST)
        receipts.append(ledger.charge(replace(asked, upon=receipts[0].number)))
        assert len({receipt.number for receipt in receipts}) == len(receipts)
        assert all(receipt.paid for receipt in receipts)

    def test_an_answer_that_is_complete_is_told_again(self, tmp_path: Path) -> None:
        """Two twins plan at once, and one has its answer before the other pays: neither pays for both."""
        ledger = self.opened(tmp_path)
        first = ledger.charge(asking())
        ledger.store(first, 0, FIRST)
        for _ in range(5):
            again = ledger.charge(asking())
            assert (again.number, again.paid, again.stored) == (first.number, False, (FIRST,))
        assert ledger.account().spent.epsilon == TENTH
        ledger.verify()

    def test_a_new_attempt_resumes_after_the_stored_steps(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        first = ledger.charge(asking(steps=3))
        assert first.stored == ()
        ledger.store(first, 0, FIRST)
        second = ledger.charge(asking(steps=3))
        assert second.stored == (FIRST,)
        ledger.store(second, 1, TOLD)
        third = ledger.charge(asking(steps=3))
        assert third.stored == (FIRST, TOLD)
        ledger.store(third, 2, SECOND)
        (release,) = ledger.recall(asking().question)
        assert release.steps == (FIRST, TOLD, SECOND)
        assert ledger.account().spent.epsilon == TENTH
        ledger.verify()

    # Store and recall

    def test_a_step_is_stored_once(self, tmp_path: Path) -> None:
        """Two attempts at once: only what was stored first may be told."""
        ledger = self.opened(tmp_path)
        slow, fast = ledger.charge(asking()), ledger.charge(asking())
        with refused(InternalError):  # nor is there a second number for anything in it
            ledger.store(fast, 0, replace(FIRST, keys=FIRST.keys * 2, values=FIRST.values * 2))
        assert ledger.store(fast, 0, FIRST) == FIRST
        for late in (slow, fast):
            assert ledger.store(late, 0, SECOND) == FIRST
        assert ledger.recall(asking().question)[0].steps == (FIRST,)
        ledger.verify()

    def test_steps_are_stored_in_order_and_under_a_receipt(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        receipt = ledger.charge(asking(steps=2))
        each_raises(InternalError, lambda step: ledger.store(receipt, step, FIRST), (1, 2, -1))
        for number in (receipt.number + 1, receipt.number - 1, 0, -1):
            with refused(InternalError):
                ledger.store(replace(receipt, number=number), 0, FIRST)
        ledger.store(receipt, 0, FIRST)
        ledger.store(receipt, 1, SECOND)
        raised(InternalError, lambda: ledger.store(receipt, 2, FIRST))
        assert ledger.recall(asking().question)[0].steps == (FIRST, SECOND)
        ledger.verify()

    def test_what_cannot_be_kept_exactly_is_refused(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        receipt = ledger.charge(asking())
        keys: tuple[Any, ...] = ((), ())
        for values in (((2**200,), (0,)), ((1.5,), (0,)), ((True,), (0,)), ((1,),)):
            with refused(InternalError):
                ledger.store(receipt, 0, ReleasedStep(keys=keys, values=values))  # type: ignore[arg-type]
        with refused(InternalError):
            ledger.store(receipt, 0, ReleasedStep(keys=((1.5,),), values=((1,),)))  # type: ignore[arg-type]
        assert ledger.recall(asking().question) == ()
        ledger.store(receipt, 0, TOLD)
        assert ledger.recall(asking().question)[0].steps == (TOLD,)

    def test_nothing_is_recalled_before_it_is_complete(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        asked = asking(steps=2)
        receipt = ledger.charge(asked)
        assert ledger.recall(asked.question) == ()
        ledger.store(receipt, 0, FIRST)
        assert ledger.recall(asked.question) == ()
        ledger.store(receipt, 1, TOLD)
        (release,) = ledger.recall(asked.question)
        assert (release.receipt, release.analyst) == (receipt.number, "ana")
        assert (release.record, release.steps) == (asked.record, (FIRST, TOLD))
        kinds = [type(part) for key in release.steps[1].keys for part in key]
        assert kinds == [type(part) for key in TOLD.keys for part in key]  # True == 1, and they are different keys

    def test_a_question_is_recalled_by_all_its_parts(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        asked = asking()
        ledger.store(ledger.charge(asked), 0, FIRST)
        assert len(ledger.recall(asked.question)) == 1
        for part in _PARTS:
            assert ledger.recall(replace(asked.question, **{part: "x"})) == ()
        shifted = Question(plan=asked.question.policy, policy=asked.question.plan, data_version="1")
        assert ledger.recall(shifted) == ()

    def test_releases_of_everybody_are_recalled_oldest_first(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        ledger.grant("bob", epsilon=Fraction(1))
        first, second = ledger.charge(asking()), ledger.charge(asking(analyst="bob"))
        ledger.store(second, 0, SECOND)
        ledger.store(first, 0, FIRST)
        third = ledger.charge(replace(asking(), cost=TENTH / 2))
        ledger.store(third, 0, TOLD)
        found = ledger.recall(asking().question)
        assert [release.receipt for release in found] == [first.number, second.number, third.number]
        assert [release.analyst for release in found] == ["ana", "bob", "ana"]
        assert [release.steps for release in found] == [(FIRST,), (SECOND,), (TOLD,)]
        told = ledger.recall(asking().question, told=[second.number])
        assert told == (replace(found[0], steps=()), found[1], replace(found[2], steps=()))
        ledger.verify()

    # Many at once

    def test_threads_spend_exactly_to_the_limit(self, tmp_path: Path) -> None:
        """Of 320 charges of 1/200 on a pure promise of 1, exactly 200 are admitted, whoever comes first."""
        ledger = self.opened(tmp_path, delta=Fraction(0))
        price = Fraction(1, self.threads * self.charges_per_thread * 5 // 8)
        admitted: list[int] = []

        def spend(thread: int) -> None:
            for number in range(self.charges_per_thread):
                try:
                    receipt = ledger.charge(asking(f"{thread} {number}", event=Pure(epsilon=price)))
                except BudgetExhausted:
                    continue
                admitted.append(receipt.number)

        at_once([lambda thread=thread: spend(thread) for thread in range(self.threads)])  # type: ignore[misc]
        assert len(admitted) == len(set(admitted)) == 1 / price
        assert ledger.account().spent.epsilon == ledger.account("ana").spent.epsilon == 1
        ledger.verify()

    def test_threads_continue_one_payment_and_store_one_answer(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path, budget=TENTH)
        receipts: list[Receipt] = []
        at_once([lambda: receipts.append(ledger.charge(asking()))] * 3)
        assert sorted(receipt.paid for receipt in receipts) == [False, False, True]
        assert len({receipt.number for receipt in receipts}) == 1
        stored: list[ReleasedStep] = []

        def answer(receipt: Receipt, drawn: int) -> None:
            stored.append(ledger.store(receipt, 0, ReleasedStep(keys=((),), values=((drawn,),))))

        at_once([lambda each=each: answer(receipts[each], each) for each in range(3)])  # type: ignore[misc]
        assert len(stored) == 3
        (release,) = ledger.recall(asking().question)
        assert all(release.steps == (told,) for told in stored)
        assert ledger.account().spent.epsilon == TENTH
        ledger.verify()

    def test_every_payment_is_listed_once_under_its_receipt(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        assert charges_of(ledger) == ()
        first, again = ledger.charge(asking("a")), ledger.charge(asking("a"))
        ledger.store(again, 0, FIRST)
        second = ledger.charge(asking("b"))
        assert charges_of(ledger) == ((first.number, asking("a")), (second.number, asking("b")))

    def test_a_forked_process_cannot_spend_the_budget_again(self, tmp_path: Path) -> None:
        """It is refused, or pays from the one budget there is."""
        ledger = self.opened(tmp_path, budget=TENTH)
        child = os.fork()
        if child == 0:  # ends without pytest, and reports by its exit code
            try:
                os._exit(_granted(ledger, "in the child"))
            finally:
                os._exit(2)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) + _granted(ledger, "in the parent") == 1
        assert ledger.account("ana").spent.epsilon == TENTH

    def test_a_closed_ledger_answers_nothing(self, tmp_path: Path) -> None:
        ledger = self.opened(tmp_path)
        receipt = ledger.charge(asking())
        ledger.close()
        ledger.close()
        for use in (
            ledger.verify,
            ledger.entries,
            ledger.account,
            lambda: ledger.charge(asking()),
            lambda: ledger.store(receipt, 0, FIRST),
            lambda: ledger.recall(asking().question),
            lambda: ledger.grant("bob", epsilon=TENTH),
        ):
            with refused(LedgerBroken):
                use()
