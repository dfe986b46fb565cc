"""The tokens as the parser is given them: every call is one of the same unknown function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlglot import Dialect
from sqlglot.tokenizer_core import Token, TokenType

_SYNTAX_WORDS: Final = frozenset({"CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "GROUP", "MATERIALIZED"})
"""Words before a parenthesis that the parser must see as they are: they have arguments of their own form."""
_CALLABLE: Final = frozenset(
    {
        TokenType.VAR,
        TokenType.FIRST,
        TokenType.FORMAT,
        TokenType.INDEX,
        TokenType.INSERT,
        TokenType.LEFT,
        TokenType.REPLACE,
        TokenType.RIGHT,
        TokenType.ROW,
        TokenType.TRUNCATE,
    }
)
"""Together with the names of types: what may stand before a parenthesis as the name of a function."""
_STAR_WORDS: Final = frozenset({"EXCEPT", "EXCLUDE", "RENAME", "REPLACE"})
_BEFORE_STAR: Final = frozenset({TokenType.SELECT, TokenType.DISTINCT, TokenType.ALL, TokenType.COMMA, TokenType.DOT})
"""What stands before * where it means all columns: a * REPLACE(b, 'x', 'y') is a product."""


def nameless(tokens: Sequence[Token], *, dialect: str) -> list[Token]:
    """The tokens with one name for all functions; types after AS and :: stay."""
    types = Dialect.get_or_raise(dialect).parser_class.TYPE_TOKENS - {TokenType.INTERVAL, TokenType.UNION}
    changed = []
    for number, token in enumerate(tokens):
        before = tokens[number - 1].token_type if number else None
        all_columns = before is TokenType.STAR and number > 1 and tokens[number - 2].token_type in _BEFORE_STAR
        if (
            number + 1 < len(tokens)
            and tokens[number + 1].token_type is TokenType.L_PAREN
            and (token.token_type in _CALLABLE or token.token_type in types)
            and token.text.upper() not in _SYNTAX_WORDS
            and before not in (TokenType.DCOLON, TokenType.ALIAS)
            and not (all_columns and token.text.upper() in _STAR_WORDS)
        ):
            changed.append(Token(TokenType.VAR, "f", token.line, token.col, token.start, token.end))
        else:
            changed.append(token)
    return changed
