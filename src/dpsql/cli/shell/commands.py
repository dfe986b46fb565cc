"""The backslash commands: each is one function, in a table with the words that the help and the guide show."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Final

from dpsql import BadParameter, Cost, in_hundredths, repriced
from dpsql import help as help_text
from dpsql.cli.asking import price_lines
from dpsql.cli.profiles import named_path
from dpsql.cli.shell.asker import Offer, Told, bar, free, offered, shown_margin
from dpsql.cli.shell.asking import agreed, ask, ask_all, bought, interruptible
from dpsql.cli.shell.completing import written
from dpsql.cli.shell.names import ColumnNote, Names
from dpsql.cli.shell.state import MODES, Shell, show
from dpsql.errors import BadName
from dpsql.written import number

USAGE = "\\more [RELEASE] [--within M | --cost X]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is wanted of which release; None where it is not said."""

    release: int | None = None
    within: Fraction | None = None
    cost: Fraction | None = None


def more(shell: Shell, words: str) -> None:
    """Tell the price of a closer answer, and ask whether to buy it."""
    wish = read_wish(words)
    sql = _asked_for(shell, wish.release)
    known = interruptible(shell, lambda: offered(shell.asker, _for_nothing(sql)))  # DP203 where nothing is stored
    wanted = _closer(shell, sql, wish, known)
    offer = interruptible(shell, lambda: offered(shell.asker, wanted))
    if not offer.cost:
        shell.screen.say("What is stored is as close as that already: ask again, it is free.")
        return
    left = shell.asker.budget.left
    now, then = _said(known.margins), _said(offer.margins)
    change = f"To go from {now} to {then} costs" if now and then else "A closer answer costs"
    question = f"{change} {Cost(epsilon=offer.cost)} more; {in_hundredths(left)} is left. Buy it?"
    if offer.cost > left or agreed(shell, question, default=False):
        bought(shell, wanted, limit=offer.cost)
    else:
        shell.screen.say("Not bought. Nothing was spent.")


def read_wish(words: str) -> Wish:
    """What stands behind the command."""
    try:
        rest = shlex.split(words)
    except ValueError:
        raise _misread(words) from None
    release = within = cost = None
    while rest:
        word = rest.pop(0)
        if word in ("--within", "--cost") and rest and within is None and cost is None:
            amount = _amount(word, rest.pop(0))
            within, cost = (amount, None) if word == "--within" else (None, amount)
        elif word.removeprefix("#").isdecimal() and release is None:
            release = int(word.removeprefix("#"))
        else:
            raise _misread(words)
    return Wish(release=release, within=within, cost=cost)


def _amount(name: str, text: str) -> Fraction:
    found = number(name, text)
    if found <= 0:
        raise _misread(f"{name} {text}")
    return found


def _misread(words: str) -> BadParameter:
    return BadParameter(
        f"\\more {words} is not understood", why="it buys a closer answer to one release", fix=f"write {USAGE}"
    )


def _asked_for(shell: Shell, release: int | None) -> str:
    if release is None:
        if shell.last_sql is None:
            raise BadParameter(
                "nothing was asked yet",
                why="\\more makes the last answer closer",
                fix="ask something, or name a release",
            )
        return shell.last_sql
    rows = free(shell.asker, f"SELECT sql FROM dp.releases WHERE number = {release}")
    if not rows:
        raise BadParameter(
            f"there is no release #{release} of yours",
            why="a closer answer is bought to what you have asked yourself",
            fix="\\history shows the numbers of your releases",
        )
    return str(rows[0][0])


def _for_nothing(sql: str) -> str:
    """The question with COST 0, which only what is stored answers."""
    return repriced(sql, epsilon=1).removesuffix("1") + "0"


def _closer(shell: Shell, sql: str, wish: Wish, known: Offer) -> str:
    """The question as they said; else for half of the margin; where that is not known before, for twice what was
    paid."""
    if wish.within is not None or wish.cost is not None:
        return repriced(sql, within=wish.within, epsilon=wish.cost)
    margins = [margin for margin in known.margins.values() if margin]
    if margins and len(margins) == len(known.margins):
        return repriced(sql, within=max(margins) / 2)
    return repriced(sql, epsilon=2 * _paid(shell))


def _paid(shell: Shell) -> Fraction:
    """What the last answer that is stored was charged."""
    if shell.last is not None and shell.last.release is not None:
        rows = free(shell.asker, f"SELECT cost FROM dp.ledger WHERE number = {shell.last.release}")
        if rows and isinstance(rows[0][0], int | float):
            return Fraction(str(rows[0][0]))
    raise BadParameter(
        "say how close, or at what price",
        why="the margin of this answer depends on what it finds, so that half of it is not known before",
        fix=f"write {USAGE}",
    )


