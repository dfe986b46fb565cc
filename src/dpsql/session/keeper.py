"""The ledger without the data: for owners who decide about it, and for auditors who have nothing else."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dpsql.accounting.account import remaining
from dpsql.catalog.model import Policy
from dpsql.errors import BadParameter, NotPermitted
from dpsql.ledger.backup import back_up
from dpsql.ledger.book import Ledger
from dpsql.ledger.facts import Entry
from dpsql.ledger.grants import is_beside_the_file
from dpsql.ledger.ledger import Role, User
from dpsql.ledger.stored import StoredLedger
from dpsql.require import Number
from dpsql.safe_text import printable
from dpsql.session.deciding import Deciding, promised_in_words
from dpsql.session.digits import shown_amount, shown_down, shown_up
from dpsql.session.entry_rows import EntryRow, as_csv, as_json_lines, entry_rows, moment_of
from dpsql.session.granting import keep_grant, require_a_persons_name, said_grant
from dpsql.session.policy_changes import policy_history
from dpsql.session.refusing import refusals_written
from dpsql.written import in_utc

if TYPE_CHECKING:
    from dpsql.session.auditing import Audit
    from dpsql.session.plotting import Picture

_FORMATS: Final[Mapping[str, Callable[[Iterable[EntryRow]], Iterator[str]]]] = {"jsonl": as_json_lines, "csv": as_csv}


class Keeper(Deciding):
    """A ledger and what may be done with it. Nothing here reads data, and nothing tells a released value."""

    def __init__(self, ledger: Ledger, *, policy: Policy | None, place: Path | None) -> None:
        """Use `dpsql.open_ledger`, or `owner.keeper`."""
        self._ledger, self._policy, self._place = ledger, policy, place

    @property
    def id(self) -> str:
        return self._ledger.id

    @property
    def _person(self) -> str:
        return "person" if self._policy is None else self._policy.person.name

    # Looking

    def verify(self) -> int:
        """The number of entries of a ledger that is what was written; LedgerBroken otherwise."""
        self._ledger.verify()
        return self._ledger.head().number

    def audit(self, *, since: datetime | None = None, texts: bool = False) -> Audit:
        """What was promised and kept, with every price derived again; question texts only where they are asked for."""
        from dpsql.session.auditing import audit  # a question needs none of it

        return audit(self._ledger, since=_utc(since), texts=texts, person=self._person)

    def rows(self, *, since: datetime | None = None, texts: bool = False) -> tuple[EntryRow, ...]:
        """The entries in plain words, from a ledger that verifies."""
        return tuple(entry_rows(_later(self._ledger.entries(), since), texts=texts))

    def export(self, form: str, *, since: datetime | None = None, texts: bool = False) -> Iterator[str]:
        """The entries as lines: "jsonl" or "csv"."""
        if form not in _FORMATS:
            raise BadParameter(
                f"{form!r} is no form of an export", why="two are known", fix=f"use {' or '.join(_FORMATS)}"
            )
        return _FORMATS[form](self.rows(since=since, texts=texts))

    def budget_lines(self) -> Iterator[str]:
        """What the promise and each grant have left, a line each; of a grant that has ended, how it did."""
        source = self._ledger.account()
        yield _left("promise", source.epsilon, source.spent_epsilon, remaining([source]))
        for name in sorted(self._ledger.grants()):
            own = self._ledger.account(name)
            ended = self._ledger.grant_end(name)
            if ended is not None:
                yield f"{printable(name):<12}  {ended}, {shown_up(own.spent_epsilon)} spent"
                continue
            left, granted = remaining([source, own]), remaining([own])
            short = "" if left == granted else f"; the promise has no more, the grant has {shown_down(granted)}"
            yield _left(printable(name), own.epsilon, own.spent_epsilon, left) + short

    def rows_about(self, analyst: str, *, since: datetime | None = None) -> tuple[EntryRow, ...]:
        """What one analyst has paid for and was refused, with the texts they wrote, and the grants of this name."""
        return tuple(entry_rows(_later(self._ledger.entries_about(analyst), since), texts=True))

    def history(self, *, of: str | None = None, since: datetime | None = None) -> Iterator[EntryRow]:
        """Every payment: of all, or of one name, whether they asked or their grant paid. BadParameter where the ledger
        knows nobody of this name."""
        rows, begin = self.rows(), _utc(since)
        if of is not None and of not in {row.who for row in rows} - {""}:
            raise BadParameter(
                f"the ledger knows nobody by the name {of}",
                why="payments are found by the exact name of the analyst or the grant",
                fix="look for the name: dpsql budget show, or dpsql ledger show",
            )
        payments = (row for row in rows if row.kind == "charge" and (begin is None or row.at >= begin))
        return (row for row in payments if of in (None, row.who, row.details["grant"]))

    def burn_down(self) -> Picture:
        """What was left of the promise after each payment of anybody, in the period that runs now."""
        from dpsql.session.margin_curve import burn_down, payments_of  # only pictures need it

        return burn_down(self._ledger.account(), payments_of(self._ledger.entries()), whose="the promise")

    def policy_history(self) -> Iterator[str]:
        """When what was declared, promised or granted, a line each, the oldest first."""
        return policy_history(self._ledger.entries())

    # Deciding

    @property
    def frozen(self) -> str | None:
        """Why nothing is answered; None: questions are answered."""
        return self._ledger.frozen()

    def grant(
        self,
        to: str,
        *,
        budget: Number,
        max_per_query: Number | None = None,
        tables: str | Iterable[str] | None = None,
        expires: date | str | None = None,
        sees_releases: bool | None = None,
    ) -> None:
        """A spending limit under the promise, of somebody whom the policy file does not name. Tables are those of the
        policy. After `revoke`, it lets them ask again, and holds in place of what the
        file says of them; where it says the same as the file, the file counts again."""
        policy = self._under_a_policy()
        words = {
            "to": to,
            "budget": budget,
            "max_per_query": max_per_query,
            "tables": tables,
            "expires": expires,
            "sees_releases": sees_releases,
        }
        grant = said_grant(words, policy, self._ledger)
        word = self._ledger.grants().get(grant.to)
        beside = word is not None and is_beside_the_file(word)
        if not beside and any(each.to == grant.to for each in policy.grants):
            raise NotPermitted(
                f"the policy file has the grant of {grant.to}",
                why="said here as well, it would be the other one again when the file is opened the next time",
                fix=f"change it there, or take it back first: dpsql revoke {grant.to}",
            )
        keep_grant(self._ledger, grant, policy)

    def left_of_grant(self, name: str) -> Fraction:
        """What a grant has left of itself, whatever the promise has: 0 where more was spent than is granted now."""
        return remaining([self._ledger.account(name)])

    def _under_a_policy(self) -> Policy:
        if self._policy is None:
            raise NotPermitted(
                "a grant needs the policy it is under",
                why="which tables there are to be granted stands in it",
                fix="name the policy file: --policy dpsql.toml",
            )
        return self._policy

    def promised(self) -> str:
        """What people are promised, with all that was promised before, in words; NotPermitted where no promise
        holds."""
        self._ledger.account()
        return promised_in_words(self._ledger.promises(), self._person)

    # Who may connect

    def admit(self, name: str, *, role: str, grant: str | None = None) -> str:
        """A token for somebody who has none: shown once, kept as a hash. `grant`: which one pays for what they ask,
        where it is not that of their own name."""
        return self._issued(User(name=name, role=_role(role)), grant, instead=False)

    def new_token(self, name: str, *, grant: str | None = None) -> str:
        """Another token for somebody, for the same grant unless another one is named; the one before it counts no
        longer."""
        for user in self._ledger.users():
            if user.name == name:
                return self._issued(user, grant, instead=True)
        raise NotPermitted(
            f"{name} has no token", why="there is no role to go on with", fix=f"dpsql user add {name} --role analyst"
        )

    def _issued(self, user: User, grant: str | None, *, instead: bool) -> str:
        if grant is not None:
            user = replace(user, grant=None if grant == user.name else grant)
        for name in (user.name, user.grant):
            require_a_persons_name(name)
        token = new_token()
        self._ledger.issue(user, token_digest(token), instead=instead)
        return token

    def dismiss(self, name: str) -> None:
        """Nobody connects by this name any more."""
        if all(user.name != name for user in self._ledger.users()):
            raise NotPermitted(f"{name} has no token", why="there is nothing to take back", fix="see dpsql user list")
        self._ledger.withdraw(name)

    def users(self) -> tuple[User, ...]:
        """Everybody who has a token, by name."""
        return self._ledger.users()

    def user_of(self, token: str) -> User | None:
        """Whose token it is; None: nobody's, or nobody's any more."""
        return self._ledger.holder_of(token_digest(token))

    def refusals_written(self, name: str, sql: str) -> AbstractContextManager[None]:
        """What is refused in this block to somebody who asks, before they are anybody's analyst, is written down."""
        return refusals_written(self._ledger, analyst=name, sql=sql)

    # Files

    def write_off(self) -> int | None:
        """Count as spent what this machine has seen charged and the ledger has lost, after a backup was restored. Where
        something was lost, the ledger is frozen and every token withdrawn: look at the grants, then `unfreeze`. Returns
        the number of entries there are now; None: nothing is missing, and nothing was written."""
        ledger = self._ledger
        if not isinstance(ledger, StoredLedger):
            raise NotPermitted(
                "nothing is lost from a ledger in memory",
                why="it has no backups, and no anchor knows it",
                fix="write off what a stored ledger has lost",
            )
        return ledger.head().number if ledger.write_off() else None

    def backup(self, copy: Path, *, with_key: bool) -> None:
        """A copy of the ledger as it is now; the key only where it is asked for."""
        if self._place is None:
            raise NotPermitted(
                "this ledger is not open as a file",
                why="a copy is made of the file a ledger is kept in",
                fix="name its policy or its file: dpsql.open_ledger(…).backup(…); of one in PostgreSQL, back up the "
                "database",
            )
        back_up(self._place, copy, with_key=with_key)

    def close(self) -> None:
        self._ledger.close()


