"""The snapshot of a ledger: everything that is derived from its entries and needed to pay.

It holds the accounts, the entry that is in force for each subject, the payments that may still run, and how many
periods have ended. Every transaction replaces it, and the head seals it together with the last entry, so that opening a
ledger reads this and no older entry. Its size depends on how much the owner has declared, not on how much was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dpsql.accounting.account import Account
from dpsql.codec import REFUSED, Json, from_text, to_text
from dpsql.ledger.encoding import CODEC, unreadable

MOST_OPEN: Final = 1000
"""How many payments without a complete answer may still run. With one more, the oldest is closed: asked again, its
question is paid again. This bounds the snapshot, whatever happens to the questions."""
ATTEMPTS: Final = 3
"""How often one payment may run in all."""
_PIN_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """A charge and the stored steps of its answer."""

    number: int
    """Of the entry that charged it."""
    pin: str
    """The first bytes of the hash of that entry: what is continued is what was paid for, not an entry of another
    history of the ledger in its place."""
    steps: int
    attempts: int
    stored: tuple[int, ...] = ()
    """The entries that hold its steps, in order."""
    is_open: bool = True
    """Steps may still be stored."""

    @property
    def complete(self) -> bool:
        return len(self.stored) == self.steps

    @property
    def can_run(self) -> bool:
        """Whether another attempt may begin."""
        return self.is_open and not self.complete and self.attempts < ATTEMPTS


def pin_of(link: bytes) -> str:
    """Enough of the hash of an entry, which is of all before it too, to know it again."""
    return link[:_PIN_BYTES].hex()


class Snapshot:
    """The derived state, inside one transaction. Accounts are decoded when they are looked at."""

    def __init__(self) -> None:
        self.latest: dict[str, tuple[int, str]] = {}
        """The entry in force for each subject, with the first bytes of its hash: no entry of another history under the
        same key can stand in its place."""
        self.pins: dict[int, str] = {}
        """The same by the number of the entry."""
        self.open: dict[int, Payment] = {}
        """Payments without a complete answer, oldest first."""
        self.periods = 0
        """How many periods of promises have ended: by a renewal, by a close, or lost and written off."""
        self._under: dict[str, dict[str, int]] = {}
        self._accounts: dict[str, Account] = {}
        self._encoded: dict[str, Any] = {}

    def keep_latest(self, what: str, entry: int, link: bytes) -> None:
        """The entry of this hash is in force for the subject."""
        pin = pin_of(link)
        self.latest[what] = entry, pin
        self._under.clear()
        self.pins[entry] = pin

    def latest_under(self, prefix: str) -> Mapping[str, int]:
        """The entries in force for all subjects that begin so, in the order of their numbers."""
        if prefix not in self._under:
            found = [(number, what) for what, (number, _) in self.latest.items() if what.startswith(prefix)]
            self._under[prefix] = {what: number for number, what in sorted(found)}
        return self._under[prefix]

    def is_pinned(self, entry: int, link: bytes) -> bool:
        """Whether the hash is that of the entry in force, or of the open payment; True for entries of which the
        snapshot says nothing."""
        paid = self.open.get(entry)
        return {self.pins.get(entry), None if paid is None else paid.pin} <= {None, pin_of(link)}

    # Accounts

    def account(self, holder: str) -> Account | None:
        if holder not in self._accounts and holder in self._encoded:
            self._accounts[holder] = CODEC.from_json(self._encoded[holder], Account)
        return self._accounts.get(holder)

    def accounts(self) -> dict[str, Account]:
        found = {holder: self.account(holder) for holder in {**self._encoded, **self._accounts}}
        return {holder: account for holder, account in found.items() if account is not None}

    def keep_account(self, holder: str, account: Account) -> None:
        self._accounts[holder] = account
        self._encoded.pop(holder, None)

    def remove_accounts(self) -> None:
        self._accounts.clear()
        self._encoded.clear()

    # Payments

    def keep_payment(self, payment: Payment) -> tuple[int, ...]:
        """Keep a payment while it is open; the numbers of those that are closed by this."""
        if payment.complete:
            self.open.pop(payment.number, None)
            return (payment.number,)
        self.open[payment.number] = payment
        if len(self.open) <= MOST_OPEN:
            return ()
        oldest = min(self.open)
        del self.open[oldest]
        return (oldest,)

    # As bytes

    def to_bytes(self) -> bytes:
        """Equal snapshots are equal bytes."""
        for holder, account in self._accounts.items():
            if holder not in self._encoded:
                self._encoded[holder] = CODEC.to_json(account)
        payments: dict[str, Json] = {
            str(payment.number): [payment.steps, payment.attempts, payment.pin, *payment.stored]
            for payment in self.open.values()
        }
        latest: dict[str, Json] = {what: [number, pin] for what, (number, pin) in self.latest.items()}
        whole: Json = {"accounts": self._encoded, "latest": latest, "open": payments, "periods": self.periods}
        return to_text(whole).encode("ascii")

    @classmethod
    def from_bytes(cls, content: bytes) -> Snapshot:
        """What `to_bytes` wrote; LedgerBroken for anything else."""
        found = cls()
        try:
            value = from_text(content.decode("ascii"))
            found._encoded = dict(value["accounts"])
            found.latest = {what: (number, pin) for what, (number, pin) in value["latest"].items()}
            found.pins = dict(found.latest.values())
            found.open = {
                int(number): Payment(number=int(number), pin=pin, steps=steps, attempts=attempts, stored=tuple(stored))
                for number, (steps, attempts, pin, *stored) in _by_number(value["open"])
            }
            found.periods = value["periods"]
        except REFUSED:
            raise unreadable() from None
        return found


def _by_number(payments: Mapping[str, list[Any]]) -> list[tuple[str, list[Any]]]:
    return sorted(payments.items(), key=lambda each: int(each[0]))