def _said(margins: Mapping[str, Fraction | None]) -> str:
    known = {name: margin for name, margin in margins.items() if margin is not None}
    if len(known) == 1:
        return shown_margin(next(iter(known.values())))
    return ", ".join(f"{name} {shown_margin(margin)}" for name, margin in known.items())


_MOST_KEYS: Final = 12
"""So many groups are named; of more, the number is told."""


def tables_lines(names: Names) -> Iterator[str]:
    """One line for each table."""
    if not names.tables:
        yield "There is no table you may ask about."
        return
    width = max(map(len, names.tables))
    for name, notes in names.tables.items():
        yield f"{name:<{width}}  {', '.join(note.name for note in notes)}"


def table_lines(name: str, notes: Sequence[ColumnNote]) -> Iterator[str]:
    """One line for each column."""
    yield name
    names, types = (max(map(len, texts)) for texts in ([n.name for n in notes], [n.type for n in notes]))
    for note in notes:
        yield f"  {note.name:<{names}}  {note.type:<{types}}  {'; '.join(_words(note))}".rstrip()


def _words(note: ColumnNote) -> Iterator[str]:
    if note.is_person:
        yield "the person who is protected"
    if note.is_hidden:
        yield "hidden: can be counted, not shown, grouped by or filtered on"
    if note.low is not None and note.high is not None:
        yield f"{note.low} to {note.high}"
    if note.keys == "private":
        yield "groups are private: rare ones stay hidden"
    elif note.keys == "calendar":
        yield "groups are the days, or longer spans, of its limits"
    elif note.listed:
        known = ["NULL" if key is None else key for key in note.listed]
        yield f"groups: {', '.join(known)}" if len(known) <= _MOST_KEYS else f"{len(known)} public groups"


_SIGNS: Final = "\\."
"""What stands before the word of a command."""
_USAGE: Final = 22
"""Letters of a command before what it does."""
_SAMPLED: Final = 5
_PICTURES: Final = (".png", ".svg", ".txt")
_LAST: Final = 20
"""As many of one's own entries, and of typed lines, are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A word, what may follow it, and what it does."""

    usage: str
    about: str
    run: Callable[[Shell, str], None]
    also: tuple[str, ...] = ()
    """Other words for it, as other shells have them."""

    @property
    def word(self) -> str:
        return self.usage.partition(" ")[0]


def obey(shell: Shell, line: str) -> None:
    """Run a command; one that is not known is answered with the nearest one."""
    word, _, rest = line.strip().partition(" ")
    command = BY_WORD.get(word.lower().rstrip(";"))
    if command is None:
        alike = sorted(BY_WORD, key=lambda known: known[:1] == word[:1])  # of one word with two signs, the one typed
        bare = {known.lstrip(_SIGNS): known for known in alike}  # the sign before it makes no word like another
        near = get_close_matches(word.lower().lstrip(_SIGNS), bare, n=1)
        hint = f"did you mean {bare[near[0]]}? " if near else ""
        raise BadParameter(
            f"there is no command {word}",
            why="what begins with \\ or . is a command of the shell, and is not asked as SQL",
            fix=f"{hint}\\? lists them",
        )
    command.run(shell, rest.strip())


def _help(shell: Shell, rest: str) -> None:
    if rest:
        shell.screen.show(_page(rest.rstrip(";").strip(), columns=min(shell.screen.size().columns, 100)))
        return
    lines = [line for command in COMMANDS for line in _help_lines(command)]
    shell.screen.show("\n".join(["SQL ends with a semicolon and may go over several lines.", *lines]))


def _page(topic: str, *, columns: int) -> str:
    try:
        return help_text(topic, columns=columns)
    except BadName as error:  # what it proposes is for the command line
        near = f"\\help {error.meant}" if error.meant else "\\help DP201, with the code of the message"
        raise BadName(error.what, why=error.why, fix=f"write {near}; \\? lists the commands") from None


def _help_lines(command: Command) -> list[str]:
    """One line, or two where the command is long."""
    if len(command.usage) <= _USAGE:
        return [f"  {command.usage:<{_USAGE}}  {command.about}"]
    return [f"  {command.usage}", f"  {'':<{_USAGE}}  {command.about}"]


def _describe(shell: Shell, rest: str) -> None:
    if not rest:
        _tables(shell, rest)
        return
    shell.screen.show("\n".join(table_lines(*_table(shell, rest))))


def _table(shell: Shell, rest: str) -> tuple[str, tuple[ColumnNote, ...]]:
    """The table they name, as the policy is now."""
    shell.known = None
    name = rest.rstrip(";").strip().strip('"')
    found = shell.names().table(name)
    if found is not None:
        return found
    near = get_close_matches(name, shell.names().tables, n=1)
    raise BadParameter(
        f"there is no table {name}" if name else "no table is named",
        why="tables are those your grant lets you ask about",
        fix=f"did you mean {near[0]}?" if near else "\\dt lists them",
    )


