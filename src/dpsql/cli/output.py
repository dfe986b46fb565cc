"""Where results go: standard output, or a file that is either written whole or not touched."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

import dpsql
from dpsql import BadParameter

_AGAIN: Final = "what was answered is stored: asked again, it is told for nothing"


def clean(text: str) -> str:
    """Text for a terminal, which no character of it steers, but for the ends of its lines."""
    return escaped(text).expandtabs()


def escaped(text: str) -> str:
    """The same with its tabs, for programs that read columns."""
    return "\n".join("\t".join(map(dpsql.printable, line.split("\t"))) for line in text.split("\n"))


class Output:
    """Takes texts and bytes in their order. Everything is handed on at once, so that nobody pays for answers that no
    one reads any more."""

    def __init__(self, path: Path | None) -> None:
        """A file is opened before anything is asked: one that cannot be written costs nothing."""
        self._path, self._beside, self._file = path, None, None
        self._name = "standard output" if path is None else f"--output {path}"
        if path is None:
            return
        try:
            if path.exists() and not path.is_file():
                self._file = open(path, "wb")  # noqa: SIM115 - a device or a pipe cannot be replaced
            else:
                self._path = Path(os.path.realpath(path))  # a link stays: what it leads to is replaced
                self._beside, self._file = _beside(self._path)
        except OSError as error:
            raise unwritten(self._name, error) from None

    _beside: Path | None
    _file: BinaryIO | None

    @property
    def is_terminal(self) -> bool:
        return (self._file or sys.stdout).isatty()

    def write(self, data: str | bytes) -> None:
        """All of it, or an error that says what becomes of the answer. What steers a terminal does not reach one."""
        if isinstance(data, str) and self.is_terminal:
            data = clean(data.replace("\r\n", "\n"))
        try:
            if self._file is not None:
                self._file.write(data.encode() if isinstance(data, str) else data)
                self._file.flush()
            elif isinstance(data, str):
                sys.stdout.write(data)
                sys.stdout.flush()
            else:
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            self._give_up()
            raise unwritten(self._name, error) from None

    def _give_up(self) -> None:
        """What could not be written whole is not left behind, nor tried again when the process ends."""
        if self._file is None:
            write_no_more()
        elif self._beside is not None:
            self._beside.unlink(missing_ok=True)
            self._beside = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What was answered is kept, also where a later question was refused."""
        if self._file is None or self._path is None:
            return
        try:
            written = self._file.tell() > 0 if self._beside is not None else False
            self._file.close()
            if self._beside is not None and (written or error is None):
                self._beside.replace(self._path)
            elif self._beside is not None:
                self._beside.unlink(missing_ok=True)
        except OSError as failed:
            self._give_up()
            raise unwritten(self._name, failed) from None


def _beside(file: Path) -> tuple[Path, BinaryIO]:
    """A new file in the same folder, which the same people may read as the one whose place it takes."""
    from tempfile import mkstemp

    number, name = mkstemp(dir=file.parent, prefix=f".{file.name}.")
    beside = Path(name)
    try:
        beside.chmod(stat.S_IMODE(file.stat().st_mode) if file.exists() else _mode_of_new_files())
        return beside, os.fdopen(number, "wb")
    except OSError:
        os.close(number)
        beside.unlink(missing_ok=True)
        raise


def _mode_of_new_files() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def write_no_more() -> None:
    """Standard output is let go: what it still holds would fail again when the process ends."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def unwritten(name: str, error: OSError) -> BadParameter:
    """What is said where no more can be written."""
    return BadParameter(
        f"{name} cannot be written: {error.strerror}",
        why="the answers were to go there",
        fix=f"make room, or name another file: --output FILE; {_AGAIN}",
    )
