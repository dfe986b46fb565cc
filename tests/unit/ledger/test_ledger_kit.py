"""The kit must be able to fail: each planted bug is caught by the law that names it."""

import time
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.errors import DpsqlError
from dpsql.ledger import book, encoding, grants, laws, memory_page, owners, promises, sayings, snapshot, words
from dpsql.ledger.book import BookLedger
from dpsql.ledger.facts import Granted, Revoked, Stored
from dpsql.ledger.ledger import NO_CONDITIONS, Charge, Ownership
from dpsql.ledger.memory import MemoryLedger
from dpsql.ledger.memory_page import MemoryPage
from dpsql.ledger.page import SOURCE
from dpsql.ledger.snapshot import Payment
from tests.kits.ledger_kit import LedgerKit

SAME_CHARGE = ("analyst", "question", "event", "cost", "steps", "record", "grant", "upon")


class Kit(LedgerKit):
    kind = MemoryLedger

    def make(self, tmp_path):
        return self.kind()


class Unlocked(MemoryLedger):
    """Looks, and spends a moment later."""

    @contextmanager
    def writing(self, foreseen=None):
        yield self._page


def unlocked(monkeypatch):
    monkeypatch.setattr(Kit, "kind", Unlocked)
    monkeypatch.setattr(MemoryPage, "append", slow_append)


right_append = MemoryPage.append


def slow_append(self, fact, *, same=None):
    time.sleep(0.0001)  # lets another thread in between looking and spending
    return right_append(self, fact, same=same)


def keeps_only(holder):
    """The other account is looked at, and not charged."""

    def plant(monkeypatch):
        keep = MemoryPage.keep_account

        def forgetful(self, name, account):
            if account.spent.epsilon == 0 or (name == SOURCE) == (holder == SOURCE):
                keep(self, name, account)

        monkeypatch.setattr(MemoryPage, "keep_account", forgetful)

    return plant


def floats(monkeypatch):
    pay = Account.paying

    def paying(self, price):
        after = pay(self, price)
        spent = Triple(epsilon=Fraction(float(after.spent.epsilon or 0)), delta=after.spent.delta, rho=after.spent.rho)
        return replace(after, spent=spent)

    monkeypatch.setattr(Account, "paying", paying)


def four_attempts(monkeypatch):
    monkeypatch.setattr(snapshot, "ATTEMPTS", 4)


def two_attempts(monkeypatch):
    monkeypatch.setattr(snapshot, "ATTEMPTS", 2)


def same_without(part):
    """A receipt is continued although this part of the charge differs."""

    def plant(monkeypatch):
        monkeypatch.setattr(encoding, "_NOT_SAME", (*encoding._NOT_SAME, part))

    return plant


def question_without(part):
    def plant(monkeypatch):
        digest = encoding.question_digest
        monkeypatch.setattr(laws, "question_digest", lambda question: digest(replace(question, **{part: ""})))

    return plant


def forks_with_its_budget(monkeypatch):
    monkeypatch.setattr(BookLedger, "_require_own_process", lambda self: None)


def forgets_spending(monkeypatch):
    right = grants.grant

    def grant(page, analyst, *, epsilon, conditions, by):
        right(page, analyst, epsilon=epsilon, conditions=conditions, by=by)
        page.keep_account(analyst, page.account(SOURCE).grant(epsilon=epsilon))

    monkeypatch.setattr(grants, "grant", grant)


def replaces_promise(monkeypatch):
    monkeypatch.setattr(promises, "promise", lambda page, account, *, per, anew: page.keep_account(SOURCE, account))


def owned_by_whoever_comes_last(monkeypatch):
    monkeypatch.setattr(owners, "own", lambda page, said: page.append(said))


def forgets_owners(monkeypatch):
    monkeypatch.setattr(owners, "_owners_said", lambda page: [])


def keeps_the_first_owners_only(monkeypatch):
    found = owners._owners_said
    monkeypatch.setattr(owners, "_owners_said", lambda page: found(page)[:1])


def forgets_what_is_latest(monkeypatch):
    monkeypatch.setattr(MemoryPage, "latest", lambda self, what: None)


