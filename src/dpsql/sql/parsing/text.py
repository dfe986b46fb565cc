"""The text of a statement: its size, its comments, its semicolons and what is wanted from it; then its tokens.

Everything here keeps the length of the text, so that an offset always means the place the analyst wrote.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from dpsql.errors import DpsqlError, NotSupported, NotUnderstood
from dpsql.sql.parsing.option_values import is_hint
from dpsql.sql.parsing.refusals import SIGNS, STRINGS, Lesson, excerpt, misread, unsupported
from dpsql.sql.syntax import At, Purpose

MAX_CHARACTERS: Final = 1_000_000

_PART: Final = re.compile(
    r"""(?P<quotation>'[^']*+(?:''[^']*+)*+'|"[^"]*+(?:""[^"]*+)*+")|(?P<comment>--[^\r\n]*+)|(?P<block>/\*)"""
    r"""|(?P<tagged>(?<![\w$])\$(?:[^\W\d]\w*+)?\$)|(?P<semicolon>;)|(?P<open>['"])"""
)
"""A doubled quote stands for itself; nothing else is special between quotes."""
_BLOCK_EDGE: Final = re.compile(r"/\*|\*/")
_UNREADABLE: Final = re.compile("[\x00\ud800-\udfff]")
_NOT_A_BREAK: Final = re.compile(r"[^\r\n]")
_EXPLAIN: Final = re.compile(r"\s*EXPLAIN\b(\s+PRIVACY\b(?:\s*\(\s*FORMAT\s+(\w+)\s*\))?)?", re.IGNORECASE)
_ANALYZE: Final = re.compile(r"\s*ANALY[SZ]E\b", re.IGNORECASE)
_DIFF: Final = re.compile(r"\s*EXPLAIN\s+PRIVACY\s+DIFF\b", re.IGNORECASE)
_DRY_RUN: Final = re.compile(r"\s*DRY\s+RUN\b", re.IGNORECASE)
_SIMULATE: Final = re.compile(r"\s*SIMULATE\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One statement, ready for the tokenizer."""

    text: str
    """As it was written."""
    plain: str
    """The same length: comments, closing semicolons and the words of `purpose` are blanks."""
    purpose: Purpose
    hints: tuple[tuple[int, int], ...] = ()
    """The comments that are hints."""


class _Part(NamedTuple):
    """A stretch of the text that must not be read as SQL words."""

    kind: str
    """quotation, comment or semicolon."""
    start: int
    end: int


def prepared(text: str) -> Prepared:
    """The statement in `text`; refuses what is too long, unreadable, or not one statement."""
    _require_readable(text)
    plain = _require_one_statement(text)
    purpose, end = _purpose(plain)
    plain = _NOT_A_BREAK.sub(" ", plain[:end]) + plain[end:]
    if not plain.strip():
        raise NotUnderstood(
            "There is no statement to answer" if purpose is Purpose.ANSWER else "There is no query after these words",
            why="an empty question has no answer",
            fix="write a SELECT statement, as in SELECT COUNT(*) FROM t",
            at=(0, len(text)) if text.strip() else None,
        )
    return Prepared(text=text, plain=plain, purpose=purpose, hints=_hints(text))


def _hints(text: str) -> tuple[tuple[int, int], ...]:
    if "/*+" not in text and "--+" not in text:
        return ()
    comments = ((part.start, part.end) for part in _parts(text) if part.kind == "comment")
    return tuple(at for at in comments if is_hint(text[slice(*at)]))


def blanked(text: str) -> tuple[str, str]:
    """The text without comments, and without quotations too: both as long as it was."""
    parts = list(_parts(text))
    plain = _without(text, parts, "comment")
    return plain, _without(plain, parts, "quotation")


def statements(text: str) -> tuple[tuple[int, str], ...]:
    """The single statements of a file, each with its offset; empty ones are left out. EXPLAIN PRIVACY DIFF takes the
    statement behind its semicolon with it.

    A text that cannot be split, because it is too long or a quotation never ends, is one statement: `parse` says what
    is wrong with it.
    """
    if len(text) > MAX_CHARACTERS:
        return ((0, text),)
    try:
        parts = list(_parts(text))
    except NotUnderstood:
        return ((0, text),)
    plain = _without(text, parts, "comment")
    hinting = _without(text, [part for part in parts if not is_hint(text[slice(*part[1:])])], "comment")
    edges, waits = [0], False
    for end in (part.end for part in parts if part.kind == "semicolon"):
        waits = not waits and _DIFF.match(plain, edges[-1]) is not None
        edges += [] if waits else [end]
    found = []
    for start, end in itertools.pairwise([*edges, len(text) + 1]):
        written = hinting[start : end - 1]
        if plain[start : end - 1].strip() or "dp(" in written:  # a hint alone is refused where it is read
            offset = start + len(written) - len(written.lstrip())
            found.append((offset, text[offset : offset + len(written.strip())]))
    return tuple(found)


def purpose(text: str) -> tuple[Purpose, str]:
    """What is wanted of a statement, and the text with blanks for the words that say so: hints among them stay. Of one
    that cannot be read `parse` says what is wrong with it."""
    try:
        plain = _without(text, _parts(text), "comment")
        found, end = _purpose(plain)
    except DpsqlError:
        return Purpose.ANSWER, text
    words = (" " if letter.strip() else kept for kept, letter in zip(text[:end], plain[:end], strict=True))
    return found, "".join(words) + text[end:]


def compared(text: str) -> tuple[tuple[int, str], tuple[int, str]] | None:
    """The two questions of EXPLAIN PRIVACY DIFF q1; q2, each with its offset; None for every other text. A mistake
    in one is refused."""
    if len(text) > MAX_CHARACTERS or "diff" not in text.lower():  # at once: most texts are no comparison
        return None
    try:
        found = _DIFF.match(blanked(text)[0])
    except NotUnderstood:
        return None  # `parse` says what is wrong with it
    if found is None:
        return None
    questions = [(found.end() + offset, sql) for offset, sql in statements(text[found.end() :])]
    if len(questions) != 2:
        raise NotUnderstood(
            f"EXPLAIN PRIVACY DIFF compares two questions; {len(questions)} came",
            why="it says why one of them costs more, or is less close, than the other",
            fix="write EXPLAIN PRIVACY DIFF SELECT …; SELECT …",
            at=(0, len(text)),
        ).within(text)
    return questions[0], questions[1]


def _require_readable(text: str) -> None:
    if len(text) > MAX_CHARACTERS:
        raise NotSupported(
            f"The statement has {len(text)} characters; {MAX_CHARACTERS} are read",
            why="a longer text would keep the service from answering others",
            fix="ask a shorter question; a long list of values belongs in a table",
        )
    if found := _UNREADABLE.search(text):
        raise NotUnderstood(
            f"Character {found.start() + 1} of the text is not a character of any language",
            why="a text that two programs read differently cannot be checked",
            fix="remove the character, or save the text as UTF-8",
            at=found.span(),
        )


def _require_one_statement(text: str) -> str:
    """The text without comments and closing semicolons."""
    plain = _without(text, _parts(text), "comment")
    last = next(
        (end for end in range(len(plain), 0, -1) if plain[end - 1] not in " ;\n" and not plain[end - 1].isspace()), 0
    )
    if inner := next((part for part in _parts(plain[:last]) if part.kind == "semicolon"), None):
        raise NotUnderstood(
            "The text holds several statements",
            why="each statement is priced and charged by itself",
            fix="send them one by one",
            try_sql=plain[: inner.start].strip(),
            at=(inner.start, inner.end),
        )
    return plain[:last] + plain[last:].replace(";", " ")


def _parts(text: str) -> Iterator[_Part]:
    """Quotations, comments and semicolons, in order."""
    position = 0
    while found := _PART.search(text, position):
        kind, start, position = found.lastgroup or "", found.start(), found.end()
        if kind == "open":
            raise _never_ends("A quotation", text, start)
        if kind == "block":
            kind, position = "comment", _end_of_block(text, start)
        elif kind == "tagged":
            kind, position = "quotation", text.find(found.group(), position) + len(found.group())
            if position < start + 2 * len(found.group()):
                raise _never_ends("A quotation", text, start)
        yield _Part(kind, start, position)


def _end_of_block(text: str, start: int) -> int:
    """Comments nest."""
    depth = 0
    for edge in _BLOCK_EDGE.finditer(text, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    raise _never_ends("A comment", text, start)


def _never_ends(what: str, text: str, start: int) -> NotUnderstood:
    return NotUnderstood(
        f"{what} that starts here never ends: {excerpt(text, (start, len(text)))}",
        why="everything after it would be read as text",
        fix="close it",
        at=(start, min(len(text), start + 20)),
    )


def _without(text: str, parts: Iterable[_Part], gone_kind: str) -> str:
    """Blanks instead of the parts of this kind; line breaks stay."""
    kept, position = [], 0
    for kind, start, end in parts:
        if kind == gone_kind:
            gone = text[start:end]
            kept += [
                text[position:start],
                _NOT_A_BREAK.sub(" ", gone) if "\n" in gone or "\r" in gone else " " * len(gone),
            ]
            position = end
    return "".join([*kept, text[position:]])


def _purpose(plain: str) -> tuple[Purpose, int]:
    """What is wanted, and where the query begins."""
    if dry := _DRY_RUN.match(plain):
        return Purpose.DRY_RUN, dry.end()
    if simulated := _SIMULATE.match(plain):
        return Purpose.SIMULATE, simulated.end()
    if not (found := _EXPLAIN.match(plain)):
        return Purpose.ANSWER, 0
    asked, form = found.groups()
    word = (found.end(0) - len(found.group().lstrip()), found.end(0))
    if asked is None:
        raise NotSupported(
            "EXPLAIN alone is not answered",
            why="the engine's own plan depends on statistics of private rows",
            fix="EXPLAIN PRIVACY shows how the price and the noise are derived; it is free",
            try_sql=f"EXPLAIN PRIVACY {plain[(_ANALYZE.match(plain, found.end()) or found).end() :].strip()}",
            at=word,
        )
    if form is None:
        return Purpose.EXPLAIN, found.end()
    if form.upper() != "JSON":
        raise NotSupported(
            f"EXPLAIN PRIVACY has no format {form.upper()[:20]}",
            why="it is printed for people, or as JSON for programs",
            fix="write EXPLAIN PRIVACY, or EXPLAIN PRIVACY (FORMAT JSON)",
            at=word,
        )
    return Purpose.EXPLAIN_JSON, found.end()


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
    r"|(?P<blank>[ \t\r\n\f\v\xa0\u2000-\u200a\u202f\u205f\u3000]++)"
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
            symbol = found.group()
            if symbol.isascii():  # in capitals, ı would be I, and ſ be S
                symbol = symbol.upper()
        elif kind == "sign" or kind == "other":
            symbol = found.group()
            if symbol not in _SIGNS_READ:
                raise _unknown_sign(plain, symbol, start)
        else:
            symbol = _SYMBOLS[kind or ""]
        glued = symbols[-1] if ends and ends[-1] == start else ""
        if symbol == STRING and (glued[:1].isalpha() or glued[:1] == "_") and glued not in _TYPED:
            raise unsupported(STRINGS, at=(starts[-1], end))  # a word glued to a text: engines read these differently
        if symbol == STRING and symbols and symbols[-1] == STRING:
            raise unsupported(STRINGS, at=(starts[-1], end))
        symbols.append(symbol)
        starts.append(start)
        ends.append(end)
        if len(symbols) > MAX_TOKENS:  # at once: the rest of a megabyte would take seconds
            raise _too_long(MAX_TOKENS, "words", (starts[0], ends[0]))
    if sum(symbol not in _CONSTANTS for symbol in symbols) > MAX_WORDS:
        raise _too_long(MAX_WORDS, "words besides constants", (starts[0], ends[0]))
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


def _too_long(most: int, what: str, at: At) -> NotSupported:
    return NotSupported(
        f"The statement has more than {most} {what}",
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
