"""What else is written down: the version of the data and of the policy, refusals, and who has a token."""

from __future__ import annotations

from typing import Final

from dpsql.errors import BadParameter, NotPermitted
from dpsql.ledger.facts import Adopted, Issued, Refused, Versioned, Withdrawn
from dpsql.ledger.ledger import FIRST_VERSION, Role, User
from dpsql.ledger.page import Page, about_user, latest_fact, readable, require_name

DIGEST_BYTES: Final = 32
LONGEST_REFUSED: Final = 4000
"""Of a refused text so many characters are kept: whoever is refused pays nothing, and must not fill the disk."""


def data_version(page: Page) -> str:
    """The label of the data, as it was left."""
    said = latest_fact(page, "version", Versioned)
    return FIRST_VERSION if said is None else said.label


def say_version(page: Page, label: str) -> str:
    """Move the label of the data to one that was never used: by it answers of other data would be told as those of
    these. The present one again is nothing."""
    present = data_version(page)
    if label == present:
        return label
    if label in (FIRST_VERSION, *(said.label for _, said in page.facts_of(Versioned))):
        raise NotPermitted(
            f"data version {label} was before; the data are now of version {present}",
            why="answers that are stored under that label would be told as answers about the data of today",
            fix="choose a label that was never used, also where data of before are back: what is asked is paid again",
        )
    readable(label, "a data version", "stored answers are told again by this label")
    page.keep_latest("version", page.append(Versioned(label=label)))
    return label


def adopt(page: Page, digest: str, text: str) -> None:
    """The declarations that hold from here on; the same digest again is nothing."""
    readable(digest, "the digest of a policy", "what holds is told by it")
    known = latest_fact(page, "policy", Adopted)
    if known is None or known.digest != digest:
        page.keep_latest("policy", page.append(Adopted(digest=digest, text=text)))


def adopted(page: Page) -> str | None:
    """The text of the declarations that hold; None: nothing was adopted yet."""
    known = latest_fact(page, "policy", Adopted)
    return None if known is None else known.text


def refuse(page: Page, analyst: str, *, code: str, sql: str) -> None:
    """Write down that a question was refused."""
    page.append(Refused(analyst=require_name(analyst), code=code, sql=sql[:LONGEST_REFUSED]))


def issue(page: Page, user: User, digest: bytes, *, instead: bool | None = None) -> None:
    """Somebody has a token of this digest, and no older one any more. With `instead` there must be one to replace, of
    the same role; where it is False there must be none."""
    require_name(user.name)
    if user.grant is not None:
        _require_paying(user, user.grant)
    if not isinstance(digest, bytes) or len(digest) != DIGEST_BYTES:
        raise BadParameter(
            f"the digest of a token has {DIGEST_BYTES} bytes",
            why="a token itself is never written down",
            fix="hash the token first",
        )
    if page.latest(_token(digest)) is not None:
        raise BadParameter(
            "this token was issued before", why="a token is one person's, once", fix="make a new random one"
        )
    held = latest_fact(page, about_user(user.name), Issued)
    if instead is False and held is not None:
        raise NotPermitted(
            f"{user.name} has a token already",
            why="a second one would end the first without a word",
            fix=f"make a new one on purpose: dpsql user token {user.name}",
        )
    if instead and (held is None or held.user.role is not user.role):
        raise NotPermitted(
            f"{user.name} has no token",
            why="there is no role to go on with",
            fix=f"dpsql user add {user.name} --role {user.role.value}",
        )
    number = page.append(Issued(user=user, digest=digest))
    page.keep_latest(_token(digest), number)
    page.keep_latest(about_user(user.name), number)


def _require_paying(user: User, grant: str) -> None:
    """A grant is named where it says something: for an analyst, and another one than that of their own name."""
    if user.role is not Role.ANALYST or require_name(grant) == user.name:
        raise BadParameter(
            f"a token of {user.name}, {user.role.value}, does not name the grant {grant}",
            why="a token names a grant where an analyst pays from another one than that of their own name",
            fix="leave the grant out",
        )


def withdraw(page: Page, name: str) -> None:
    """Whoever has this name has no token any more; nothing where there is none."""
    require_name(name)
    if latest_fact(page, about_user(name), Issued) is not None:
        page.keep_latest(about_user(name), page.append(Withdrawn(name=name)))


def holder_of(page: Page, digest: bytes) -> User | None:
    """Whose token has this digest, if it is the last one they were given."""
    number = page.latest(_token(digest))
    fact = None if number is None else page.fact(number)
    if not isinstance(fact, Issued) or page.latest(about_user(fact.user.name)) != number:
        return None
    return fact.user


def users(page: Page) -> tuple[User, ...]:
    """Everybody who has a token, by name."""
    words = [page.fact(number) for number in page.latest_under(about_user("")).values()]
    return tuple(sorted((fact.user for fact in words if isinstance(fact, Issued)), key=lambda user: user.name))


def _token(digest: bytes) -> str:
    return f"token {digest.hex()}"