def keeps_what_was_first(monkeypatch):
    keep = MemoryPage.keep_latest
    monkeypatch.setattr(
        MemoryPage, "keep_latest", lambda self, what, entry: None if self.latest(what) else keep(self, what, entry)
    )


def corrects_what_was_public(monkeypatch):
    monkeypatch.setattr(owners, "PUBLIC_WAY", "unheard of")


def forgets_with_a_renewal(monkeypatch):
    monkeypatch.setattr(owners, "is_renewed", lambda page: False)


def charges_older_plans(monkeypatch):
    monkeypatch.setattr(owners, "require_owned", lambda page, said: None)


def remembers_owners_of_closed_promises(monkeypatch):
    monkeypatch.setattr(owners, "_owners_said", lambda page: [fact for _, fact in page.facts_of(Ownership)])


def charges_unheard_tables(monkeypatch):
    right = owners.require_owned

    def lenient(page, said):
        known = {table for fact in owners._owners_said(page) for table, _ in fact.tables}
        heard = None if said is None else replace(said, tables=tuple(each for each in said.tables if each[0] in known))
        right(page, heard)

    monkeypatch.setattr(owners, "require_owned", lenient)


def forgets_tables_that_are_left_out(monkeypatch):
    """Each word about owners is written whole, and the last one alone is looked at."""
    said = owners._owners_said
    monkeypatch.setattr(owners, "_owners_said", lambda page: said(page)[-1:])
    right = owners.own

    def own(page, now):
        right(page, now)
        page.append(now)

    monkeypatch.setattr(owners, "own", own)


def stores_again(monkeypatch):
    def store(page, *, receipt, step, released):
        payment = page.payment(receipt)
        entry = page.append(Stored(receipt=receipt, step=step, released=released))
        page._found["receipt", receipt] = [*payment.stored[:step], entry]
        page.keep_payment(replace(payment, stored=(*payment.stored[:step], entry)))
        return released

    monkeypatch.setattr(laws, "store", store)


def stores_anything(monkeypatch):
    monkeypatch.setattr(laws, "_require_a_table", lambda released: None)


def tells_unfinished(monkeypatch):
    monkeypatch.setattr(Payment, "complete", property(lambda self: bool(self.stored)))


def never_complete(monkeypatch):
    monkeypatch.setattr(Payment, "complete", property(lambda self: False))


def one_salt(monkeypatch):
    monkeypatch.setattr(MemoryPage, "salt", lambda self, number: 7)


def negative_salt(monkeypatch):
    monkeypatch.setattr(MemoryPage, "salt", lambda self, number: -number)


def new_salt_each_time(monkeypatch):
    monkeypatch.setattr(MemoryPage, "salt", lambda self, number: time.monotonic_ns())


def payments_of_everybody(monkeypatch):
    def everybody(self, analyst, *, last=None):
        return self._payments([number for number, _ in self.facts_of(Charge)])

    monkeypatch.setattr(MemoryPage, "payments_by", everybody)


def first_payments(monkeypatch):
    found = MemoryPage.payments_by
    monkeypatch.setattr(
        MemoryPage, "payments_by", lambda self, analyst, *, last=None: found(self, analyst, last=None)[:last]
    )


def newest_first(monkeypatch):
    found = MemoryPage.payments_of
    monkeypatch.setattr(MemoryPage, "payments_of", lambda self, question: found(self, question)[::-1])


def subclasses_priced_as_parents(monkeypatch):
    def lenient(event, *, depth=0):
        return {"event": type(event).__name__}

    monkeypatch.setattr(encoding, "event_to_json", lenient)


def anybody(monkeypatch):
    monkeypatch.setattr(laws, "account", lambda page, analyst: page.account(SOURCE))
    monkeypatch.setattr(promises, "account", lambda page, analyst: page.account(SOURCE))
    monkeypatch.setattr(grants, "_conditions", lambda page, holder: NO_CONDITIONS)


def free_of_charge(monkeypatch):
    monkeypatch.setattr(laws, "FREE", object())


def any_name(monkeypatch):
    for room in (laws, grants, promises):
        monkeypatch.setattr(room, "require_name", lambda name: name)


