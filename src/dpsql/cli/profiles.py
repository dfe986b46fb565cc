"""Names for places to ask at: `dpsql hospital` for a target, a user and a token that stand in a file of the analyst."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from dpsql import BadParameter
from dpsql.errors import NotPermitted
from dpsql.written import shown_text


def named_path(text: str) -> Path:
    """The file that a text names. ~ is one's own folder, and ~NAME that of somebody else on this machine."""
    try:
        os.fsencode(text)
        path = Path(text).expanduser()
    except (RuntimeError, ValueError):
        raise _no_path(text) from None
    if not text or "\0" in text:
        raise _no_path(text)
    return path


def _no_path(text: str) -> BadParameter:
    if text.startswith("~") and "\0" not in text:
        owner = text.partition("/")[0]
        why = "~ stands for your own folder, and ~NAME for that of a user of this machine"
        return BadParameter(
            f"{shown_text(text)} names no file: {shown_text(owner)} has no folder here",
            why=why,
            fix="write the path out",
        )
    return BadParameter(
        f"{shown_text(text)} names no file" if text else "no file is named",
        why="the name of a file is made of letters that this system can write",
        fix="write a path, as in questions.sql",
    )


_KEYS: Final = ("target", "user", "token_file", "token")
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_QUESTION: Final = re.compile(r"\s*(SELECT|WITH|FROM|EXPLAIN|DRY|SHOW|DESCRIBE|SIMULATE)\s", re.IGNORECASE)
"""How a statement begins whose -c was forgotten: no target has a space after such a word."""
_WHAT: Final = "a policy file that ends in .toml, unix:PATH of a server, or demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Where to ask, and as whom."""

    target: str | None = None
    user: str | None = None
    token_file: Path | None = None
    token: str | None = None
    """Where it stands in the file of profiles itself."""

    def read_token(self) -> str | None:
        """The token, from a file that nobody else may read; None where there is none."""
        if self.token_file is None:
            return self.token
        require_private(self.token_file)
        try:
            return self.token_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise _unreadable(self.token_file, error) from None


def profiles_file() -> Path:
    """Where profiles stand: $XDG_CONFIG_HOME/dpsql/profiles.toml."""
    return named_path(os.environ.get("XDG_CONFIG_HOME") or "~/.config") / "dpsql" / "profiles.toml"


def profiles() -> dict[str, Profile]:
    """Every profile by its name; none where there is no file."""
    path = profiles_file()
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    return {name: _profile(name, said, path) for name, said in read.items()}


def chosen_profile(word: str | None, commands: Iterable[str]) -> Profile:
    """What a word of the command line names: a target as it is, or a profile."""
    if word is not None and _QUESTION.match(word):
        raise BadParameter(
            "a question stands where a target is expected",
            why="what is asked follows -c, so that no question is taken for a place to ask at",
            fix=f"dpsql -c {shown_text(word)}",
        )
    if word is None or is_target(word):
        return Profile(target=word)
    known = profiles()
    if word in known:
        return known[word]
    near = get_close_matches(word, [*commands, *known], n=1)
    raise BadParameter(
        f"{shown_text(word)} is no command, no profile and nothing to connect to",
        why=f"after dpsql comes a command, a profile of {profiles_file()}, or a target: {_WHAT}",
        fix=(f"did you mean dpsql {near[0]}? " if near else "") + "see them all: dpsql --help, dpsql config",
    )


def place_word(word: str | None) -> str:
    """What is asked, in a word for a prompt: the profile, the folder of a policy, the name of a socket."""
    if word is None or not is_target(word) or word == "demo":
        return word or Path.cwd().name
    path = Path(word.removeprefix("unix:")).absolute()
    return path.parent.name if path.name == "dpsql.toml" else path.stem


def is_target(word: str) -> bool:
    """Whether a word says itself where to ask."""
    return word == "demo" or word.endswith(".toml") or ":" in word or "/" in word


def require_private(path: Path) -> None:
    """Raises where others than its owner may read a file with a token in it."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise _unreadable(path, error) from None
    if mode & _OTHERS:
        raise NotPermitted(
            f"others may read {path}, and a token stands in it",
            why="whoever has the token asks in your name, and spends your budget",
            fix=f"chmod 600 {path}",
        )


def _profile(name: str, said: object, path: Path) -> Profile:
    if not isinstance(said, Mapping) or not set(said) <= set(_KEYS) or "target" not in said:
        raise _wrong(name, path)
    if not all(isinstance(value, str) for value in said.values()):
        raise _wrong(name, path)
    if "token" in said:
        require_private(path)
    token_file = said.get("token_file")
    return Profile(
        target=_located(said["target"], path.parent),
        user=said.get("user"),
        token_file=None if token_file is None else path.parent / named_path(token_file),
        token=said.get("token"),
    )


def _located(target: str, folder: Path) -> str:
    """A path is one of the folder the profiles stand in, wherever the command is typed."""
    kind, path = ("unix:", target[5:]) if target.startswith("unix:") else ("", target)
    if target == "demo" or not (kind or path.endswith(".toml")):
        return target
    return f"{kind}{folder / named_path(path)}"


def _wrong(name: str, path: Path) -> BadParameter:
    return BadParameter(
        f"{path}: the profile {shown_text(name)} cannot be used",
        why=f"a profile has a target, and perhaps more of {', '.join(_KEYS)}, each a text",
        fix='write [hospital] and below it target = "unix:/run/dpsql/door" and token_file = "hospital.token"',
    )


def _unreadable(path: Path, error: OSError | ValueError) -> BadParameter:
    reason = error.strerror if isinstance(error, OSError) else "it is no TOML, or no UTF-8 text"
    return BadParameter(
        f"{path} cannot be read: {reason}", why="it was named to be read", fix="correct it, or its path"
    )
