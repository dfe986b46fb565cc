"""Text to tokens: words, names in quotes, numbers, texts and signs, each with its place. Unknown signs are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dpsql.errors import NotSupported
from dpsql.sql.parsing.refusals import SIGNS, STRINGS, Lesson, misread, unsupported
from dpsql.sql.parsing.text import Prepared
from dpsql.sql.syntax import At

MAX_TOKENS: Final = 25_000
"""In all. A list of ten thousand values is fine."""
MAX_WORDS: Final = 2_000
"""Tokens other than constants and commas: what every later stage has to walk through."""
MAX_NESTING: Final = 30
"""Parentheses inside parentheses."""

STRING, NUMBER, QUOTED, END = "'", "0", '"', ""
"""The symbols of a text, a number, a name in quotes, and the end. The symbol of a word is the word in capitals, that of
a sign the sign itself."""

_NAME = "[^\x00-@\\[-^`{-\x7f\\s\u200b-\u200d\u2060\ufeff][^\x00-#%-/:-@\\[-^`{-\x7f\\s\u200b-\u200d\u2060\ufeff]*+"
_TOKEN: Final = re.compile(
    rf"(?P<word>{_NAME})"
    r"|(?P<number>\.?[0-9][\w.]*+(?:(?<=[0-9.][eE])[+-][0-9]++)?)"
    r"|(?P<string>'[^']*+(?:''[^']*+)*+')"
    r'|(?P<quoted>"[^"]*+(?:""[^"]*+)*+")'
    r"|(?P<sign>\|\||::|\*\*|//|<=>|<>|!=|==|<=|>=|\^@|=>|->>|->|:=|<<|>>|&&|\|>|~~\*|~~~|~~|~\*|\?\?|\S)"
    r"|(?P<blank>[ \t\r\n\f\v\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]++)"
    r"|(?P<other>\s)",
)
_SYMBOLS: Final = {"number": NUMBER, "string": STRING, "quoted": QUOTED}
_CONSTANTS: Final = frozenset({NUMBER, STRING, ","})
_TAGGED: Final = re.compile(r"\$(?:[^\W\d]\w*)?\$")
_SIGNS_READ: Final = frozenset(
    {
        "(", ")", ",", ".", "+", "-", "*", "/", "//", "%", "^", "**", "=", "==", "<>", "!=", "<", "<=", ">", ">=",
        "||", "::", "^@", "=>",
    }
)  # fmt: skip
_TYPED: Final = frozenset({"DATE", "TIMESTAMP", "INTERVAL"})
"""Words that a text may touch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexed:
    """The tokens of one statement. The last one is the end."""

    text: str
    symbols: list[str]
    starts: list[int]
    ends: list[int]
    closing: dict[int, int]
    """Number of an opening parenthesis → number of the closing one."""

    def at(self, first: int, last: int) -> tuple[int, int]:
        """The place of the tokens from `first` to `last`; that of the last token stands for the end."""
        most = len(self.symbols) - 2
        return self.starts[min(first, most)], self.ends[min(last, most)]

    def written(self, number: int) -> str:
        return self.text[self.starts[number] : self.ends[number]]


def lexed(prepared: Prepared) -> Lexed:
    """The tokens of a statement."""
    text, plain = prepared.text, prepared.plain
    symbols: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for found in _TOKEN.finditer(plain):
        kind = found.lastgroup
        if kind == "blank":
            continue
        start, end = found.span()
        if kind == "word":
            symbol = found.group().upper()
        elif kind == "sign" or kind == "other":
            symbol = found.group()
            if symbol not in _SIGNS_READ:
                raise _unknown_sign(plain, symbol, start)
        else:
            symbol = _SYMBOLS[kind or ""]
        if ends and ends[-1] == start:
            _require_apart(symbols[-1], symbol, (starts[-1], end))
        if symbol == STRING and symbols and symbols[-1] == STRING:
            raise unsupported(STRINGS, at=(starts[-1], end))
        symbols.append(symbol)
        starts.append(start)
        ends.append(end)
    _require_size(symbols, (starts[0], ends[0]))
    symbols.append(END)
    starts.append(len(plain))
    ends.append(len(plain))
    closing = _closing(text, symbols, starts, ends)
    return Lexed(text=text, symbols=symbols, starts=starts, ends=ends, closing=closing)


def _unknown_sign(plain: str, sign: str, start: int) -> NotSupported:
    tagged = _TAGGED.match(plain, start)
    if tagged is not None:
        end = plain.find(tagged.group(), tagged.end()) + len(tagged.group())
        return unsupported(STRINGS, at=(start, max(end, tagged.end())))
    return unsupported(SIGNS.get(sign, Lesson(f"The sign {sign}")), at=(start, start + len(sign)))


def _require_apart(before: str, symbol: str, at: At) -> None:
    """No word glued to a text: engines read these differently."""
    if symbol == STRING and (before[:1].isalpha() or before[:1] == "_") and before not in _TYPED:
        raise unsupported(STRINGS, at=at)


def _require_size(symbols: list[str], at: At) -> None:
    words = sum(symbol not in _CONSTANTS for symbol in symbols)
    for count, most, what in ((len(symbols), MAX_TOKENS, "words"), (words, MAX_WORDS, "words besides constants")):
        if count > most:
            raise NotSupported(
                f"The statement has {count} {what}; {most} are read",
                why="a longer question would keep the service from answering others",
                fix="ask a shorter question; a long list of values belongs in a table",
                at=at,
            )


def _closing(text: str, symbols: list[str], starts: list[int], ends: list[int]) -> dict[int, int]:
    """The parentheses, matched."""
    found: dict[int, int] = {}
    open_: list[int] = []
    for number, symbol in enumerate(symbols):
        if symbol == "(":
            open_.append(number)
            if len(open_) > MAX_NESTING:
                raise too_deep((starts[number], ends[number]))
        elif symbol == ")":
            if not open_:
                at = (starts[number], ends[number])
                raise misread(text, at, what="A parenthesis is closed that was never opened")
            found[open_.pop()] = number
    if open_:
        raise misread(text, (starts[open_[-1]], ends[open_[-1]]), what="( is never closed")
    return found


def too_deep(at: At) -> NotSupported:
    """A statement that nests further than it is read."""
    return NotSupported(
        f"The question is nested more than {MAX_NESTING} deep",
        why="a deeper text would keep the service from answering others",
        fix="name the inner parts in a WITH clause",
        at=at,
    )