def drops_stored_steps(monkeypatch):
    monkeypatch.setattr(laws, "released_steps", lambda page, payment: ())


def keeps_anything(monkeypatch):
    monkeypatch.setattr(memory_page, "fact_to_entry", lambda fact: ("", b""))


def stays_open(monkeypatch):
    monkeypatch.setattr(MemoryLedger, "close", lambda self: None)


def nobody_freezes(monkeypatch):
    monkeypatch.setattr(grants, "require_not_frozen", lambda page: None)


def lays_every_freeze_to_the_owner(monkeypatch):
    right = grants.freeze
    monkeypatch.setattr(grants, "freeze", lambda page, reason, *, by: right(page, reason))


def nobody_is_revoked(monkeypatch):
    def conditions(page, holder):
        return [fact for _, fact in page.facts_of(Granted) if fact.analyst == holder][-1].conditions

    monkeypatch.setattr(grants, "_conditions", conditions)


def gives_again_what_was_revoked(monkeypatch):
    right = grants.is_beside_the_file
    monkeypatch.setattr(grants, "is_beside_the_file", lambda word: not isinstance(word, Revoked) and right(word))


def files_have_the_last_word(monkeypatch):
    monkeypatch.setattr(grants, "is_beside_the_file", lambda word: isinstance(word, Revoked))


def files_end_nothing(monkeypatch):
    monkeypatch.setattr(grants, "said", lambda page: {})


def files_grant_anything(monkeypatch):
    def adopt(self, written):
        for each in written:
            self.grant(each.analyst, epsilon=each.epsilon, conditions=each.conditions)

    monkeypatch.setattr(BookLedger, "adopt_grants", adopt)


def applies_piece_by_piece(monkeypatch):
    def apply(self, promise, *, per, anew, ownership, declarations, granted, version):
        self.data_version(version)
        made = {name: getattr(promise, name) for name in ("epsilon", "delta", "delta_prime")}
        if not self.promise(**made, per=per, anew=anew):
            return False
        self.own(ownership)
        self.adopt(declarations.digest, declarations.text)
        self.adopt_grants(granted)
        return True

    monkeypatch.setattr(BookLedger, "apply", apply)


def says_any_grant(monkeypatch):
    monkeypatch.setattr(grants, "say", grants.grant)


def revokes_nobody_silently(monkeypatch):
    monkeypatch.setattr(grants, "revoke", lambda page, holder: None)


def takes_names_with_blanks(monkeypatch):
    for room in (grants, book):
        monkeypatch.setattr(room, "require_new_name", words.require_name)


def every_name_is_an_analysts(monkeypatch):
    monkeypatch.setattr(grants, "readable", lambda text, what, why: grants.require_name(text))


def issues_to_anybody(monkeypatch):
    right = sayings.issue
    monkeypatch.setattr(sayings, "issue", lambda page, user, digest, *, instead=None: right(page, user, digest))


def no_caps(monkeypatch):
    monkeypatch.setattr(laws, "require_below_cap", lambda page, asked: None)


def anybody_spends_from_any_grant(monkeypatch):
    monkeypatch.setattr(grants, "_pays_for", lambda page, grant, analyst: True)


def every_token_names_any_grant(monkeypatch):
    monkeypatch.setattr(sayings, "_require_paying", lambda user, grant: None)


def renews_grants_only(monkeypatch):
    accounts = MemoryPage.accounts
    monkeypatch.setattr(
        MemoryPage, "accounts", lambda self: {name: kept for name, kept in accounts(self).items() if name != SOURCE}
    )


def closes_nothing(monkeypatch):
    monkeypatch.setattr(MemoryPage, "remove_accounts", lambda self: None)


def makes_a_closed_promise_again(monkeypatch):
    right = promises.promise
    monkeypatch.setattr(promises, "promise", lambda page, account, *, per, anew: right(page, account, per=per))


def forgets_to_add_up(monkeypatch):
    right = promises.promises
    monkeypatch.setattr(promises, "promises", lambda page: tuple(replace(made, begun=(1,)) for made in right(page)))


def renews_what_is_for_ever(monkeypatch):
    monkeypatch.setattr(promises, "renew", promises.begin_period)


