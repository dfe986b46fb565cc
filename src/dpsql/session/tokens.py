"""Tokens: 256 random bits that say who asks. Only a hash is kept, so a copy of the ledger lets nobody in."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

_BYTES: Final = 32
_MARK: Final = "dpsql_"
"""So that people, and programs that look for lost secrets, know one when they see it."""


def new_token() -> str:
    """A token nobody can guess: shown once."""
    return _MARK + secrets.token_urlsafe(_BYTES)


def token_digest(token: str) -> bytes:
    """What the ledger keeps of a token. It is looked up by this hash, so no secret is ever compared with another: how
    long a look-up takes tells of the hash, from which the token cannot be found."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
