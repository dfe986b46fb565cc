"""The word PRIVATE before a query in parentheses: a question of its own, asked before the one around it.

No parser of SQL knows the word there, so it is taken out of what the parser sees and looked up at its place in the
text. Everywhere else `private` is a name like any other.
"""

from __future__ import annotations

from dpsql.sql.parsing.tokens import Tokens
from dpsql.sql.syntax import At

_QUERIES = ("SELECT", "WITH")


def private_words(tokens: Tokens) -> frozenset[int]:
    """The numbers of the tokens that say PRIVATE of a query."""
    said = (number for number, token in enumerate(tokens.tokens) if token.text.upper() == "PRIVATE")
    return frozenset(number for number in said if _is_private(tokens, number))


def private_at(tokens: Tokens, at: At) -> At:
    """From the word PRIVATE to the end of the parentheses, for the place of a query in them; None without the word."""
    if at is None:
        return None
    number = tokens.number(at[0])
    opening = number if _word(tokens, number) == "(" else tokens.around[number]
    while opening > 0 and _word(tokens, opening - 1) == "(":
        opening -= 1
    if opening < 1 or not _is_private(tokens, opening - 1):
        return None
    return tokens.at(opening - 1, tokens.closing[opening])


def _is_private(tokens: Tokens, number: int) -> bool:
    """Whether it is the word, and a query in parentheses comes next."""
    if _word(tokens, number) != "PRIVATE":
        return False
    ahead = number + 1
    while _word(tokens, ahead) == "(":
        ahead += 1
    return ahead > number + 1 and _word(tokens, ahead) in _QUERIES


def _word(tokens: Tokens, number: int) -> str:
    """A word or a sign; nothing for text and names in quotes."""
    if number >= len(tokens.tokens):
        return ""
    token = tokens.tokens[number]
    return "" if tokens.text[token.start] in "'\"" else token.text.upper()
