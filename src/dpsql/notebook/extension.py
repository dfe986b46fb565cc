"""`%load_ext dpsql` and `%unload_ext dpsql`: which magics are ours, beside those of other extensions."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from dpsql.notebook.magics import LINES_ONLY, MAGICS, Desk, taught

_OURS: Final = "__dpsql__"


class _Line:
    """A line in a cell: shown as it is, without the quotes of a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def load_ipython_extension(shell: Any) -> None:
    """The magics for a notebook. A name that another extension has is left to it, and how to ask instead is said."""
    from IPython.core.magic import no_var_expand
    from IPython.display import display

    desk = Desk(shell.user_ns, display)
    taken = [name for name in MAGICS if not _is_free(shell, name)]
    for name, magic in MAGICS.items():
        if name in taken:
            continue
        ours = no_var_expand(_shown(taught(partial(magic, desk))))  # SQL may hold braces and $
        setattr(ours, _OURS, True)
        ours.__doc__ = magic.__doc__
        for kind in ("line",) if name in LINES_ONLY else ("line", "cell"):
            shell.register_magic_function(ours, magic_kind=kind, magic_name=name)
    if taken:
        display(_Line(_beside(taken)))


def unload_ipython_extension(shell: Any) -> None:
    """Takes our magics away, and nobody else's."""
    for kind in ("line", "cell"):
        magics = shell.magics_manager.magics[kind]
        for name in [name for name in MAGICS if hasattr(magics.get(name), _OURS)]:
            del magics[name]


def _is_free(shell: Any, name: str) -> bool:
    known = [shell.magics_manager.magics[kind].get(name) for kind in ("line", "cell")]
    return all(magic is None or hasattr(magic, _OURS) for magic in known)


def _shown(magic: Any) -> Any:
    def shown(line: str, cell: str | None = None) -> object:
        told = magic(line, cell)
        return _Line(told) if isinstance(told, str) else told

    return shown


def _beside(taken: list[str]) -> str:
    names = ", ".join(f"%{name}" for name in taken)
    return (
        f"{names} is left to the extension that has it. A cell that begins with %%dpsql asks dpsql; for our {names}, "
        "unload the other extension and run %reload_ext dpsql."
    )