def _later(entries: tuple[Entry, ...], since: datetime | None) -> tuple[Entry, ...]:
    begin = _utc(since)
    if begin is None:
        return entries
    return tuple(entry for entry in entries if moment_of(entry) >= begin)


def _utc(since: datetime | None) -> datetime | None:
    return None if since is None else in_utc("since", since)


def _role(word: str) -> Role:
    for role in Role:
        if role.value == word:
            return role
    raise BadParameter(
        f"{word!r} is no role",
        why="a role says what somebody may do",
        fix=f"use one of {', '.join(role.value for role in Role)}",
    )


def _left(name: str, total: Fraction, spent: Fraction, left: Fraction) -> str:
    return f"{name:<12}  {shown_down(left)} of {shown_amount(total)} left, {shown_up(spent)} spent"


_BYTES: Final = 32
_MARK: Final = "dpsql_"
"""So that people, and programs that look for lost secrets, know one when they see it."""


def new_token() -> str:
    """256 random bits, shown once. Only a hash of them is kept, so that a copy of the ledger lets nobody in."""
    return _MARK + secrets.token_urlsafe(_BYTES)


def token_digest(token: str) -> bytes:
    """What the ledger keeps of a token. It is looked up by this hash, so no secret is ever compared with another: how
    long a look-up takes tells of the hash, from which the token cannot be found."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
