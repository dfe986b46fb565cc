"""What Tab does: it writes what is certain, and shows what is possible, never more than a screen of it and without a
question in between."""

from __future__ import annotations

from collections.abc import Sequence

from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import CompleteEvent, get_common_complete_suffix
from prompt_toolkit.key_binding import KeyPressEvent
from prompt_toolkit.utils import get_cwidth

from dpsql.cli.shell.screen import clean


def complete(event: KeyPressEvent) -> None:
    """At once, so that whoever types on does not lose what Tab gave."""
    buffer = event.current_buffer
    found = list(buffer.completer.get_completions(buffer.document, CompleteEvent(completion_requested=True)))
    shared = get_common_complete_suffix(buffer.document, found)
    if len(found) == 1:
        buffer.delete_before_cursor(-found[0].start_position)
        buffer.insert_text(found[0].text)
    elif shared:
        buffer.insert_text(shared)
    elif found:
        size = event.app.output.get_size()
        shown = in_columns([clean(one.text) for one in found], columns=size.columns, lines=size.rows)
        run_in_terminal(lambda: event.app.print_text("\n".join([*shown, ""])), render_cli_done=True)


def in_columns(words: Sequence[str], *, columns: int, lines: int) -> list[str]:
    """The words below each other, column by column; a screen of them at most, and then how many more there are."""
    width = min(max(map(get_cwidth, words)) + 2, columns)
    side_by_side = max(columns // width, 1)
    room = max(lines - 3, 1)  # the prompt, and the line that says how many more
    kept = words[: side_by_side * room]
    height = -(-len(kept) // side_by_side)
    rows = ["".join(_padded(word, width) for word in kept[row::height]).rstrip() for row in range(height)]
    more = len(words) - len(kept)
    return [*rows, *([f"... and {more} more: type a letter, then Tab"] if more else [])]


def _padded(word: str, width: int) -> str:
    return word + " " * (width - get_cwidth(word))
