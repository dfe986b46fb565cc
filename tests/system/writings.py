"""Other ways to write a statement that mean the same: case, quotes, layout, comments, aliases, parentheses.

Everything here works on the tokens and on the names of our own tree, never on patterns in the text.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass

from sqlglot import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

import dpsql
from dpsql.sql.parse import parse
from dpsql.sql.parsing.cursor import RESERVED
from dpsql.sql.parsing.text import blanked, prepared
from dpsql.sql.syntax import Derived, Identifier, Name, Options, Said, Star, TableName

GAPS = (
    " ",
    "  ",
    "\n",
    "\t",
    "\r\n",
    " \n ",
    "/**/",
    " /* a; 'b' \"c\" */ ",
    " /* a /* nested */ one */ ",
    " -- it's\n",
)
ENDS = ("", " ", "\n", ";", " ; ", " -- the end", "\n/* bye */;\n")
_AFTER_CONDITION = frozenset(
    {"GROUP BY", "HAVING", "WINDOW", "ORDER BY", "LIMIT", "OFFSET", "FETCH", "QUALIFY", "WHERE", "UNION", "INTERSECT",
     "EXCEPT", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI", "ASOF", "POSITIONAL", ",",
     "USING", "ON", "WITHIN"}
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Written:
    """A statement in another writing, and where its old tokens stand now."""

    text: str
    starts: tuple[tuple[int, int], ...]
    """For each old token its first character now, and one past the last."""

    def token_range(self, at: tuple[int, int]) -> tuple[int, int] | None:
        """The first and last old token that a place of the new text touches."""
        touched = [number for number, (start, end) in enumerate(self.starts) if start < at[1] and at[0] < end]
        return (touched[0], touched[-1]) if touched else None


@dataclass(frozen=True, kw_only=True)
class Original:
    """A statement with its tokens and the nodes of its tree, if it has one."""

    text: str
    kept: tuple[str, ...]
    """What is no token of the query, before each token and at the end: EXPLAIN PRIVACY, DRY RUN, hints."""
    tokens: tuple[Token, ...]
    nodes: tuple[object, ...]
    read: frozenset[int]
    """Where the tokens of the query itself start; others are words of options."""

    @classmethod
    def of(cls, text: str) -> Original | None:
        """None where the text has no tokens at all."""
        try:
            tokens = _tokens(prepared(text).plain)
        except (dpsql.DpsqlError, TokenError):
            return None
        try:
            parsed = parse(text, dialect="duckdb")
            nodes = tuple(_walk(parsed.query))
            read = frozenset(token.start for token in tokens) - _of_options(tokens, parsed.options)
        except dpsql.DpsqlError:
            nodes, read = (), frozenset()
        plain, _ = blanked(text)
        ends = [0, *(token.end + 1 for token in tokens)]
        starts = [*(token.start for token in tokens), len(text)]
        kept = tuple(_kept(text[end:start], plain[end:start]) for end, start in zip(ends, starts, strict=True))
        return cls(text=text, kept=kept, tokens=tokens, nodes=nodes, read=read)

    def word(self, number: int) -> str:
        return " ".join(self.tokens[number].text.upper().split())

    def number(self, start: int) -> int | None:
        return next((number for number, token in enumerate(self.tokens) if token.start == start), None)

    def names(self) -> dict[int, Identifier]:
        """The tokens that are names, by what the tree says they are."""
        found = {}
        for node in self.nodes:
            if isinstance(node, Identifier) and node.at is not None:
                number = self.number(node.at[0])
                if number is not None and self.tokens[number].end + 1 == node.at[1]:
                    found[number] = node
        return found


def _tokens(plain: str) -> tuple[Token, ...]:
    return tuple(Dialect.get_or_raise("duckdb").tokenize(plain))


def _of_options(tokens: tuple[Token, ...], options: Options) -> set[int]:
    """Where the tokens of our own clauses start: the word before a value, the value, and PER PERSON after it."""
    places = [said.at for each in fields(options) if isinstance(said := getattr(options, each.name), Said)]
    found = {token.start for token in tokens if token.text.upper() in ("PER", "PERSON", "DIFFERENTIAL_PRIVACY")}
    for number, token in enumerate(tokens):
        if any(at is not None and at[0] <= token.start < at[1] for at in places):
            found |= {token.start, tokens[number - 1].start}
    return found


def _around(tokens: tuple[Token, ...]) -> tuple[int, ...]:
    """For each token the number of the innermost bracket (parentheses, CASE … END) that is open around it, or -1."""
    around, open_ = [], []
    for number, token in enumerate(tokens):
        if open_ and token.token_type in (TokenType.R_PAREN, TokenType.END):
            open_.pop()
        around.append(open_[-1] if open_ else -1)
        if token.token_type in (TokenType.L_PAREN, TokenType.CASE):
            open_.append(number)
    return tuple(around)


def _kept(written: str, without_comments: str) -> str:
    """Words stay, and so do hints; other comments may come and go."""
    if "/*+" in written or "--+" in written:
        return f"{written.strip()}\n"
    return without_comments.strip().strip(";").strip()


def _walk(node: object) -> Iterator[object]:
    if isinstance(node, tuple):
        for part in node:
            yield from _walk(part)
    elif is_dataclass(node):
        yield node
        for field in fields(node):
            yield from _walk(getattr(node, field.name))


# ---- what is written for one token ---------------------------------------------------------------------------------

Words = dict[int, str]
"""Token number -> what stands there instead."""
Around = dict[int, list[str]]
"""Token number -> what is inserted before it (or after it)."""


@dataclass
class Draft:
    """A writing in the making."""

    original: Original
    words: Words
    before: Around
    after: Around

    @classmethod
    def of(cls, original: Original) -> Draft:
        text = original.text
        words = {number: text[token.start : token.end + 1] for number, token in enumerate(original.tokens)}
        return cls(original=original, words=words, before={}, after={})

    def wrap(self, first: int, last: int) -> None:
        self.before.setdefault(first, []).insert(0, "(")
        self.after.setdefault(last, []).append(")")


def _any_case(word: str, chance: random.Random) -> str:
    """Only ASCII letters: the engine folds no others."""
    return "".join(
        (letter.upper() if chance.random() < 0.5 else letter.lower()) if letter.isascii() else letter for letter in word
    )


def recased(draft: Draft, chance: random.Random) -> None:
    """Keywords, functions and names without quotes."""
    literal = (TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER)
    for number, token in enumerate(draft.original.tokens):
        if token.token_type not in literal and not token.token_type.name.endswith("_STRING"):
            draft.words[number] = _any_case(draft.words[number], chance)


def quoted(draft: Draft, chance: random.Random) -> None:
    """Names in quotes and out of them; the engine folds both alike."""
    for number, name in draft.original.names().items():
        if not name.quoted and chance.random() < 0.6:
            draft.words[number] = '"' + _any_case(name.written or name.name, chance) + '"'
        elif name.quoted and _plain(name.name) and _no_word_of_the_parser(name.name):
            draft.words[number] = name.name


def _no_word_of_the_parser(name: str) -> bool:
    """A name like floor or count stays in quotes: without them it may be read as the beginning of something else."""
    (token,) = _tokens(name)
    return token.token_type is TokenType.VAR and name.upper() not in RESERVED


def aliased(draft: Draft, chance: random.Random) -> None:
    """Tables called by an alias: a new one where nobody calls the table by its name, else its own name."""
    original = draft.original
    qualifiers = {part.name for part in _qualifiers(original.nodes)}
    for node in original.nodes:
        if isinstance(node, TableName) and node.alias is None and len(node.name) == 1 and node.name[0].at:
            number = original.number(node.name[0].at[0])
            own = node.name[0].name
            if number is None or not own.isascii() or not own.isidentifier():
                continue
            called = own if own in qualifiers or chance.random() < 0.3 else f"called_{own}"
            draft.after.setdefault(number, []).insert(0, chance.choice((" AS ", " ")) + f'"{called}"')


def renamed(draft: Draft, chance: random.Random) -> None:
    """Aliases of tables under another name, wherever they are used; not where the name means something else too."""
    original = draft.original
    aliases = {n.alias.name for n in original.nodes if isinstance(n, TableName | Derived) and n.alias is not None}
    used = [*_qualifiers(original.nodes)]
    used += [n.alias for n in original.nodes if isinstance(n, TableName | Derived) and n.alias is not None]
    places = {identifier.at for identifier in used}
    others = {n.name for n in original.nodes if isinstance(n, Identifier) and n.at not in places}
    for number, name in original.names().items():
        if name.name in aliases - others and name.at in places:
            draft.words[number] = f"other_{name.name}" if _plain(name.name) else draft.words[number]


def _plain(name: str) -> bool:
    return name.isascii() and name.isidentifier()


def _qualifiers(nodes: tuple[object, ...]) -> Iterator[Identifier]:
    for node in nodes:
        if isinstance(node, Name) and len(node.parts) > 1:
            yield node.parts[0]
        elif isinstance(node, Star) and node.table is not None:
            yield node.table


def parenthesized(draft: Draft, chance: random.Random) -> None:
    """Conditions as a whole, and the whole query: of what is no query nobody knows where a condition ends."""
    original = draft.original
    if not original.nodes:
        return
    around = _around(original.tokens)
    for number in range(len(original.tokens)):
        if original.word(number) in ("WHERE", "HAVING", "ON") and chance.random() < 0.7:
            last = _end_of_condition(original, around, number)
            if last > number:
                draft.wrap(number + 1, last)
    whole = len(original.read) == len(original.tokens) and not any(original.kept)
    if whole and chance.random() < 0.5:
        draft.wrap(0, len(original.tokens) - 1)


def _end_of_condition(original: Original, around: tuple[int, ...], word: int) -> int:
    last = word
    for number in range(word + 1, len(original.tokens)):
        if around[number] != around[word] and not _inside(around, number, around[word]):
            break
        closes = original.word(number) == ")" and around[number] == around[word] and _opens(original, word, number) < 0
        if closes or (around[number] == around[word] and original.tokens[number].start not in original.read):
            break
        follows_call = number + 1 < len(original.tokens) and original.word(number + 1) == "("
        if (
            around[number] == around[word]
            and original.word(number) in _AFTER_CONDITION
            and not (follows_call and original.word(number) in ("LEFT", "RIGHT"))
        ):
            break
        last = number
    return last


def _inside(around: tuple[int, ...], number: int, bracket: int) -> bool:
    while number >= 0:
        if around[number] == bracket:
            return True
        number = around[number]
    return bracket < 0


def _opens(original: Original, first: int, last: int) -> int:
    """Opened minus closed brackets between two tokens, both ends included."""
    kinds = [original.tokens[number].token_type for number in range(first, last + 1)]
    return kinds.count(TokenType.L_PAREN) - kinds.count(TokenType.R_PAREN)


# ---- the whole text ------------------------------------------------------------------------------------------------

Change = Callable[[Draft, random.Random], None]
IN_PLACE: tuple[Change, ...] = (recased, quoted)
"""Every token keeps its place among the others."""
ADDING: tuple[Change, ...] = (recased, aliased, renamed, parenthesized)


def rewritten(original: Original, changes: tuple[Change, ...], chance: random.Random) -> Written:
    """The statement after the changes, laid out anew."""
    draft = Draft.of(original)
    for change in changes:
        change(draft, chance)
    return _laid_out(draft, chance)


def _laid_out(draft: Draft, chance: random.Random) -> Written:
    original, text, places = draft.original, "", []
    for number, token in enumerate(original.tokens):
        if original.kept[number]:
            text += _gap(chance) + original.kept[number] + _gap(chance)
        elif number:
            end = original.tokens[number - 1].end + 1
            glued = end == token.start
            text += "" if glued and not draft.after.get(number - 1) and not draft.before.get(number) else _gap(chance)
            if glued and _may_part(original, number) and chance.random() < 0.3:
                text += _gap(chance)
        text += "".join(draft.before.get(number, ()))
        word = _spread(draft.words[number], token, chance)
        places.append((len(text), len(text) + len(word)))
        text += word + "".join(draft.after.get(number, ()))
    if original.kept[-1]:
        text += _gap(chance) + original.kept[-1]
    return Written(text=text + chance.choice(ENDS), starts=tuple(places))


def _gap(chance: random.Random) -> str:
    return chance.choice(GAPS)


def _may_part(original: Original, number: int) -> bool:
    """Around commas and parentheses blanks mean nothing, unless a sign or a number would fall apart."""
    kinds = (TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA)
    return original.tokens[number].token_type in kinds or original.tokens[number - 1].token_type in kinds


def _spread(word: str, token: Token, chance: random.Random) -> str:
    """GROUP BY and the like: words with a gap of their own."""
    if token.token_type in (TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER) or " " not in word:
        return word
    if word.startswith('"'):
        return word
    first, *rest = word.split()
    return first + "".join(_gap(chance) + part for part in rest)
