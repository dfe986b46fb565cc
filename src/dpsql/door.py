"""The door of the analyst: one word for a policy beside the data, the demo, or a server behind a socket."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final, overload

from dpsql.errors import BadParameter, NotPermitted

if TYPE_CHECKING:
    from dpsql.serve.client import Client
    from dpsql.session.analyst import Analyst

POLICY: Final = "dpsql.toml"
TOKEN: Final = "DPSQL_TOKEN"
_UNIX: Final = "unix:"
_TARGETS: Final = 'a policy file that ends in .toml, "unix:PATH" of a server, or "demo"'

Target = str | PathLike[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Caller:
    """Who connects, and what they said for it."""

    user: str | None
    token: str | None
    timeout: float | None


@overload
def connect(*, socket: Target, token: str | None = None, timeout: float | None = None) -> Client: ...


@overload
def connect(
    target: Target | None = None,
    *,
    user: str | None = None,
    token: str | None = None,
    socket: Target | None = None,
    timeout: float | None = None,
) -> Analyst | Client: ...


def connect(
    target: Target | None = None,
    *,
    user: str | None = None,
    token: str | None = None,
    socket: Target | None = None,
    timeout: float | None = None,
) -> Analyst | Client:
    """Somebody who asks: `sql`, `query`, `cost`, `explain`, `budget`. Close it when done, or use `with`.

    `target` is a policy file (default: dpsql.toml of this folder), opened beside the data as the analyst `user`, who
    need not be named where one person alone has a grant; or "demo", the demo hospital; or "unix:PATH", the socket of
    `dpsql serve`, which is the same as socket=PATH. There the token says who asks: `token`, or else the environment
    variable DPSQL_TOKEN. `timeout`: seconds for each statement, at a server for each reply.
    """
    caller = _Caller(user=user, token=token, timeout=timeout)
    if socket is not None:
        if target is not None:
            raise BadParameter(
                f"both target={target!r} and socket= are said",
                why="each of them says where questions are answered",
                fix="say one of them",
            )
        return _served(socket, caller)
    text = os.fsdecode(_path(POLICY if target is None else target))
    if text == "demo":
        return _demo(caller)
    if text.startswith(_UNIX):
        return _served(text.removeprefix(_UNIX), caller)
    if text.endswith(".toml"):
        return _embedded(Path(text), caller, asked_for=target is not None)
    raise BadParameter(f"{text!r} is nothing to connect to", why=f"a target is {_TARGETS}", fix="name one of these")


def _path(target: object) -> Target:
    if isinstance(target, str | PathLike) and "\0" not in os.fsdecode(target):
        return target
    raise BadParameter(f"target={target!r} is nothing to connect to", why=f"a target is {_TARGETS}", fix="name one")


def _served(socket: Target, caller: _Caller) -> Client:
    if caller.user is not None:
        raise BadParameter(
            f"user={caller.user!r} is said to a server", why="there the token says who asks", fix="leave the name out"
        )
    token = os.environ.get(TOKEN) if caller.token is None else caller.token
    if caller.token is not None and not caller.token:
        raise NotPermitted(
            "the token is empty",
            why="nobody else's takes its place: it says who asks, and whose budget is spent",
            fix="put the token into the file that the profile names, or pass token=; or leave it out, "
            f"to use the environment variable {TOKEN}",
        )
    if not token:
        raise NotPermitted(
            "a server asks for a token",
            why="it answers those whom the owner has let in: dpsql user add NAME --role analyst",
            fix=f"put the token into the environment variable {TOKEN}, or a file that a profile names: dpsql config",
        )
    from dpsql.serve.client import connect as connect_socket  # a question beside the data needs none of it

    return connect_socket(socket=socket, token=token, timeout=caller.timeout)


def _demo(caller: _Caller) -> Analyst:
    _require_no_token(caller)
    from dpsql.demonstration import demo  # who asks elsewhere needs no hospital

    analyst = demo(timeout=caller.timeout)
    if caller.user not in (None, analyst.name):
        raise NotPermitted(
            f"the demo knows no {caller.user}", why="one person asks in it", fix=f"be {analyst.name}, or name nobody"
        )
    return analyst


def _embedded(path: Path, caller: _Caller, *, asked_for: bool) -> Analyst:
    _require_no_token(caller)
    if not asked_for and not path.exists():
        raise BadParameter(
            f"there is no {POLICY} in this folder, and nothing else was named",
            why=f"questions are answered at a target: {_TARGETS}",
            fix='name one, or go to the folder of a policy; to look around: dpsql demo, or dpsql.connect("demo")',
        )
    from dpsql.session.opening import open_owner  # a client of a server loads neither the engine nor the ledger

    owner = open_owner(path, timeout=caller.timeout, adopt=False)
    try:
        analyst = owner.analyst(_name(caller.user, owner.analysts, path))
    except BaseException:
        owner.close()
        raise
    return replace(analyst, on_close=owner.close)


def _require_no_token(caller: _Caller) -> None:
    if caller.token is not None:
        raise BadParameter(
            "a token is said to what is opened here",
            why="tokens are for servers; beside the data, the name says who asks",
            fix='leave it out, and name the analyst: user="ana"',
        )


def _name(user: str | None, granted: tuple[str, ...], path: Path) -> str:
    """Who asks: the one who is named, or the only one there is."""
    if user is not None:
        return user
    if len(granted) == 1:
        return granted[0]
    if not granted:
        raise NotPermitted(
            f"{path} lets nobody ask",
            why="every question is paid from the grant of somebody",
            fix="have the owner add a [[grant]] to the policy, or say it: dpsql grant NAME --budget …",
        )
    raise NotPermitted(
        f"several people may ask here, and none is named: {', '.join(granted)}",
        why="every question is paid from the grant of somebody",
        fix='say who asks: --as NAME on the command line, user="NAME" in Python',
    )
