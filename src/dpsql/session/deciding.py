"""What the owner decides about everybody, whether the data are at hand or the ledger alone."""

from __future__ import annotations

from abc import abstractmethod

from dpsql.closing import Closing
from dpsql.ledger.book import Ledger
from dpsql.session.promising import closed_in_words, promised_in_words


class Deciding(Closing):
    """Whoever holds the ledger of the promise."""

    _ledger: Ledger

    @property
    @abstractmethod
    def _person(self) -> str:
        """Whom the promise protects, in a word."""

    def renew(self) -> str:
        """Begin a new period of the promise: every budget starts again from nothing. Returns what people are promised
        from here on, in words: what was told before is not forgotten by anybody."""
        self._ledger.renew()
        return promised_in_words(self._ledger.promises(), self._person)

    def close_promise(self, reason: str) -> str:
        """End the promise and every grant under it. What was promised stays promised: another promise, about people as
        they are declared then, adds to it. A policy file that is opened again does not make it. Returns the promises so
        far in words."""
        self._ledger.close_promise(reason)
        return closed_in_words(self._ledger.promises(), reason)

    def revoke(self, name: str) -> None:
        """End the grant and the tokens that name it. What was spent stays spent."""
        self._ledger.revoke(name)

    def freeze(self, reason: str, *, by: str | None = None) -> None:
        """Nothing is answered from here on, stored answers neither; the reason is told to whoever asks. `by` is written
        down: who says so, where it is not simply the owner."""
        self._ledger.freeze(reason, by=by)

    def unfreeze(self, reason: str, *, by: str | None = None) -> None:
        """Questions are answered again."""
        self._ledger.unfreeze(reason, by=by)