def _tables(shell: Shell, rest: str) -> None:
    shell.known = None
    shell.screen.show("\n".join(tables_lines(shell.names())))


def _budget(shell: Shell, rest: str) -> None:
    note = free(shell.asker, "SELECT note FROM dp.budget")[0][0]
    words = [f"{bar(shell.asker)} left", shell.asker.budget.short, "" if note is None else str(note)]
    shell.screen.show("\n".join(filter(None, words)))


def _cost(shell: Shell, rest: str) -> None:
    sql = _question(shell, rest)
    told = _told_for_nothing(shell, f"DRY RUN {sql}")
    shell.screen.show("\n".join(price_lines(told, shell.asker.budget.left)))


def _explain(shell: Shell, rest: str) -> None:
    sql = _question(shell, rest)
    shell.screen.show(str(interruptible(shell, lambda: shell.asker.explain(sql))).rstrip())


def _diff(shell: Shell, rest: str) -> None:
    show(shell, _told_for_nothing(shell, f"EXPLAIN PRIVACY DIFF {rest}"))


def _told_for_nothing(shell: Shell, sql: str) -> Told:
    return interruptible(shell, lambda: shell.asker.sql(sql, max_cost=0))


def _question(shell: Shell, rest: str) -> str:
    """What they wrote, here or on the lines before, or the last question."""
    sql = rest.rstrip().rstrip(";") or shell.draft.strip() or shell.last_sql
    if sql is None:
        raise BadParameter(
            "nothing was asked yet",
            why="with no question behind it, the command is about your last one",
            fix="write the question behind it",
        )
    return sql


def _history(shell: Shell, rest: str) -> None:
    rows = free(shell.asker, f"SELECT number, cost, stored, sql FROM dp.ledger ORDER BY number DESC LIMIT {_LAST}")
    if not rows:
        shell.screen.say("You have paid for nothing yet.")
        return
    lines = [
        f"#{release:<6} {Cost(epsilon=Fraction(str(cost)))!s:>8}  {' '.join(str(sql).split())}"
        + "  (not told yet)" * (not stored)
        for release, cost, stored, sql in reversed(rows)
    ]
    shell.screen.show("\n".join(lines))


def _sample(shell: Shell, rest: str) -> None:
    """Rows of the same shape as the table's, and of nobody."""
    name, _ = _table(shell, rest)
    show(shell, _told_for_nothing(shell, f"SIMULATE SELECT * FROM {written(name)} LIMIT {_SAMPLED}"))


def _plot(shell: Shell, rest: str) -> None:
    """The last answer on the screen, or into a file of the kind that its name says."""
    if shell.last is None:
        raise BadParameter("there is no answer to draw", why="\\plot draws the last one", fix="ask something first")
    if rest.lower().endswith(_PICTURES):
        shell.screen.say(f"drawn into {shell.last.plot().save(named_path(rest))}")
        return
    picture = shell.last.plot(y=rest or None)
    shell.screen.show(picture.text(columns=min(shell.screen.size().columns, 100), plain=shell.screen.ascii))


def _typed(shell: Shell, rest: str) -> None:
    shell.screen.show("\n".join(list(shell.reader.typed())[-_LAST:]))


def _mode(shell: Shell, rest: str) -> None:
    if rest:
        shell.mode = one_of("\\mode", rest, MODES)
    shell.screen.say(f"answers are shown as {shell.mode}; there are {', '.join(MODES)}")


def _timing(shell: Shell, rest: str) -> None:
    shell.timing = one_of("\\timing", rest, ("on", "off")) == "on" if rest else not shell.timing
    shell.screen.say(f"time is {'shown' if shell.timing else 'not shown'}")


def _set(shell: Shell, rest: str) -> None:
    """Of the shell itself, or of the session: what is not ours is SET dp.NAME."""
    name, _, value = rest.replace("=", " ", 1).partition(" ")
    value = value.strip().rstrip(";").strip()
    if not name:
        pager = "on" if shell.screen.paged else "off"
        own = [f"ask   {float(shell.ask_above):g}   ask before what costs more than this share of what is left"]
        own.append(f"pager {pager}   page by page where an answer is longer than the screen")
        shell.screen.show("\n".join(own))
        ask(shell, "SHOW ALL")
    elif name == "ask":
        shell.ask_above = number("\\set ask", value)
    elif name == "pager":
        shell.screen.paged = one_of("\\set pager", value, ("on", "off")) == "on"
    else:
        ask(shell, f"SET dp.{name.removeprefix('dp.')} = {value}")


