"""The kit must be able to fail: each planted bug is caught by the law that names it."""

import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import pytest

from dpsql.accounting.account import Account
from dpsql.accounting.triple import Triple
from dpsql.codec import Codec
from dpsql.errors import DpsqlError
from dpsql.ledger import book, encoding, grants, laws, memory, owners, promises, sayings, snapshot
from dpsql.ledger.book import Ledger
from dpsql.ledger.facts import NAMES, Granted, Revoked, Stored
from dpsql.ledger.ledger import NO_CONDITIONS, Charge, GrantedBy, Ownership
from dpsql.ledger.memory import MemoryLedger, MemoryPage
from dpsql.ledger.page import SOURCE
from dpsql.ledger.snapshot import Payment
from tests.kits.ledger_kit import LedgerKit, _Disguised
from tests.kits.rows import read_rows

QUESTION = ("plan", "policy", "data_version")
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


def sets(holder, name, value):
    return lambda monkeypatch: monkeypatch.setattr(holder, name, value)


def wraps(holder, name, around):
    """`around` makes the wrong one of the right one."""
    return lambda monkeypatch: monkeypatch.setattr(holder, name, around(getattr(holder, name)))


def bind_again(monkeypatch):
    """The methods of a ledger are bound to the laws: where another one was planted, it is bound in its place."""
    for name, method in list(vars(Ledger).items()):
        law = getattr(method, "__wrapped__", None)
        planted = law and getattr(sys.modules[law.__module__], law.__name__, law)
        if planted is not law:
            monkeypatch.setattr(Ledger, name, book._law(planted, writes=True))


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


four_attempts = sets(snapshot, "ATTEMPTS", 4)
two_attempts = sets(snapshot, "ATTEMPTS", 2)


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


forks_with_its_budget = sets(Ledger, "_require_own_process", lambda self: None)


def forgets_spending(monkeypatch):
    right = grants.grant

    def grant(page, analyst, *, epsilon, conditions, by):
        right(page, analyst, epsilon=epsilon, conditions=conditions, by=by)
        page.keep_account(analyst, page.account(SOURCE).grant(epsilon=epsilon))

    monkeypatch.setattr(grants, "grant", grant)


replaces_promise = sets(promises, "promise", lambda page, account, *, per, anew: page.keep_account(SOURCE, account))
owned_by_whoever_comes_last = sets(owners, "own", lambda page, said: page.append(said))
forgets_owners = sets(owners, "_owners_said", lambda page: [])
keeps_the_first_owners_only = wraps(owners, "_owners_said", lambda found: lambda page: found(page)[:1])
forgets_what_is_latest = sets(MemoryPage, "latest", lambda self, what: None)
keeps_what_was_first = wraps(
    MemoryPage,
    "keep_latest",
    lambda keep: lambda self, what, entry: None if self.latest(what) else keep(self, what, entry),
)
corrects_what_was_public = sets(owners, "PUBLIC_WAY", "unheard of")
forgets_with_a_renewal = sets(owners, "is_renewed", lambda page: False)
charges_older_plans = sets(owners, "require_owned", lambda page, said: None)
remembers_owners_of_closed_promises = sets(
    owners, "_owners_said", lambda page: [fact for _, fact in page.facts_of(Ownership)]
)


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


stores_anything = sets(laws, "_require_a_table", lambda released: None)
tells_unfinished = sets(Payment, "complete", property(lambda self: bool(self.stored)))
never_complete = sets(Payment, "complete", property(lambda self: False))
one_salt = sets(MemoryPage, "salt", lambda self, number: 7)
negative_salt = sets(MemoryPage, "salt", lambda self, number: -number)
new_salt_each_time = sets(MemoryPage, "salt", lambda self, number: time.monotonic_ns())


def payments_of_everybody(monkeypatch):
    def everybody(self, analyst, *, last=None):
        return self._payments([number for number, _ in self.facts_of(Charge)])

    monkeypatch.setattr(MemoryPage, "payments_by", everybody)


first_payments = wraps(
    MemoryPage, "payments_by", lambda found: lambda self, analyst, *, last=None: found(self, analyst, last=None)[:last]
)
newest_first = wraps(MemoryPage, "payments_of", lambda found: lambda self, question: found(self, question)[::-1])


def subclasses_priced_as_parents(monkeypatch):
    lenient = Codec({**NAMES, "disguised": _Disguised}, unreadable=encoding.unreadable)
    monkeypatch.setattr(encoding, "CODEC", lenient)


def anybody(monkeypatch):
    monkeypatch.setattr(laws, "account", lambda page, analyst: page.account(SOURCE))
    monkeypatch.setattr(promises, "account", lambda page, analyst: page.account(SOURCE))
    granted = Granted(analyst="", epsilon=Fraction(1), conditions=NO_CONDITIONS, by=GrantedBy.CALL)
    monkeypatch.setattr(grants, "_granted", lambda page, holder: granted)


free_of_charge = sets(Triple, "is_free", False)