def takes_any_window(monkeypatch):
    right = promises.promise

    def promise(page, account, *, per, anew=True):
        known = page.account(SOURCE)
        return right(page, account, per=per if known is None else promises.window(page), anew=anew)

    monkeypatch.setattr(promises, "promise", promise)


def every_token_holds(monkeypatch):
    def holder(page, digest):
        number = page.latest(f"token {digest.hex()}")
        return None if number is None else page.fact(number).user

    monkeypatch.setattr(sayings, "holder_of", holder)


def pays_for_each(monkeypatch):
    monkeypatch.setattr(
        book.BookLedger, "charge_together", lambda self, charges, *, under=(): tuple(map(self.charge, charges))
    )


def pays_for_any_number(monkeypatch):
    monkeypatch.setattr(laws, "MOST_OPEN", 10**9)


def never_continues_a_batch(monkeypatch):
    monkeypatch.setattr(MemoryPage, "payments_for", lambda self, same: ())


def own_salt(monkeypatch):
    monkeypatch.setattr(laws, "_salt", lambda page, number, paid: page.salt(number))


def upon_anything(monkeypatch):
    monkeypatch.setattr(laws, "_require_upon", lambda page, asked: None)


@pytest.mark.parametrize(
    ("plant", "law"),
    [
        (unlocked, "threads_spend_exactly_to_the_limit"),
        (forks_with_its_budget, "a_forked_process_cannot_spend_the_budget_again"),
        (keeps_only("ana"), "the_grant_and_the_promise_must_both_admit"),
        (keeps_only(SOURCE), "ten_tenths_are_one"),
        (floats, "ten_tenths_are_one"),
        (four_attempts, "what_was_paid_may_be_run_three_times"),
        (two_attempts, "what_was_paid_may_be_run_three_times"),
        *((same_without(part), "only_the_same_charge_is_continued") for part in SAME_CHARGE),
        *(
            (question_without(part), "a_question_is_recalled_by_all_its_parts")
            for part in ("plan", "policy", "data_version")
        ),
        (forgets_spending, "a_changed_grant_keeps_the_spending"),
        (owned_by_whoever_comes_last, "owners_need_a_promise"),
        (owned_by_whoever_comes_last, "the_same_owners_again_are_nothing"),
        (forgets_owners, "other_owners_are_refused_once_something_was_charged"),
        (forgets_with_a_renewal, "a_renewal_does_not_let_owners_change"),
        (owned_by_whoever_comes_last, "other_owners_are_refused_once_something_was_charged"),
        (owned_by_whoever_comes_last, "a_way_is_corrected_while_nothing_was_charged"),
        (keeps_the_first_owners_only, "a_way_is_corrected_while_nothing_was_charged"),
        (corrects_what_was_public, "neither_the_relation_nor_what_was_public_is_corrected"),
        (charges_older_plans, "a_plan_under_an_older_declaration_is_not_charged"),
        (charges_older_plans, "nobody_pays_before_it_is_said_whom_the_promise_is_about"),
        (remembers_owners_of_closed_promises, "nobody_pays_before_it_is_said_whom_the_promise_is_about"),
        (charges_unheard_tables, "a_plan_about_a_table_nobody_spoke_of_is_not_charged"),
        (forgets_tables_that_are_left_out, "a_table_that_comes_back_is_owned_as_it_was"),
        (keeps_the_first_owners_only, "tables_are_added_and_then_stay"),
        (forgets_what_is_latest, "the_data_version_stays_until_another_one_is_said"),
        (keeps_what_was_first, "the_data_version_stays_until_another_one_is_said"),
        (forgets_what_is_latest, "the_same_data_version_again_is_nothing"),
        (replaces_promise, "the_same_promise_again_is_nothing"),
        (replaces_promise, "another_promise_is_refused"),
        (stores_again, "a_step_is_stored_once"),
        (stores_anything, "a_step_is_stored_once"),
        (stores_again, "threads_continue_one_payment_and_store_one_answer"),
        (stores_again, "steps_are_stored_in_order_and_under_a_receipt"),
        (tells_unfinished, "nothing_is_recalled_before_it_is_complete"),
        (never_complete, "an_answer_that_is_complete_is_told_again"),
        (one_salt, "receipts_are_told_apart"),
        (negative_salt, "receipts_are_told_apart"),
        (new_salt_each_time, "what_was_paid_may_be_run_three_times"),
        (payments_of_everybody, "everybody_is_told_what_they_have_paid_for_themselves"),
        (first_payments, "everybody_is_told_what_they_have_paid_for_themselves"),
        (newest_first, "releases_of_everybody_are_recalled_oldest_first"),
        (subclasses_priced_as_parents, "an_unknown_or_unpriced_event_is_refused"),
        (anybody, "an_analyst_without_a_grant_is_refused"),
        (free_of_charge, "a_charge_for_nothing_is_refused"),
        (any_name, "a_nameless_analyst_is_refused"),
        (drops_stored_steps, "a_new_attempt_resumes_after_the_stored_steps"),
        (keeps_anything, "what_cannot_be_kept_exactly_is_refused"),
        (stays_open, "a_closed_ledger_answers_nothing"),
        (nobody_freezes, "a_frozen_source_is_not_charged"),
        (lays_every_freeze_to_the_owner, "it_is_written_down_who_froze"),
        (nobody_is_revoked, "a_revoked_grant_pays_nothing_and_its_spending_stays"),
        (forgets_spending, "a_revoked_grant_pays_nothing_and_its_spending_stays"),
        (gives_again_what_was_revoked, "a_file_never_gives_again_what_was_revoked"),
        (files_have_the_last_word, "a_later_word_of_the_owner_holds_in_place_of_the_file"),
        (files_end_nothing, "a_file_changes_and_ends_what_it_granted"),
        (files_grant_anything, "a_file_that_grants_too_much_changes_nothing"),
        (applies_piece_by_piece, "a_policy_is_applied_wholly_or_not_at_all"),
        (revokes_nobody_silently, "somebody_without_a_grant_has_none_to_lose"),
        (takes_names_with_blanks, "a_name_has_no_blank_at_either_end"),
        (says_any_grant, "a_name_has_no_blank_at_either_end"),
        (says_any_grant, "a_grant_that_has_ended_is_not_given"),
        (every_name_is_an_analysts, "a_grant_names_what_it_is_for_readably"),
        (issues_to_anybody, "a_token_is_given_first_or_instead_of_another"),
        (no_caps, "a_grant_caps_the_price_of_one_question"),
        (anybody_spends_from_any_grant, "a_token_names_the_grant_that_pays"),
        (every_token_names_any_grant, "a_token_names_a_grant_where_an_analyst_pays_from_another"),
        (renews_grants_only, "a_renewal_starts_every_account_again"),
        (closes_nothing, "a_closed_promise_takes_its_grants_with_it"),
        (makes_a_closed_promise_again, "a_closed_promise_is_made_again_on_purpose_only"),
        (forgets_to_add_up, "promises_are_told_with_their_periods"),
        (renews_what_is_for_ever, "a_promise_for_ever_is_not_renewed"),
        (takes_any_window, "another_promise_is_refused"),
        (takes_any_window, "the_window_of_a_promise_does_not_change"),
        (every_token_holds, "a_new_token_replaces_the_old_one"),
        (every_token_holds, "a_withdrawn_token_is_nobodys"),
        (pays_for_each, "a_batch_is_paid_for_question_by_question_and_all_or_none"),
        (pays_for_any_number, "a_batch_is_no_larger_than_what_may_wait_for_an_answer"),
        (never_continues_a_batch, "a_batch_is_continued_question_by_question"),
        (own_salt, "a_finer_release_has_the_salt_of_the_first"),
        (upon_anything, "only_a_complete_release_of_the_same_question_is_made_finer"),
    ],
)
def test_a_planted_bug_is_caught(plant, law, monkeypatch, tmp_path):
    kit = Kit()
    getattr(kit, f"test_{law}")(tmp_path)
    plant(monkeypatch)
    with pytest.raises((AssertionError, DpsqlError)):  # the law is not kept, or an error came where it wants none
        getattr(kit, f"test_{law}")(tmp_path)
