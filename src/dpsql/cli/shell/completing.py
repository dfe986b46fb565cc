"""What Tab proposes: commands, words of SQL, tables, columns, and the groups that everybody may know. It comes from the
policy alone; groups that are private are never proposed, and no row is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from dpsql.cli.shell.names import VIEWS, ColumnNote, Names
from dpsql.cli.shell.pieces import Piece, pieces

_KEYWORDS: Final = """
    ALL AND AS ASC BETWEEN BY CASE CAST CONFIDENCE COST CROSS DATE DESC DIFF DISTINCT DRY ELSE END EXISTS
    EXPLAIN FALSE FROM FULL GROUP HAVING IN INNER INTERVAL IS JOIN KEYS LEFT LIKE LIMIT NOT NULL ON OR ORDER
    OUTER OVER PARTITION PER PERSON PRIVACY PRIVATE RESET RIGHT ROWS RUN SELECT SET SHOW SIMULATE THEN TRUE UNION USING
    WHEN WHERE WITH WITHIN
"""
_FUNCTIONS: Final = """
    ABS AVG CEIL CLAMP COALESCE CONCAT CONTAINS CORR COUNT COVAR_POP COVAR_SAMP DATE_ADD DATE_DIFF DATE_TRUNC DAY
    DP_HIGH DP_LOW DP_MARGIN ENDS_WITH EXP FLOOR GREATEST HOUR LEAST LENGTH LN LOG10 LOG2 LOWER LTRIM MINUTE MOD MONTH
    NULLIF POWER QUARTER REGR_INTERCEPT REGR_SLOPE REPLACE ROUND RTRIM SECOND SIGN SQRT STARTS_WITH STDDEV SUBSTRING
    SUM TRIM UPPER VARIANCE VAR_POP VAR_SAMP WEEK YEAR
"""
KEYWORDS: Final = frozenset(_KEYWORDS.split())
FUNCTIONS: Final = tuple(_FUNCTIONS.split())
TABLES_FOLLOW: Final = frozenset({"FROM", "JOIN"})
"""Words behind which a table is named."""


Choices = Mapping[str, Callable[[Names], Iterable[str]]]
"""What may follow a command, by its word."""

_CALLED: Final = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)(?:\s+AS)?(?:\s+(?!ON\b|USING\b|WHERE\b)(\w+))?", re.IGNORECASE)
_COMPARED: Final = re.compile(r"(\w+)\s*(?:(?:=|<>|!=)|(?:NOT\s+)?IN\s*\([^()]*)\s*$", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")


class ShellCompleter(Completer):
    """Reads the names when Tab is first pressed."""

    def __init__(self, names: Callable[[], Names], commands: Sequence[str], choices: Choices) -> None:
        self._names, self._commands, self._choices = names, commands, choices

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Of what stands before the cursor."""
        before, whole = document.text_before_cursor, document.text
        for text, length in proposals(before, whole, self._names, self._commands, self._choices):
            yield Completion(text, start_position=-length)


def proposals(
    before: str, whole: str, names: Callable[[], Names], commands: Sequence[str], choices: Choices
) -> Iterator[tuple[str, int]]:
    """Each with the number of letters before the cursor that it takes the place of."""
    _, below, line = before.lstrip().rpartition("\n")
    if line.lstrip().startswith("\\" if below else ("\\", ".")):
        yield from _of_command(line.lstrip(), names, commands, choices)
        return
    earlier = list(pieces(before))
    last = earlier[-1] if earlier and earlier[-1].end == len(before) else None
    if last is not None and not last.closed:
        yield from _of_quotation(before, last, whole, names())
    elif last is None or last.kind != "comment":
        is_begun = last is not None and last.kind == "word"
        begun = before[earlier[-1].start :] if is_begun else ""
        left = [piece for piece in (earlier[:-1] if is_begun else earlier) if piece.kind != "comment"]
        yield from _matching(_of_sql(before, left, whole)(names(), begun), begun)


def _of_command(
    line: str, names: Callable[[], Names], commands: Sequence[str], choices: Choices
) -> Iterator[tuple[str, int]]:
    word, space, rest = line.partition(" ")
    if not space:
        yield from _matching(commands, word)
    elif word in choices:
        begun = rest.rpartition(" ")[2]
        yield from _matching(choices[word](names()), begun)


def _of_quotation(before: str, piece: Piece, whole: str, names: Names) -> Iterator[tuple[str, int]]:
    """The listed keys of the column that is compared; of all columns where it is not clear which."""
    begun = before[piece.start + 1 :]
    if piece.kind == "name":
        columns = (note.name for notes in names.tables.values() for note in notes)
        yield from ((f'{name}"', len(begun)) for name in sorted(set(columns)) if name.startswith(begun))
        return
    compared = _COMPARED.search(before[: piece.start])
    notes = [note for notes in _near(whole, names) for note in notes if note.is_quoted]
    named = [note for note in notes if compared is not None and note.name.lower() == compared[1].lower()]
    keys = {key for note in (named or notes) for key in note.listed if key is not None}
    for key in sorted(keys):
        written = key.replace("'", "''")
        if written.lower().startswith(begun.lower()):
            yield f"{written}'", len(begun)


def _of_sql(before: str, earlier: Sequence[Piece], whole: str) -> Callable[[Names, str], Iterable[str]]:
    """Tables where one is named, columns of a table behind its name and a point, else everything."""
    words = [before[piece.start : piece.end].upper() for piece in earlier]
    if words and words[-1] in TABLES_FOLLOW:
        return lambda names, begun: (*map(written, names.tables), *VIEWS)
    if len(words) > 1 and words[-1] == ".":
        owner = before[earlier[-2].start : earlier[-2].end]
        return lambda names, begun: _columns_of(owner, whole, names)
    return lambda names, begun: _everything(names, whole, begun)


def _columns_of(owner: str, whole: str, names: Names) -> Iterable[str]:
    if owner.lower() == "dp":
        return (view.partition(".")[2] for view in VIEWS)
    called = {alias.lower(): table for table, alias in _CALLED.findall(whole) if alias}
    found = names.table(called.get(owner.lower(), owner))
    return () if found is None else (written(note.name) for note in found[1])


def _everything(names: Names, whole: str, begun: str) -> Iterable[str]:
    """Columns of the tables that are named come first; words in the case that is typed."""
    columns = (written(note.name) for notes in _near(whole, names) for note in notes)
    tables = map(written, names.tables)
    lower = begun.islower()
    words = (word.lower() if lower else word for word in sorted(KEYWORDS))
    calls = (f"{name.lower() if lower else name}(" for name in FUNCTIONS)
    return dict.fromkeys((*columns, *tables, *words, *calls))


def _near(whole: str, names: Names) -> list[tuple[ColumnNote, ...]]:
    """The columns of the tables that the text names; of all where it names none."""
    named = [found[1] for table, _ in _CALLED.findall(whole) if (found := names.table(table)) is not None]
    return named or list(names.tables.values())


def written(name: str) -> str:
    """A name as SQL takes it."""
    if _PLAIN.fullmatch(name) and name.upper() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def _matching(found: Iterable[str], begun: str) -> Iterator[tuple[str, int]]:
    return ((text, len(begun)) for text in found if text.lower().startswith(begun.lower()))