def any_name(monkeypatch):
    for room in (laws, grants, promises):
        monkeypatch.setattr(room, "require_name", lambda name: name)


drops_stored_steps = sets(laws, "released_steps", lambda page, payment: ())
keeps_anything = sets(memory, "fact_to_entry", lambda fact: ("", b""))
stays_open = sets(MemoryLedger, "close", lambda self: None)
nobody_freezes = sets(grants, "require_not_frozen", lambda page: None)
lays_every_freeze_to_the_owner = wraps(grants, "freeze", lambda right: lambda page, reason, *, by: right(page, reason))


def nobody_is_revoked(monkeypatch):
    def granted(page, holder):
        return [fact for _, fact in page.facts_of(Granted) if fact.analyst == holder][-1]

    monkeypatch.setattr(grants, "_granted", granted)


gives_again_what_was_revoked = wraps(
    grants, "is_beside_the_file", lambda right: lambda word: not isinstance(word, Revoked) and right(word)
)
files_have_the_last_word = sets(grants, "is_beside_the_file", lambda word: isinstance(word, Revoked))
files_end_nothing = sets(grants, "said", lambda page: {})


def files_grant_anything(monkeypatch):
    def adopt(self, written):
        for each in written:
            self.grant(each.analyst, epsilon=each.epsilon, conditions=each.conditions)

    monkeypatch.setattr(Ledger, "adopt_grants", adopt)


def applies_piece_by_piece(monkeypatch):
    def apply(self, promise, *, per, anew, ownership, declarations, granted, version):
        self.data_version(version)
        made = {name: getattr(promise, name) for name in ("epsilon", "delta", "delta_prime")}
        if not self.promise(**made, per=per, anew=anew):
            return False
        self.declare(ownership, declarations)
        self.adopt_grants(granted)
        return True

    monkeypatch.setattr(Ledger, "apply", apply)


says_any_grant = sets(
    grants,
    "say",
    lambda page, holder, *, epsilon, conditions=NO_CONDITIONS, by=GrantedBy.CALL: grants.grant(
        page, holder, epsilon=epsilon, conditions=conditions, by=by
    ),
)
revokes_nobody_silently = sets(grants, "revoke", lambda page, holder: None)


def takes_names_with_blanks(monkeypatch):
    for room in (grants, book):
        monkeypatch.setattr(room, "require_new_name", grants.require_name)


every_name_is_an_analysts = sets(grants, "readable", lambda text, what, why: grants.require_name(text))
issues_to_anybody = wraps(
    sayings, "issue", lambda right: lambda page, user, digest, *, instead=None: right(page, user, digest)
)
no_caps = sets(laws, "require_below_cap", lambda page, asked: None)
anybody_spends_from_any_grant = sets(grants, "_pays_for", lambda page, grant, analyst: True)
every_token_names_any_grant = sets(sayings, "_require_paying", lambda user, grant: None)
renews_grants_only = wraps(
    MemoryPage,
    "accounts",
    lambda accounts: lambda self: {name: kept for name, kept in accounts(self).items() if name != SOURCE},
)
closes_nothing = sets(MemoryPage, "remove_accounts", lambda self: None)
makes_a_closed_promise_again = wraps(
    promises, "promise", lambda right: lambda page, account, *, per, anew: right(page, account, per=per)
)
forgets_to_add_up = wraps(
    promises, "promises", lambda right: lambda page: tuple(replace(made, begun=(1,)) for made in right(page))
)
renews_what_is_for_ever = sets(promises, "renew", promises.begin_period)


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


pays_for_each = sets(
    book.Ledger, "charge_together", lambda self, charges, *, under=(): tuple(map(self.charge, charges))
)
pays_for_any_number = sets(laws, "_may_run", lambda payment: True)
never_continues_a_batch = sets(MemoryPage, "payments_for", lambda self, same: ())
own_salt = sets(laws, "_salt", lambda page, number, paid: page.salt(number))
upon_anything = sets(laws, "_require_upon", lambda page, asked: None)


PLANTED = [
    *((globals()[plant], law.replace(" ", "_")) for plant, law in read_rows(__file__, "planted")),
    (keeps_only("ana"), "the_grant_and_the_promise_must_both_admit"),
    (keeps_only(SOURCE), "ten_tenths_are_one"),
    *((same_without(part), "only_the_same_charge_is_continued") for part in SAME_CHARGE),
    *(
        (question_without(part), "a_question_is_recalled_by_all_its_parts")
        for part in ("plan", "policy", "data_version")
    ),
]


@pytest.mark.parametrize(("plant", "law"), PLANTED)
def test_a_planted_bug_is_caught(plant, law, monkeypatch, tmp_path):
    kit = Kit()
    getattr(kit, f"test_{law}")(tmp_path)
    plant(monkeypatch)
    bind_again(monkeypatch)
    with pytest.raises(
        (AssertionError, pytest.fail.Exception, DpsqlError)
    ):  # the law is not kept, or an error came where it wants none
        getattr(kit, f"test_{law}")(tmp_path)
