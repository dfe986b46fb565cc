"""The text of a file of statements, or of standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from dpsql import BadParameter

STDIN: Final = "-"
_BYTE_ORDER_MARK: Final = "\ufeff"


def text_of(name: str, *, why: str) -> str:
    """What the file holds, without a byte order mark; `why` it is read."""
    try:
        content = sys.stdin.read() if name == STDIN else Path(name).read_bytes().decode()
        content.encode()  # standard input passes bytes that are not UTF-8 on as surrogates
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise BadParameter(
            f"{'standard input' if name == STDIN else name} is not UTF-8 text, at character {error.start + 1}",
            why="letters such as é are written in other bytes in other encodings, so two programs read it differently",
            fix=f"save it as UTF-8, or convert it: {_converted(name, error)}",
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no path"
        raise BadParameter(f"{name} cannot be read: {reason}", why=why, fix="check the path") from None
    return content.removeprefix(_BYTE_ORDER_MARK)


def _converted(name: str, error: UnicodeDecodeError | UnicodeEncodeError) -> str:
    start = error.object[:2] if isinstance(error, UnicodeDecodeError) else b""
    encoding = "UTF-16" if start in (b"\xff\xfe", b"\xfe\xff") else "LATIN1"
    return f"iconv -f {encoding} -t UTF-8 {'FILE' if name == STDIN else name}"