def one_of(name: str, said: str, known: tuple[str, ...]) -> str:
    """The word they chose, if there is one like it."""
    if said.rstrip(";").strip().lower() not in known:
        near = get_close_matches(said, known, n=1)
        raise BadParameter(
            f"{name} {said} is not known in the shell",
            why=f"{name} takes {', '.join(known[:-1])} or {known[-1]}",
            fix=f"did you mean {name} {near[0]}?" if near else f"write {name} {known[0]}",
        )
    return said.rstrip(";").strip().lower()


def _edit(shell: Shell, rest: str) -> None:
    """What the editor leaves is at the next prompt: Enter sends it."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        command = shlex.split(chosen)
    except ValueError:  # a quotation that does not end
        command = []
    if not command or shutil.which(command[0]) is None:
        raise _no_editor(chosen, "there is no such program")
    try:
        shell.draft = _edited(command, shell.draft or (_sendable(shell.last_sql) if shell.last_sql else ""))
    except OSError as error:
        raise _no_editor(chosen, error.strerror or "it does not run") from None


def _sendable(sql: str) -> str:
    """With its semicolon, on a line of its own where a comment could hide it."""
    return f"{sql}{chr(10) if '--' in sql else ''};\n"


def _edited(command: list[str], text: str) -> str:
    descriptor, path = tempfile.mkstemp(suffix=".sql")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([*command, path], check=False)
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    finally:
        with suppress(OSError):
            os.unlink(path)


def _no_editor(chosen: str, reason: str) -> BadParameter:
    return BadParameter(
        f"the editor {chosen} cannot be opened: {reason}",
        why="\\e opens the program that VISUAL or EDITOR names, else vi",
        fix="leave the shell, say export EDITOR=nano, and begin again; or type the question here",
    )


def _include(shell: Shell, rest: str) -> None:
    """The statements of a file, each priced by itself; the first that fails is the last."""
    try:
        text = named_path(rest).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise _no_file(rest, "its statements were to be answered", error) from None
    ask_all(shell, text)


def _output(shell: Shell, rest: str) -> None:
    if shell.screen.file is not None:
        shell.screen.file.close()
        shell.screen.file = None
    if not rest:
        shell.screen.say("answers are shown here")
        return
    try:
        shell.screen.file = open(named_path(rest), "w", encoding="utf-8", newline="")  # noqa: SIM115 - until the next one
    except OSError as error:
        raise _no_file(rest, "answers were to go there, and are shown here instead", error) from None
    shell.screen.say(f"answers go into {rest}, until \\o")


def _no_file(name: str, why: str, error: OSError) -> BadParameter:
    return BadParameter(f"{name} cannot be used: {error.strerror}", why=why, fix="check its name, or name another file")


def _quit(shell: Shell, rest: str) -> None:
    shell.leaving = True


COMMANDS: Final = (
    Command(usage="\\d [TABLE]", about="tables, or the columns of one: types, limits, public groups", run=_describe,
            also=(".schema",)),
    Command(usage="\\dt", about="the tables you may ask about", run=_tables, also=(".tables",)),
    Command(usage="\\budget", about="what you have left, and about how far it goes", run=_budget),
    Command(usage="\\cost [SQL]", about="the price and the margins, before anything is paid", run=_cost),
    Command(usage="\\explain [SQL]", about="how an answer is protected, step by step", run=_explain),
    Command(usage="\\diff SQL; SQL", about="the explanations of two questions, as a text diff", run=_diff),
    Command(usage=USAGE, about="what a closer answer costs; you are asked before it is bought", run=more),
    Command(usage="\\history", about="what you have paid for", run=_history),
    Command(usage="\\sample TABLE", about="five invented rows, to see the shape: nobody is in them", run=_sample),
    Command(usage="\\plot [COLUMN | FILE]", about="draw the last answer here, or into .png, .svg, .txt", run=_plot),
    Command(usage="\\mode [FORMAT]", about="how answers are shown", run=_mode, also=(".mode",)),
    Command(usage="\\timing [on|off]", about="how long each statement took", run=_timing, also=(".timer",)),
    Command(usage="\\set [NAME VALUE]", about="settings of this shell and of your session", run=_set),
    Command(usage="\\e", about="write the last question, or the one you began, in your editor", run=_edit),
    Command(usage="\\i FILE", about="answer the statements of a file", run=_include, also=(".read",)),
    Command(usage="\\o [FILE]", about="answers go into a file; without one, to the screen again", run=_output,
            also=(".output",)),
    Command(usage="\\s", about="what you have typed", run=_typed),
    Command(usage="\\help [CODE]", about="this list, or what an error or a theorem means", run=_help,
            also=("\\?", "\\h", ".help", "help")),
    Command(usage="\\q", about="leave; Ctrl-D does too", run=_quit, also=(".quit", ".exit", "quit", "exit")),
)  # fmt: skip

BY_WORD: Final[Mapping[str, Command]] = {
    word: command for command in COMMANDS for word in (command.word, *command.also)
}
